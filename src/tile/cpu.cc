// The vectorised way: chains of instructions, row by row. Rows lie along the last axis that is kept.
#include <cmath>
#include <memory>

#include "oriel/tensor.h"
#include "tile/element.h"
#include "tile/interpret.h"
#include "tile/parallel.h"
#include "tile/plan.h"
#include "tile/rows.h"
#include "tile/serial.h"
#include "tile/walk.h"

namespace oriel::tile {
namespace {

// An operand with the counters put in.
struct Place {
  void* data = nullptr;
  Dtype dtype = Dtype::f32;
  index_t offset = 0;
  Values stride;  // by axis

  index_t at(const Values& index) const {
    index_t flat = offset;
    for (std::size_t a = 0; a < stride.size(); ++a) flat += stride[a] * index[a];
    return flat;
  }
};

class Chain {
 public:
  Chain(const Program& program, std::span<const Instruction> chain, const std::vector<void*>& memory,
        const Values& counters)
      : chain_(chain), first_(chain[0]), part_(trim(first_, counters)) {
    const auto place = [&](const Instruction& i, const Access& access) {
      Place p;
      if (access.tensor < 0) {  // iota: the value itself
        p.offset = access.along[0].start.at(counters);
        p.stride = access.along[0].step;
        return p;
      }
      const Pattern pattern = lower(program, i, access);
      p.data = memory[static_cast<std::size_t>(access.tensor)];
      p.dtype = program.tensor(access.tensor).dtype;
      p.offset = pattern.offset.at(counters);
      for (const Step& s : pattern.steps) p.stride.push_back(s.stride);
      return p;
    };
    for (const Access& src : first_.src) sources_.push_back(place(first_, src));
    target_ = place(chain.back(), chain.back().dst);
    for (const Instruction& i : chain) dtypes_.push_back(program.tensor(i.dst.tensor).dtype);
    kept_ = first_.counts.size() - static_cast<std::size_t>(first_.reduced);
    if (first_.opcode == Opcode::tensor_reduce && !part_.empty) list_taps();
    for (const Place& src : sources_) reads_target_ = reads_target_ || src.data == target_.data;
    bits_ = std::all_of(chain.begin(), chain.end(), [&](const Instruction& i) {
      return (i.opcode == Opcode::dma_copy || i.opcode == Opcode::tensor_copy) && copies_bits(program, i);
    });
  }

  void run() const {
    if (part_.empty) return;
    const index_t begin = part_.begin[0], end = part_.end[0];
    index_t work = 1;  // elements of a partition
    for (std::size_t a = 1; a < part_.end.size(); ++a) work *= part_.end[a] - part_.begin[a];
    constexpr index_t least = 65536;  // elements that are worth a thread
    if (kept_ == 1 || end - begin == 1 || work * (end - begin) < 2 * least || !partitions_apart())
      return run_partitions(begin, end);
    spread(begin, end, std::max<index_t>(1, least / work),
           [this](index_t first, index_t last) { run_partitions(first, last); });
  }

 private:
  // Where vector code can fold them: the offsets of a window's taps.
  void list_taps() {
    const Place& src = sources_[0];
    const auto kept = static_cast<std::ptrdiff_t>(kept_);
    each_index(Values(part_.begin.begin() + kept, part_.begin.end()), Values(part_.end.begin() + kept, part_.end.end()),
               [&](const Values& tap) {
                 index_t offset = 0;
                 for (std::size_t a = 0; a < tap.size(); ++a) offset += src.stride[kept_ + a] * tap[a];
                 taps_.push_back(offset);
               });
    const FoldTaps f{taps_.data(), static_cast<index_t>(taps_.size()), src.stride[kept_ - 1]};
    // Rows of 16-bit floats whose windows overlap are widened once, with all that lies between the taps.
    const index_t row = (part_.end[kept_ - 1] - part_.begin[kept_ - 1] - 1) * f.stride;
    const bool is_narrow = src.dtype == Dtype::f16 || src.dtype == Dtype::bf16;
    const auto [least, most] = std::minmax_element(taps_.begin(), taps_.end());
    const index_t span = row + *most + 1;
    constexpr index_t kMostSpan = 8192;
    const bool as_it_lies = src.dtype == Dtype::f32 || (is_narrow && f.stride == 2);
    if (is_narrow && !as_it_lies && *least >= 0 && span <= std::min(kMostSpan, 4 * (row + 1) * f.taps)) span_ = span;
    if ((!as_it_lies && span_ == 0) || !can_fold_taps(first_.alu, f)) taps_.clear();
  }

