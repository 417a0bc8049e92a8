#include "tile/recorder.h"

#include <algorithm>

namespace oriel::tile {
namespace {

thread_local Recorder* recording = nullptr;

}  // namespace

Recorder::Recorder(std::string name) {
  if (recording != nullptr)
    throw Failure("err_nested_kernel_with_spmd_grid",
                  "a kernel cannot be launched on arrays while '" + recording->program.name +
                      "' is being recorded; call it on that kernel's tensors, without a grid",
                  {});
  program.name = std::move(name);
  recording = this;
}

Recorder::~Recorder() { recording = nullptr; }

Recorder& Recorder::current(const Where& where) {
  if (recording == nullptr)
    throw Failure("err_nki_api_outside_of_nki_kernel", "functions of the tile language must be called inside a kernel",
                  where);
  return *recording;
}

nl::tensor Recorder::add_tensor(const Extents& shape, Dtype dtype, Space space, const Place& where,
                                const std::string& what) {
  if (dtype == Dtype::f64 || dtype == Dtype::i64 || dtype == Dtype::u64 || dtype == Dtype::boolean)
    throw Failure("err_unsupported_dtype",
                  (what.empty() ? "a tile" : what) +
                      ": dtype must be f32, f16, bf16 or an integer of at most 32 bits, but is " +
                      std::string(name(dtype)),
                  where);
  if (shape.empty())
    throw Failure("err_rank", (what.empty() ? "a tensor" : what) + " must have at least one dimension, but has none",
                  where);
  for (const index_t n : shape)
    if (n <= 0)
      throw Failure("err_rank",
                    (what.empty() ? "a tensor" : what) + ": extents must be >= 1, but are " + oriel::to_string(shape),
                    where);
  const int id = static_cast<int>(program.tensors.size());
  TensorInfo t{.name = std::to_string(id), .dtype = dtype, .shape = shape, .space = space, .where = where};
  t.name = (t.on_chip() ? "t" : "h") + t.name;
  t.depth = static_cast<int>(open_.size());
  program.tensors.push_back(std::move(t));
  scope_.push_back(open_);
  made_at_.push_back(program.instructions.size());
  Access access{id, {}};
  for (int d = 0; d < shape.size(); ++d) {
    Along along{0, Values(static_cast<std::size_t>(shape.size()), 0)};
    along.step[static_cast<std::size_t>(d)] = 1;
    access.along.push_back(std::move(along));
  }
  return {std::move(access), Values(shape.begin(), shape.end()), std::make_shared<const int>(id)};
}

void Recorder::add(Instruction instruction) {
  for (const Access& a : instruction.src)
    if (a.tensor >= 0) check_scope(a.tensor, instruction.where);
  if (instruction.dst.tensor >= 0) check_scope(instruction.dst.tensor, instruction.where);
  constexpr std::size_t most = 1'000'000;
  if (program.instructions.size() == most)
    throw Failure("err_program_too_long",
                  "a program must have at most " + std::to_string(most) +
                      " instructions; use nl::affine_range, which is recorded once",
                  instruction.where);
  program.instructions.push_back(std::move(instruction));
}

int Recorder::open_loop(index_t begin, index_t step, index_t trips, bool ordered, const Place& where) {
  const int id = static_cast<int>(program.counters.size());
  program.counters.push_back(
      {.name = "i" + std::to_string(id), .begin = begin, .step = step, .trips = trips, .ordered = ordered});
  Instruction loop;
  loop.opcode = Opcode::loop;
  loop.counter = id;
  loop.where = where;
  add(std::move(loop));
  open_.push_back(id);
  return id;
}

void Recorder::close_loop() {
  Instruction end;
  end.opcode = Opcode::end;
  end.counter = open_.back();
  open_.pop_back();
  add(std::move(end));
}

void Recorder::check_scope(int tensor, const Place& where) const {
  const std::vector<int>& made = scope_[static_cast<std::size_t>(tensor)];
  if (made.size() > open_.size() || !std::equal(made.begin(), made.end(), open_.begin()))
    throw Failure("err_local_variable_used_out_of_scope",
                  "tile `" + program.tensor(tensor).name + "`, made in the loop at " +
                      to_string(program.tensor(tensor).where) +
                      ", is used after that loop; make it before the loop, and assign to a part of it inside",
                  where);
}

bool Recorder::made_last(const nl::tensor& value) const {
  if (program.instructions.empty() || value.access().tensor != static_cast<int>(program.tensors.size()) - 1)
    return false;
  if (value.handle().use_count() != 1 || made_at_.back() + 1 != program.instructions.size()) return false;
  const Instruction& last = program.instructions.back();
  return last.opcode != Opcode::loop && last.opcode != Opcode::end && last.opcode != Opcode::device_print &&
         last.dst.tensor == value.access().tensor && last.dst.along == value.access().along;
}

bool Recorder::may_move_last(const Access& dst) const {
  for (const Access& src : program.instructions.back().src)
    if (src.tensor == dst.tensor && src.along != dst.along) return false;  // would overwrite what it still reads
  return true;
}

void Recorder::replace_last(const Access& dst) {
  program.instructions.back().dst = dst;
  program.tensors.pop_back();
  made_at_.pop_back();
  scope_.pop_back();
}

std::vector<Condition> conditions_of(const nl::mask& mask, const Values& counts, const Place& where) {
  std::vector<Condition> out;
  for (const nl::index& term : mask.terms()) {
    if (term.extents().size() > counts.size())
      throw Failure("err_mask_shape_mismatch",
                    "a mask must have at most the tile's " + std::to_string(counts.size()) + " axes, but has " +
                        std::to_string(term.extents().size()),
                    where);
    const std::size_t shift = counts.size() - term.extents().size();
    Condition c{.axis = -1, .factor = 0, .rest = term.base()};
    for (std::size_t a = 0; a < term.steps().size(); ++a) {
      const index_t n = term.extents()[a];
      if (n != 1 && n != counts[a + shift])
        throw Failure("err_mask_shape_mismatch",
                      "a mask must have the tile's extents, but along axis " + std::to_string(a + shift) + " it has " +
                          std::to_string(n) + " and the tile " + std::to_string(counts[a + shift]),
                      where);
      if (term.steps()[a] == 0) continue;
      if (c.axis >= 0)
        throw Failure("MASK",
                      "a mask's comparison must be of one axis, but depends on axes " + std::to_string(c.axis) +
                          " and " + std::to_string(a + shift) +
                          ": not one instruction; fill a larger tile and load into its interior",
                      where);
      c.axis = static_cast<int>(a + shift);
      c.factor = term.steps()[a];
    }
    out.push_back(std::move(c));
  }
  return out;
}

}  // namespace oriel::tile
