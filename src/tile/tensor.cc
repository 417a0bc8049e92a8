// Tensors' parts: what stands in brackets, composed with what the tensor already is a part of.
#include "tile/recorder.h"

namespace oriel::tile::nl {
namespace {

std::string shape_text(const Values& counts) {
  std::string text = "[";
  for (std::size_t d = 0; d < counts.size(); ++d) text += (d == 0 ? "" : ", ") + std::to_string(counts[d]);
  return text + "]";
}

// The index along each dimension of `t`, as functions of the axes of the part.
struct Selection {
  std::vector<Along> along;
  Values counts;
};

Selection select_advanced(const tensor& t, const std::vector<subscript>& subscripts, const where_t& where) {
  Selection out;
  index space = 0;
  for (const subscript& s : subscripts)
    if (s.kind == subscript::Kind::advanced) space = space + s.value;  // broadcasts, or throws
  out.counts = space.extents();
  if (subscripts.size() != t.shape().size())
    throw Failure("err_tensor_index_rank",
                  "index tensors must be given for each of the " + std::to_string(t.shape().size()) +
                      " dimensions, but are for " + std::to_string(subscripts.size()),
                  where);
  for (const subscript& s : subscripts) {
    Along along{s.value.base(), Values(out.counts.size(), 0)};
    const std::size_t shift = out.counts.size() - s.value.steps().size();
    for (std::size_t a = 0; a < s.value.steps().size(); ++a) along.step[a + shift] = s.value.steps()[a];
    out.along.push_back(std::move(along));
  }
  return out;
}

Selection select_basic(const tensor& t, const std::vector<subscript>& subscripts, const Place& where) {
  Selection out;
  if (subscripts.size() > t.shape().size())
    throw Failure("err_tensor_index_rank",
                  "there must be at most " + std::to_string(t.shape().size()) + " subscripts, but are " +
                      std::to_string(subscripts.size()),
                  where);
  std::size_t axes = 0;
  for (std::size_t d = 0; d < t.shape().size(); ++d)
    axes += d >= subscripts.size() || subscripts[d].kind != subscript::Kind::scalar ? 1 : 0;
  for (std::size_t d = 0; d < t.shape().size(); ++d) {
    Along along{0, Values(axes, 0)};
    const bool given = d < subscripts.size();
    if (given) along.start = subscripts[d].value.base();
    if (!given || subscripts[d].kind != subscript::Kind::scalar) {
      const bool is_slice = given && subscripts[d].kind == subscript::Kind::slice;
      const index_t count = is_slice ? subscripts[d].count : t.shape()[d];
      if (count <= 0)
        throw Failure(
            "err_empty_index",
            "a slice must hold elements, but that of dimension " + std::to_string(d) + " has " + std::to_string(count),
            where);
      along.step[out.counts.size()] = is_slice ? subscripts[d].step : 1;
      out.counts.push_back(count);
    }
    out.along.push_back(std::move(along));
  }
  return out;
}

}  // namespace

Dtype tensor::dtype() const { return Recorder::current(where_t::current()).program.tensor(access_.tensor).dtype; }

void tensor::check_rank(int rank, const where_t& where) const {
  if (static_cast<int>(counts_.size()) != rank)
    throw Failure("err_rank",
                  "shape<" + std::to_string(rank) +
                      ">: the tensor must have that many dimensions, but has "
                      "shape " +
                      shape_text(counts_),
                  where);
}

tensor tensor::assert_shape(const Extents& expected, const where_t& where) const {
  const Values wanted(expected.begin(), expected.end());
  if (counts_ != wanted) {
    const Recorder& r = Recorder::current(where);
    throw Failure("err_annotation_shape_mismatch",
                  "shape of `" + r.program.tensor(access_.tensor).name + shape_text(counts_) +
                      "` does not match the expected shape of " + shape_text(wanted),
                  where);
  }
  return *this;
}

tensor tensor::named(const std::string& name) const {
  Recorder& r = Recorder::current(where_t::current());
  std::string unique = name;
  for (int n = 2;; ++n) {
    bool taken = false;
    for (const TensorInfo& t : r.program.tensors) taken = taken || t.name == unique;
    if (!taken) break;
    unique = name + "_" + std::to_string(n);
  }
  r.program.tensors[static_cast<std::size_t>(access_.tensor)].name = unique;
  return *this;
}

view tensor::operator[](std::initializer_list<subscript> list) const {
  const std::vector<subscript> subscripts(list);
  const where_t where = subscripts.empty() ? where_t::current() : subscripts[0].where;
  bool has_advanced = false, has_slices = false;
  for (const subscript& s : subscripts) {
    has_advanced = has_advanced || s.kind == subscript::Kind::advanced;
    has_slices = has_slices || s.kind == subscript::Kind::slice || s.kind == subscript::Kind::whole;
  }
  if (has_advanced && has_slices)
    throw Failure("err_unsupported_mixing_basic_advanced_tensor_indexing",
                  "slices and index tensors must not be in the same brackets; write the slice as an mgrid's axis",
                  where);
  const Selection selection =
      has_advanced ? select_advanced(*this, subscripts, where) : select_basic(*this, subscripts, where);
  // Dimension d of this tensor is axis d of its access: the new index of axis d is put in place of the axis.
  Access access{access_.tensor, {}};
  for (const Along& old : access_.along) {
    Along along{old.start, Values(selection.counts.size(), 0)};
    for (std::size_t d = 0; d < old.step.size(); ++d) {
      along.start = along.start + old.step[d] * selection.along[d].start;
      for (std::size_t a = 0; a < selection.counts.size(); ++a)
        along.step[a] += old.step[d] * selection.along[d].step[a];
    }
    access.along.push_back(std::move(along));
  }
  return {tensor(std::move(access), selection.counts, handle_), where};
}

}  // namespace oriel::tile::nl
