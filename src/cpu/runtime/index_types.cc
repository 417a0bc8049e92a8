#include "cpu/runtime/index_types.h"

namespace oriel::cpu {
namespace {

Extents permuted(const Extents& list, const Extents& order) {
  Extents out;
  for (index_t d : order) out.push_back(list[static_cast<int>(d)]);
  return out;
}

}  // namespace

WideCodes::WideCodes(const ConstTensor& codes, int threads) : memory_(Dtype::i64, codes.shape) {
  const Extents order = memory_order(codes.pitch);
  view_ = Tensor(memory_.view().data, Dtype::i64, codes.shape, dense_pitch(codes.shape, order));
  const ConstTensor from(codes.data, codes.dtype, permuted(codes.shape, order), permuted(codes.pitch, order));
  const Tensor to(view_.data, Dtype::i64, from.shape);
  const index_t pitch = from.rank() == 0 ? 1 : from.pitch[from.rank() - 1];
  visit_index(codes.dtype, [&]<class Code>(Code*) {
    for_each_row(from.shape, threads, [&](const Extents& index, index_t n) {
      const Code* code = element<Code>(from, index);
      std::int64_t* out = element<std::int64_t>(to, index);
      for (index_t i = 0; i < n; ++i) {
        const Code c = code[i * pitch];
        out[i] = c == kNoTap<Code> ? -1 : static_cast<std::int64_t>(c);
      }
    });
  });
}

}  // namespace oriel::cpu