  // Two partitions never write the same element, nor what another one reads.
  bool partitions_apart() const {
    index_t span = 1;
    for (std::size_t a = 1; a < kept_; ++a) span += std::abs(target_.stride[a]) * (part_.end[a] - part_.begin[a] - 1);
    for (const Place& src : sources_)
      if (src.data == target_.data && src.stride[0] != target_.stride[0]) return false;
    return std::abs(target_.stride[0]) >= span;
  }

  void run_partitions(index_t begin, index_t end) const {
    const std::size_t row_axis = kept_ - 1;
    Values from(part_.begin.begin(), part_.begin.begin() + static_cast<std::ptrdiff_t>(kept_));
    Values to(part_.end.begin(), part_.end.begin() + static_cast<std::ptrdiff_t>(kept_));
    from[0] = begin;
    to[0] = end;
    const index_t n = to[row_axis] - from[row_axis];
    to[row_axis] = from[row_axis] + 1;
    index_t rows = 1;  // of one block
    if (kept_ > 1) {
      rows = to[kept_ - 2] - from[kept_ - 2];
      to[kept_ - 2] = from[kept_ - 2] + 1;
    }
    constexpr index_t floats = 4096;  // a block stays in the first cache
    const index_t block = std::max<index_t>(1, std::min(rows, floats / n));
    const std::unique_ptr<float[]> buffer(new float[static_cast<std::size_t>(block * n + std::max(2 * n, span_))]);
    Values at(first_.counts.size(), 0);
    each_index(from, to, [&](const Values& place) {
      std::copy(place.begin(), place.end(), at.begin());
      for (index_t row = 0; row < rows; row += block) {
        if (kept_ > 1) at[kept_ - 2] = place[kept_ - 2] + row;
        run_block(at, std::min(block, rows - row), n, buffer.get());
      }
    });
  }

  // Neighbouring rows, from `at` on along the axis before the last.
  void run_block(Values& at, index_t rows, index_t n, float* buffer) const {
    const std::size_t axis = kept_ - 1;
    const index_t to = target_.at(at);
    const index_t to_row = kept_ > 1 ? target_.stride[kept_ - 2] : 0, to_stride = target_.stride[axis];
    // f32 rows are computed where they belong, unless something else is still to be read there.
    const bool in_place = target_.dtype == Dtype::f32 && to_stride == 1 && (rows == 1 || to_row == n) && !reads_target_;
    float* const out = in_place ? static_cast<float*>(target_.data) + to : buffer;
    for (index_t r = 0; r < rows; ++r) {
      if (bits_) {
        const Place& src = sources_[0];
        copy_row(src.data, src.at(at), src.stride[axis], target_.data, to + r * to_row, to_stride,
                 size_bytes(src.dtype), n);
      } else {
        compute(at, axis, n, out + r * n, buffer + rows * n);
      }
      if (kept_ > 1) ++at[kept_ - 2];
    }
    if (bits_) return;
    for (std::size_t c = 1; c < chain_.size(); ++c) {
      const Instruction& i = chain_[c];
      const float scalar = static_cast<float>(i.scalar);
      const float factor = i.opcode == Opcode::tensor_scalar ? factor_of(i.alu, scalar, i.scalar_first) : 0;
      round_row(out, dtypes_[c - 1], rows * n, factor != 0 ? factor : 1);
      if (factor != 0) continue;
      if (i.opcode == Opcode::tensor_scalar)
        apply_scalar(i.alu, out, scalar, i.scalar_first, rows * n);
      else if (i.opcode == Opcode::activation)
        apply_scalar(i.alu, out, 0, false, rows * n);
    }
    if (in_place) return;
    if (to_stride == 1 && to_row == n) return store_row(buffer, target_.data, target_.dtype, to, 1, rows * n);
    for (index_t r = 0; r < rows; ++r)
      store_row(buffer + r * n, target_.data, target_.dtype, to + r * to_row, to_stride, n);
  }

  void load(std::size_t s, const Values& at, std::size_t axis, index_t n, float* row) const {
    const Place& src = sources_[s];
    load_row(row, src.data, src.dtype, src.at(at), src.stride[axis], n);
  }

