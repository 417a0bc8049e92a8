#include "oriel/tile/isa.h"

#include "oriel/tensor.h"
#include "tile/recorder.h"

namespace oriel::tile::nisa {
namespace {

void check_on_chip(const Recorder& r, const tensor& t, std::string_view argument, std::string_view call,
                   const where_t& where) {
  const TensorInfo& info = r.program.tensor(t.access().tensor);
  if (!info.on_chip())
    throw Failure("err_unsupported_memory",
                  "Expected operand '" + std::string(argument) + "' of '" + std::string(call) +
                      "' to be in address space 'sbuf', but got a tile in 'hbm' instead: `" + info.name +
                      "` must be loaded first",
                  where);
}

std::string counts_text(const Values& counts) {
  std::string text;
  for (const index_t n : counts) text += (text.empty() ? "" : ", ") + std::to_string(n);
  return "[" + text + "]";
}

Instruction instruction(Opcode opcode, const Values& counts, const where_t& where) {
  Instruction i;
  i.opcode = opcode;
  i.counts = counts;
  i.where = where;
  return i;
}

}  // namespace

void dma_copy(const dma_options& options, const where_t& where) {
  Recorder& r = Recorder::current(where);
  if (options.dst.shape() != options.src.shape())
    throw Failure("err_store_dst_shape_smaller_than_other_shape",
                  "Illegal assignment destination shape in 'dma_copy': dst and src must have one shape, but have " +
                      counts_text(options.dst.shape()) + " and " + counts_text(options.src.shape()),
                  where);
  Instruction i = instruction(Opcode::dma_copy, options.dst.shape(), where);
  i.dst = options.dst.access();
  i.src.push_back(options.src.access());
  i.mask = conditions_of(options.mask, i.counts, where);
  r.add(std::move(i));
}

tensor tensor_tensor_scan(const scan_options& options, const where_t& where) {
  Recorder& r = Recorder::current(where);
  const Values& counts = options.data0.shape();
  check_on_chip(r, options.data0, "data0", "tensor_tensor_scan", where);
  check_on_chip(r, options.data1, "data1", "tensor_tensor_scan", where);
  if (counts.size() != 2 || counts != options.data1.shape())
    throw Failure("err_operand_shape_mismatch",
                  "tensor_tensor_scan: data0 and data1 must have one shape [P, F], but have " + counts_text(counts) +
                      " and " + counts_text(options.data1.shape()),
                  where);
  for (const Alu op : {options.op0, options.op1})
    if (op >= Alu::absolute)
      throw Failure("err_unsupported_op",
                    "tensor_tensor_scan: op0 and op1 must take two operands, but one is " + std::string(name(op)),
                    where);
  Instruction i = instruction(Opcode::tensor_tensor_scan, counts, where);
  i.alu = options.op0;
  i.alu1 = options.op1;
  i.src = {options.data0.access(), options.data1.access()};
  i.scalar = options.initial.number;
  if (options.initial.tile) {
    const tensor& initial = *options.initial.tile;
    check_on_chip(r, initial, "initial", "tensor_tensor_scan", where);
    if (initial.shape() != Values{counts[0], 1})
      throw Failure("err_operand_shape_mismatch",
                    "tensor_tensor_scan: initial must be a number or have shape " + counts_text({counts[0], 1}) +
                        ", but has " + counts_text(initial.shape()),
                    where);
    i.src.push_back(initial.access());
    for (Along& along : i.src[2].along) along.step[1] = 0;
  }
  tensor out = r.add_tensor({counts[0], counts[1]}, options.dtype.value_or(options.data0.dtype()), Space::sbuf, where);
  i.dst = out.access();
  r.add(std::move(i));
  return out;
}

tensor max8(const tensor& src, const nl::math_options& options, const where_t& where) {
  Recorder& r = Recorder::current(where);
  check_on_chip(r, src, "src", "max8", where);
  index_t elements = 1;
  for (std::size_t d = 1; d < src.shape().size(); ++d) elements *= src.shape()[d];
  constexpr index_t least = 8, most = 16384;
  if (elements < least || elements > most)
    throw Failure("err_max8_elements",
                  "max8: a partition must have 8 to 16384 elements, but has " + std::to_string(elements), where);
  if (!options.mask.terms().empty()) throw Failure("err_unsupported_mask", "max8: must have no mask", where);
  Instruction i = instruction(Opcode::max8, src.shape(), where);
  i.reduced = static_cast<int>(src.shape().size()) - 1;
  i.src.push_back(src.access());
  tensor out = r.add_tensor({src.shape()[0], 8}, options.dtype.value_or(src.dtype()), Space::sbuf, where);
  i.dst = {out.access().tensor, {{0, {1}}, {0, {0}}}};
  r.add(std::move(i));
  return out;
}

std::pair<tensor, tensor> select_reduce(const select_options& options, const where_t& where) {
  const Values& counts = options.on_true.shape();
  if (counts != options.predicate.shape() || counts.size() < 2)
    throw Failure("err_operand_shape_mismatch",
                  "select_reduce: predicate and on_true must have one shape [P, ...], but have " +
                      counts_text(options.predicate.shape()) + " and " + counts_text(counts),
                  where);
  const nl::math_options to{.dtype = options.dtype.value_or(options.on_true.dtype())};
  const operand chosen(options.on_true, where), other(options.on_false);
  tensor selected = options.reverse_pred ? nl::where(options.predicate, other, chosen, to)
                                         : nl::where(options.predicate, chosen, other, to);
  nl::axes axes(1);
  for (std::size_t d = 2; d < counts.size(); ++d) axes.values.push_back(static_cast<int>(d));
  nl::reduce_options all{.axis = axes, .keepdims = true};
  return {selected, nl::max(selected, all, where)};
}

}  // namespace oriel::tile::nisa
