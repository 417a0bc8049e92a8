// Kernels. `nki::jit(name, function)` makes a kernel of a C++ function whose parameters are nl::tensor and
// compile-time constants; a call records the function for the arguments' shapes, dtypes and constants (the first time;
// the program is then reused), checks the program and runs it.
//
//   inline const auto double_it = nki::jit("double_it", [](nl::tensor x) {
//     auto out = nl::ndarray({4, 8}, {.dtype = x.dtype(), .buffer = nl::shared_hbm});
//     nl::store(out, {.value = nl::load(x) * 2});
//     return out;
//   });
//   nki::array y = double_it(x);
//
// Constants are arithmetic types, enumerations, std::string, or any type with a `to_string` that differs for different
// values.
#pragma once

#include <functional>
#include <map>
#include <mutex>

#include "oriel/tile/array.h"
#include "oriel/tile/emit.h"
#include "oriel/tile/isa.h"
#include "oriel/tile/language.h"
#include "oriel/tile/machine.h"

namespace oriel::tile {

/// How a program is run.
enum class Backend : std::uint8_t {
  cpu,          // vectorised
  interpreter,  // the definition: element by element, every address and every read checked
};
using Sink = std::function<void(const std::string& line)>;

/// Runs a program. Inputs match the parameters; outputs, which are dense, the results. Throws Failure for a read of an
/// unwritten element (interpreter), Error for arguments that do not match.
ORIEL_API void run(const Program& program, std::span<const ConstTensor> inputs, std::span<const Tensor> outputs,
                   Backend backend = Backend::cpu, const Sink& print = {});

/// Records a kernel's function: `body` gets its tensors and returns its results. Throws Failure.
ORIEL_API Program record(const std::string& name, const std::string& constants, const std::vector<nki::meta>& inputs,
                         const Values& grid,
                         const std::function<std::vector<nl::tensor>(const std::vector<nl::tensor>&)>& body);

namespace detail {

inline nki::meta meta_of(const ConstTensor& t) { return {t.dtype, t.shape}; }
inline nki::meta meta_of(const nki::array& a) { return a.meta(); }
inline nki::meta meta_of(const nki::meta& m) { return m; }
template <class T>
concept is_tensor_argument = requires(const T& t) {
  meta_of(t);
};

template <class T>
std::string constant_text(const T& value) {
  if constexpr (std::is_same_v<T, bool>) {
    return value ? "true" : "false";
  } else if constexpr (std::is_floating_point_v<T>) {
    return std::to_string(std::bit_cast<std::uint64_t>(static_cast<double>(value)));
  } else if constexpr (std::is_arithmetic_v<T>) {
    return std::to_string(value);
  } else if constexpr (std::is_same_v<T, std::string>) {
    return value;
  } else if constexpr (std::is_enum_v<T>) {
    return std::to_string(static_cast<index_t>(value));
  } else {
    return to_string(value);
  }
}

}  // namespace detail

namespace nki {

/// A kernel specialised for a machine and arguments.
class specialised {
 public:
  specialised(Program program, const nki::machine& target) : program_(std::move(program)), machine_(target) {}

  const Program& program() const { return program_; }
  std::string ir() const { return to_string(program_); }
  /// All findings of the checks, including warnings.
  ORIEL_API std::vector<Finding> findings() const;
  tile::Report report() const { return tile::report(program_, machine_); }
  std::string emit_nki(nki_version version = nki_version::v0_6) const { return tile::emit_nki(program_, version); }
  CudaText emit_cuda() const { return tile::emit_cuda(program_); }

 private:
  Program program_;
  nki::machine machine_;
};

/// How a kernel is launched.
struct launch {
  Values grid{};                  // of an SPMD launch
  nki::machine machine = native;  // whose limits are checked
  Backend backend = Backend::cpu;
  Sink print{};                // receives device_print's lines
  std::vector<Tensor> into{};  // dense results; empty: new arrays
};

template <class F>
class kernel {
 public:
  kernel(std::string name, F function) : shared_(std::make_shared<shared>(std::move(name), std::move(function))) {}

  /// Runs the kernel. Tensors are nki::array or ConstTensor. Returns an array, or a vector of arrays if the function
  /// returns one. Throws Failure.
  template <class... Args>
  auto operator()(const Args&... args) const {
    const std::shared_ptr<const Program> program = specialisation(args...);
    std::vector<ConstTensor> inputs;
    (add_input(inputs, args), ...);
    std::vector<array> results;
    std::vector<Tensor> outputs = launch_.into;
    if (outputs.empty()) {
      for (const int id : program->outputs) {
        results.emplace_back(program->tensor(id).dtype, program->tensor(id).shape);
        outputs.push_back(results.back());
      }
    }
    run(*program, inputs, outputs, launch_.backend, launch_.print);
    if constexpr (std::is_same_v<decltype(call(shared_->function, {}, args...)), nl::tensor>)
      return results.empty() ? array() : results[0];
    else
      return results;
  }

