/* Oriel for R by its C interface. An R array lies in memory with its first axis innermost, a tensor of the same memory
 * with its last: R code passes axes reversed, and nothing is copied. */
#include <R.h>
#include <R_ext/Rdynload.h>
#include <Rinternals.h>
#include <math.h>
#include <oriel/c.h>
#include <string.h>

#include "oriel.h"

static void check(oriel_status status) {
  if (status != ORIEL_OK) Rf_error("%s", oriel_last_error());
}

static void finalize(SEXP pointer) {
  oriel_problem_free((oriel_problem*)R_ExternalPtrAddr(pointer));
  R_ClearExternalPtr(pointer);
}

/* An object that owns a problem: made before the problem is, so that no error of R can lose one. */
static SEXP new_owner(void) {
  SEXP pointer = PROTECT(R_MakeExternalPtr(NULL, R_NilValue, R_NilValue));
  R_RegisterCFinalizerEx(pointer, finalize, TRUE);
  UNPROTECT(1);
  return pointer;
}

static const oriel_problem* problem_of(SEXP pointer) {
  const oriel_problem* problem = TYPEOF(pointer) == EXTPTRSXP ? (const oriel_problem*)R_ExternalPtrAddr(pointer) : NULL;
  if (problem == NULL) Rf_error("problem: must be one that was made in this session");
  return problem;
}

static oriel_problem_info describe(SEXP pointer) {
  oriel_problem_info info;
  memset(&info, 0, sizeof info);
  info.size = sizeof info;
  check(oriel_problem_describe(problem_of(pointer), &info));
  return info;
}

/* Whole numbers, which R keeps as doubles, in memory that R frees after the call; NULL for none. */
static const int64_t* integers(SEXP values, const char* what) {
  const R_xlen_t n = Rf_xlength(values);
  int64_t* out;
  R_xlen_t i;
  if (values == R_NilValue || n == 0) return NULL;
  if (TYPEOF(values) != REALSXP) Rf_error("%s: must be numeric", what);
  out = (int64_t*)R_alloc((size_t)n, sizeof *out);
  for (i = 0; i < n; ++i) {
    const double v = REAL(values)[i];
    if (!(fabs(v) <= 9007199254740992.0) || v != floor(v))
      Rf_error("%s: must be whole numbers, but one is %g", what, v);
    out[i] = (int64_t)v;
  }
  return out;
}

SEXP C_parse(SEXP name) {
  SEXP owner = PROTECT(new_owner());
  oriel_problem* problem = NULL;
  check(oriel_problem_parse(CHAR(STRING_ELT(name, 0)), &problem));
  R_SetExternalPtrAddr(owner, problem);
  UNPROTECT(1);
  return owner;
}

/* words: op, kind, padding, nan policy, ceil mode, exclude, values, dtype; numbers: divisor, norm; lists: kernel,
 * stride, padding before and after, dilation, output size. */
SEXP C_make(SEXP words, SEXP numbers, SEXP lists, SEXP axes, SEXP shape) {
  SEXP owner = PROTECT(new_owner());
  const int* const w = INTEGER(words);
  oriel_pool pool = ORIEL_POOL_INIT;
  oriel_problem* problem = NULL;
  pool.op = w[0];
  pool.kind = w[1];
  pool.padding = w[2];
  pool.nan_policy = w[3];
  pool.ceil_mode = w[4];
  pool.exclude = w[5];
  pool.values = w[6];
  pool.divisor = (int64_t)REAL(numbers)[0];
  pool.norm = REAL(numbers)[1];
  pool.kernel = integers(VECTOR_ELT(lists, 0), "kernel");
  pool.stride = integers(VECTOR_ELT(lists, 1), "stride");
  pool.pad_lo = integers(VECTOR_ELT(lists, 2), "padding");
  pool.pad_hi = integers(VECTOR_ELT(lists, 3), "padding");
  pool.dilation = integers(VECTOR_ELT(lists, 4), "dilation");
  pool.output_size = integers(VECTOR_ELT(lists, 5), "output_size");
  pool.axes = integers(axes, "axes");
  pool.pooled = (int32_t)Rf_xlength(axes);
  check(oriel_problem_make(&pool, w[7], (int32_t)Rf_xlength(shape), integers(shape, "dim(x)"), &problem));
  R_SetExternalPtrAddr(owner, problem);
  UNPROTECT(1);
  return owner;
}

