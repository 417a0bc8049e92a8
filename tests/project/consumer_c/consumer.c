#include <stdio.h>

#include "oriel/c.h"

int main(void) {
  float x[16], y[4];
  const int64_t in[] = {4, 4}, out[] = {2, 2};
  oriel_tensor from = ORIEL_TENSOR_INIT, to = ORIEL_TENSOR_INIT;
  oriel_problem *problem = NULL;
  int i;
  for (i = 0; i < 16; ++i) x[i] = (float)(i + 1);
  from.dtype = to.dtype = ORIEL_F32;
  from.rank = to.rank = 2;
  from.data = x;
  from.shape = in;
  to.data = y;
  to.shape = out;
  if (oriel_problem_parse("max:f32:4x4:k2", &problem) != ORIEL_OK ||
      oriel_forward(problem, &from, &to, NULL, ORIEL_PLANE, NULL) != ORIEL_OK)
    fprintf(stderr, "%s\n", oriel_last_error());
  oriel_problem_free(problem);
  printf("%g %g %g %g\n", y[0], y[1], y[2], y[3]);
  return 0;
}
