// The conformance program on the grid emulator: schedules by turns, and everything that the emulator finds is wrong.
#include "cuda/device_case.h"
#include "emulator/grid.h"

namespace oriel::test {

void prepare_device();
void prepare_device() {
  watch.input = [](void* p) { grid::protect(p); };
  watch.output = [](void* p, std::size_t bytes) { grid::mark_unwritten(p, bytes); };
  watch.begin = [](unsigned number) {
    constexpr grid::Order kOrders[] = {grid::Order::forward, grid::Order::reverse, grid::Order::random};
    grid::options().order = kOrders[number % 3];
    grid::options().seed = number;
    grid::options().poison = number % 2 == 0 ? 0xdb : 0x3c;
    grid::reset();
  };
  watch.verdict = [] {
    const grid::Report& r = grid::report();
    if (!r.failures.empty()) return r.failures[0];
    if (r.rewritten != 0) return std::to_string(r.rewritten) + " bytes were stored twice";
    return std::string();
  };
}

}  // namespace oriel::test