  /// Inside another kernel, on its tensors: calls the function as a part of that kernel. Throws Failure for a grid.
  template <class... Args>
  requires(std::derived_from<Args, nl::tensor> || ...) auto operator()(const Args&... args) const {
    if (!launch_.grid.empty())
      throw Failure("err_nested_kernel_with_spmd_grid",
                    "Calling kernel with spmd grid inside another kernel is not supported: `" + shared_->name +
                        "` must be called without [{…}]",
                    {});
    return shared_->function(args...);
  }

  /// `kernel[{4, 2}](x)`: one program for each point of the grid, distinguished by nl::program_id.
  kernel operator[](std::initializer_list<index_t> grid) const {
    kernel k = *this;
    k.launch_.grid = grid;
    return k;
  }
  /// The kernel with other launch options.
  kernel with(const launch& how) const {
    kernel k = *this;
    k.launch_ = how;
    return k;
  }
  /// The kernel, writing its results to these tensors, which must be dense; ignore what a call returns then.
  kernel into(const std::vector<Tensor>& results) const {
    kernel k = *this;
    k.launch_.into = results;
    return k;
  }
  const launch& how() const { return launch_; }

  /// The kernel's program for these arguments, tensors or their metas, and a machine. Throws Failure if a check fails.
  template <class... Args>
  specialised specialize(const nki::machine& machine, const Args&... args) const {
    return {*with({.grid = launch_.grid, .machine = machine}).specialisation(args...), machine};
  }
  /// The program without any check; for tools that show what is wrong.
  template <class... Args>
  Program trace(const Args&... args) const {
    std::vector<meta> inputs;
    (add_meta(inputs, args), ...);
    std::string constants;
    (add_constant(constants, args), ...);
    return record(shared_->name, constants, inputs, launch_.grid, [&](const std::vector<nl::tensor>& tensors) {
      auto returned = call(shared_->function, tensors, args...);
      if constexpr (std::is_same_v<decltype(returned), nl::tensor>)
        return std::vector<nl::tensor>{returned};
      else
        return std::vector<nl::tensor>(returned.begin(), returned.end());
    });
  }
  const std::string& name() const { return shared_->name; }

 private:
  struct shared {
    shared(std::string n, F f) : name(std::move(n)), function(std::move(f)) {}
    std::string name;
    F function;
    std::mutex lock;
    std::map<std::string, std::shared_ptr<const Program>> programs;
  };

  template <class T>
  static decltype(auto) argument(const std::vector<nl::tensor>& tensors, std::size_t& next, const T& value) {
    if constexpr (detail::is_tensor_argument<T>)
      return tensors[next++];
    else
      return value;
  }
  template <class... Args>
  static auto call(const F& function, const std::vector<nl::tensor>& tensors, const Args&... args) {
    std::size_t next = 0;
    // Braces: arguments are evaluated from left to right.
    return std::apply(function, std::tuple<std::conditional_t<detail::is_tensor_argument<Args>, nl::tensor, Args>...>{
                                    argument(tensors, next, args)...});
  }
  template <class T>
  static void add_input(std::vector<ConstTensor>& inputs, const T& value) {
    if constexpr (detail::is_tensor_argument<T>) inputs.push_back(value);
  }
  template <class T>
  static void add_meta(std::vector<meta>& inputs, const T& value) {
    if constexpr (detail::is_tensor_argument<T>) inputs.push_back(detail::meta_of(value));
  }
  template <class T>
  static void add_constant(std::string& text, const T& value) {
    if constexpr (!detail::is_tensor_argument<T>) text += (text.empty() ? "" : ", ") + detail::constant_text(value);
  }
  template <class T>
  static void add_key(std::string& key, const T& value) {
    if constexpr (detail::is_tensor_argument<T>) {
      const meta m = detail::meta_of(value);
      key += std::string(oriel::name(m.dtype)) + ":" + oriel::to_string(m.shape) + ";";
    } else {
      key += detail::constant_text(value) + ";";
    }
  }

  template <class... Args>
  std::shared_ptr<const Program> specialisation(const Args&... args) const {
    std::string key = std::string(launch_.machine.name) + ";";
    for (const index_t g : launch_.grid) key += std::to_string(g) + "x";
    (add_key(key, args), ...);
    const std::lock_guard hold(shared_->lock);
    std::shared_ptr<const Program>& known = shared_->programs[key];
    if (known == nullptr) {
      auto program = std::make_shared<const Program>(trace(args...));
      require(verify(*program));
      require(check(*program, launch_.machine));
      known = std::move(program);
    }
    return known;
  }

  std::shared_ptr<shared> shared_;
  launch launch_;
};

/// A kernel of a function. Example: see the top of this file.
template <class F>
kernel<F> jit(std::string name, F function) {
  return {std::move(name), std::move(function)};
}

/// The kernel, run by the interpreter with a machine's limits: `nki::simulate(kernel, nki::trn2)(x, 2)`.
template <class F>
kernel<F> simulate(const kernel<F>& k, const machine& target, const Sink& print = {}) {
  return k.with({.grid = k.how().grid, .machine = target, .backend = Backend::interpreter, .print = print});
}

}  // namespace nki
}  // namespace oriel::tile
