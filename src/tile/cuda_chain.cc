#include "tile/cuda_chain.h"

#include <fmt/format.h>

#include <algorithm>

#include "oriel/tile/machine.h"
#include "tile/cuda_text.h"
#include "tile/element.h"

namespace oriel::tile {
namespace {

std::string divided(const Affine& rest, index_t by, const Program& program) {
  const std::string text = fmt::format("index({})", to_string(rest, program));
  return by == 1 ? text : fmt::format("floor_div({}, index({}))", text, by);
}

std::string computed(const Instruction& i, const std::string& x, const std::string& other) {
  switch (i.opcode) {
    case Opcode::tensor_scalar:
      return i.scalar_first ? cuda_applied(i.alu, cuda_float(i.scalar), x)
                            : cuda_applied(i.alu, x, cuda_float(i.scalar));
    case Opcode::tensor_tensor:
    case Opcode::activation:
      return cuda_applied(i.alu, x, other);
    default:
      return x;
  }
}

}  // namespace

bool CudaOperands::masked(std::size_t axis) const {
  for (const Condition& c : now_->mask)
    if (c.axis == static_cast<int>(axis) && c.factor != 0) return true;
  return false;
}
std::string CudaOperands::begin_of(std::size_t a) const { return masked(a) ? fmt::format("begin{}", a) : "0"; }
std::string CudaOperands::end_of(std::size_t a) const {
  return masked(a) ? fmt::format("end{}", a) : std::to_string(now_->counts[a]);
}
std::string CudaOperands::extent_of(std::size_t a) const {
  return masked(a) ? fmt::format("(end{0} - begin{0})", a) : std::to_string(now_->counts[a]);
}

std::string CudaOperands::place(const Access& access) const {
  if (access.tensor < 0) {
    std::string text = to_string(access.along[0].start, subject_.program());
    for (std::size_t a = 0; a < now_->counts.size(); ++a) add_term(text, access.along[0].step[a], a);
    return text;
  }
  const Pattern pattern = lower(subject_.program(), *now_, access);
  std::string text = to_string(pattern.offset, subject_.program());
  const bool skips = subject_.layout.by_partition && subject_.program().tensor(access.tensor).on_chip();
  for (std::size_t a = skips ? 1 : 0; a < pattern.steps.size(); ++a) add_term(text, pattern.steps[a].stride, a);
  return text;
}
void CudaOperands::add_term(std::string& text, index_t stride, std::size_t a) const {
  if (stride == 0 || now_->counts[a] == 1) return;
  const std::string axis = subject_.layout.by_partition && a == 0 ? "partition" : fmt::format("a{}", a);
  const std::string term = stride == 1 ? axis : fmt::format("{}*{}", stride, axis);
  text = text == "0" ? term : text + " + " + term;
}

std::string CudaOperands::raw(const Access& access) const {
  return fmt::format("{}[{}]", subject_.name(access.tensor), place(access));
}
std::string CudaOperands::read(const Access& access) const {
  return subject_.program().tensor(access.tensor).dtype == Dtype::f32 ? raw(access) : "widened(" + raw(access) + ")";
}

std::string CudaOperands::narrow(const std::string& target, const Instruction& last, const std::string& value) const {
  const Dtype dtype = subject_.program().tensor(last.dst.tensor).dtype;
  if (dtype == Dtype::f32) return fmt::format("{} = {};", target, value);
  return fmt::format("{} = narrowed<{}>({});", target, cuda_dtype(dtype), value);
}

std::string CudaOperands::masked_begin(std::size_t axis) const {
  std::string begin = "index(0)";
  for (const Condition& c : now_->mask) {
    if (c.axis != static_cast<int>(axis) || c.factor <= 0) continue;
    begin = c.factor == 1 ? fmt::format("larger({}, {})", begin, divided(index_t{-1} * c.rest, 1, subject_.program()))
                          : fmt::format("larger({}, -{})", begin, divided(c.rest, c.factor, subject_.program()));
  }
  return begin;
}

std::string CudaOperands::masked_end(std::size_t axis) const {
  std::string end = fmt::format("index({})", now_->counts[axis]);
  for (const Condition& c : now_->mask) {
    if (c.axis != static_cast<int>(axis) || c.factor >= 0) continue;
    end = c.factor == -1 ? fmt::format("smaller({}, {})", end, divided(c.rest + 1, 1, subject_.program()))
                         : fmt::format("smaller({}, {} + 1)", end, divided(c.rest, -c.factor, subject_.program()));
  }
  return end;
}

// begin1, end1: the part of axis 1 that the mask leaves. Returns when anything is left, and this partition is in it.
std::string CudaChain::trim_axes(bool by_partition) {
  std::string condition;
  const auto require = [&](const std::string& text) { condition += (condition.empty() ? "" : " && ") + text; };
  for (const Condition& c : now_->mask)
    if (c.axis < 0 || c.factor == 0) require(to_string(c.rest, subject_.program()) + " >= 0");
  for (std::size_t a = 0; a < now_->counts.size(); ++a) {
    const bool is_partition = by_partition && a == 0;
    if (operands_.masked(a)) {
      out_.line(fmt::format("const index begin{0} = {1}, end{0} = {2};", a, operands_.masked_begin(a),
                            operands_.masked_end(a)));
      require(is_partition ? fmt::format("partition >= begin{0} && partition < end{0}", a)
                           : fmt::format("begin{0} < end{0}", a));
    } else if (is_partition && now_->counts[0] < subject_.layout.partitions) {
      require(fmt::format("partition < {}", now_->counts[0]));
    }
  }
  return condition;
}

// The threads' loop over the elements that are kept, or where elements share a place, one thread's in their order.
void CudaChain::write() {
  const bool by_partition = subject_.layout.by_partition;
  const bool is_scan = now_->opcode == Opcode::tensor_tensor_scan;  // a thread has a partition
  const std::size_t kept = is_scan ? 1 : now_->counts.size() - static_cast<std::size_t>(now_->reduced);
  const bool has_mask = std::any_of(now_->mask.begin(), now_->mask.end(), [](const Condition&) { return true; });
  if (has_mask) out_.open("");
  const std::string condition = trim_axes(by_partition);
  if (!condition.empty()) out_.open("if (" + condition + ")");
  std::vector<std::size_t> axes;
  std::string total;
  for (std::size_t a = by_partition ? 1 : 0; a < kept; ++a) {
    if (now_->counts[a] == 1) continue;
    axes.push_back(a);
    total += (total.empty() ? "" : " * ") + operands_.extent_of(a);
  }
  if (now_->opcode == Opcode::device_print) {
    print(kept);
  } else if (axes.empty()) {
    out_.open("if (threadIdx.x == 0)");
    element();
    out_.close();
  } else {
    loop(axes, total);
  }
  if (!condition.empty()) out_.close();
  if (has_mask) out_.close();
}

// The loop over `total` elements of the axes.
void CudaChain::loop(const std::vector<std::size_t>& axes, const std::string& total) {
  const Instruction& last = chain_.back();
  const bool in_order =
      !is_injective(lower(subject_.program(), last, last.dst), last.counts, subject_.layout.by_partition ? 1 : 0) ||
      overwrites_itself();
  if (in_order) out_.open("if (threadIdx.x == 0)");
  out_.open(in_order ? fmt::format("for (index element = 0; element < {}; ++element)", total)
                     : fmt::format("for (index element = threadIdx.x; element < {}; element += blockDim.x)", total));
  for (std::size_t k = 0; k < axes.size(); ++k) {
    std::string after, text = "element";
    for (std::size_t j = k + 1; j < axes.size(); ++j)
      after += (after.empty() ? "" : " * ") + operands_.extent_of(axes[j]);
    if (!after.empty()) text += axes.size() - k > 2 ? " / (" + after + ")" : " / " + after;
    if (k > 0) text += " % " + operands_.extent_of(axes[k]);
    if (operands_.masked(axes[k])) text = fmt::format("begin{} + {}", axes[k], text);
    out_.line(fmt::format("const index a{} = {};", axes[k], text));
  }
  element();
  out_.close();
  if (in_order) out_.close();
}

// Reads other elements of what it writes.
bool CudaChain::overwrites_itself() const {
  for (const Access& src : now_->src)
    if (src.tensor >= 0 && src.tensor == now_->dst.tensor && src.along != now_->dst.along) return true;
  return false;
}

// One element: read, computed, passed through the chain, written.
void CudaChain::element() {
  const Instruction& last = chain_.back();
  if (now_->opcode == Opcode::tensor_tensor_scan) return scan();
  if (now_->opcode == Opcode::max8) return eight_largest();
  const bool bits = std::all_of(chain_.begin(), chain_.end(), [&](const Instruction& i) {
    return (i.opcode == Opcode::dma_copy || i.opcode == Opcode::tensor_copy) && copies_bits(subject_.program(), i);
  });
  const std::string target = fmt::format("{}[{}]", subject_.name(last.dst.tensor), operands_.place(last.dst));
  if (bits) return out_.line(target + " = " + operands_.raw(now_->src[0]) + ";");
  const std::string first = first_value();
  if (chain_.size() == 1) return out_.line(operands_.narrow(target, last, first));
  if (now_->opcode != Opcode::tensor_reduce) out_.line(fmt::format("float value = {};", first));
  Dtype dtype = subject_.program().tensor(now_->dst.tensor).dtype;
  for (const Instruction& i : chain_.subspan(1)) {
    const std::string value = dtype == Dtype::f32 ? "value" : fmt::format("rounded<{}>(value)", cuda_dtype(dtype));
    const std::string next = computed(i, value, "");
    dtype = subject_.program().tensor(i.dst.tensor).dtype;
    if (&i == &last) return out_.line(operands_.narrow(target, last, next));
    if (next != "value") out_.line(fmt::format("value = {};", next));
  }
}

void CudaChain::scan() {
  const Instruction& i = *now_;
  out_.line(fmt::format("float value = {};", i.src.size() > 2 ? operands_.read(i.src[2]) : cuda_float(i.scalar)));
  out_.open(fmt::format("for (index a1 = 0; a1 < {}; ++a1)", i.counts[1]));
  out_.line(fmt::format("value = {};", cuda_applied(i.alu1, cuda_applied(i.alu, operands_.read(i.src[0]), "value"),
                                                    operands_.read(i.src[1]))));
  out_.line(operands_.narrow(operands_.raw(i.dst), i, "value"));
  out_.close();
}

void CudaChain::eight_largest() {
  const Instruction& i = *now_;
  out_.line("float top[8];");
  out_.line(fmt::format("for (index k = 0; k < 8; ++k) top[k] = {};", cuda_identity(Alu::max)));
  const int depth = out_.depth();
  for (std::size_t a = 1; a < i.counts.size(); ++a) {
    out_.below(fmt::format("for (index a{0} = 0; a{0} < {1}; ++a{0})", a, i.counts[a]));
  }
  out_.line(fmt::format("insert8(top, {});", operands_.read(i.src[0])));
  out_.set_depth(depth);
  const std::string to = fmt::format("{}[{} + k]", subject_.name(i.dst.tensor), operands_.place(i.dst));
  out_.line("for (index k = 0; k < 8; ++k) " + operands_.narrow(to, i, "top[k]"));
}

// The first instruction's value; a fold's loops are written, and give `value`.
std::string CudaChain::first_value() {
  const Instruction& i = *now_;
  switch (i.opcode) {
    case Opcode::memset:
      return cuda_float(i.scalar);
    case Opcode::iota:
      return fmt::format("static_cast<float>({})", operands_.place(i.src[0]));
    case Opcode::select:
      return fmt::format("{} != 0 ? {} : {}", operands_.read(i.src[0]), operands_.read(i.src[1]),
                         operands_.read(i.src[2]));
    case Opcode::tensor_reduce:
      break;
    default:
      return computed(i, operands_.read(i.src[0]), i.src.size() > 1 ? operands_.read(i.src[1]) : "");
  }
  out_.line(fmt::format("float value = {};", cuda_identity(i.alu)));
  const std::size_t kept = i.counts.size() - static_cast<std::size_t>(i.reduced);
  const int depth = out_.depth();
  for (std::size_t a = kept; a < i.counts.size(); ++a) {
    if (i.counts[a] == 1) continue;
    out_.below(
        fmt::format("for (index a{0} = {1}; a{0} < {2}; ++a{0})", a, operands_.begin_of(a), operands_.end_of(a)));
  }
  out_.line(fmt::format("value = {};", cuda_applied(i.alu, "value", operands_.read(i.src[0]))));
  out_.set_depth(depth);
  return "value";
}

void CudaChain::print(std::size_t kept) {
  out_.open("if (threadIdx.x == 0)");
  std::string format;
  for (const char c : now_->text) {
    if (c == '"' || c == '\\') format += '\\';
    format += c == '%' ? "%%" : c == '\n' ? "\\n" : std::string(1, c);
  }
  std::string shape;
  for (const index_t n : now_->counts) shape += (shape.empty() ? "" : "x") + std::to_string(n);
  out_.line(fmt::format("printf(\"{} [{}]:\");", format, shape));
  const int depth = out_.depth();
  for (std::size_t a = 0; a < kept; ++a) {
    out_.below(fmt::format("for (index a{0} = 0; a{0} < {1}; ++a{0})", a, now_->counts[a]));
  }
  out_.line(fmt::format("printf(\" %g\", static_cast<double>({}));", operands_.read(now_->src[0])));
  out_.set_depth(depth);
  out_.line("printf(\"\\n\");");
  out_.close();
}

}  // namespace oriel::tile
