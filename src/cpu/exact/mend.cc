#include "cpu/exact/mend.h"

#include <algorithm>
#include <limits>

namespace oriel::cpu {
namespace {

constexpr index_t kManyInputs = 128;      // for every result: to look at each takes less than to fold them
constexpr index_t kSomeResults = 16;      // otherwise one of so many may be zero
constexpr index_t kLookedThrough = 4096;  // elements of rows that lie one after the other
constexpr index_t kCounted = 512;         // of them whose zeros are counted together
constexpr index_t kPiece = 128;           // of a row with a NaN
constexpr index_t kWritten = 4;           // inputs for each result that may be written without a loss

constexpr std::size_t at(index_t i) { return static_cast<std::size_t>(i); }

template <class Bits>
constexpr Bits kMagnitude = std::numeric_limits<Bits>::max() / 2;  // all but the sign

template <class Bits>
bool is_zero(Bits x) {
  return (x & kMagnitude<Bits>) == 0;
}

// At most `most` and a piece. In pieces, so that the sum is of as many bits as the elements.
template <class Bits>
index_t count_zeros(const Bits* x, index_t n, index_t most) {
  index_t all = 0;
  for (index_t begin = 0; begin < n && all <= most; begin += kCounted) {
    Bits zeros = 0;
    for (index_t i = begin; i < std::min(n, begin + kCounted); ++i) zeros += is_zero(x[i]) ? Bits{1} : Bits{0};
    all += static_cast<index_t>(zeros);
  }
  return all;
}

}  // namespace

bool mends(const FoldJob& job) {
  if (job.problem == nullptr || job.index != nullptr || !is_floating(job.problem->dtype)) return false;
  const Pool& pool = job.problem->pool;
  return (pool.op == Op::max || pool.op == Op::min) && pool.nan != NanPolicy::omit;
}

Mender::Mender(const FoldJob& job, index_t plane, const OutputBox& box)
    : job_(job),
      layout_(job.layout),
      box_(box),
      plane_(layout_.plane_offsets(plane)),
      inputs_(box.lanes.size()),
      outputs_(box.lanes.size()) {
  for (int a = 0; a < layout_.pooled(); ++a) {
    needs_[at(a)] = layout_.axis[at(a)].axis.needs(box.outputs[at(a)]);
    inputs_ *= needs_[at(a)].size();
    outputs_ *= box.outputs[at(a)].size();
  }
}

bool Mender::find_nan() {
  const auto has = [this](const void* x, index_t elems) { return job_.plain.scan(x, elems, false) ? 1 : 0; };
  const auto find_beyond = [&]<class Bits>(Bits infinity) {
    return find<Bits>(has, [infinity](Bits x) { return (x & kMagnitude<Bits>) > infinity; });
  };
  switch (job_.problem->dtype) {
    case Dtype::f64:
      return find_beyond(std::uint64_t{0x7ff0000000000000});
    case Dtype::f32:
      return find_beyond(std::uint32_t{0x7f800000});
    case Dtype::f16:
      return find_beyond(std::uint16_t{0x7c00});
    default:
      return find_beyond(std::uint16_t{0x7f80});
  }
}

void Mender::write_nan() {
  // In scan order, so that the last NaN of a window stays.
  std::sort(places_.begin(), places_.end(), [](const Place& a, const Place& b) { return a.input < b.input; });
  const auto all = [](auto) { return true; };
  switch (size_bytes(job_.problem->dtype)) {
    case 8:
      return write<std::uint64_t>(all);
    case 4:
      return write<std::uint32_t>(all);
    default:
      return write<std::uint16_t>(all);
  }
}

bool Mender::sign_zeros() {
  switch (size_bytes(job_.problem->dtype)) {
    case 8:
      return sign<std::uint64_t>();
    case 4:
      return sign<std::uint32_t>();
    default:
      return sign<std::uint16_t>();
  }
}

index_t Mender::offset(const Coords& c, Operand operand) const {
  index_t sum = plane_[operand] + box_.lanes.begin * layout_.lanes.pitch[operand];
  for (int a = 0; a < layout_.pooled(); ++a) sum += c[at(a)] * layout_.axis[at(a)].pitch[operand];
  return sum;
}

// Calls body(first place of a row) for all rows of a part, until it gives false.
template <class Body>
void Mender::each_row(const std::array<Range, kMaxPooledAxes>& part, const Body& body) const {
  Coords c{};
  for (int a = 0; a < layout_.pooled(); ++a) {
    if (part[at(a)].empty()) return;
    c[at(a)] = part[at(a)].begin;
  }
  for (int a = 0; a >= 0;) {
    if (!body(c)) return;
    for (a = layout_.pooled() - 1; a >= 0; --a) {
      if (a == layout_.row_axis) continue;
      if (++c[at(a)] < part[at(a)].end) break;
      c[at(a)] = part[at(a)].begin;
    }
  }
}

index_t Mender::row_size(const std::array<Range, kMaxPooledAxes>& part) const {
  return layout_.row_axis < 0 ? 1 : part[at(layout_.row_axis)].size();
}

Range Mender::fed(int axis, index_t input) const {
  return intersect(layout_.axis[at(axis)].axis.feeds(input), box_.outputs[at(axis)]);
}

bool Mender::add(const Coords& input, index_t lane) {
  index_t windows = 1;
  for (int a = 0; a < layout_.pooled(); ++a) windows *= fed(a, input[at(a)]).size();
  if (windows == 0) return true;  // between windows
  written_ += windows;
  if (written_ > std::max(outputs_, inputs_ / kWritten) || places_.size() == kMostPlaces) return false;
  places_.push_back({input, lane});
  return true;
}

// Rows that lie one after the other are looked through as one, and row by row only if `has` gives not 0: how many are
// in them, at least.
template <class Bits, class Has, class Is>
bool Mender::find(const Has& has, const Is& is) {
  places_.clear();
  written_ = 0;
  const index_t n = row_size(needs_), lanes = box_.lanes.size(), lane_pitch = layout_.lanes.pitch[kX];
  const index_t pitch = layout_.row_axis < 0 ? lanes : layout_.axis[at(layout_.row_axis)].pitch[kX];
  const bool dense = (lanes == 1 || lane_pitch == 1) && (n == 1 || pitch == lanes);
  const auto* from = static_cast<const Bits*>(job_.x);
  bool few = true;
  const auto may_have = [&](const Bits* x, index_t elems) {
    if (!dense) return true;
    const index_t many = has(x, elems);
    few = few && many <= kMostPlaces;
    return few && many != 0;
  };
  const auto look_at_row = [&](const Coords& first) {
    const Bits* x = from + offset(first, kX);
    if (!may_have(x, n * lanes)) return few;
    Coords c = first;
    const index_t piece = std::max<index_t>(1, kPiece / lanes);
    for (index_t begin = 0; begin < n && few; begin += piece) {
      const index_t end = std::min(n, begin + piece);
      if (!may_have(x + begin * pitch, (end - begin) * lanes)) continue;
      for (index_t i = begin; i < end && few; ++i) {
        if (layout_.row_axis >= 0) c[at(layout_.row_axis)] = needs_[at(layout_.row_axis)].begin + i;
        for (index_t l = 0; l < lanes && few; ++l) {
          if (is(x[i * pitch + l * lane_pitch])) few = add(c, l);
        }
      }
    }
    return few;
  };
  int inner = layout_.pooled() - 1;  // the axis that rows are counted by first
  if (inner == layout_.row_axis) --inner;
  if (!dense || inner < 0 || layout_.axis[at(inner)].pitch[kX] != n * lanes) {
    each_row(needs_, look_at_row);
    return few;
  }
  const Range rows = needs_[at(inner)];
  const index_t some = std::max<index_t>(1, kLookedThrough / std::max<index_t>(1, n * lanes));
  auto runs = needs_;
  runs[at(inner)].end = std::min(rows.end, rows.begin + 1);
  each_row(runs, [&](const Coords& first) {
    for (Coords c = first; c[at(inner)] < rows.end && few;) {
      const index_t end = std::min(rows.end, c[at(inner)] + some);
      if (!may_have(from + offset(c, kX), (end - c[at(inner)]) * n * lanes)) {
        c[at(inner)] = end;
        continue;
      }
      for (; c[at(inner)] < end && few; ++c[at(inner)]) look_at_row(c);
    }
    return few;
  });
  return few;
}

template <class Bits, class Changes>
void Mender::write(const Changes& changes) {
  const index_t lane_x = layout_.lanes.pitch[kX], lane_y = layout_.lanes.pitch[kY];
  for (const Place& place : places_) {
    const Bits value = static_cast<const Bits*>(job_.x)[offset(place.input, kX) + place.lane * lane_x];
    std::array<Range, kMaxPooledAxes> windows;
    for (int a = 0; a < layout_.pooled(); ++a) windows[at(a)] = fed(a, place.input[at(a)]);
    const index_t n = row_size(windows);
    each_row(windows, [&](const Coords& first) {
      const auto reads = [&](int a, index_t o) {  // where dilation leaves gaps, not all windows do that span it
        const Axis& axis = layout_.axis[at(a)].axis;
        return axis.dilation == 1 || axis.tap_of(o, place.input[at(a)]) >= 0;
      };
      for (int a = 0; a < layout_.pooled(); ++a) {
        if (a != layout_.row_axis && !reads(a, first[at(a)])) return true;
      }
      Bits* y = static_cast<Bits*>(job_.y) + offset(first, kY) + place.lane * lane_y;
      const auto put = [&](Bits& result) { result = changes(result) ? value : result; };
      if (layout_.row_axis < 0) {
        put(*y);
        return true;
      }
      const PooledAxis& row = layout_.axis[at(layout_.row_axis)];
      if (row.axis.dilation == 1 && row.pitch[kY] == 1) {
        std::for_each(y, y + n, put);
        return true;
      }
      for (index_t o = 0; o < n; ++o) {
        if (reads(layout_.row_axis, first[at(layout_.row_axis)] + o)) put(y[o * row.pitch[kY]]);
      }
      return true;
    });
  }
}

// Of windows along one row, whose first zero only moves on.
template <class Bits>
void Mender::sign_row() {
  const PooledAxis& row = layout_.axis[0];
  const auto* x = static_cast<const Bits*>(job_.x) + offset({}, kX);
  Bits* y = static_cast<Bits*>(job_.y) + offset({}, kY);
  const index_t stride = row.axis.stride, kernel = row.axis.kernel, in = row.axis.in, pitch = row.pitch[kY];
  index_t zero = 0, start = row.axis.start(box_.outputs[0].begin);
  for (index_t o = box_.outputs[0].begin; o < box_.outputs[0].end; ++o, start += stride) {
    if (!is_zero(y[o * pitch])) continue;
    const index_t end = std::min(in, start + kernel);
    zero = std::max(zero, start);
    while (zero < end && !is_zero(x[zero])) ++zero;
    if (zero < end) y[o * pitch] = x[zero];
  }
}

template <class Bits>
bool Mender::sign() {
  // Wider elements are folded again sooner.
  if (sizeof(Bits) == 2 && layout_.pooled() == 1 && layout_.row_axis == 0 && box_.lanes.size() == 1) {
    const PooledAxis& row = layout_.axis[0];
    if (!row.axis.adaptive && row.axis.dilation == 1 && row.axis.spacing == 1 && row.pitch[kX] == 1) {
      sign_row<Bits>();
      return true;
    }
  }
  const index_t n = row_size(box_.outputs), lanes = box_.lanes.size(), lane_pitch = layout_.lanes.pitch[kY];
  const index_t pitch = layout_.row_axis < 0 ? lanes : layout_.axis[at(layout_.row_axis)].pitch[kY];
  const bool dense = (lanes == 1 || lane_pitch == 1) && (n == 1 || pitch == lanes);
  const index_t most = inputs_ >= kManyInputs * outputs_ ? outputs_ : outputs_ / kSomeResults;
  index_t zeros = 0;
  each_row(box_.outputs, [&](const Coords& first) {
    const Bits* y = static_cast<const Bits*>(job_.y) + offset(first, kY);
    zeros += dense ? count_zeros(y, n * lanes, most) : 0;
    return zeros <= most;
  });
  if (dense && zeros == 0) return true;
  const auto has = [](const Bits* x, index_t elems) { return count_zeros(x, elems, kMostPlaces); };
  if (find<Bits>(has, is_zero<Bits>)) {
    // Against scan order, so that the first zero of a window stays.
    std::sort(places_.begin(), places_.end(), [](const Place& a, const Place& b) { return a.input > b.input; });
    write<Bits>(is_zero<Bits>);
    return true;
  }
  if (zeros > most) return false;
  bool few = true;
  each_row(box_.outputs, [&](const Coords& first) {
    Bits* y = static_cast<Bits*>(job_.y) + offset(first, kY);
    if (dense && std::none_of(y, y + n * lanes, is_zero<Bits>)) return true;
    Coords c = first;
    for (index_t o = 0; o < n && few; ++o) {
      if (layout_.row_axis >= 0) c[at(layout_.row_axis)] = first[at(layout_.row_axis)] + o;
      for (index_t l = 0; l < lanes && few; ++l) {
        Bits& result = y[o * pitch + l * lane_pitch];
        if (is_zero(result)) few = sign_one(c, l, result);
      }
    }
    return few;
  });
  return few;
}

// Looks through the window's taps, the last axis's first, for the first zero.
template <class Bits>
bool Mender::sign_one(const Coords& o, index_t lane, Bits& y) {
  const int last = layout_.pooled() - 1;
  const Bits* x = static_cast<const Bits*>(job_.x) + plane_[kX] + (box_.lanes.begin + lane) * layout_.lanes.pitch[kX];
  std::array<Range, kMaxPooledAxes> taps;
  Coords t{};
  for (int a = 0; a <= last; ++a) {
    taps[at(a)] = layout_.axis[at(a)].axis.taps(o[at(a)]);
    if (taps[at(a)].empty()) return true;
    t[at(a)] = taps[at(a)].begin;
  }
  const auto input = [&](int a, index_t tap) {
    const Axis& axis = layout_.axis[at(a)].axis;
    return axis.input_at(axis.at(o[at(a)], tap));
  };
  const Axis& along = layout_.axis[at(last)].axis;
  const bool spaced = along.spacing != 1;  // some taps may be between inputs
  const index_t start = along.start(o[at(last)]);
  for (int a = 0; a >= 0;) {
    index_t row = 0;
    bool there = true;
    for (int b = 0; b < last; ++b) {
      const index_t i = input(b, t[at(b)]);
      there = there && i >= 0;
      row += i * layout_.axis[at(b)].pitch[kX];
    }
    for (index_t u = taps[at(last)].begin; there && u < taps[at(last)].end; ++u) {
      const index_t i = spaced ? input(last, u) : start + u * along.dilation;
      if (i < 0) continue;
      if (++looked_ > inputs_ / 4 + outputs_) return false;
      const Bits value = x[row + i * layout_.axis[at(last)].pitch[kX]];
      if (!is_zero(value)) continue;
      y = value;
      return true;
    }
    for (a = last - 1; a >= 0; --a) {
      if (++t[at(a)] < taps[at(a)].end) break;
      t[at(a)] = taps[at(a)].begin;
    }
  }
  return true;
}

}  // namespace oriel::cpu
