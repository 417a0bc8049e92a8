// The shipped kernels of the tile language on Python's arrays: a program is kept for each kernel, its options, the
// input's shape and dtype, and the machine.
#include "tile.h"

#include <nanobind/stl/string.h>

#include <climits>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "arguments.h"
#include "array.h"
#include "faults.h"
#include "fmt/format.h"
#include "oriel/tile/kernels.h"

namespace oriel::python {
namespace {

using namespace nb::literals;

using Values = std::map<std::string, int>;
using SharedProgram = std::shared_ptr<const tile::Program>;

int to_int(std::string_view function, const std::string& option, index_t value) {
  if (value < INT_MIN || value > INT_MAX)
    throw Error(fmt::format("{}: {} must fit 32 bits, but is {}", function, option, value));
  return static_cast<int>(value);
}

// Padding as ((before, after), (before, after)).
bool read_padding_pairs(const std::string& function, nb::handle given, Values& values) {
  if (PySequence_Check(given.ptr()) == 0 || PyUnicode_Check(given.ptr()) != 0 || nb::len(given) != 2) return false;
  for (int axis = 0; axis < 2; ++axis) {
    const nb::object pair = given[axis];
    if (PySequence_Check(pair.ptr()) == 0) return false;
    const Extents list = read_ints(function, "padding", pair);
    if (list.size() != 2)
      throw Error(
          fmt::format("{}: padding must have pairs (before, after), but has one of {} values", function, list.size()));
    const std::string suffix = axis == 0 ? "_h" : "_w";
    values["padding" + suffix] = to_int(function, "padding", list[0]);
    values["padding_after" + suffix] = to_int(function, "padding", list[1]);
  }
  return true;
}

// Options by Python's names; None: not given. Pairs are of height and width.
Values read_values(const std::string& function, const nb::dict& options) {
  const std::map<std::string, std::string> pairs = {{"kernel_size", "kernel"},
                                                    {"stride", "stride"},
                                                    {"padding", "padding"},
                                                    {"dilation", "dilation"},
                                                    {"output_size", "output"}};
  Values values;
  for (const auto& [key, given] : options) {
    const std::string option = nb::cast<std::string>(key);
    if (given.is_none()) continue;
    if (option == "count_include_pad" || option == "precise" || option == "ceil_mode") {
      values[option] = read_bool(function, option.c_str(), given) ? 1 : 0;
    } else if (option == "padding" && read_padding_pairs(function, given, values)) {
      continue;
    } else if (const auto pair = pairs.find(option); pair == pairs.end()) {
      values[option] = to_int(function, option, read_int(function, option.c_str(), given));
    } else {
      const Extents list = read_ints(function, option.c_str(), given);
      const bool is_volume = function == "max_pool3d";
      if (list.empty() || list.size() > (is_volume ? 1 : 2))
        throw Error(fmt::format("{}: {} must have 1{} values, but has {}", function, option, is_volume ? "" : " or 2",
                                list.size()));
      values[pair->second] = to_int(function, option, list[0]);
      if (list.size() == 2) {
        values[pair->second + "_h"] = values[pair->second];
        values[pair->second + "_w"] = to_int(function, option, list[1]);
      }
    }
  }
  return values;
}

SharedProgram program_for(const std::string& kernel, const tile::nki::meta& x, const Values& values,
                          const tile::nki::machine& machine) {
  static std::mutex lock;
  static std::map<std::string, SharedProgram> programs;
  std::string key = fmt::format("{} {} {} {}", kernel, name(x.dtype), to_string(x.shape), machine.name);
  for (const auto& [option, value] : values) key += fmt::format(" {}={}", option, value);
  {
    const std::lock_guard hold(lock);
    if (const auto found = programs.find(key); found != programs.end()) return found->second;
  }
  auto program = std::make_shared<const tile::Program>(tile::shipped_kernel(kernel).trace(x, values));
  require(verify(*program));
  require(check(*program, machine));
  constexpr std::size_t most = 1024;  // programs that are kept
  const std::lock_guard hold(lock);
  if (programs.size() >= most) programs.clear();
  programs.emplace(std::move(key), program);
  return program;
}

// Axes of one element have no distance; those of what is dense otherwise get the one that dense arrays have.
void tidy_pitch(ConstTensor& t) {
  const Extents dense = dense_pitch(t.shape);
  for (int d = 0; d < t.rank(); ++d)
    if (t.shape[d] != 1 && t.pitch[d] != dense[d]) return;
  t.pitch = dense;
}

tile::Backend read_backend(const std::string& function, const std::string& word) {
  if (word == "cpu") return tile::Backend::cpu;
  if (word == "interpreter") return tile::Backend::interpreter;
  throw Error(fmt::format("{}: backend must be 'cpu' or 'interpreter', but is '{}'", function, word));
}

// Results: the caller's arrays, or new ones of x's kind.
class Results {
 public:
  Results(const std::string& function, const tile::Program& program, const Array& x, nb::handle out) : like_(x) {
    like_.view.pitch = dense_pitch(like_.view.shape);  // results are dense whatever the input is
    const bool several = program.outputs.size() > 1;
    if (!out.is_none() && several && (PyTuple_Check(out.ptr()) == 0 || nb::len(out) != program.outputs.size()))
      throw TypeFault(fmt::format("{}: out must be a tuple of {} arrays, but is {}", function, program.outputs.size(),
                                  nb::cast<std::string>(nb::str(out.type()))));
    for (std::size_t o = 0; o < program.outputs.size(); ++o) {
      const tile::TensorInfo& t = program.tensor(program.outputs[o]);
      if (out.is_none()) {
        views_.push_back(fresh_.emplace_back(like_, t.dtype, t.shape).view());
      } else {
        given_.push_back(
            read_output(function, "out", several ? nb::object(out[o]) : nb::borrow(out), x, t.dtype, t.shape));
        tidy_pitch(given_.back().view);
        views_.push_back(given_.back().writable_view());
      }
    }
  }
  const std::vector<Tensor>& views() const { return views_; }
  nb::object finish() {
    nb::list list;
    for (NewArray& array : fresh_) list.append(array.finish());
    for (const Array& array : given_) list.append(array.object);
    return nb::len(list) == 1 ? nb::object(list[0]) : nb::object(nb::tuple(list));
  }

