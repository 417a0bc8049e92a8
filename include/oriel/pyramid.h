// Resolution pyramids: every level is a pool of the first, and one pass over the first makes them all.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "oriel/problem.h"
#include "oriel/tensor.h"

namespace oriel {

/// What becomes of windows that the end of the volume cuts (S21): they are pooled as they are, they are left out, or
/// they are an error.
enum class Edge : std::uint8_t { partial, trim, exact };
/// What a level is a pool of: level 0, so that nothing is rounded twice, or the level before it.
enum class LevelSource : std::uint8_t { base, previous };

/// A pyramid as a user describes it. Example: Pyramid{.pool = {.op = Op::avg}, .factors = {{1, 2, 2}, {2, 2, 2}}} has
/// two levels above level 0; the second is 2, 4 and 4 times smaller.
struct Pyramid {
  Pool pool{};                     ///< the reduction and its options; its windows are left as they are by default
  std::vector<Extents> factors{};  ///< of each level to the one before it: for each axis >= 1, for some axis > 1
  Extents origin{};  ///< the place of the first element on a grid that windows start from, >= 0; empty: 0. With an
                     ///< origin of 1 and a factor of 2 the first window has one element
  Edge edge = Edge::partial;
  std::optional<LevelSource> source{};  ///< nothing: base, but of medians and quantiles previous
};

/// A level, or the volume that a pyramid is made of, which is level 0.
struct PyramidLevel {
  Dtype dtype = Dtype::f32;
  Extents shape;
  Extents factor;  ///< of all levels up to this one, for each axis
  Extents lead;    ///< elements of level 0 that the first window lacks, since they would lie before the volume

  friend bool operator==(const PyramidLevel&, const PyramidLevel&) = default;
};

/// All levels, beginning with level 0. Throws Error as make_problem does, for factors that are wrong, and for an op
/// that has several results.
ORIEL_API std::vector<PyramidLevel> pyramid_levels(const Pyramid& pyramid, Dtype dtype, const Extents& shape);

/// Factors that halve the axes of `axes` (empty: all) until no extent of these exceeds that of `most`. At every level
/// those axes are halved whose elements are less than twice as far apart as the closest ones, `spacing` apart at level
/// 0 (empty: all alike), and that have more than one. Example: pyramid_factors({40, 200, 200}, {3, 1, 1}, {}, {64, 64,
/// 64}) is {{1, 2, 2}, {2, 2, 2}}.
ORIEL_API std::vector<Extents> pyramid_factors(const Extents& shape, const std::vector<double>& spacing,
                                               const Extents& axes, const Extents& most);

/// Where the elements of a level are (S22): element i of an axis lies at scale * i + translation.
struct LevelCoordinates {
  std::vector<double> scale, translation;

  friend bool operator==(const LevelCoordinates&, const LevelCoordinates&) = default;
};
/// The coordinates of a level's elements, given those of level 0 (empty lists: scale 1, translation 0).
ORIEL_API LevelCoordinates level_coordinates(Op op, const PyramidLevel& level, const LevelCoordinates& base);

/// What level 0 is read from, by several threads at once.
class ORIEL_API PyramidSource {
 public:
  virtual ~PyramidSource() = default;
  /// Fills `to` with the box that begins at `begin` and has its shape.
  virtual void read(const Extents& begin, const Tensor& to) = 0;
  /// Whether the box is known to hold nothing but the value of `element`, which it then sets: then it is not read.
  virtual bool is_uniform(const Extents& begin, const Extents& shape, void* element);
};

/// What levels are written to, by several threads at once.
class ORIEL_API PyramidSink {
 public:
  virtual ~PyramidSink() = default;
  /// A chunk of level `level` (1 is the first that is made) that begins at `begin`, a multiple of the chunk's extents;
  /// at the end of an axis it is shorter. Every chunk comes once, through this function or the next.
  virtual void write(int level, const Extents& begin, const ConstTensor& chunk) = 0;
  /// A chunk that holds one value only, because it is made of what the source said is uniform. The default writes it.
  virtual void write_uniform(int level, const Extents& begin, const Extents& shape, const void* element, Dtype dtype);
  /// A box of a chunk that several ranks make together (PyramidOptions::ranks); none has all of it. The default throws.
  virtual void write_part(int level, const Extents& begin, const ConstTensor& box);
};

/// Processes that make one pyramid together: all call build_pyramid with the same arguments, and each reads a part of
/// level 0 that no other reads.
class ORIEL_API PyramidRanks {
 public:
  virtual ~PyramidRanks() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// Called once by every rank: if one says that it failed (a text that is not empty), throws on all.
  virtual void agree(const std::string& failure) = 0;
  /// Called by every rank if windows of some level are larger than what a process reads at once: rank 0 gets the
  /// bitwise or of the bytes of all.
  virtual void unite(void* bytes, index_t count) = 0;
};

struct PyramidOptions {
  int threads = 0;                ///< 0: all that the process may use
  bool with_base = false;         ///< whether the sink gets level 0 too, as it is
  std::vector<Extents> chunks{};  ///< of each level that the sink gets, or one for all; empty: 64 along the last three
                                  ///< axes, 1 along others
  Extents source_chunk{};         ///< of level 0: boxes that are read hold whole ones if that needs little memory
  index_t memory = 0;             ///< largest number of bytes of buffers, of each rank; 0: no bound
  PyramidRanks* ranks = nullptr;  ///< null: this process makes all
};

/// How a pyramid will be made.
struct PyramidPlan {
  std::vector<PyramidLevel> levels;  ///< level 0 first
  std::vector<Extents> chunks;       ///< of each level; that of level 0 is empty unless the sink gets it
  Extents tile;                      ///< the largest box of level 0 that is read at once
  index_t tiles = 0;
  int threads = 1;
  index_t memory = 0;  ///< bytes of buffers at the most: tiles, and chunks of which a part has been made

  friend bool operator==(const PyramidPlan&, const PyramidPlan&) = default;
};
/// Throws Error if more memory is needed than options.memory; it says how much.
ORIEL_API PyramidPlan plan_pyramid(const Pyramid& pyramid, Dtype dtype, const Extents& shape,
                                   const PyramidOptions& options = {});

/// What happened, in this process.
struct PyramidReport {
  index_t tiles_read = 0, tiles_uniform = 0;
  index_t chunks_written = 0, chunks_uniform = 0;
  index_t peak_memory = 0;  ///< bytes of buffers, as counted
};

/// Makes all levels of the pyramid. Level 0 is read once, box by box, and no level is kept: chunks go to the sink as
/// they become whole. Results do not depend on threads, chunks or memory. What the source or the sink throws ends the
/// call and reaches the caller. `done`, if given, is called with the number of tiles that are done, and of all. Throws
/// Error.
ORIEL_API PyramidReport build_pyramid(const Pyramid& pyramid, Dtype dtype, const Extents& shape, PyramidSource& source,
                                      PyramidSink& sink, const PyramidOptions& options = {},
                                      void (*done)(void* context, index_t tiles, index_t of) = nullptr,
                                      void* context = nullptr);

/// The same for tensors in memory: `levels` are levels 1 and up, of the dtypes and shapes that pyramid_levels returns.
ORIEL_API PyramidReport build_pyramid(const Pyramid& pyramid, const ConstTensor& x, const std::vector<Tensor>& levels,
                                      const PyramidOptions& options = {});

}  // namespace oriel
