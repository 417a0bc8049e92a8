// What the command line says: one struct per subcommand, filled by parse_command without doing any work.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "cli/usage.h"
#include "io/compression.h"
#include "oriel/problem.h"
#include "oriel/pyramid.h"
#include "oriel/tensor.h"

namespace oriel::cli {

/// Seconds that a rank waits for the others in one step, as the library's own ranks do (distributed::MpiOptions).
inline constexpr double kDefaultDeadline = 600;

/// `oriel pool`: pools a file into a file.
struct PoolCommand {
  std::string in, out;
  Pool pool;
  std::string mask, weights;  // files of arrays like IN; empty: none
  std::string indices;        // file for where each maximum was; empty: none
  IndexSpace index_space = IndexSpace::plane;
  std::optional<Dtype> dtype;            // what the input must hold
  std::string format;                    // of OUT; empty: its name tells, standard output is .npy
  bool replace_input = false;            // OUT may be IN
  std::optional<io::Compression> codec;  // of the chunks of OUT and of the indices
  int threads = 0;
  index_t memory = 0;                  // bytes that the process may hold; 0: what it takes
  double deadline = kDefaultDeadline;  // under mpirun
  bool progress = false;
  bool json = false;
  bool quiet = false;
};

/// `oriel pyramid`: makes the levels of resolution of a volume, or checks those of an image.
struct PyramidCommand {
  std::string in, out;
  std::string version = "0.5";  // of OME-Zarr
  Pool pool;
  bool labels = false;        // elements are numbers of segments
  bool usual_method = false;  // none was asked for: modes of what says that it is labels, `any` of booleans, else means
  bool usual_min_count = false;  // none was asked for: 1 if elements may have no data
  bool in_place = false;         // adds levels to IN
  std::string factor, chunk, shard, axes, spacing, translation, unit, origin;  // as typed; empty: not given
  int levels = 0;  // 0: until the coarsest fits into a chunk
  Edge edge = Edge::partial;
  std::optional<LevelSource> source;
  std::optional<io::Compression> codec;  // of chunks
  bool check = false;                    // looks at the levels of IN instead
  index_t sample = 1000;                 // elements of each level that --check recomputes
  std::string sheet;                     // a picture of all levels; empty: none
  std::string sheet_up;                  // names of axes that increase upwards in it
  std::optional<Dtype> dtype;            // what the input must hold
  int threads = 0;
  index_t memory = 0;                  // bytes that the process may hold; 0: 1 GiB
  double deadline = kDefaultDeadline;  // seconds that ranks wait for each other
  bool progress = false;
  bool json = false;
  bool quiet = false;
};

/// `oriel check`: runs problems in every way there is and compares.
struct CheckCommand {
  std::vector<Problem> problems;
  std::uint64_t seed = 1;
  bool json = false;
};

/// `oriel explain`: draws which inputs each output sees.
struct ExplainCommand {
  Problem problem;
  std::string svg;             // file; empty: none
  Extents output;              // whose plane is drawn; empty: the most telling one
  std::string mask, input;     // files of arrays of the input's shape; empty: none
  std::vector<index_t> ranks;  // bounds of parts of the last pooled axis; empty: it is not divided
  bool full = false;
  bool ascii = false;
  bool json = false;
  bool strategy = false;  // how it is carried out, instead of the drawing
};

/// `oriel bench`: times problems.
struct BenchCommand {
  std::vector<Problem> problems;
  Device device = Device::cpu;
  int threads = 1;
  int repetitions = 15;
  double seconds = 0.5;  // per problem, at least
  bool json = false;
};

/// What `oriel scale` takes for granted about a cluster.
struct Cluster {
  double latency = 2e-6;     // seconds from one node to another
  double network = 25e9;     // bytes a second, of a node
  double overhead = 0.4e-6;  // seconds of a message at its sender
  double memory = 4e9;       // bytes a second, of a rank
  index_t ranks_per_node = 1;
};

/// `oriel scale`: what a pool costs on many ranks, by arithmetic.
struct ScaleCommand {
  Problem problem;
  Extents grid;           // ranks along each axis of the tensor
  bool balanced = false;  // outputs in even parts, instead of where their windows' centres are
  Cluster cluster;
  bool json = false;
  bool by_old_name = false;  // asked for as `oriel plan`
};

/// `oriel tile`: shows what a kernel of the tile language becomes for a shape and a machine.
struct TileCommand {
  std::string kernel;  // "list": which there are
  Extents shape;
  Dtype dtype = Dtype::f32;
  std::string machine = "trn2", nki = "0.6";
  std::map<std::string, int> values;  // of the kernel's parameters
  std::string only;                   // ir, checks, report, picture or nki; empty: all of them
};

/// `oriel info`: what this build and machine are.
struct InfoCommand {
  bool json = false;
};

/// A text to print: help, the version, a completion script.
struct TextCommand {
  std::string text;
};

using Command = std::variant<TextCommand, PoolCommand, PyramidCommand, CheckCommand, ExplainCommand, BenchCommand,
                             ScaleCommand, TileCommand, InfoCommand>;

/// The arguments after the program's name as a command. Throws UsageError. Reads and writes no files.
Command parse_command(const std::vector<std::string>& arguments);

// Each subcommand: its work, its output, its exit code. They throw Error, or UsageError if the options do not fit
// the input.
int run_pool(const PoolCommand& command);
int run_pyramid(const PyramidCommand& command);
/// `oriel pyramid --check`.
int check_pyramid(const PyramidCommand& command);
int run_check(const CheckCommand& command);
int run_explain(const ExplainCommand& command);
int run_bench(const BenchCommand& command);
int run_scale(const ScaleCommand& command);
int run_tile(const TileCommand& command);
int run_info(const InfoCommand& command);

}  // namespace oriel::cli