 private:
  Array like_;
  std::list<NewArray> fresh_;
  std::vector<Array> given_;
  std::vector<Tensor> views_;
};

// What a dtype that tiles do not have becomes: a TypeError, as for every other argument of the wrong type.
template <class F>
auto with_type_faults(const F& f) {
  try {
    return f();
  } catch (const tile::Failure& failure) {
    if (failure.id() == "err_unsupported_dtype") throw TypeFault(failure.what());
    throw;
  }
}

nb::object run_kernel(const std::string& function, const std::string& kernel, const nb::tuple& arrays,
                      const nb::dict& options, const std::string& machine_name, const std::string& backend_word,
                      nb::handle out) {
  constexpr const char* names[] = {"x", "dy"};
  std::vector<Array> inputs;
  for (std::size_t i = 0; i < nb::len(arrays); ++i) {
    inputs.push_back(read_array(function, names[i], arrays[i]));
    tidy_pitch(inputs.back().view);
    if (i > 0) check_same_framework(function, names[0], inputs[0], names[i], inputs[i]);
  }
  const Array& x = inputs[0];
  const tile::Backend backend = read_backend(function, backend_word);
  const Values values = read_values(function, options);
  const tile::nki::machine& machine = tile::nki::machine_named(machine_name);
  const SharedProgram program = with_type_faults([&] {
    const nb::gil_scoped_release release;
    return program_for(kernel, {x.view.dtype, x.view.shape}, values, machine);
  });
  if (inputs.size() != program->parameters.size())
    throw TypeFault(fmt::format("{}: dy must be given, but is not", function));
  if (inputs.size() > 1 && inputs[1].view.dtype != x.view.dtype)
    throw TypeFault(fmt::format("{}: dy must have x's dtype {}, but has {}", function, numpy_name(x.view.dtype),
                                numpy_name(inputs[1].view.dtype)));
  if (inputs.size() > 1 && inputs[1].view.shape != program->tensor(program->parameters[1]).shape)
    throw Error(fmt::format("{}: dy must have shape {}, but has {}", function,
                            to_string(program->tensor(program->parameters[1]).shape), to_string(inputs[1].view.shape)));
  Results results(function, *program, x, out);
  std::vector<ConstTensor> views;
  for (const Array& input : inputs) views.push_back(input.view);
  {
    const nb::gil_scoped_release release;
    run(*program, views, results.views(), backend);
  }
  return results.finish();
}

tile::Program trace(const std::string& function, const std::string& kernel, const std::string& dtype, nb::handle shape,
                    const nb::dict& options) {
  const tile::nki::meta x{parse_dtype(dtype), read_shape(function, "shape", shape)};
  const Values values = read_values(function, options);
  return with_type_faults([&] { return tile::shipped_kernel(kernel).trace(x, values); });
}

std::string kernel_text(const std::string& part, const std::string& function, const std::string& kernel,
                        const std::string& dtype, nb::handle shape, const nb::dict& options,
                        const std::string& variant) {
  const tile::Program program = trace(function, kernel, dtype, shape, options);
  if (part == "ir") return to_string(program);
  if (part == "report") {
    const tile::nki::machine& machine = tile::nki::machine_named(variant);
    return to_string(report(program, machine), program, machine);
  }
  if (part == "picture") {
    for (const tile::Instruction& i : program.instructions)
      if (i.opcode == tile::Opcode::tensor_reduce) return draw(program, i);
    return "";
  }
  if (part == "cuda") return emit_cuda(program).text;
  if (variant != "0.1" && variant != "0.6")
    throw Error(fmt::format("emit_nki: version must be '0.1' or '0.6', but is '{}'", variant.substr(0, 40)));
  return emit_nki(program, variant == "0.1" ? tile::nki::nki_version::v0_1 : tile::nki::nki_version::v0_6);
}

nb::list kernel_findings(const std::string& function, const std::string& kernel, const std::string& dtype,
                         nb::handle shape, const nb::dict& options, const std::string& machine) {
  const tile::Program program = trace(function, kernel, dtype, shape, options);
  nb::list list;
  const auto add = [&](const std::vector<tile::Finding>& findings) {
    for (const tile::Finding& f : findings) list.append(nb::make_tuple(f.id, f.is_error, f.text, to_string(f.where)));
  };
  add(verify(program));
  add(check(program, tile::nki::machine_named(machine)));
  return list;
}

}  // namespace

void bind_tile(nb::module_& m) {
  m.def("tile_run", &run_kernel, "function"_a, "kernel"_a, "arrays"_a, "options"_a, "machine"_a, "backend"_a,
        "out"_a.none(), "A shipped kernel's results on arrays.");
  m.def("tile_text", &kernel_text, "part"_a, "function"_a, "kernel"_a, "dtype"_a, "shape"_a, "options"_a, "variant"_a,
        "A shipped kernel as text: part ir, picture, cuda, report (of the machine `variant`) or nki (that "
        "version).");
  m.def("tile_findings", &kernel_findings, "function"_a, "kernel"_a, "dtype"_a, "shape"_a, "options"_a, "machine"_a,
        "The findings of the checks: (id, is_error, text, line of the source).");
}

}  // namespace oriel::python
