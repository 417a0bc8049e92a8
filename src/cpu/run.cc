#include "cpu/run.h"

#include "cpu/recipe.h"
#include "cpu/row_fold.h"

namespace oriel::cpu {

void run(const Problem& problem, const ConstTensor& x, const Tensor& y, const Tensor* index, IndexSpace space,
         int threads) {
  const FoldJob job{.layout = make_layout(problem, problem.axis, x, y, index, space),
                    .plain = index != nullptr ? careful_recipe(problem) : plain_recipe(problem),
                    .problem = &problem,
                    .x = x.data,
                    .y = y.data,
                    .index = index != nullptr ? index->data : nullptr,
                    .space = space};
  run_fold(job, threads);
}

void run(const Problem& problem, const RowReduction& reduction, const ConstTensor& x, const Tensor& y, int threads) {
  const FoldJob job{.layout = make_layout(problem, problem.axis, x, y, nullptr, IndexSpace::plane),
                    .plain = reduction,
                    .x = x.data,
                    .y = y.data};
  run_fold(job, threads);
}

}  // namespace oriel::cpu
