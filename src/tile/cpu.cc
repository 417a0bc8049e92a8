// The vectorised way: chains of instructions, row by row. Rows lie along the last axis that is kept.
#include <tbb/parallel_for.h>

#include <cmath>
#include <memory>

#include "oriel/tensor.h"
#include "tile/cpu_plan.h"
#include "tile/element.h"
#include "tile/interpret.h"
#include "tile/rows.h"
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
    bits_ = chain.size() == 1 && (first_.opcode == Opcode::dma_copy || first_.opcode == Opcode::tensor_copy) &&
            copies_bits(program, first_);
  }

  void run() const {
    if (part_.empty) return;
    const index_t begin = part_.begin[0], end = part_.end[0];
    index_t work = 1;  // elements of a partition
    for (std::size_t a = 1; a < part_.end.size(); ++a) work *= part_.end[a] - part_.begin[a];
    constexpr index_t least = 65536;  // elements that are worth a thread
    if (kept_ == 1 || end - begin == 1 || work * (end - begin) < 2 * least || !partitions_apart())
      return run_partitions(begin, end);
    const std::size_t grain = static_cast<std::size_t>(std::max<index_t>(1, least / work));
    tbb::parallel_for(tbb::blocked_range<index_t>(begin, end, grain),
                      [this](const auto& range) { run_partitions(range.begin(), range.end()); });
  }

 private:
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
    const std::unique_ptr<float[]> buffer(new float[static_cast<std::size_t>(3 * n)]);
    Values at(first_.counts.size(), 0);
    each_index(from, to, [&](const Values& place) {
      std::copy(place.begin(), place.end(), at.begin());
      run_row(at, row_axis, n, buffer.get());
    });
  }

  void run_row(Values& at, std::size_t axis, index_t n, float* row) const {
    const index_t to = target_.at(at);
    const index_t to_stride = target_.stride[axis];
    if (bits_) {
      const Place& src = sources_[0];
      return copy_row(src.data, src.at(at), src.stride[axis], target_.data, to, to_stride, size_bytes(src.dtype), n);
    }
    compute(at, axis, n, row);
    for (std::size_t c = 1; c < chain_.size(); ++c) {
      round_row(row, dtypes_[c - 1], n);
      const Instruction& i = chain_[c];
      if (i.opcode == Opcode::tensor_scalar)
        apply_scalar(i.alu, row, static_cast<float>(i.scalar), i.scalar_first, n);
      else if (i.opcode == Opcode::activation)
        apply_scalar(i.alu, row, 0, false, n);
    }
    store_row(row, target_.data, target_.dtype, to, to_stride, n);
  }

  void load(std::size_t s, const Values& at, std::size_t axis, index_t n, float* row) const {
    const Place& src = sources_[s];
    load_row(row, src.data, src.dtype, src.at(at), src.stride[axis], n);
  }

  void compute(Values& at, std::size_t axis, index_t n, float* row) const {
    float* const other = row + n;
    switch (first_.opcode) {
      case Opcode::memset:
        std::fill_n(row, n, static_cast<float>(first_.scalar));
        return;
      case Opcode::iota:
        for (index_t i = 0; i < n; ++i) row[i] = static_cast<float>(sources_[0].at(at) + i * sources_[0].stride[axis]);
        return;
      case Opcode::tensor_reduce:
        return reduce(at, axis, n, row);
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
  void reduce(Values& at, std::size_t axis, index_t n, float* row) const {
    const Place& src = sources_[0];
    bool first = true;
    std::copy(part_.begin.begin() + static_cast<std::ptrdiff_t>(kept_), part_.begin.end(),
              at.begin() + static_cast<std::ptrdiff_t>(kept_));
    for (;;) {
      const index_t offset = src.at(at);
      if (first)
        load_row(row, src.data, src.dtype, offset, src.stride[axis], n);
      else
        fold_row(first_.alu, row, src.data, src.dtype, offset, src.stride[axis], n, row + n);
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
  std::size_t kept_ = 0;
  bool bits_ = false;
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
  const CpuPlan plan = plan_cpu(program);
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
    Chain(plan.program, {&i, static_cast<std::size_t>(plan.chain[at])}, memory, counters).run();
  });
}

}  // namespace oriel::tile
