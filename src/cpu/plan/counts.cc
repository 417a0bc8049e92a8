#include "cpu/plan/counts.h"

#include <algorithm>

namespace oriel::cpu {

void RowCounts::count(const Axis& axis, const RowReduction& how, RunTaps taps, RowRun* room) {
  runs_ = room;
  number_ = 0;
  some_empty_ = false;
  const auto alike = [&](const RowRun& a, const RowRun& b) {
    return a.divisor == b.divisor && (taps == RunTaps::most ? (a.taps == 0) == (b.taps == 0) : a.taps == b.taps);
  };
  const Range full = axis.full();
  for (index_t o = 0; o < axis.out;) {
    RowRun run = {o, o + 1, axis.divisor(o, how.count_include_pad), axis.taps(o).size()};
    some_empty_ = some_empty_ || run.taps == 0;
    if (full.contains(o)) run.end = full.end;
    o = run.end;
    if (number_ == 0 || !alike(room[number_ - 1], run)) {
      room[number_++] = run;
      continue;
    }
    RowRun& last = room[number_ - 1];
    last.end = run.end;
    last.taps = std::max(last.taps, run.taps);
  }
}

LowerParams params_of(const RowReduction& how, const RowRun* runs, index_t count) {
  LowerParams p;
  if (!asks_for_counts(how)) return p;
  p.norm = how.norm;
  p.missing = how.missing;
  p.user = how.user;
  p.fixed_divisor = how.divisor > 0;
  if (p.fixed_divisor) p.divisor = how.divisor;
  p.runs = runs;
  p.run_count = count;
  return p;
}

}  // namespace oriel::cpu
