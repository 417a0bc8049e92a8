#include "tile/python_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tile/unique_names.h"

namespace oriel::tile {

std::string python_dtype(Dtype dtype) {
  switch (dtype) {
    case Dtype::f32:
      return "nl.float32";
    case Dtype::f16:
      return "nl.float16";
    case Dtype::bf16:
      return "nl.bfloat16";
    case Dtype::i8:
      return "nl.int8";
    case Dtype::u8:
      return "nl.uint8";
    case Dtype::i16:
      return "nl.int16";
    case Dtype::u16:
      return "nl.uint16";
    case Dtype::i32:
      return "nl.int32";
    default:
      return "nl.uint32";
  }
}

std::string python_number(double value) {
  if (std::isnan(value)) return "float(\"nan\")";
  if (std::isinf(value)) return value > 0 ? "float(\"inf\")" : "float(\"-inf\")";
  return fmt::format("{}", value);
}

std::string python_list(const Values& values) {
  std::string text;
  for (const index_t v : values) text += (text.empty() ? "" : ", ") + std::to_string(v);
  return text;
}

std::string python_string(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c == '\n' ? "\\n" : std::string(1, c);
  }
  return out + "\"";
}

Program with_python_names(Program program) {
  UniqueNames names({"nki",  "nisa",   "nl",       "picked",  "other", "flags", "row",    "False",    "None",   "True",
                     "and",  "as",     "assert",   "async",   "await", "break", "class",  "continue", "def",    "del",
                     "elif", "else",   "except",   "finally", "for",   "from",  "global", "if",       "import", "in",
                     "is",   "lambda", "nonlocal", "not",     "or",    "pass",  "raise",  "return",   "try",    "while",
                     "with", "yield",  "max",      "min",     "range", "float"});
  program.name = names.unique(program.name);
  for (Counter& c : program.counters) c.name = names.unique(c.name);
  for (int a = 0; a < 16; ++a)
    for (const char* letter : {"a", "b", "c", "e"}) (void)names.unique(letter + std::to_string(a));
  for (TensorInfo& t : program.tensors) t.name = names.unique(t.name);
  return program;
}

PythonText::PythonText(const Program& program) : program_(program), made_at_(program.instructions.size()) {
  std::vector<std::size_t> loops;
  std::vector<bool> seen(program.tensors.size(), false);
  for (std::size_t i = 0; i < program.instructions.size(); ++i) {
    const Instruction& instruction = program.instructions[i];
    if (instruction.opcode == Opcode::end) loops.pop_back();
    const auto use = [&](int id) {
      if (id < 0 || seen[static_cast<std::size_t>(id)] || !program.tensor(id).on_chip()) return;
      seen[static_cast<std::size_t>(id)] = true;
      const std::size_t depth = static_cast<std::size_t>(program.tensor(id).depth);
      made_at_[depth < loops.size() ? loops[depth] : i].push_back(id);  // before the loops that it outlives
    };
    for (const Access& src : instruction.src) use(src.tensor);
    use(instruction.dst.tensor);
    if (instruction.opcode == Opcode::loop) loops.push_back(i);
  }
}

void PythonText::heading(const std::string& version) {
  std::string arguments;
  for (const int id : program_.parameters) {
    const TensorInfo& t = program_.tensor(id);
    arguments += fmt::format("{}{}[{}]", arguments.empty() ? "" : ", ", name(t.dtype),
                             python_list(Values(t.shape.begin(), t.shape.end())));
  }
  std::string constants = program_.constants;
  std::replace(constants.begin(), constants.end(), '\n', ' ');
  line(fmt::format("# {}({}{}{}) for NKI {}; written from its documentation, not run on a device.", program_.name,
                   arguments, program_.constants.empty() ? "" : "; ", constants, version));
}

void PythonText::make(const TensorInfo& t) {
  line(fmt::format("{} = nl.ndarray(({}{}), dtype={}, buffer=nl.{})", t.name,
                   python_list(Values(t.shape.begin(), t.shape.end())), t.shape.size() == 1 ? "," : "",
                   python_dtype(t.dtype),
                   t.on_chip()                    ? "sbuf"
                   : t.space == Space::shared_hbm ? "shared_hbm"
                                                  : "hbm"));
}

void PythonText::make_hbm() {
  for (const TensorInfo& t : program_.tensors)
    if (!t.on_chip() && t.parameter < 0) make(t);
}

void PythonText::make_tiles(std::size_t at) {
  for (const int id : made_at_[at]) make(program_.tensor(id));
}

void PythonText::return_results() {
  std::string names;
  for (const int id : program_.outputs) names += (names.empty() ? "" : ", ") + program_.tensor(id).name;
  line("return " + names);
}

}  // namespace oriel::tile
