/* Arrays of Fortran, which arrive as descriptors (ISO_Fortran_binding.h), as tensors. An array's first axis lies
 * innermost in memory, a tensor's last: axes are reversed, and nothing is copied, not even of sections like x(::2, :).
 */
#include <ISO_Fortran_binding.h>
#include <oriel/c.h>
#include <stdio.h>
#include <string.h>

/* What was wrong, for the caller, and the tensor that an array is. */
typedef struct call {
  oriel_status status;
  char* text;
  size_t capacity;
  oriel_problem_info info;
} call;

typedef struct view {
  oriel_tensor tensor;
  int64_t shape[ORIEL_MAX_RANK], pitch[ORIEL_MAX_RANK];
} view;

static void refuse(call* c, const char* name, const char* what) {
  if (c->status != ORIEL_OK) return;
  c->status = ORIEL_INVALID;
  snprintf(c->text, c->capacity, "%s: %s", name, what);
}

static void check(call* c, oriel_status status) {
  if (c->status != ORIEL_OK || status == ORIEL_OK) return;
  c->status = status;
  snprintf(c->text, c->capacity, "%s", oriel_last_error());
}

static call begin(const oriel_problem* problem, char* text, size_t capacity) {
  call c;
  memset(&c, 0, sizeof c);
  c.text = text;
  c.capacity = capacity;
  text[0] = '\0';
  if (problem == NULL) {
    refuse(&c, "problem", "must be made by parse or make before it is used");
    return c;
  }
  c.info.size = sizeof c.info;
  check(&c, oriel_problem_describe(problem, &c.info));
  return c;
}

/* The dtype of a type's elements, -1: none. Integers stand for unsigned ones and for the bits of small numbers too. */
static int32_t dtype_of(const CFI_cdesc_t* a) {
  if (a->type == CFI_type_double) return ORIEL_F64;
  if (a->type == CFI_type_float) return ORIEL_F32;
  if (a->type == CFI_type_int8_t) return ORIEL_I8;
  if (a->type == CFI_type_int16_t) return ORIEL_I16;
  if (a->type == CFI_type_int32_t) return ORIEL_I32;
  if (a->type == CFI_type_int64_t) return ORIEL_I64;
  if (a->type == CFI_type_Bool && a->elem_len == 1) return ORIEL_BOOL;
  return -1;
}

static int stands_for(int32_t array, int32_t dtype) {
  if (array == dtype) return 1;
  if (array == ORIEL_I8) return dtype == ORIEL_U8 || dtype == ORIEL_BOOL;
  if (array == ORIEL_I16) return dtype == ORIEL_U16 || dtype == ORIEL_F16 || dtype == ORIEL_BF16;
  return (array == ORIEL_I32 && dtype == ORIEL_U32) || (array == ORIEL_I64 && dtype == ORIEL_U64);
}

static size_t count_of(const int64_t* shape, int32_t rank) {
  size_t n = 1;
  int32_t a;
  for (a = 0; a < rank; ++a) n *= (size_t)shape[a];
  return n;
}

/* An array of the tensor's rank, axes reversed. */
static void of_same_rank(call* c, const char* name, const CFI_cdesc_t* a, view* v) {
  int32_t axis;
  for (axis = 0; axis < a->rank; ++axis) {
    const CFI_dim_t* const dim = &a->dim[a->rank - 1 - axis];
    if (dim->extent < 0) refuse(c, name, "must not be of assumed size");
    if (dim->sm % (CFI_index_t)a->elem_len != 0)
      refuse(c, name, "must not be a component of an array of a derived type whose size its own does not divide");
    v->shape[axis] = dim->extent;
    v->pitch[axis] = dim->sm / (CFI_index_t)a->elem_len;
  }
}

/* An array of rank 1 that holds all elements of a tensor in the problem's memory order. */
static void of_memory(call* c, const char* name, const CFI_cdesc_t* a, int of_input, view* v) {
  const int64_t* const shape = of_input ? c->info.shape : c->info.output_shape;
  const size_t bytes = sizeof(int64_t) * ORIEL_MAX_RANK;
  char what[100];
  if (a->dim[0].extent < 0 || (size_t)a->dim[0].extent != count_of(shape, c->info.rank)) {
    snprintf(what, sizeof what, "must have %llu elements, but has %lld",
             (unsigned long long)count_of(shape, c->info.rank), (long long)a->dim[0].extent);
    refuse(c, name, what);
  } else if (a->dim[0].extent > 1 && a->dim[0].sm != (CFI_index_t)a->elem_len) {
    refuse(c, name, "of rank 1 must be contiguous");
  }
  memcpy(v->shape, shape, bytes);
  memcpy(v->pitch, of_input ? c->info.pitch : c->info.output_pitch, bytes);
}

