#include "cpu/channels/across_rows.h"

#include <algorithm>

namespace oriel::cpu {

AcrossRows::AcrossRows(const ChannelAxes& axes, index_t elems, Arena& arena)
    : axes_(axes), how_(axes.job.plain), taps_(axes, elems, arena), powers_(how_) {
  index_t most_taps = 1;
  for (int a : axes.across) most_taps = std::max(most_taps, axes.axis(a).kernel);
  inputs_ = arena.take_array<const std::byte*>(most_taps);
  powers_.make(most_taps, elems, arena);
  if (axes.across.size() < kMostAcross) return;
  const Axis& second = axes.axis(axes.across[1]);
  folded_ = arena.take_array<RowIn>(second.kernel);
  absent_ = arena.take(elems * how_.value_bytes + 128);
  fill_copies(absent_, how_.identity.data(), how_.value_bytes, elems);
  const index_t inputs = std::min(second.in, second.adaptive ? second.kernel + 1 : second.extent());
  ring_rows_ = static_cast<index_t>(std::bit_ceil(static_cast<std::uint64_t>(std::max<index_t>(1, inputs))));
  row_bytes_ = (elems * how_.value_bytes + 127) / 64 * 64;
  ring_ = arena.take(ring_rows_ * row_bytes_ + 128);
  keys_ = arena.take_array<index_t>(ring_rows_);
}

void AcrossRows::begin_part() {
  taps_.set_watched(0);
  for (index_t i = 0; i < ring_rows_; ++i) keys_[i] = -1;
}

void AcrossRows::begin_tile() {
  special_ = false;
  begin_part();
}

void AcrossRows::fold(const RowCoords& c, const std::byte* x, index_t places, index_t lanes, std::byte* out) {
  places_ = places;
  lanes_ = lanes;
  if (axes_.across.size() == kMostAcross) return fold_two(c, x, out);
  if (axes_.across.empty()) return fold_down(-1, 0, x, out);
  fold_down(axes_.across[0], c[at(axes_.across[0])], x, out);
}

// Folds along the first axis what the second one needs, once for all windows of the second that read it.
void AcrossRows::fold_two(const RowCoords& c, const std::byte* x, std::byte* out) {
  const int first = axes_.across[0], second = axes_.across[1];
  const Axis& axis = axes_.axis(second);
  const index_t o = c[at(second)], width = axis.width(o), start = axis.start(o), pitch = axes_.input_bytes(second);
  for (index_t t = 0; t < width; ++t) {
    const index_t input = axis.input_at(start + t * axis.dilation);
    folded_[t] = {absent_, nullptr, 0};
    if (input < 0) continue;
    const index_t slot = input & (ring_rows_ - 1), key = c[at(first)] * axis.in + input;
    std::byte* folded = ring_ + slot * row_bytes_;
    folded_[t].value = folded;
    if (keys_[slot] == key) continue;
    keys_[slot] = key;
    taps_.set_watched(0);  // what was watched at another place tells nothing
    fold_down(first, c[at(first)], x + input * pitch, folded);
  }
  powers_.fold(folded_, width, places_ * lanes_, {out, nullptr});
}

// Folds rows of elements along an axis across them; without one, only lifts a row.
void AcrossRows::fold_down(int number, index_t output, const std::byte* x, std::byte* out) {
  const index_t unwatched = taps_.list(number, output, x, inputs_);
  const index_t width = number >= 0 ? axes_.axis(number).width(output) : 1;
  powers_.fold(width, places_ * lanes_, {out, nullptr}, [&](index_t begin, index_t count, RowOut to) {
    fold_elements(begin, count, std::clamp<index_t>(unwatched - (width - begin - count), 0, count),
                  static_cast<std::byte*>(to.value));
    return RowIn{to.value, nullptr, 0};
  });
}

// The rows inputs_[first, first + count), the last `watched` of which are looked at.
void AcrossRows::fold_elements(index_t first, index_t count, index_t watched, std::byte* out) {
  const int n = static_cast<int>(count), new_rows = static_cast<int>(watched);
  const auto* rows = reinterpret_cast<const void* const*>(inputs_ + first);
  if (axes_.dense || places_ == 1) {
    special_ |= axes_.kernels.fold_elements(rows, n, new_rows, places_ * lanes_, out);
    return;
  }
  const void* here[kMaxFold];
  for (index_t p = 0; p < places_; ++p) {
    for (index_t t = 0; t < count; ++t) {
      const std::byte* row = inputs_[first + t];
      here[t] = row == taps_.absent() ? row : row + p * axes_.in_pitch * how_.in_bytes;
    }
    special_ |= axes_.kernels.fold_elements(here, n, new_rows, lanes_, out + p * lanes_ * how_.value_bytes);
  }
}

}  // namespace oriel::cpu
