#include "cpu/plan/index_rows.h"

#include "cpu/runtime/index_types.h"

namespace oriel::cpu {
namespace {

constexpr std::size_t at(index_t i) { return static_cast<std::size_t>(i); }

template <class Index>
void write(const FoldJob& job, const IndexRow& row, const void* codes, index_t code_bytes, index_t n, Index* out) {
  const RowLayout& layout = job.layout;
  const index_t absent = index_t{1} << (8 * code_bytes - 2);
  const index_t pitch = layout.row_axis >= 0 ? layout.axis[at(layout.row_axis)].pitch[kIndex] : 0;
  for (index_t p = 0; p < n; ++p) {
    for (index_t l = 0; l < row.lanes; ++l) {
      const index_t i = p * row.lanes + l;
      index_t code =
          code_bytes == 4 ? static_cast<const std::int32_t*>(codes)[i] : static_cast<const std::int64_t*>(codes)[i];
      index_t value = code;
      if (code >= absent) {
        value = -1;
      } else if (job.space != IndexSpace::window) {
        value = row.origin + l * layout.lanes.pitch[kFlat];
        for (int a = 0; a < layout.pooled(); ++a) {
          const IndexRow::Part& part = row.parts[at(a)];
          const index_t input = part.axis->at(a == layout.row_axis ? p : part.output, code / part.radix);
          value += (input + part.in_begin) * layout.axis[at(a)].pitch[kFlat];
          code %= part.radix;
        }
      }
      out[p * pitch + l * layout.lanes.pitch[kIndex]] = static_cast<Index>(value);
    }
  }
}

}  // namespace

void write_index_row(const FoldJob& job, const IndexRow& row, const void* codes, index_t code_bytes, index_t n,
                     void* out) {
  visit_index(job.index_dtype,
              [&]<class Index>(Index*) { write(job, row, codes, code_bytes, n, static_cast<Index*>(out)); });
}

}  // namespace oriel::cpu
