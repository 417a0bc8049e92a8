// Elementwise arithmetic and reductions of the language: operands matched, result dtypes found, instructions recorded.
#include <algorithm>
#include <limits>

#include "tile/recorder.h"

namespace oriel::tile::nl {
namespace {

// NKI's table of promotions; a type with itself stays.
Dtype promote(Dtype a, Dtype b) {
  if (a == b) return a;
  const bool fa = is_floating(a), fb = is_floating(b);
  if (fa != fb) return fa ? a : b;
  if (fa) return Dtype::f32;  // f16 with bf16, or either with f32
  const auto is_signed = [](Dtype d) { return d == Dtype::i8 || d == Dtype::i16 || d == Dtype::i32; };
  const Dtype large = size_bytes(a) >= size_bytes(b) ? a : b, small = large == a ? b : a;
  if (is_signed(a) == is_signed(b) || (is_signed(large) && size_bytes(large) > size_bytes(small))) return large;
  switch (size_bytes(large)) {
    case 1:
      return Dtype::i16;
    case 2:
      return Dtype::i32;
    default:
      return Dtype::f32;
  }
}

Dtype dtype_of_operand(const operand& x) { return x.tile ? x.tile->dtype() : x.is_float ? Dtype::f32 : Dtype::i32; }

std::string counts_text(const Values& counts) {
  std::string text;
  for (const index_t n : counts) text += (text.empty() ? "" : ", ") + std::to_string(n);
  return "[" + text + "]";
}

// The extents of the result; free axes of one element are repeated, partition axes must agree.
Values match(const Recorder& r, const std::vector<const operand*>& operands, std::string_view call) {
  Values out;
  for (const operand* x : operands) {
    if (!x->tile) continue;
    const TensorInfo& info = r.program.tensor(x->tile->access().tensor);
    if (!info.on_chip())
      throw Failure("err_unsupported_memory",
                    "Expected operand of '" + std::string(call) +
                        "' to be in address space 'sbuf', but got a tile in 'hbm' instead: "
                        "`" +
                        info.name + "` must be loaded first",
                    x->where);
    const Values& own = x->tile->shape();
    if (out.empty()) out = own;
    if (own.size() != out.size())
      throw Failure("err_operand_shape_mismatch",
                    std::string(call) +
                        ": operands must have as many dimensions, but "
                        "have shapes " +
                        counts_text(out) + " and " + counts_text(own),
                    x->where);
    if (own[0] != out[0])
      throw Failure("err_num_partition_mismatch",
                    "number of partitions (dimension 0 size of a tile) mismatch in parameters of '" +
                        std::string(call) + "': they have " + std::to_string(out[0]) + " and " +
                        std::to_string(own[0]) + "; nl::broadcast_to repeats a partition",
                    x->where);
    for (std::size_t d = 1; d < own.size(); ++d) {
      if (own[d] != out[d] && own[d] != 1 && out[d] != 1)
        throw Failure("err_operand_shape_mismatch",
                      std::string(call) +
                          ": operands must have the same free extents, "
                          "but have shapes " +
                          counts_text(out) + " and " + counts_text(own),
                      x->where);
      out[d] = std::max(out[d], own[d]);
    }
  }
  return out;
}

Access broadcast(const tensor& t, const Values& counts) {
  Access access = t.access();
  for (Along& along : access.along)
    for (std::size_t a = 0; a < counts.size(); ++a)
      if (t.shape()[a] != counts[a]) along.step[a] = 0;
  return access;
}

tensor result(Recorder& r, const Values& counts, Dtype dtype, const where_t& where) {
  Extents shape;
  for (const index_t n : counts) shape.push_back(n);
  return r.add_tensor(shape, dtype, Space::sbuf, where);
}

tensor record(Opcode opcode, Alu alu, const std::vector<const operand*>& operands, Dtype dtype, const nl::mask& mask,
              std::string_view call) {
  const where_t& where = operands[0]->where;
  Recorder& r = Recorder::current(where);
  Instruction i;
  i.opcode = opcode;
  i.alu = alu;
  i.where = where;
  i.counts = match(r, operands, call);
  if (i.counts.empty()) throw Failure("err_operand", std::string(call) + ": an operand must be a tile", where);
  i.mask = conditions_of(mask, i.counts, where);
  for (const operand* x : operands) {
    if (x->tile) {
      i.src.push_back(broadcast(*x->tile, i.counts));
    } else {
      i.scalar = x->number;
      i.scalar_first = x == operands[0];
    }
  }
  tensor out = result(r, i.counts, dtype, where);
  i.dst = out.access();
  r.add(std::move(i));
  return out;
}

tensor binary(Alu alu, const operand& a, const operand& b, const math_options& options, std::string_view call) {
  const bool compares = alu >= Alu::equal && alu <= Alu::greater_equal;
  const Dtype usual = compares ? Dtype::u8 : promote(dtype_of_operand(a), dtype_of_operand(b));
  const Opcode opcode = a.tile && b.tile ? Opcode::tensor_tensor : Opcode::tensor_scalar;
  return record(opcode, alu, {&a, &b}, options.dtype.value_or(usual), options.mask, call);
}

tensor unary(Opcode opcode, Alu alu, const operand& x, const math_options& options, std::string_view call) {
  return record(opcode, alu, {&x}, options.dtype.value_or(dtype_of_operand(x)), options.mask, call);
}

// A reduction's axes, checked: free axes of the operand, each once.
std::vector<int> checked_axes(const tensor& x, const reduce_options& options, std::string_view call,
                              const where_t& where) {
  std::vector<int> out;
  const int rank = static_cast<int>(x.shape().size());
  for (const int given : options.axis.values) {
    const int axis = given < 0 ? given + rank : given;
    if (axis == 0)
      throw Failure("err_reduce_partition_axis",
                    std::string(call) +
                        ": axes must be free axes, but 0 is the partition "
                        "axis; transpose, or put the data on another axis",
                    where);
    if (axis < 0 || axis >= rank || std::find(out.begin(), out.end(), axis) != out.end())
      throw Failure("err_reduce_axis",
                    std::string(call) + ": axes must be different ones below " + std::to_string(rank) +
                        ", but one is " + std::to_string(given),
                    where);
    out.push_back(axis);
  }
  if (out.empty()) throw Failure("err_reduce_axis", std::string(call) + ": axes must be given, but none is", where);
  return out;
}

tensor reduce(Alu alu, const tensor& x, const reduce_options& options, Dtype dtype, std::string_view call,
              const where_t& where) {
  Recorder& r = Recorder::current(where);
  const operand whole(x, where);
  (void)match(r, {&whole}, call);
  const std::vector<int> folded = checked_axes(x, options, call, where);
  std::vector<std::size_t> order;  // kept axes, then the folded ones: reduced axes come last in the pattern
  Values shape;
  for (std::size_t a = 0; a < x.shape().size(); ++a) {
    const bool is_folded = std::find(folded.begin(), folded.end(), static_cast<int>(a)) != folded.end();
    if (!is_folded) order.push_back(a);
    if (!is_folded || options.keepdims) shape.push_back(is_folded ? 1 : x.shape()[a]);
  }
  const std::size_t kept = order.size();
  for (const int a : folded) order.push_back(static_cast<std::size_t>(a));
  Instruction i;
  i.opcode = Opcode::tensor_reduce;
  i.alu = alu;
  i.where = where;
  i.reduced = static_cast<int>(folded.size());
  Access source{x.access().tensor, {}};
  for (const Along& old : x.access().along) {
    Along along{old.start, {}};
    for (const std::size_t a : order) along.step.push_back(old.step[a]);
    source.along.push_back(std::move(along));
  }
  for (const std::size_t a : order) i.counts.push_back(x.shape()[a]);
  i.mask = conditions_of(options.mask, x.shape(), where);
  for (Condition& c : i.mask) {  // x's axis -> the instruction's
    const auto at = std::find(order.begin(), order.end(), static_cast<std::size_t>(c.axis));
    if (c.axis >= 0) c.axis = static_cast<int>(at - order.begin());
  }
  tensor out = result(r, shape, dtype, where);
  i.dst = {out.access().tensor, {}};
  std::size_t axis = 0;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    Along along{0, Values(kept, 0)};
    const bool is_folded =
        options.keepdims && std::find(folded.begin(), folded.end(), static_cast<int>(d)) != folded.end();
    if (!is_folded) along.step[axis++] = 1;
    i.dst.along.push_back(std::move(along));
  }
  i.src.push_back(std::move(source));
  r.add(std::move(i));
  return out;
}

}  // namespace