  void compute(Values& at, std::size_t axis, index_t n, float* row, float* other) const {
    switch (first_.opcode) {
      case Opcode::memset:
        std::fill_n(row, n, static_cast<float>(first_.scalar));
        return;
      case Opcode::iota:
        for (index_t i = 0; i < n; ++i) row[i] = static_cast<float>(sources_[0].at(at) + i * sources_[0].stride[axis]);
        return;
      case Opcode::tensor_reduce:
        return reduce(at, axis, n, row, other);
      case Opcode::select:
        load(0, at, axis, n, row);
        load(1, at, axis, n, other);
        load(2, at, axis, n, other + n);
        for (index_t i = 0; i < n; ++i) row[i] = row[i] != 0 ? other[i] : other[n + i];
        return;
      default:
        break;
    }
    load(0, at, axis, n, row);
    if (first_.opcode == Opcode::tensor_tensor) {
      load(1, at, axis, n, other);
      apply_rows(first_.alu, row, other, n);
    } else if (first_.opcode == Opcode::tensor_scalar) {
      apply_scalar(first_.alu, row, static_cast<float>(first_.scalar), first_.scalar_first, n);
    } else if (first_.opcode == Opcode::activation) {
      apply_scalar(first_.alu, row, 0, false, n);
    }
  }

  // Lanes are independent outputs; each folds its taps in the pattern's order.
  void reduce(Values& at, std::size_t axis, index_t n, float* row, float* other) const {
    const Place& src = sources_[0];
    if (!taps_.empty()) {
      const FoldTaps f{taps_.data(), static_cast<index_t>(taps_.size()), src.stride[axis]};
      const std::byte* x = static_cast<const std::byte*>(src.data) + src.at(at) * size_bytes(src.dtype);
      if (span_ == 0) return fold_taps(first_.alu, row, x, src.dtype, f, n);
      load_row(other, src.data, src.dtype, src.at(at), 1, span_);
      return fold_taps(first_.alu, row, other, Dtype::f32, f, n);
    }
    bool first = true;
    std::copy(part_.begin.begin() + static_cast<std::ptrdiff_t>(kept_), part_.begin.end(),
              at.begin() + static_cast<std::ptrdiff_t>(kept_));
    for (;;) {
      const index_t offset = src.at(at);
      if (first)
        load_row(row, src.data, src.dtype, offset, src.stride[axis], n);
      else
        fold_row(first_.alu, row, src.data, src.dtype, offset, src.stride[axis], n, other);
      first = false;
      std::size_t a = at.size();
      while (a > kept_ && ++at[a - 1] == part_.end[a - 1]) {
        at[a - 1] = part_.begin[a - 1];
        --a;
      }
      if (a == kept_) return;
    }
  }

  std::span<const Instruction> chain_;
  const Instruction& first_;
  Trimmed part_;
  std::vector<Place> sources_;
  Place target_;
  std::vector<Dtype> dtypes_;  // of what each instruction of the chain makes
  std::vector<index_t> taps_;  // empty: the slower way
  index_t span_ = 0;           // elements that are widened for a row
  std::size_t kept_ = 0;
  bool bits_ = false, reads_target_ = false;
};

void print_tile(const Program& program, const Instruction& i, const std::vector<void*>& memory, const Values& counters,
                const Sink& print) {
  const Pattern pattern = lower(program, i, i.src[0]);
  const TensorInfo& t = program.tensor(i.src[0].tensor);
  print(printed(i.text, i.counts, [&](const Values& at) {
    index_t flat = pattern.offset.at(counters);
    for (std::size_t a = 0; a < at.size(); ++a) flat += at[a] * pattern.steps[a].stride;
    return load_element(memory[static_cast<std::size_t>(i.src[0].tensor)], t.dtype, flat);
  }));
}

}  // namespace

void run_cpu(const Program& program, const std::vector<void*>& given, const Sink& print) {
  const Plan plan = plan_of(program);
  std::vector<void*> memory = given;
  std::vector<std::unique_ptr<std::byte[]>> owned;
  for (std::size_t t = 0; t < memory.size(); ++t) {
    if (memory[t] != nullptr || !plan.has_memory[t]) continue;
    const TensorInfo& info = plan.program.tensors[t];
    const index_t bytes = element_count(info.shape) * size_bytes(info.dtype);
    owned.push_back(std::make_unique<std::byte[]>(static_cast<std::size_t>(bytes)));
    memory[t] = owned.back().get();
  }
  walk(plan.program, [&](std::size_t at, const Values& counters) {
    const Instruction& i = plan.program.instructions[at];
    if (i.opcode == Opcode::device_print) {
      if (print) print_tile(plan.program, i, memory, counters, print);
      return;
    }
    if (plan.chain[at] == 0) return;
    if (is_serial(i)) return run_serial(plan.program, i, memory, counters);
    Chain(plan.program, {&i, static_cast<std::size_t>(plan.chain[at])}, memory, counters).run();
  });
}

}  // namespace oriel::tile
