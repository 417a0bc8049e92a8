#include "oriel/tile/ir.h"

#include <algorithm>
#include <array>

#include "oriel/tensor.h"

namespace oriel::tile {

Place::Place(const Where& at) : line(at.line_number) {
  const std::string_view path = at.path;
  file = path.substr(path.find_last_of('/') + 1);
}

std::string to_string(const Place& place) { return place.file + ":" + std::to_string(place.line); }

Failure::Failure(std::string id, const std::string& text, const Place& where)
    : Error(id + ": " + text + (where.line > 0 ? " [" + to_string(where) + "]" : "")),
      id_(std::move(id)),
      where_(where) {}

index_t Affine::at(std::span<const index_t> counters) const {
  index_t value = constant;
  for (const Term& t : terms) value += t.factor * counters[static_cast<std::size_t>(t.variable)];
  return value;
}

Affine operator+(const Affine& a, const Affine& b) {
  Affine sum(a.constant + b.constant);
  auto x = a.terms.begin();
  auto y = b.terms.begin();
  while (x != a.terms.end() || y != b.terms.end()) {
    if (y == b.terms.end() || (x != a.terms.end() && x->variable < y->variable)) {
      sum.terms.push_back(*x++);
    } else if (x == a.terms.end() || y->variable < x->variable) {
      sum.terms.push_back(*y++);
    } else {
      const Term both{x->variable, x->factor + y->factor};
      if (both.factor != 0) sum.terms.push_back(both);
      ++x;
      ++y;
    }
  }
  return sum;
}

Affine operator*(index_t factor, const Affine& a) {
  if (factor == 0) return {};
  Affine product = a;
  product.constant *= factor;
  for (Term& t : product.terms) t.factor *= factor;
  return product;
}

std::string_view name(Opcode opcode) {
  static constexpr std::array<std::string_view, 14> names = {
      "dma_copy",      "memset",        "iota",   "tensor_copy", "tensor_reduce",
      "tensor_scalar", "tensor_tensor", "select", "activation",  "tensor_tensor_scan",
      "max8",          "device_print",  "loop",   "end"};
  return names[static_cast<std::size_t>(opcode)];
}

std::string_view name(Alu alu) {
  static constexpr std::array<std::string_view, 16> names = {
      "add",  "subtract",   "multiply", "divide",        "max", "min",    "equal", "not_equal",
      "less", "less_equal", "greater",  "greater_equal", "abs", "square", "sqrt",  "reciprocal"};
  return names[static_cast<std::size_t>(alu)];
}

Pattern lower(const Program& program, const Instruction& instruction, const Access& access) {
  const Extents pitch = dense_pitch(program.tensor(access.tensor).shape);
  Pattern pattern;
  const std::size_t axes = access.along.front().step.size();
  for (std::size_t a = 0; a < axes; ++a) pattern.steps.push_back({0, instruction.counts[a]});
  for (std::size_t d = 0; d < access.along.size(); ++d) {
    const index_t p = pitch[static_cast<int>(d)];
    pattern.offset = pattern.offset + p * access.along[d].start;
    for (std::size_t a = 0; a < axes; ++a) pattern.steps[a].stride += p * access.along[d].step[a];
  }
  return pattern;
}

Pattern merged(const Program& program, const Instruction& instruction, const Access& access) {
  const Pattern whole = lower(program, instruction, access);
  Pattern out{whole.offset, {}};
  const std::size_t kept = instruction.counts.size() - static_cast<std::size_t>(instruction.reduced);
  for (std::size_t a = 0; a < whole.steps.size(); ++a) {
    const Step step = whole.steps[a];
    if (a > 0 && step.count == 1) continue;
    const bool joins = out.steps.size() > 1 && a != kept && out.steps.back().stride == step.stride * step.count;
    if (joins)
      out.steps.back() = {step.stride, out.steps.back().count * step.count};
    else
      out.steps.push_back(step);
  }
  return out;
}

std::string to_string(const Affine& affine, const Program& program) {
  std::string text;
  for (const Term& t : affine.terms) {
    if (!text.empty()) text += " + ";
    if (t.factor != 1) text += std::to_string(t.factor) + "*";
    text += program.counters[static_cast<std::size_t>(t.variable)].name;
  }
  if (text.empty()) return std::to_string(affine.constant);
  return affine.constant == 0 ? text : text + " + " + std::to_string(affine.constant);
}

std::string to_string(const Pattern& pattern, const Program& program) {
  std::string text = "[";
  for (std::size_t a = 0; a < pattern.steps.size(); ++a) {
    text += std::string(a == 0 ? "[" : ",[") + std::to_string(pattern.steps[a].stride) + "," +
            std::to_string(pattern.steps[a].count) + "]";
  }
  text += "]";
  return pattern.offset == Affine() ? text : to_string(pattern.offset, program) + " + " + text;
}

namespace {

index_t floor_div(index_t a, index_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0); }

}  // namespace

Trimmed trim(const Instruction& instruction, std::span<const index_t> counters) {
  Trimmed part{Values(instruction.counts.size(), 0), instruction.counts, false};
  for (const Condition& c : instruction.mask) {
    const index_t rest = c.rest.at(counters);
    if (c.axis < 0 || c.factor == 0) {
      part.empty = part.empty || rest < 0;
      continue;
    }
    index_t& begin = part.begin[static_cast<std::size_t>(c.axis)];
    index_t& end = part.end[static_cast<std::size_t>(c.axis)];
    if (c.factor > 0)
      begin = std::max(begin, -floor_div(rest, c.factor));  // i >= -rest / factor, rounded up
    else
      end = std::min(end, floor_div(rest, -c.factor) + 1);
  }
  for (std::size_t a = 0; a < part.begin.size(); ++a) part.empty = part.empty || part.begin[a] >= part.end[a];
  if (part.empty) part.begin = part.end = Values(instruction.counts.size(), 0);
  return part;
}

}  // namespace oriel::tile