tensor add(const operand& a, const operand& b, const math_options& o) { return binary(Alu::add, a, b, o, "add"); }
tensor subtract(const operand& a, const operand& b, const math_options& o) {
  return binary(Alu::subtract, a, b, o, "subtract");
}
tensor multiply(const operand& a, const operand& b, const math_options& o) {
  return binary(Alu::multiply, a, b, o, "multiply");
}
tensor divide(const operand& a, const operand& b, const math_options& o) {
  return binary(Alu::divide, a, b, o, "divide");
}
tensor maximum(const operand& a, const operand& b, const math_options& o) {
  return binary(Alu::max, a, b, o, "maximum");
}
tensor minimum(const operand& a, const operand& b, const math_options& o) {
  return binary(Alu::min, a, b, o, "minimum");
}
tensor equal(const operand& a, const operand& b, const math_options& o) { return binary(Alu::equal, a, b, o, "equal"); }
tensor not_equal(const operand& a, const operand& b, const math_options& o) {
  return binary(Alu::not_equal, a, b, o, "not_equal");
}
tensor less(const operand& a, const operand& b, const math_options& o) { return binary(Alu::less, a, b, o, "less"); }
tensor less_equal(const operand& a, const operand& b, const math_options& o) {
  return binary(Alu::less_equal, a, b, o, "less_equal");
}
tensor greater(const operand& a, const operand& b, const math_options& o) {
  return binary(Alu::greater, a, b, o, "greater");
}
tensor greater_equal(const operand& a, const operand& b, const math_options& o) {
  return binary(Alu::greater_equal, a, b, o, "greater_equal");
}
tensor abs(const operand& x, const math_options& o) { return unary(Opcode::activation, Alu::absolute, x, o, "abs"); }
tensor square(const operand& x, const math_options& o) {
  return unary(Opcode::activation, Alu::square, x, o, "square");
}
tensor sqrt(const operand& x, const math_options& o) { return unary(Opcode::activation, Alu::sqrt, x, o, "sqrt"); }
tensor copy(const operand& x, const math_options& o) { return unary(Opcode::tensor_copy, Alu::add, x, o, "copy"); }

