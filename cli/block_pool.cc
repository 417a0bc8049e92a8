#include "cli/block_pool.h"

#include <algorithm>
#include <cstring>

#include "cli/held_memory.h"

namespace oriel::cli {

BlockPool::BlockPool(const distributed::HaloPlan& plan, const Extents& order, std::optional<IndexSpace> space)
    : plan_(plan), dtype_(plan.problem().dtype), result_(plan.problem().result), order_(order), space_(space) {}

distributed::Operands BlockPool::operands_of(const distributed::Box& block, const io::Buffer& x, const io::Buffer& y,
                                             const io::Buffer& places) const {
  const Extents shape = plan_.needs(block).shape();
  distributed::Operands operands;
  operands.x = Tensor(x.view.data, dtype_, shape, dense_pitch(shape, order_));
  operands.y = Tensor(y.view.data, result_, block.shape());
  if (space_) operands.indices = Tensor(places.view.data, Dtype::i64, block.shape());
  operands.space = IndexSpace::window;
  return operands;
}

void BlockPool::pool(const distributed::Box& block, const distributed::Operands& operands, int threads) const {
  const Problem part = plan_.part(block);
  const Extents one = Extents::filled(part.shape.size(), 1);
  // One rank's share of a division among one: it knows windows without any tap, too.
  distributed::LocalPool pool(part, distributed::Partition::balanced(part.shape, one),
                              distributed::Partition::balanced(part.output_shape, one), 0);
  pool.interior(distributed::Pass::forward, operands, {.threads = threads});
  pool.finish(distributed::Pass::forward, operands, {.threads = threads});
  if (space_) distributed::globalise(plan_, block, operands.indices, *space_);
}

index_t BlockPool::output_bytes() const { return size_bytes(result_) + (space_ ? 8 : 0); }

index_t BlockPool::bytes_of(const distributed::Box& box) const {
  return plan_.needs(box).element_count() * size_bytes(dtype_) + box.element_count() * output_bytes();
}

index_t BlockPool::trial_bytes(const distributed::Box& box, index_t most) const {
  if (box.empty() || bytes_of(box) > most) return 0;
  const index_t before = resident_bytes(), peak = peak_bytes();
  {
    const io::Buffer x = io::allocate(dtype_, {std::max<index_t>(plan_.needs(box).element_count(), 1)});
    const io::Buffer y = io::allocate(result_, {box.element_count()});
    const io::Buffer places = io::allocate(Dtype::i64, {space_ ? box.element_count() : 1});
    for (const io::Buffer* buffer : {&x, &y, &places})
      std::memset(buffer->view.data, 0,
                  static_cast<std::size_t>(element_count(buffer->view.shape) * size_bytes(buffer->view.dtype)));
    pool(box, operands_of(box, x, y, places), 1);
  }
  const index_t passing = peak_bytes() > peak ? peak_bytes() - before - bytes_of(box) : 0;
  return std::max({resident_bytes() - before, passing, index_t{0}});
}

}  // namespace oriel::cli
