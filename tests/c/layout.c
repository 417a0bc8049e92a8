/* The layout of the structs of oriel/c.h on a system with 64-bit pointers, and the numbers of its constants: what
 * programs that were compiled before rely on. Returns 0 if all is as written here. */
#include <stddef.h>
#include <stdio.h>

#include "oriel/c.h"

static int failures = 0;

static void expect(const char* what, size_t got, size_t wanted) {
  if (got == wanted) return;
  ++failures;
  printf("%s is %lu, not %lu\n", what, (unsigned long)got, (unsigned long)wanted);
}

#define SIZE(type, bytes) expect("sizeof(" #type ")", sizeof(type), bytes)
#define FIELD(type, field, at) expect("offsetof(" #type ", " #field ")", offsetof(type, field), at)
#define NUMBER(name, value) expect(#name, (size_t)(name), value)

static void check_tensor(void) {
  SIZE(oriel_tensor, 48);
  FIELD(oriel_tensor, size, 0);
  FIELD(oriel_tensor, data, 8);
  FIELD(oriel_tensor, dtype, 16);
  FIELD(oriel_tensor, device, 20);
  FIELD(oriel_tensor, rank, 24);
  FIELD(oriel_tensor, reserved, 28);
  FIELD(oriel_tensor, shape, 32);
  FIELD(oriel_tensor, pitch, 40);
  SIZE(oriel_run, 48);
  FIELD(oriel_run, size, 0);
  FIELD(oriel_run, threads, 8);
  FIELD(oriel_run, reserved, 12);
  FIELD(oriel_run, stream, 16);
  FIELD(oriel_run, executor, 24);
  FIELD(oriel_run, executor_context, 32);
  FIELD(oriel_run, executor_threads, 40);
  FIELD(oriel_run, reserved2, 44);
}

static void check_pool(void) {
  SIZE(oriel_pool, 112);
  FIELD(oriel_pool, size, 0);
  FIELD(oriel_pool, op, 8);
  FIELD(oriel_pool, kind, 12);
  FIELD(oriel_pool, padding, 16);
  FIELD(oriel_pool, nan_policy, 20);
  FIELD(oriel_pool, ceil_mode, 24);
  FIELD(oriel_pool, exclude, 28);
  FIELD(oriel_pool, divisor, 32);
  FIELD(oriel_pool, norm, 40);
  FIELD(oriel_pool, values, 48);
  FIELD(oriel_pool, pooled, 52);
  FIELD(oriel_pool, kernel, 56);
  FIELD(oriel_pool, stride, 64);
  FIELD(oriel_pool, pad_lo, 72);
  FIELD(oriel_pool, pad_hi, 80);
  FIELD(oriel_pool, dilation, 88);
  FIELD(oriel_pool, output_size, 96);
  FIELD(oriel_pool, axes, 104);
}

static void check_info(void) {
  SIZE(oriel_problem_info, 624);
  FIELD(oriel_problem_info, size, 0);
  FIELD(oriel_problem_info, op, 8);
  FIELD(oriel_problem_info, dtype, 12);
  FIELD(oriel_problem_info, rank, 16);
  FIELD(oriel_problem_info, pooled, 20);
  FIELD(oriel_problem_info, direction, 24);
  FIELD(oriel_problem_info, index_dtype, 28);
  FIELD(oriel_problem_info, index_space, 32);
  FIELD(oriel_problem_info, result_dtype, 36);
  FIELD(oriel_problem_info, taps, 40);
  FIELD(oriel_problem_info, axes, 48);
  FIELD(oriel_problem_info, shape, 112);
  FIELD(oriel_problem_info, output_shape, 240);
  FIELD(oriel_problem_info, pitch, 368);
  FIELD(oriel_problem_info, output_pitch, 496);
}

