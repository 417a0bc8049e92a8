#include "oriel/tile/jit.h"
#include "tile/recorder.h"

namespace oriel::tile {

Program record(const std::string& name, const std::string& constants, const std::vector<nki::meta>& inputs,
               const Values& grid, const std::function<std::vector<nl::tensor>(const std::vector<nl::tensor>&)>& body) {
  Recorder recorder(name);
  Program& program = recorder.program;
  program.constants = constants;
  for (std::size_t g = 0; g < grid.size(); ++g) {
    if (grid[g] < 1)
      throw Failure("err_grid", "a grid's extents must be >= 1, but one is " + std::to_string(grid[g]), {});
    program.grid.push_back(static_cast<int>(program.counters.size()));
    program.counters.push_back({.name = "p" + std::to_string(g), .trips = grid[g], .grid = true});
  }
  std::vector<nl::tensor> tensors;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    tensors.push_back(recorder.add_tensor(inputs[i].shape, inputs[i].dtype, Space::hbm, {},
                                          name + ": argument " + std::to_string(i + 1)));
    TensorInfo& info = program.tensors.back();
    info.name = "in" + std::to_string(i);
    info.parameter = static_cast<int>(i);
    program.parameters.push_back(static_cast<int>(i));
  }
  const std::vector<nl::tensor> results = body(tensors);
  if (recorder.depth() != 0)
    throw Failure("err_loop_left", "a loop over a range must run to its end, but was left by break, return or throw",
                  program.instructions.back().where);
  for (const nl::tensor& t : results) {
    const int id = t.access().tensor;
    if (id < 0) throw Failure("err_no_result", "a kernel must return a tensor in shared_hbm, but returns none", {});
    TensorInfo& info = program.tensors[static_cast<std::size_t>(id)];
    if (info.space != Space::shared_hbm || info.output >= 0)
      throw Failure("err_unsupported_memory",
                    "a kernel's results must be different tensors in shared_hbm, but `" + info.name + "` is not",
                    info.where);
    info.output = static_cast<int>(program.outputs.size());
    if (info.name[0] == 'h') info.name = results.size() == 1 ? "out" : "out" + std::to_string(info.output);
    program.outputs.push_back(id);
  }
  return std::move(recorder.program);
}

std::vector<Finding> nki::specialised::findings() const {
  std::vector<Finding> all = verify(program_);
  for (Finding& f : check(program_, machine_)) all.push_back(std::move(f));
  return all;
}

}  // namespace oriel::tile