/* dtype -1: that of indices, by the array's kind. */
static void set(call* c, const char* name, const CFI_cdesc_t* a, int of_input, int32_t dtype, view* v) {
  const oriel_tensor empty = ORIEL_TENSOR_INIT;
  int32_t own = dtype_of(a);
  char what[100];
  v->tensor = empty;
  if (c->status != ORIEL_OK) return;
  if (dtype < 0) {
    if (own == ORIEL_I8) own = ORIEL_U8;
    if (own != ORIEL_U8 && own != ORIEL_I32 && own != ORIEL_I64)
      refuse(c, name, "must be integers of kind int64, or int8 or int32 if they count places of the window");
    dtype = own;
  } else if (own < 0 || !stands_for(own, dtype)) {
    snprintf(what, sizeof what, "is of a type that does not hold elements of dtype %s", oriel_dtype_name(dtype));
    refuse(c, name, what);
  }
  if (a->rank == 1 && c->info.rank > 1) {
    of_memory(c, name, a, of_input, v);
  } else if (a->rank == c->info.rank) {
    of_same_rank(c, name, a, v);
  } else {
    snprintf(what, sizeof what, "must have rank %d, or 1 and all elements, but has rank %d", (int)c->info.rank,
             (int)a->rank);
    refuse(c, name, what);
  }
  v->tensor.data = a->base_addr;
  v->tensor.dtype = dtype;
  v->tensor.rank = c->info.rank;
  v->tensor.shape = v->shape;
  v->tensor.pitch = v->pitch;
}

static oriel_run run_of(int32_t threads) {
  oriel_run run = ORIEL_RUN_INIT;
  run.threads = threads;
  return run;
}

int32_t oriel_fortran_make(const oriel_pool* pool, const CFI_cdesc_t* x, int32_t dtype, oriel_problem** problem,
                           char* text, size_t capacity) {
  call c;
  view v;
  const int32_t own = dtype_of(x);
  memset(&c, 0, sizeof c);
  c.text = text;
  c.capacity = capacity;
  text[0] = '\0';
  if (x->rank < 1 || x->rank > ORIEL_MAX_RANK) refuse(&c, "x", "must be an array");
  if (own < 0) refuse(&c, "x", "must be real32, real64, an integer of a kind with 8 to 64 bits, or logical(c_bool)");
  c.info.rank = x->rank;
  if (c.status == ORIEL_OK) of_same_rank(&c, "x", x, &v);
  if (dtype >= 0 && !stands_for(own, dtype)) refuse(&c, "dtype", "must be one that the type of x holds");
  if (c.status == ORIEL_OK) check(&c, oriel_problem_make(pool, dtype < 0 ? own : dtype, x->rank, v.shape, problem));
  return c.status;
}

int32_t oriel_fortran_forward(const oriel_problem* problem, const CFI_cdesc_t* x, const CFI_cdesc_t* y,
                              const CFI_cdesc_t* indices, int32_t space, int32_t threads, char* text, size_t capacity) {
  call c = begin(problem, text, capacity);
  const oriel_run run = run_of(threads);
  view vx, vy, vi;
  set(&c, "x", x, 1, c.info.dtype, &vx);
  set(&c, "y", y, 0, c.info.dtype, &vy);
  if (indices != NULL) set(&c, "indices", indices, 0, -1, &vi);
  if (c.status == ORIEL_OK)
    check(&c, oriel_forward(problem, &vx.tensor, &vy.tensor, indices == NULL ? NULL : &vi.tensor, space, &run));
  return c.status;
}

int32_t oriel_fortran_backward(const oriel_problem* problem, const CFI_cdesc_t* x, const CFI_cdesc_t* dy,
                               const CFI_cdesc_t* indices, const CFI_cdesc_t* dx, int32_t space, int32_t threads,
                               char* text, size_t capacity) {
  call c = begin(problem, text, capacity);
  const oriel_run run = run_of(threads);
  view vx, vdy, vi, vdx;
  if (x != NULL) set(&c, "x", x, 1, c.info.dtype, &vx);
  set(&c, "dy", dy, 0, c.info.dtype, &vdy);
  if (indices != NULL) set(&c, "indices", indices, 0, -1, &vi);
  set(&c, "dx", dx, 1, c.info.dtype, &vdx);
  if (c.status == ORIEL_OK) {
    check(&c, oriel_backward(problem, x == NULL ? NULL : &vx.tensor, &vdy.tensor, indices == NULL ? NULL : &vi.tensor,
                             space, &vdx.tensor, &run));
  }
  return c.status;
}

int32_t oriel_fortran_unpool(const oriel_problem* problem, const CFI_cdesc_t* y, const CFI_cdesc_t* indices,
                             const CFI_cdesc_t* x, int32_t space, int32_t threads, char* text, size_t capacity) {
  call c = begin(problem, text, capacity);
  const oriel_run run = run_of(threads);
  view vy, vi, vx;
  set(&c, "y", y, 0, c.info.dtype, &vy);
  set(&c, "indices", indices, 0, -1, &vi);
  set(&c, "x", x, 1, c.info.dtype, &vx);
  if (c.status == ORIEL_OK)
    check(&c, oriel_unpool(c.info.pooled, c.info.axes, &vy.tensor, &vi.tensor, space, &vx.tensor, &run));
  return c.status;
}