/* As in dlpack.h of DLPack 1. */
static void check_dlpack(void) {
  SIZE(oriel_dl_device, 8);
  SIZE(oriel_dl_dtype, 4);
  SIZE(oriel_dl_tensor, 48);
  FIELD(oriel_dl_tensor, data, 0);
  FIELD(oriel_dl_tensor, device, 8);
  FIELD(oriel_dl_tensor, ndim, 16);
  FIELD(oriel_dl_tensor, dtype, 20);
  FIELD(oriel_dl_tensor, shape, 24);
  FIELD(oriel_dl_tensor, strides, 32);
  FIELD(oriel_dl_tensor, byte_offset, 40);
  SIZE(oriel_dl_managed_tensor, 80);
  FIELD(oriel_dl_managed_tensor, version, 0);
  FIELD(oriel_dl_managed_tensor, manager_ctx, 8);
  FIELD(oriel_dl_managed_tensor, deleter, 16);
  FIELD(oriel_dl_managed_tensor, flags, 24);
  FIELD(oriel_dl_managed_tensor, dl_tensor, 32);
}

static void check_numbers(void) {
  SIZE(oriel_status, 4);
  NUMBER(ORIEL_C_ABI, 1);
  NUMBER(ORIEL_MAX_RANK, 16);
  NUMBER(ORIEL_MAX_POOLED, 8);
  NUMBER(ORIEL_OK, 0);
  NUMBER(ORIEL_INVALID, 1);
  NUMBER(ORIEL_NO_MEMORY, 2);
  NUMBER(ORIEL_NO_DEVICE, 3);
  NUMBER(ORIEL_INTERNAL, 4);
  NUMBER(ORIEL_F64, 0);
  NUMBER(ORIEL_F32, 1);
  NUMBER(ORIEL_F16, 2);
  NUMBER(ORIEL_BF16, 3);
  NUMBER(ORIEL_I8, 4);
  NUMBER(ORIEL_U8, 5);
  NUMBER(ORIEL_I16, 6);
  NUMBER(ORIEL_U16, 7);
  NUMBER(ORIEL_I32, 8);
  NUMBER(ORIEL_U32, 9);
  NUMBER(ORIEL_I64, 10);
  NUMBER(ORIEL_U64, 11);
  NUMBER(ORIEL_BOOL, 12);
}

static void check_words(void) {
  NUMBER(ORIEL_MAX, 0);
  NUMBER(ORIEL_MIN, 1);
  NUMBER(ORIEL_AVG, 2);
  NUMBER(ORIEL_SUM, 3);
  NUMBER(ORIEL_LP, 4);
  NUMBER(ORIEL_UNIFORM, 0);
  NUMBER(ORIEL_ADAPTIVE, 1);
  NUMBER(ORIEL_GLOBAL, 2);
  NUMBER(ORIEL_PADDING_GIVEN, 0);
  NUMBER(ORIEL_SAME_UPPER, 1);
  NUMBER(ORIEL_SAME_LOWER, 2);
  NUMBER(ORIEL_NAN_PROPAGATE, 0);
  NUMBER(ORIEL_NAN_OMIT, 1);
  NUMBER(ORIEL_PLANE, 0);
  NUMBER(ORIEL_TENSOR, 1);
  NUMBER(ORIEL_WINDOW, 2);
  NUMBER(ORIEL_CPU, 0);
  NUMBER(ORIEL_CUDA, 1);
  NUMBER(ORIEL_FORWARD, 0);
  NUMBER(ORIEL_BACKWARD, 1);
}

/* The macros set the size and nothing else but what stands for zero. */
static void check_initialisers(void) {
  const oriel_tensor tensor = ORIEL_TENSOR_INIT;
  const oriel_pool pool = ORIEL_POOL_INIT;
  const oriel_run run = ORIEL_RUN_INIT;
  expect("ORIEL_TENSOR_INIT's size", tensor.size, sizeof tensor);
  expect("ORIEL_POOL_INIT's size", pool.size, sizeof pool);
  expect("ORIEL_RUN_INIT's size", run.size, sizeof run);
  expect("ORIEL_POOL_INIT's axes", pool.axes == NULL, 1);
}

int main(void) {
  if (sizeof(void*) != 8) {
    puts("SKIPPED: the layout is written down for 64-bit pointers only");
    return 77;
  }
  check_tensor();
  check_pool();
  check_info();
  check_dlpack();
  check_numbers();
  check_words();
  check_initialisers();
  return failures == 0 ? 0 : 1;
}
