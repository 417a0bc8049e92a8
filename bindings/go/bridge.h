/* Calls as Go can make them: no struct of Go's memory holds a pointer into it, and a thread's last error is copied
 * within the call, since the next call may run on another thread. */
#ifndef ORIEL_GO_BRIDGE_H_
#define ORIEL_GO_BRIDGE_H_

#include <oriel/c.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef struct bridge_error {
  oriel_status status;
  char text[1024];
} bridge_error;

static oriel_status note(oriel_status status, bridge_error* error) {
  error->status = status;
  error->text[0] = '\0';
  if (status != ORIEL_OK) strncat(error->text, oriel_last_error(), sizeof error->text - 1);
  return status;
}

static oriel_tensor of_input(const oriel_problem_info* info, void* data) {
  oriel_tensor t = ORIEL_TENSOR_INIT;
  t.data = data;
  t.dtype = info->dtype;
  t.rank = info->rank;
  t.shape = info->shape;
  t.pitch = info->pitch;
  return t;
}

static oriel_tensor of_output(const oriel_problem_info* info, void* data, int32_t dtype) {
  oriel_tensor t = of_input(info, data);
  t.dtype = dtype;
  t.shape = info->output_shape;
  t.pitch = info->output_pitch;
  return t;
}

static oriel_run run_of(int32_t threads) {
  oriel_run run = ORIEL_RUN_INIT;
  run.threads = threads;
  return run;
}

static inline void bridge_parse(const char* name, oriel_problem** problem, bridge_error* error) {
  note(oriel_problem_parse(name, problem), error);
}

static inline void bridge_describe(const oriel_problem* problem, oriel_problem_info* info, bridge_error* error) {
  memset(info, 0, sizeof *info);
  info->size = sizeof *info;
  note(oriel_problem_describe(problem, info), error);
}

static inline void bridge_name(const oriel_problem* problem, char* text, size_t capacity, bridge_error* error) {
  note(oriel_problem_name(problem, text, capacity, NULL), error);
}

/* indices may be NULL. */
static inline void bridge_forward(const oriel_problem* problem, const oriel_problem_info* info, void* x, void* y,
                                  void* indices, int32_t index_dtype, int32_t space, int32_t threads,
                                  bridge_error* error) {
  const oriel_tensor tx = of_input(info, x), ty = of_output(info, y, info->dtype);
  const oriel_tensor ti = of_output(info, indices, index_dtype);
  const oriel_run run = run_of(threads);
  note(oriel_forward(problem, &tx, &ty, index_dtype < 0 ? NULL : &ti, space, &run), error);
}

/* x, or indices, may be NULL. */
static inline void bridge_backward(const oriel_problem* problem, const oriel_problem_info* info, void* x, void* dy,
                                   void* indices, int32_t index_dtype, int32_t space, void* dx, int32_t threads,
                                   bridge_error* error) {
  const oriel_tensor tx = of_input(info, x), tdy = of_output(info, dy, info->dtype), tdx = of_input(info, dx);
  const oriel_tensor ti = of_output(info, indices, index_dtype);
  const oriel_run run = run_of(threads);
  note(oriel_backward(problem, index_dtype < 0 ? &tx : NULL, &tdy, index_dtype < 0 ? NULL : &ti, space, &tdx, &run),
       error);
}

static inline void bridge_unpool(const oriel_problem_info* info, void* y, void* indices, int32_t space, void* x,
                                 int32_t threads, bridge_error* error) {
  const oriel_tensor ty = of_output(info, y, info->dtype), ti = of_output(info, indices, ORIEL_I64);
  const oriel_tensor tx = of_input(info, x);
  const oriel_run run = run_of(threads);
  note(oriel_unpool(info->pooled, info->axes, &ty, &ti, space, &tx, &run), error);
}

static inline void bridge_active_target(char* text, size_t capacity, bridge_error* error) {
  note(oriel_active_target(text, capacity, NULL), error);
}

static inline void bridge_set_target(const char* name, bridge_error* error) { note(oriel_set_target(name), error); }

#endif /* ORIEL_GO_BRIDGE_H_ */
