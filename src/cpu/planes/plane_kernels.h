// Planes whose rows are runs of memory: a band of rows of outputs is folded, lowered and stored in one call.
#pragma once

#include <array>

#include "cpu/element/epilogue.h"
#include "cpu/element/kinds.h"
#include "oriel/problem.h"
#include "oriel/types.h"

namespace oriel::cpu {

/// A band of rows of outputs. Distances are in elements.
struct PlaneBand : PlaneLowering {
  // Across: tap t of row r is the row taps[r * across + t]; an absent one is a row of identities.
  const void* const* taps = nullptr;
  const void* x_end = nullptr;  // up to here, what follows a row can be read; null: nothing can
  index_t rows = 0;
  int across = 1;           // taps of a window
  bool ascends = false;     // every row is the one before without its first tap, and with one more
  index_t in_elems = 0;     // of a row of inputs
  index_t ahead_bytes = 0;  // of inputs to prefetch for every row of outputs,
  int ahead_taps = 1;       // seen from each of its last taps
  // Between: `batch` folded rows, identities before and after each.
  void* folded = nullptr;
  index_t folded_pitch = 0;
  index_t batch = 1;
  // Along: tap t of element j of position o looks at begin + (o * stride + t * dilation) * lanes + j.
  index_t begin = 0;
  index_t tap_pitch = 1;  // dilation * lanes
  int along = 1;          // taps of a window
  index_t stride = 1;
  index_t lanes = 1;
  index_t out_elems = 0;
  void* y = nullptr;
  index_t y_pitch = 0;
  void* compact = nullptr;       // room for a row of outputs before they are lowered
  const void* select = nullptr;  // what PlaneKernel::prepare has written
};

/// Positions of `lanes` elements, `stride` of them apart, that lie in a vector of 16 bytes.
constexpr index_t positions_in_16_bytes(index_t stride, index_t lanes, index_t lane_bytes) {
  const index_t vector = 16 / lane_bytes;
  return lanes > vector ? 0 : (vector - lanes) / (stride * lanes) + 1;
}

/// Most bytes that PlaneKernel::prepare writes.
inline constexpr index_t kPlaneSelectBytes = 8 * 64;

/// The kernels of one reduction and element type; without `fold` there are none.
struct PlaneKernel {
  /// True when a NaN or a negative zero was met: then what was written is not to be trusted.
  bool (*fold)(const PlaneBand& band) = nullptr;
  /// The fold across alone, into the band's rows of folded elements; true as above.
  bool (*fold_across)(const PlaneBand& band) = nullptr;
  /// The fold of rows of folded elements.
  bool (*fold_again)(const PlaneBand& band) = nullptr;
  /// Writes which elements a stride leaves over to `select`, of kPlaneSelectBytes.
  void (*prepare)(index_t stride, index_t lanes, void* select) = nullptr;
  index_t in_bytes = 0;                     // of an element of x, and of y
  index_t lane_bytes = 0;                   // of a folded element
  index_t vector = 1;                       // lanes of a vector
  index_t reach = 0;                        // elements that are read beyond the last tap of a folded row, at most
  std::array<unsigned char, 8> absent{};    // an element of x that counts as nothing
  std::array<unsigned char, 8> identity{};  // folded
  std::int16_t infinity = 0;                // for PlaneLowering
};

/// The kernels of one instruction set; older ones have none.
struct PlaneTable {
  PlaneKernel (*max)(Dtype dtype) = nullptr;
  PlaneKernel (*min)(Dtype dtype) = nullptr;
  PlaneKernel (*sum)(Lift lift, Dtype dtype) = nullptr;  // f32, f64; none, absolute or square
  PlaneKernel (*narrow)(Dtype dtype) = nullptr;          // sums of 8 and 16 bits, and of i32
  PlaneKernel (*bytes)(Dtype dtype) = nullptr;           // sums of 8 bits that sums_in_16_bits
};

/// The table of the instruction set in use.
const PlaneTable& plane_kernels();

void fill_plane_max(PlaneTable& table, std::size_t which);
void fill_plane_min(PlaneTable& table, std::size_t which);
void fill_plane_sum(PlaneTable& table, std::size_t which);
void fill_plane_narrow(PlaneTable& table, std::size_t which);

}  // namespace oriel::cpu
