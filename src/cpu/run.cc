#include "cpu/run.h"

#include "cpu/recipe.h"
#include "cpu/row_fold.h"

namespace oriel::cpu {

void run(const Problem& problem, const ConstTensor& x, const Tensor& y, const Tensor* index, IndexSpace space,
         int threads) {
  FoldJob job;
  job.layout = make_layout(problem, problem.axis, x, y, index, space);
  job.x = x;
  job.y = y;
  job.index = index;
  job.space = space;
  RowReduction careful;
  if (index != nullptr) {
    job.plain = careful_recipe(problem);
  } else {
    job.plain = plain_recipe(problem);
    if (job.plain.scan != nullptr) {
      careful = careful_recipe(problem);
      job.careful = &careful;
    }
  }
  run_fold(job, threads);
}

void run(const Problem& problem, const RowReduction& reduction, const ConstTensor& x, const Tensor& y, int threads) {
  FoldJob job;
  job.layout = make_layout(problem, problem.axis, x, y, nullptr, IndexSpace::plane);
  job.x = x;
  job.y = y;
  job.plain = reduction;
  run_fold(job, threads);
}

}  // namespace oriel::cpu
