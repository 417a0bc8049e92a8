#include "cuda/staged_call.h"

#include <algorithm>

namespace oriel::cuda {
namespace {

constexpr index_t kMostShared = 96 * 1024;  // bytes of a block, where a single output needs more than kWantedShared
constexpr index_t kMostOutputs = 1 << 14;   // of a tile
constexpr index_t kRowWeight = 8;           // rows are cut last: runs of memory stay long

// Halves a tile along its longest axis; false when it is one output.
bool halve(index_t (&out)[3]) {
  const index_t weight[] = {out[0], out[1], out[2] > kRowWeight ? out[2] / kRowWeight : 0};
  const auto longest = std::max_element(weight, weight + 3);
  const index_t a = *longest > 1 ? longest - weight : out[2] > 1 ? 2 : 0;
  if (out[a] == 1) return false;
  out[a] = ceil_div(out[a], 2);
  return true;
}

// Whether a tile holds all of an axis, the inputs that no window reads too.
bool holds_all(const StagedAxis& s) {
  return s.tile == s.axis.out && s.axis.needs({0, s.axis.out}).size() == s.axis.in;
}

int joined(const StagedGeometry& g) {
  const Axis &d = g.axis[0].axis, &h = g.axis[1].axis, &w = g.axis[2].axis;
  const index_t row = w.in * g.lanes;
  if (!holds_all(g.axis[2]) || (h.in > 1 && g.x.row != row)) return 0;
  if (!holds_all(g.axis[1]) || (d.in > 1 && g.x.depth != h.in * row)) return 1;
  return holds_all(g.axis[0]) && g.x.plane == d.in * h.in * row ? 3 : 2;
}

bool fits(const Problem& p, const Planes& planes) {
  if (p.pool.op == Op::lp || p.pool.nan == NanPolicy::omit) return false;
  // Sums of 8 and 16-bit integers are 32-bit ones, codes too.
  if (p.taps() > (size_bytes(p.dtype) <= 2 ? index_t{1} << 15 : index_t{1} << 30)) return false;
  const auto most = index_t{1} << 30;
  for (const Axis* a : {&planes.d, &planes.h, &planes.w}) {
    if (a->kernel >= most_tree_values(kTreeLevels) || a->adjoint().kernel >= most_tree_values(kTreeLevels) ||
        a->stride >= most || a->extent() >= most || a->in >= most || a->out >= most || a->first <= -most) {
      return false;
    }
  }
  return true;
}

void describe(const Problem& p, const Planes& planes, StagedGeometry& g) {
  g.pooled = planes.pooled;
  g.planes = planes.count;
  g.lanes = static_cast<int>(planes.lanes);
  g.x = planes.x;
  g.y = planes.y;
  g.count_include_pad = p.pool.count_include_pad;
  g.divisor = p.pool.divisor;
  const Axis* const axes[] = {&planes.d, &planes.h, &planes.w};
  for (int a = 0; a < 3; ++a) {
    StagedAxis& s = g.axis[a];
    s.pool = *axes[a];
    s.axis = g.gradient ? s.pool.adjoint() : s.pool;
    s.kernel = static_cast<int>(s.pool.kernel);
    s.dilation = static_cast<int>(s.pool.dilation);
    s.spacing = Divider<std::uint32_t>(s.axis.spacing);
  }
}

}  // namespace

index_t span_of(const Axis& a, index_t n) {
  const index_t span = a.adaptive ? n * a.in / a.out + 2 : ((n - 1) * a.stride + a.extent() - 1) / a.spacing + 1;
  return std::min(a.in, span);
}

void StagedLayout::place_tables(const StagedGeometry& g, index_t input_bytes) {
  bytes = sizeof(StagedTile);
  for (int a = 0; a < 3; ++a) {
    in[a] = span_of(g.axis[a].axis, out[a]);
    table[a] = place(out[a] * static_cast<index_t>(sizeof(Taps)));
    share_table[a] = place(in[a] * input_bytes);
  }
}

index_t StagedLayout::count(const StagedGeometry& g) const {
  index_t n = ceil_div(g.planes, units);
  for (int a = 0; a < 3; ++a) n *= ceil_div(g.axis[a].axis.out, out[a]);
  return n;
}

void StagedLayout::set(StagedGeometry& g) const {
  g.units = static_cast<int>(units);
  g.elements = static_cast<int>(elements);
  g.folds = static_cast<int>(folds);
  for (int a = 0; a < 3; ++a) {
    StagedAxis& s = g.axis[a];
    s.table = static_cast<int>(table[a]);
    s.share_table = static_cast<int>(share_table[a]);
    s.tile = static_cast<int>(out[a]);
    s.tiles = Divider<std::uint32_t>(ceil_div(s.axis.out, out[a]));
  }
}

bool choose_tile(StagedGeometry& g, StagedLayout& tile,
                 void (*lay_out)(StagedLayout&, const StagedGeometry&, index_t, index_t), index_t first,
                 index_t second) {
  for (int a = 0; a < 3; ++a) tile.out[a] = g.axis[a].axis.out;
  const auto fits = [&](index_t most) {
    lay_out(tile, g, first, second);
    return tile.bytes <= most && tile.out[0] * tile.out[1] * tile.out[2] * g.lanes <= kMostOutputs;
  };
  while (!fits(kWantedShared) && halve(tile.out)) {
  }
  if (!fits(kMostShared)) return false;
  // More tiles, while what two of them share is a small part, or small beside the outputs.
  const Axis& h = g.axis[1].axis;
  const index_t shared = 2 * span_of(h, 1) - span_of(h, 2);
  const auto is_worth_halving = [&] {
    const index_t half = tile.out[1] / 2, span = span_of(h, half);
    return half >= 4 && (span > 4 * shared || 4 * span <= half);
  };
  while (tile.count(g) < kWantedTiles && is_worth_halving() && halve(tile.out)) {
  }
  tile.set(g);
  g.joined = joined(g);
  lay_out(tile, g, first, second);
  if (g.joined == 3) {  // planes that are one run of memory
    tile.units = std::clamp<index_t>(std::min(kWantedShared / 2 / tile.bytes, g.planes / kWantedTiles), 1, 256);
    lay_out(tile, g, first, second);
  }
  tile.set(g);
  return is_small(tile.count(g));
}

bool staged_call(const Forward& call, StagedGeometry& g) {
  const Problem& p = call.problem;
  Planes planes;
  if (!make_planes(p, call.x.pitch, call.y.pitch, planes) || !fits(p, planes)) return false;
  if (!all_have_taps(planes.d) || !all_have_taps(planes.h) || !all_have_taps(planes.w)) return false;
  describe(p, planes, g);
  return make_plane_indices(call, planes, g.index);
}

bool staged_call(const Problem& p, const ConstTensor& dy, const Tensor& dx, StagedGeometry& g) {
  Planes planes;
  if (!make_planes(p, dy.pitch, dx.pitch, planes) || !fits(p, planes)) return false;
  g.gradient = true;
  g.average = p.pool.op == Op::avg;
  describe(p, planes, g);
  return true;
}

}  // namespace oriel::cuda
