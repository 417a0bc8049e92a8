#include "reference/geometry.h"

#include <algorithm>

namespace oriel::reference {
namespace {

// S1 for explicit padding, found by counting. Ceil mode takes one more window where the last one stops short of the
// end, then drops the last window if it would start behind the input and the padding before it.
index_t count_windows(index_t in, index_t lo, index_t hi, index_t span, index_t stride, bool ceil_mode) {
  index_t windows = 0;
  for (index_t start = -lo; start + span <= in + hi; start += stride) ++windows;
  if (windows == 0) return 0;
  const auto start_of = [&](index_t o) { return o * stride - lo; };
  if (ceil_mode && start_of(windows - 1) + span < in + hi) ++windows;
  if (ceil_mode && start_of(windows - 1) >= in) --windows;
  return windows;
}

Line make_uniform(const Pooling& p, std::size_t i, index_t in) {
  const index_t kernel = p.kernel[i], stride = p.stride[i], dilation = p.dilation[i];
  const index_t span = dilation * (kernel - 1) + 1;
  index_t lo = p.pad_lo[i], hi = p.pad_hi[i], out = 0;
  if (p.pads == Pads::given) {
    out = count_windows(in, lo, hi, span, stride, p.ceil_mode);
  } else {
    while (out * stride < in) ++out;  // ceil(in / stride)
    const index_t total = std::max<index_t>((out - 1) * stride + span - in, 0);
    const index_t small = total / 2, large = total - small;
    lo = p.pads == Pads::same_upper ? small : large;
    hi = p.pads == Pads::same_upper ? large : small;
  }
  Line line;
  line.in = in;
  line.feeders.assign(static_cast<std::size_t>(in), std::vector<index_t>(static_cast<std::size_t>(kernel), -1));
  for (index_t o = 0; o < out; ++o) {
    std::vector<index_t> reads;
    index_t counted = 0;
    for (index_t t = 0; t < kernel; ++t) {
      const index_t place = o * stride - lo + t * dilation;
      const bool exists = place >= 0 && place < in;
      reads.push_back(exists ? place : -1);
      if (place >= -lo && place < in + hi) ++counted;
      // The last tap of the first output comes first: ascending outputs.
      if (exists) line.feeders[static_cast<std::size_t>(place)][static_cast<std::size_t>(kernel - 1 - t)] = o;
    }
    line.reads.push_back(reads);
    line.counted.push_back(counted);
  }
  return line;
}

Line make_even(index_t in, index_t out) {
  Line line;
  line.in = in;
  line.feeders.resize(static_cast<std::size_t>(in));
  for (index_t o = 0; o < out; ++o) {
    const index_t begin = o * in / out;
    const index_t end = ((o + 1) * in + out - 1) / out;
    std::vector<index_t> reads;
    for (index_t place = begin; place < end; ++place) {
      reads.push_back(place);
      line.feeders[static_cast<std::size_t>(place)].push_back(o);
    }
    line.reads.push_back(reads);
    line.counted.push_back(end - begin);
  }
  return line;
}

}  // namespace

std::vector<Line> make_lines(const Pooling& pooling) {
  std::vector<Line> lines;
  for (std::size_t i = 0; i < pooling.axes.size(); ++i) {
    const index_t in = pooling.shape[static_cast<std::size_t>(pooling.axes[i])];
    if (pooling.windows == Windows::uniform)
      lines.push_back(make_uniform(pooling, i, in));
    else
      lines.push_back(make_even(in, pooling.windows == Windows::global ? 1 : pooling.output_size[i]));
    for (const auto& taps : lines.back().reads)
      lines.back().largest_window = std::max(lines.back().largest_window, static_cast<index_t>(taps.size()));
  }
  return lines;
}

std::vector<index_t> output_shape(const Pooling& pooling) {
  const std::vector<Line> lines = make_lines(pooling);
  std::vector<index_t> shape = pooling.shape;
  for (std::size_t i = 0; i < lines.size(); ++i) shape[static_cast<std::size_t>(pooling.axes[i])] = lines[i].out();
  return shape;
}

namespace {

// All combinations of one list of places per pooled axis.
Window combine(const std::vector<index_t>& shape, const std::vector<int>& axes,
               const std::vector<const std::vector<index_t>*>& lists, std::vector<index_t> at) {
  Window window;
  std::vector<index_t> nominal;
  for (const auto* list : lists) {
    window.sizes.push_back(list->size());
    nominal.push_back(static_cast<index_t>(list->size()));
  }
  std::vector<index_t> taps(nominal.size(), 0);
  for (index_t t = count_of(nominal); t > 0; --t) {
    bool exists = true;
    for (std::size_t i = 0; i < axes.size(); ++i) {
      const index_t place = (*lists[i])[static_cast<std::size_t>(taps[i])];
      exists = exists && place >= 0;
      at[static_cast<std::size_t>(axes[i])] = place;
    }
    window.elements.push_back(exists ? flatten(shape, at) : -1);
    for (std::size_t i = taps.size(); i-- > 0;) {  // the next taps in row-major order
      if (++taps[i] < nominal[i]) break;
      taps[i] = 0;
    }
  }
  return window;
}

}  // namespace

Window window_of(const Pooling& pooling, const std::vector<Line>& lines, const std::vector<index_t>& output) {
  std::vector<const std::vector<index_t>*> lists;
  for (std::size_t i = 0; i < lines.size(); ++i)
    lists.push_back(&lines[i].reads[static_cast<std::size_t>(output[static_cast<std::size_t>(pooling.axes[i])])]);
  return combine(pooling.shape, pooling.axes, lists, output);
}

Window feeders_of(const Pooling& pooling, const std::vector<Line>& lines, const std::vector<index_t>& input) {
  std::vector<const std::vector<index_t>*> lists;
  std::vector<index_t> shape = pooling.shape;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::size_t axis = static_cast<std::size_t>(pooling.axes[i]);
    shape[axis] = lines[i].out();
    lists.push_back(&lines[i].feeders[static_cast<std::size_t>(input[axis])]);
  }
  return combine(shape, pooling.axes, lists, input);
}

index_t divisor_of(const Pooling& pooling, const std::vector<Line>& lines, const std::vector<index_t>& output,
                   index_t left_out) {
  if (pooling.divisor != 0) return pooling.divisor;
  index_t divisor = 1;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::size_t o = static_cast<std::size_t>(output[static_cast<std::size_t>(pooling.axes[i])]);
    index_t existing = 0;
    for (index_t place : lines[i].reads[o]) existing += place >= 0 ? 1 : 0;
    divisor *= pooling.count_include_pad ? lines[i].counted[o] : existing;
  }
  return divisor - left_out;
}

std::vector<index_t> coordinates(const std::vector<index_t>& shape, index_t flat) {
  std::vector<index_t> at(shape.size());
  for (std::size_t a = shape.size(); a-- > 0;) {
    at[a] = flat % shape[a];
    flat /= shape[a];
  }
  return at;
}

index_t flatten(const std::vector<index_t>& shape, const std::vector<index_t>& at) {
  index_t flat = 0;
  for (std::size_t a = 0; a < shape.size(); ++a) flat = flat * shape[a] + at[a];
  return flat;
}

index_t count_of(const std::vector<index_t>& shape) {
  index_t count = 1;
  for (index_t extent : shape) count *= extent;
  return count;
}

}  // namespace oriel::reference
