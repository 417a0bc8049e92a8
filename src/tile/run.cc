// A call of a program: arguments checked, brought into dense memory, and run.
#include <fmt/format.h>

#include <memory>

#include "oriel/tile/jit.h"
#include "tile/interpret.h"
#include "tile/walk.h"

namespace oriel::tile {
namespace {

void check_argument(const Program& program, int id, const ConstTensor& given, std::string_view what) {
  const TensorInfo& t = program.tensor(id);
  if (given.dtype != t.dtype || given.shape != t.shape)
    throw Error(fmt::format("{}: {} `{}` must be {}[{}], but is {}[{}]", program.name, what, t.name, name(t.dtype),
                            to_string(t.shape), name(given.dtype), to_string(given.shape)));
}

bool is_dense(const ConstTensor& t) { return t.pitch == dense_pitch(t.shape); }

nki::array dense_copy(const ConstTensor& t) {
  nki::array out(t.dtype, t.shape);
  const std::size_t bytes = static_cast<std::size_t>(size_bytes(t.dtype));
  std::byte* to = out.data<std::byte>();
  each_index(Values(static_cast<std::size_t>(t.rank()), 0), Values(t.shape.begin(), t.shape.end()),
             [&](const Values& at) {
               index_t from = 0;
               for (int d = 0; d < t.rank(); ++d) from += at[static_cast<std::size_t>(d)] * t.pitch[d];
               std::memcpy(to, static_cast<const std::byte*>(t.data) + from * static_cast<index_t>(bytes), bytes);
               to += bytes;
             });
  return out;
}

}  // namespace

void run(const Program& program, std::span<const ConstTensor> inputs, std::span<const Tensor> outputs, Backend backend,
         const Sink& print) {
  if (inputs.size() != program.parameters.size() || outputs.size() != program.outputs.size())
    throw Error(fmt::format("{}: there must be {} tensors and {} results, but are {} and {}", program.name,
                            program.parameters.size(), program.outputs.size(), inputs.size(), outputs.size()));
  std::vector<void*> memory(program.tensors.size());
  std::vector<nki::array> copies;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    check_argument(program, program.parameters[i], inputs[i], "argument");
    const void* data = inputs[i].data;
    if (!is_dense(inputs[i])) {
      copies.push_back(dense_copy(inputs[i]));
      data = copies.back().data();
    }
    memory[static_cast<std::size_t>(program.parameters[i])] = const_cast<void*>(data);  // parameters are never written
  }
  for (std::size_t o = 0; o < outputs.size(); ++o) {
    check_argument(program, program.outputs[o], outputs[o], "result");
    if (!is_dense(outputs[o])) throw Error(program.name + ": results must be dense, but one has other pitches");
    for (const ConstTensor& x : inputs)
      if (may_overlap(x, outputs[o])) throw Error(program.name + ": a result must not share memory with an argument");
    memory[static_cast<std::size_t>(program.outputs[o])] = outputs[o].data;
  }
  if (backend == Backend::interpreter)
    interpret(program, memory, print);
  else
    run_cpu(program, memory, print);
}

}  // namespace oriel::tile