/* The memory of a vector; *count is set to its elements. */
static void* memory_of(SEXP values, R_xlen_t* bytes) {
  const R_xlen_t n = Rf_xlength(values);
  switch (TYPEOF(values)) {
    case REALSXP:
      *bytes = 8 * n;
      return REAL(values);
    case INTSXP:
      *bytes = 4 * n;
      return INTEGER(values);
    case RAWSXP:
      *bytes = n;
      return RAW(values);
    default:
      Rf_error("elements must be double, integer or raw");
  }
}

static int64_t count_of(const oriel_problem_info* info, int of_input) {
  const int64_t* const shape = of_input ? info->shape : info->output_shape;
  int64_t n = 1;
  int32_t a;
  for (a = 0; a < info->rank; ++a) n *= shape[a];
  return n;
}

/* A dense tensor in the problem's memory order. */
static oriel_tensor tensor(const oriel_problem_info* info, int of_input, int32_t dtype, void* data) {
  oriel_tensor t = ORIEL_TENSOR_INIT;
  t.data = data;
  t.dtype = dtype;
  t.rank = info->rank;
  t.shape = of_input ? info->shape : info->output_shape;
  t.pitch = of_input ? info->pitch : info->output_pitch;
  return t;
}

/* The same of a vector, whose memory must have the tensor's size. */
static oriel_tensor tensor_of(const oriel_problem_info* info, int of_input, int32_t dtype, SEXP values,
                              const char* what) {
  R_xlen_t bytes = 0;
  void* const data = memory_of(values, &bytes);
  const double wanted = (double)count_of(info, of_input) * (double)oriel_dtype_bytes(dtype);
  if ((double)bytes != wanted) Rf_error("%s: must have %.0f bytes, but has %.0f", what, wanted, (double)bytes);
  return tensor(info, of_input, dtype, data);
}

/* Results: double and integer as R has them, other dtypes as raw. */
static SEXP new_elements(const oriel_problem_info* info, int of_input, int32_t dtype, int as_raw) {
  const double n = (double)count_of(info, of_input);
  if (as_raw || (dtype != ORIEL_F64 && dtype != ORIEL_I32))
    return Rf_allocVector(RAWSXP, (R_xlen_t)(n * (double)oriel_dtype_bytes(dtype)));
  return Rf_allocVector(dtype == ORIEL_F64 ? REALSXP : INTSXP, (R_xlen_t)n);
}

static oriel_run run_of(SEXP threads) {
  oriel_run run = ORIEL_RUN_INIT;
  run.threads = Rf_asInteger(threads);
  return run;
}

/* Indices from 1, as doubles, since R has no integers of 64 bits; NA where a window has no tap. */
static SEXP from_one(const int64_t* indices, R_xlen_t n) {
  SEXP out = PROTECT(Rf_allocVector(REALSXP, n));
  R_xlen_t i;
  for (i = 0; i < n; ++i) REAL(out)[i] = indices[i] < 0 ? NA_REAL : (double)indices[i] + 1;
  UNPROTECT(1);
  return out;
}

static int64_t* from_zero(SEXP indices) {
  const R_xlen_t n = Rf_xlength(indices);
  int64_t* const out = (int64_t*)R_alloc((size_t)n + 1, sizeof *out);
  R_xlen_t i;
  for (i = 0; i < n; ++i) {
    const double v = REAL(indices)[i];
    if (!ISNAN(v) && !(v >= 1 && v <= 9007199254740992.0))
      Rf_error("indices: must be 1 or larger, or NA, but one is %g", v);
    out[i] = ISNAN(v) ? -1 : (int64_t)v - 1;
  }
  return out;
}

static SEXP two(SEXP a, const char* first, SEXP b, const char* second) {
  const char* names[] = {first, second, ""};
  SEXP both;
  PROTECT(a);
  PROTECT(b);
  both = PROTECT(Rf_mkNamed(VECSXP, names));
  SET_VECTOR_ELT(both, 0, a);
  SET_VECTOR_ELT(both, 1, b);
  UNPROTECT(3);
  return both;
}

