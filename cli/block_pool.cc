#include "cli/block_pool.h"

#include <algorithm>
#include <cstring>

#include "cli/held_memory.h"

namespace oriel::cli {

namespace {

Tensor beside_view(const io::Buffer& buffer, const io::VolumeIn& volume, const Extents& shape) {
  return {buffer.view.data, volume.dtype, shape, dense_pitch(shape, volume.order)};
}

}  // namespace

BlockPool::BlockPool(const distributed::HaloPlan& plan, const Extents& order, std::optional<IndexSpace> space,
                     const BesideVolumes& beside)
    : plan_(plan),
      dtype_(plan.problem().dtype),
      result_(plan.problem().result),
      order_(order),
      space_(space),
      beside_(beside) {}

BlockBuffers BlockPool::allocate(index_t inputs, index_t outputs) const {
  BlockBuffers buffers;
  buffers.x = io::allocate(dtype_, {inputs});
  buffers.y = io::allocate(result_, {outputs});
  if (space_) buffers.places = io::allocate(Dtype::i64, {outputs});
  if (beside_.mask) buffers.mask = io::allocate(Dtype::u8, {inputs});
  if (beside_.weights) buffers.weights = io::allocate(beside_.weights->dtype, {inputs});
  return buffers;
}

distributed::Operands BlockPool::operands_of(const distributed::Box& block, const BlockBuffers& buffers) const {
  const Extents shape = plan_.needs(block).shape();
  distributed::Operands operands;
  operands.x = Tensor(buffers.x.view.data, dtype_, shape, dense_pitch(shape, order_));
  operands.y = Tensor(buffers.y.view.data, result_, block.shape());
  if (space_) operands.indices = Tensor(buffers.places.view.data, Dtype::i64, block.shape());
  operands.space = IndexSpace::window;
  if (const auto& mask = beside_.mask)
    operands.mask = beside_view(buffers.mask, *mask, beside_of(mask->shape, block).shape());
  if (const auto& weights = beside_.weights)
    operands.weights = beside_view(buffers.weights, *weights, beside_of(weights->shape, block).shape());
  return operands;
}

distributed::Box BlockPool::beside_of(const Extents& whole, const distributed::Box& block) const {
  distributed::Box box = plan_.needs(block);
  for (int d = 0; d < whole.size(); ++d) {
    if (whole[d] == plan_.problem().shape[d]) continue;
    box.begin[d] = 0;
    box.end[d] = 1;
  }
  return box;
}

void BlockPool::pool(const distributed::Box& block, const distributed::Operands& operands, int threads,
                     std::optional<double> q) const {
  Problem part = plan_.part(block);
  if (q) part.pool.q = {*q};
  const Extents one = Extents::filled(part.shape.size(), 1);
  // One rank's share of a division among one: it knows windows without any tap, too.
  const distributed::Beside beside{.mask = operands.mask.shape,
                                   .weights = operands.weights.shape,
                                   .weights_dtype = operands.weights.given() ? operands.weights.dtype : Dtype::f64};
  distributed::LocalPool pool(part, distributed::Partition::balanced(part.shape, one),
                              distributed::Partition::balanced(part.output_shape, one), 0, beside);
  pool.interior(distributed::Pass::forward, operands, {.threads = threads});
  pool.finish(distributed::Pass::forward, operands, {.threads = threads});
  if (space_) distributed::globalise(plan_, block, operands.indices, *space_);
}

index_t BlockPool::output_bytes() const { return size_bytes(result_) + (space_ ? 8 : 0); }

index_t BlockPool::input_bytes() const { return size_bytes(dtype_) + beside_.element_bytes(); }

index_t BlockPool::bytes_of(const distributed::Box& box) const {
  return plan_.needs(box).element_count() * input_bytes() + box.element_count() * output_bytes();
}

index_t BlockPool::trial_bytes(const distributed::Box& box, index_t most) const {
  if (box.empty() || bytes_of(box) > most) return 0;
  const index_t before = resident_bytes(), peak = peak_bytes();
  {
    const BlockBuffers buffers = allocate(std::max<index_t>(plan_.needs(box).element_count(), 1), box.element_count());
    const auto fill = [](const io::Buffer& buffer, int byte) {
      if (!buffer.view.given()) return;
      std::memset(buffer.view.data, byte,
                  static_cast<std::size_t>(element_count(buffer.view.shape) * size_bytes(buffer.view.dtype)));
    };
    for (const io::Buffer* buffer : {&buffers.x, &buffers.y, &buffers.places}) fill(*buffer, 0);
    fill(buffers.mask, 1);
    fill(buffers.weights, 0x3f);  // 0.75 and the like
    pool(box, operands_of(box, buffers), 1);
  }
  const index_t passing = peak_bytes() > peak ? peak_bytes() - before - bytes_of(box) : 0;
  return std::max({resident_bytes() - before, passing, index_t{0}});
}

}  // namespace oriel::cli
