// Runs through a program's control flow: every instance of every instruction, with the counters it sees.
#pragma once

#include <vector>

#include "oriel/tile/ir.h"

namespace oriel::tile {

/// The index after the `end` that belongs to the `loop` at `at`.
inline std::size_t after_loop(const Program& program, std::size_t at) {
  int depth = 0;
  for (std::size_t i = at; i < program.instructions.size(); ++i) {
    const Opcode opcode = program.instructions[i].opcode;
    if (opcode == Opcode::loop) ++depth;
    if (opcode == Opcode::end && --depth == 0) return i + 1;
  }
  return program.instructions.size();
}

/// Calls visit(index of the instruction, counters), and enter(index of the loop) before each of its iterations.
template <class F, class Enter>
void walk_range(const Program& program, std::size_t begin, std::size_t end, Values& counters, const F& visit,
                const Enter& enter) {
  for (std::size_t i = begin; i < end;) {
    const Instruction& instruction = program.instructions[i];
    if (instruction.opcode != Opcode::loop) {
      visit(i, counters);
      ++i;
      continue;
    }
    const std::size_t next = after_loop(program, i);
    const Counter& counter = program.counters[static_cast<std::size_t>(instruction.counter)];
    for (index_t trip = 0; trip < counter.trips; ++trip) {
      counters[static_cast<std::size_t>(instruction.counter)] = counter.begin + trip * counter.step;
      enter(i);
      walk_range(program, i + 1, next - 1, counters, visit, enter);
    }
    i = next;
  }
}

/// Calls enter(counters) for every program of the grid, in row-major order.
template <class F>
void walk_grid(const Program& program, const F& enter) {
  Values counters(program.counters.size());
  index_t programs = 1;
  for (const int g : program.grid) programs *= program.counters[static_cast<std::size_t>(g)].trips;
  for (index_t p = 0; p < programs; ++p) {
    index_t rest = p;
    for (std::size_t axis = program.grid.size(); axis-- > 0;) {
      const index_t trips = program.counters[static_cast<std::size_t>(program.grid[axis])].trips;
      counters[static_cast<std::size_t>(program.grid[axis])] = rest % trips;
      rest /= trips;
    }
    enter(counters);
  }
}

/// Calls visit(index of the instruction, counters) for every instance, in program order, one program of the grid after
/// the other.
template <class F>
void walk(const Program& program, const F& visit) {
  walk_grid(program, [&](Values& counters) {
    walk_range(program, 0, program.instructions.size(), counters, visit, [](std::size_t) {});
  });
}

/// Calls body(index) for every index of the box [begin, end), in row-major order.
template <class F>
void each_index(const Values& begin, const Values& end, const F& body) {
  for (std::size_t a = 0; a < begin.size(); ++a)
    if (begin[a] >= end[a]) return;
  Values at = begin;
  for (;;) {
    body(at);
    std::size_t a = at.size();
    while (a > 0 && ++at[a - 1] == end[a - 1]) {
      at[a - 1] = begin[a - 1];
      --a;
    }
    if (a == 0) return;
  }
}

}  // namespace oriel::tile