SEXP C_forward(SEXP problem, SEXP x, SEXP indices, SEXP threads) {
  const oriel_problem_info info = describe(problem);
  const oriel_tensor tx = tensor_of(&info, 1, info.dtype, x, "x");
  const oriel_run run = run_of(threads);
  const R_xlen_t n = (R_xlen_t)count_of(&info, 0);
  SEXP y = PROTECT(new_elements(&info, 0, info.dtype, 0)), out = y;
  const oriel_tensor ty = tensor_of(&info, 0, info.dtype, y, "y");
  if (Rf_asLogical(indices)) {
    int64_t* const places = (int64_t*)R_alloc((size_t)n + 1, sizeof *places);
    const oriel_tensor ti = tensor(&info, 0, ORIEL_I64, places);
    check(oriel_forward(problem_of(problem), &tx, &ty, &ti, ORIEL_PLANE, &run));
    out = two(y, "y", from_one(places, n), "indices");
  } else {
    check(oriel_forward(problem_of(problem), &tx, &ty, NULL, ORIEL_PLANE, &run));
  }
  UNPROTECT(1);
  return out;
}

/* x or indices may be NULL. */
SEXP C_backward(SEXP problem, SEXP x, SEXP dy, SEXP indices, SEXP threads) {
  const oriel_problem_info info = describe(problem);
  const oriel_tensor tdy = tensor_of(&info, 0, info.dtype, dy, "dy");
  const oriel_run run = run_of(threads);
  SEXP dx = PROTECT(new_elements(&info, 1, info.dtype, 0));
  const oriel_tensor tdx = tensor_of(&info, 1, info.dtype, dx, "dx");
  oriel_tensor tx = ORIEL_TENSOR_INIT, ti = ORIEL_TENSOR_INIT;
  if (x != R_NilValue) tx = tensor_of(&info, 1, info.dtype, x, "x");
  if (indices != R_NilValue) {
    if ((double)Rf_xlength(indices) != (double)count_of(&info, 0))
      Rf_error("indices: must have as many elements as dy");
    ti = tensor(&info, 0, ORIEL_I64, from_zero(indices));
  }
  check(oriel_backward(problem_of(problem), x == R_NilValue ? NULL : &tx, &tdy, indices == R_NilValue ? NULL : &ti,
                       ORIEL_PLANE, &tdx, &run));
  UNPROTECT(1);
  return dx;
}

/* shapes and axes are reversed ones, counted from 0. */
SEXP C_unpool(SEXP y, SEXP indices, SEXP dtype, SEXP output_shape, SEXP shape, SEXP axes, SEXP threads) {
  const oriel_run run = run_of(threads);
  oriel_problem_info info;
  oriel_tensor ty, ti, tx;
  SEXP x;
  memset(&info, 0, sizeof info);
  info.rank = (int32_t)Rf_xlength(shape);
  if (info.rank < 1 || info.rank > ORIEL_MAX_RANK || Rf_xlength(output_shape) != info.rank)
    Rf_error("dim: must have as many values as y has axes, 1 to %d", ORIEL_MAX_RANK);
  memcpy(info.shape, integers(shape, "dim"), (size_t)info.rank * sizeof *info.shape);
  memcpy(info.output_shape, integers(output_shape, "dim(y)"), (size_t)info.rank * sizeof *info.output_shape);
  ty = tensor_of(&info, 0, Rf_asInteger(dtype), y, "y");
  if (Rf_xlength(indices) != Rf_xlength(y)) Rf_error("indices: must have as many elements as y");
  ti = tensor(&info, 0, ORIEL_I64, from_zero(indices));
  x = PROTECT(new_elements(&info, 1, Rf_asInteger(dtype), 0));
  tx = tensor_of(&info, 1, Rf_asInteger(dtype), x, "x");
  ty.pitch = ti.pitch = tx.pitch = NULL;
  check(oriel_unpool((int32_t)Rf_xlength(axes), integers(axes, "axes"), &ty, &ti, ORIEL_PLANE, &tx, &run));
  UNPROTECT(1);
  return x;
}

