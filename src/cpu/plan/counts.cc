#include "cpu/plan/counts.h"

#include <algorithm>

namespace oriel::cpu {

void RowCounts::count(const RowTile& tile, const RowReduction& how, RowRun* room) {
  runs_ = room;
  number_ = 0;
  some_empty_ = false;
  const Range full = tile.axis.full();
  for (index_t o = 0; o < tile.axis.out;) {
    RowRun run = {o, o + 1, tile.axis.divisor(o, how.count_include_pad), tile.axis.taps(o).size()};
    some_empty_ = some_empty_ || run.taps == 0;
    if (full.contains(o)) run.end = full.end;
    o = run.end;
    RowRun* last = number_ > 0 ? &room[number_ - 1] : nullptr;
    if (last != nullptr && last->divisor == run.divisor && (last->taps == 0) == (run.taps == 0)) {
      last->end = run.end;
      last->taps = std::max(last->taps, run.taps);
    } else {
      room[number_++] = run;
    }
  }
}

LowerParams RowCounts::params(const RowReduction& how, const Axis& across, index_t output) const {
  LowerParams p;
  if (!how.counts || how.lower == nullptr) return p;
  p.norm = how.norm;
  p.divisor = across.divisor(output, how.count_include_pad);
  p.taps = across.taps(output).size();
  p.fixed_divisor = how.divisor > 0;
  if (p.fixed_divisor) p.divisor = how.divisor;
  p.runs = runs_;
  p.run_count = number_;
  return p;
}

}  // namespace oriel::cpu