tensor where(const tensor& condition, const operand& x, const operand& y, const math_options& options) {
  const operand c(condition, x.where);
  if (x.tile && y.tile)
    return record(Opcode::select, Alu::add, {&c, &x, &y},
                  options.dtype.value_or(promote(dtype_of_operand(x), dtype_of_operand(y))), options.mask, "where");
  const Dtype dtype = options.dtype.value_or(promote(dtype_of_operand(x), dtype_of_operand(y)));
  const auto as_tile = [&](const operand& v) {  // a number becomes a tile of one element a partition
    if (v.tile) return *v.tile;
    Extents shape = Extents::filled(static_cast<int>(condition.shape().size()), 1);
    shape[0] = condition.shape()[0];
    return full(shape, v.number, {.dtype = dtype}, v.where);
  };
  const operand px(as_tile(x), x.where), py(as_tile(y), y.where);
  return record(Opcode::select, Alu::add, {&c, &px, &py}, dtype, options.mask, "where");
}

tensor sum(const tensor& x, const reduce_options& o, const where_t& where) {
  return reduce(Alu::add, x, o, o.dtype.value_or(x.dtype()), "sum", where);
}
tensor prod(const tensor& x, const reduce_options& o, const where_t& where) {
  return reduce(Alu::multiply, x, o, o.dtype.value_or(x.dtype()), "prod", where);
}
tensor max(const tensor& x, const reduce_options& o, const where_t& where) {
  return reduce(Alu::max, x, o, o.dtype.value_or(x.dtype()), "max", where);
}
tensor min(const tensor& x, const reduce_options& o, const where_t& where) {
  return reduce(Alu::min, x, o, o.dtype.value_or(x.dtype()), "min", where);
}
tensor mean(const tensor& x, const reduce_options& o, const where_t& where) {
  if (!o.mask.terms().empty())
    throw Failure("err_unsupported_mask",
                  "mean: must have no mask, as the number of elements would depend on it; divide an nl::sum", where);
  index_t elements = 1;
  for (const int a : checked_axes(x, o, "mean", where)) elements *= x.shape()[static_cast<std::size_t>(a)];
  return divide({reduce(Alu::add, x, o, Dtype::f32, "mean", where), where}, {elements, where},
                {.dtype = o.dtype.value_or(x.dtype())});
}

}  // namespace oriel::tile::nl