/* What a name says, its tensors given and gotten as bytes. */
SEXP C_named(SEXP problem, SEXP x, SEXP dy, SEXP space, SEXP index_dtype, SEXP unpooled) {
  const oriel_problem_info info = describe(problem);
  const int32_t where = Rf_asInteger(space) < 0 ? info.index_space : Rf_asInteger(space);
  const int32_t places =
      info.index_dtype >= 0 && Rf_asInteger(index_dtype) >= 0 ? Rf_asInteger(index_dtype) : info.index_dtype;
  const int indexed = info.index_dtype >= 0, backward = info.direction == ORIEL_BACKWARD;
  const oriel_problem* const p = problem_of(problem);
  const oriel_tensor tx = tensor_of(&info, 1, info.dtype, x, "x");
  SEXP y = PROTECT(new_elements(&info, 0, info.dtype, 1));
  SEXP dx = PROTECT(new_elements(&info, 1, info.dtype, 1));
  SEXP indices = PROTECT(new_elements(&info, 0, indexed ? places : ORIEL_U8, 1));
  const oriel_tensor ty = tensor_of(&info, 0, info.dtype, y, "y"), tdx = tensor_of(&info, 1, info.dtype, dx, "dx");
  const oriel_tensor ti = tensor_of(&info, 0, indexed ? places : ORIEL_U8, indices, "indices");
  SEXP out = y;
  if (indexed || !backward) check(oriel_forward(p, &tx, &ty, indexed ? &ti : NULL, where, NULL));
  if (backward) {
    const oriel_tensor tdy = tensor_of(&info, 0, info.dtype, dy, "dy");
    check(oriel_backward(p, indexed ? NULL : &tx, &tdy, indexed ? &ti : NULL, where, &tdx, NULL));
    out = dx;
  } else if (indexed && Rf_asLogical(unpooled)) {
    check(oriel_unpool(info.pooled, info.axes, &ty, &ti, where, &tdx, NULL));
    out = dx;
  } else if (indexed) {
    out = two(y, "y", indices, "indices");
  }
  UNPROTECT(3);
  return out;
}

/* op, dtype, direction and index dtype as numbers; shape, shape of the result. */
SEXP C_info(SEXP problem) {
  const oriel_problem_info info = describe(problem);
  SEXP words = PROTECT(Rf_allocVector(INTSXP, 4)), shape = PROTECT(Rf_allocVector(REALSXP, info.rank)), both;
  SEXP output = PROTECT(Rf_allocVector(REALSXP, info.rank));
  int32_t a;
  INTEGER(words)[0] = info.op;
  INTEGER(words)[1] = info.dtype;
  INTEGER(words)[2] = info.direction;
  INTEGER(words)[3] = info.index_dtype;
  for (a = 0; a < info.rank; ++a) {
    REAL(shape)[a] = (double)info.shape[a];
    REAL(output)[a] = (double)info.output_shape[a];
  }
  both = PROTECT(two(shape, "shape", output, "output_shape"));
  both = two(words, "words", both, "shapes");
  UNPROTECT(4);
  return both;
}

SEXP C_target(SEXP name) {
  char text[64];
  if (name != R_NilValue) check(oriel_set_target(CHAR(STRING_ELT(name, 0))));
  check(oriel_active_target(text, sizeof text, NULL));
  return Rf_mkString(text);
}

SEXP C_version(void) { return Rf_mkString(oriel_version()); }

static const R_CallMethodDef kMethods[] = {
    {"C_parse", (DL_FUNC)&C_parse, 1},     {"C_make", (DL_FUNC)&C_make, 5},
    {"C_forward", (DL_FUNC)&C_forward, 4}, {"C_backward", (DL_FUNC)&C_backward, 5},
    {"C_unpool", (DL_FUNC)&C_unpool, 7},   {"C_named", (DL_FUNC)&C_named, 6},
    {"C_info", (DL_FUNC)&C_info, 1},       {"C_target", (DL_FUNC)&C_target, 1},
    {"C_version", (DL_FUNC)&C_version, 0}, {NULL, NULL, 0}};

void R_init_oriel(DllInfo* library) {
  R_registerRoutines(library, NULL, kMethods, NULL, NULL);
  R_useDynamicSymbols(library, FALSE);
}
