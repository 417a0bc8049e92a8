// What every function of the language records: creation, movement, loops.
#include "oriel/tile/language.h"

#include <algorithm>

#include "oriel/tensor.h"
#include "tile/recorder.h"

namespace oriel::tile::nl {
namespace {

std::string_view space_word(const TensorInfo& t) { return t.on_chip() ? "sbuf" : "hbm"; }

void check_space(const Recorder& r, const tensor& t, bool on_chip, std::string_view argument, std::string_view call,
                 const where_t& where) {
  const TensorInfo& info = r.program.tensor(t.access().tensor);
  if (info.on_chip() != on_chip)
    throw Failure(
        "err_unsupported_memory",
        "Expected operand '" + std::string(argument) + "' of '" + std::string(call) + "' to be in address space '" +
            (on_chip ? "sbuf" : "hbm") + "', but got a tile in '" + std::string(space_word(info)) + "' instead" +
            (on_chip ? ": `" + info.name + "` must be loaded first" : ": `" + info.name + "` is on chip already"),
        where);
}

std::string counts_text(const Values& counts) {
  std::string text;
  for (const index_t n : counts) text += (text.empty() ? "" : ", ") + std::to_string(n);
  return "[" + text + "]";
}

Extents extents_of(const Values& counts) {
  Extents out;
  for (const index_t n : counts) out.push_back(n);
  return out;
}

Instruction instruction(Opcode opcode, const tensor& dst, const where_t& where) {
  Instruction i;
  i.opcode = opcode;
  i.dst = dst.access();
  i.counts = dst.shape();
  i.where = where;
  return i;
}

// The value's access for a place of the target's shape: free axes of one element are repeated.
Access repeated(const Recorder& r, const tensor& target, const tensor& value, const std::string& call,
                const where_t& where) {
  const Values &to = target.shape(), &from = value.shape();
  bool fits = from.size() == to.size();
  for (std::size_t d = 0; fits && d < to.size(); ++d) fits = from[d] == to[d] || (d > 0 && from[d] == 1);
  if (!fits)
    throw Failure("err_store_dst_shape_smaller_than_other_shape",
                  "Illegal assignment destination shape in " + call + ": shape " + counts_text(to) + " of `" +
                      r.program.tensor(target.access().tensor).name + "` must be the value's, which is " +
                      counts_text(from) + "; assign to a part of that shape",
                  where);
  Access access = value.access();
  for (Along& along : access.along)
    for (std::size_t a = 0; a < to.size(); ++a)
      if (from[a] != to[a]) along.step[a] = 0;
  return access;
}

}  // namespace

tensor ndarray(const Extents& shape, const ndarray_options& options, const where_t& where) {
  Recorder& r = Recorder::current(where);
  if (options.buffer != Space::sbuf && r.depth() > 0)
    throw Failure("err_shared_hbm_must_in_kernel_level",
                  "a tensor in hbm must be made at the kernel's outermost level, but this one is made in a loop; move "
                  "it before the loop",
                  where);
  return r.add_tensor(shape, options.dtype, options.buffer, where);
}

tensor full(const Extents& shape, double value, const ndarray_options& options, const where_t& where) {
  if (options.buffer != Space::sbuf)
    throw Failure("err_hbm_tensor_with_init_value_not_supported",
                  "Creating HBM tensor with init value is not supported; make it with nl::ndarray, and nl::store the "
                  "value",
                  where);
  tensor t = ndarray(shape, options, where);
  Instruction i = instruction(Opcode::memset, t, where);
  i.scalar = value;
  Recorder::current(where).add(std::move(i));
  return t;
}

tensor zeros(const Extents& shape, const ndarray_options& options, const where_t& where) {
  return full(shape, 0, options, where);
}

tensor iota(const index& expression, Dtype dtype, const where_t& where) {
  Recorder& r = Recorder::current(where);
  if (!expression.advanced())
    throw Failure("err_rank", "iota: the expression must have axes of an mgrid, but is one number", where);
  tensor t = r.add_tensor(extents_of(expression.extents()), dtype, Space::sbuf, where);
  Instruction i = instruction(Opcode::iota, t, where);
  i.src.push_back({-1, {{expression.base(), expression.steps()}}});
  r.add(std::move(i));
  return t;
}

tensor load(const tensor& source, const load_options& options, const where_t& where) {
  Recorder& r = Recorder::current(where);
  check_space(r, source, false, "src", "load", where);
  tensor t = r.add_tensor(extents_of(source.shape()), options.dtype.value_or(source.dtype()), Space::sbuf, where);
  Instruction i = instruction(Opcode::dma_copy, t, where);
  i.src.push_back(source.access());
  i.mask = conditions_of(options.mask, i.counts, where);
  r.add(std::move(i));
  return t;
}

void store(const tensor& target, const store_options& options, const where_t& where) {
  Recorder& r = Recorder::current(where);
  check_space(r, target, false, "dst", "store", where);
  if (!options.value.tile) {
    const tensor filled = full(extents_of(target.shape()), options.value.number, {.dtype = target.dtype()}, where);
    return store(target, {.value = {filled, where}, .mask = options.mask}, where);
  }
  const tensor& value = *options.value.tile;
  check_space(r, value, true, "value", "store", where);
  Instruction i = instruction(Opcode::dma_copy, target, where);
  i.src.push_back(repeated(r, target, value, "'store'", where));
  i.mask = conditions_of(options.mask, i.counts, where);
  r.add(std::move(i));
}

tensor broadcast_to(const tensor& x, const Extents& shape, const where_t& where) {
  Recorder& r = Recorder::current(where);
  check_space(r, x, true, "src", "broadcast_to", where);
  const Values& own = x.shape();
  bool fits = static_cast<int>(own.size()) == shape.size();
  for (std::size_t d = 0; fits && d < own.size(); ++d) fits = own[d] == shape[static_cast<int>(d)] || own[d] == 1;
  if (!fits)
    throw Failure("err_operand_shape_mismatch",
                  "broadcast_to: only axes of one element can be repeated, but shape " + counts_text(own) +
                      " is to become " + counts_text(Values(shape.begin(), shape.end())),
                  where);
  tensor t = r.add_tensor(shape, x.dtype(), Space::sbuf, where);
  const bool partitions = own[0] != shape[0];
  Instruction i = instruction(partitions ? Opcode::dma_copy : Opcode::tensor_copy, t, where);
  i.src.push_back(x.access());
  for (Along& along : i.src[0].along)
    for (std::size_t a = 0; a < own.size(); ++a)
      if (own[a] != i.counts[a]) along.step[a] = 0;
  r.add(std::move(i));
  return t;
}

void view::operator=(const tensor& value) const {
  Recorder& r = Recorder::current(where_);
  check_space(r, *this, true, "dst", "copy", where_);
  check_space(r, value, true, "src", "copy", where_);
  Instruction i = instruction(Opcode::tensor_copy, *this, where_);
  const bool overlaps = value.access().tensor == access().tensor && value.access().along != access().along;
  i.src.push_back(repeated(r, *this, overlaps ? copy({value, where_}) : value, "'a = b'", where_));
  r.add(std::move(i));
}

void view::operator=(tensor&& value) const {
  Recorder& r = Recorder::current(where_);
  const TensorInfo& own = r.program.tensor(access().tensor);
  if (r.made_last(value) && own.on_chip() && own.dtype == value.dtype() && shape() == value.shape() &&
      r.may_move_last(access())) {
    r.check_scope(access().tensor, where_);
    r.replace_last(access());
    return;
  }
  *this = static_cast<const tensor&>(value);
}

affine_range::iterator affine_range::begin() const {
  Recorder& r = Recorder::current(where_);
  if (step_ <= 0) throw Failure("err_range", "a range's step must be >= 1, but is " + std::to_string(step_), where_);
  const index_t trips = std::max<index_t>(0, (end_ - begin_ + step_ - 1) / step_);
  if (trips == 0) return {};
  Affine counter;
  counter.terms.push_back({r.open_loop(begin_, step_, trips, ordered_, where_), 1});
  return {index(counter, {}, {}, where_), 1};
}

affine_range::iterator& affine_range::iterator::operator++() {
  Recorder::current(counter.where()).close_loop();
  left = 0;
  return *this;
}

std::vector<index_t> static_range(index_t n) { return static_range(0, n); }
std::vector<index_t> static_range(index_t begin, index_t end, index_t step) {
  std::vector<index_t> values;
  for (index_t v = begin; v < end; v += step) values.push_back(v);
  return values;
}

namespace {

int grid_counter(const Recorder& r, int axis, const where_t& where) {
  const int axes = static_cast<int>(r.program.grid.size());
  if (axis < 0 || axis >= axes)
    throw Failure(
        "err_program_id_axis",
        "program_id: the axis must be below the grid's " + std::to_string(axes) + ", but is " + std::to_string(axis),
        where);
  return r.program.grid[static_cast<std::size_t>(axis)];
}

}  // namespace

index program_id(int axis, const where_t& where) {
  Affine id;
  id.terms.push_back({grid_counter(Recorder::current(where), axis, where), 1});
  return {id, {}, {}, where};
}

index_t num_programs(int axis, const where_t& where) {
  const Recorder& r = Recorder::current(where);
  return r.program.counters[static_cast<std::size_t>(grid_counter(r, axis, where))].trips;
}

int program_ndim() { return static_cast<int>(Recorder::current(where_t::current()).program.grid.size()); }

void device_print(const std::string& text, const tensor& x, const where_t& where) {
  Instruction i;
  i.opcode = Opcode::device_print;
  i.text = text;
  i.counts = x.shape();
  i.src.push_back(x.access());
  i.where = where;
  Recorder::current(where).add(std::move(i));
}

}  // namespace oriel::tile::nl
