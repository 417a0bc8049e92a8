/* Oriel for Octave and MATLAB by its C interface; the functions of +oriel call it. Arrays there lie in memory with
 * their first axis innermost, tensors of the same memory with their last: callers pass axes reversed, and nothing is
 * copied.
 *
 *   [y, indices] = oriel_mex('forward', words, numbers, lists, axes, x, threads)
 *   dx           = oriel_mex('backward', words, numbers, lists, axes, x, dy, indices or [], threads)
 *   x            = oriel_mex('unpool', y, indices, dim, axes, threads)
 *   [a, b]       = oriel_mex('named', name, x, dy, space or -1, index dtype or -1, unpool)
 *   text         = oriel_mex('target') or oriel_mex('target', name), oriel_mex('version') */
#include <math.h>
#include <mex.h>
#include <oriel/c.h>
#include <stdint.h>
#include <string.h>

/* The problem of the call, which is freed before an error leaves it. */
static oriel_problem* current = NULL;

static void release(void) {
  oriel_problem_free(current);
  current = NULL;
}

static void check(oriel_status status) {
  if (status == ORIEL_OK) return;
  release();
  mexErrMsgIdAndTxt("oriel:invalid", "%s", oriel_last_error());
}

static void refuse(const char* text) {
  release();
  mexErrMsgIdAndTxt("oriel:invalid", "%s", text);
}

static int32_t dtype_of(const mxArray* a) {
  if (mxIsComplex(a) || mxIsSparse(a)) refuse("arrays must be real and full");
  switch (mxGetClassID(a)) {
    case mxDOUBLE_CLASS:
      return ORIEL_F64;
    case mxSINGLE_CLASS:
      return ORIEL_F32;
    case mxINT8_CLASS:
      return ORIEL_I8;
    case mxUINT8_CLASS:
      return ORIEL_U8;
    case mxINT16_CLASS:
      return ORIEL_I16;
    case mxUINT16_CLASS:
      return ORIEL_U16;
    case mxINT32_CLASS:
      return ORIEL_I32;
    case mxUINT32_CLASS:
      return ORIEL_U32;
    case mxINT64_CLASS:
      return ORIEL_I64;
    case mxUINT64_CLASS:
      return ORIEL_U64;
    case mxLOGICAL_CLASS:
      return ORIEL_BOOL;
    default:
      refuse("arrays must be numeric or logical");
      return -1;
  }
}

/* Whole numbers of a double array, in memory that is freed after the call; NULL for []. */
static int64_t* integers(const mxArray* a, const char* what) {
  const size_t n = mxGetNumberOfElements(a);
  int64_t* out;
  size_t i;
  if (n == 0) return NULL;
  if (!mxIsDouble(a) || mxIsComplex(a)) refuse(what);
  out = (int64_t*)mxMalloc(n * sizeof *out);
  for (i = 0; i < n; ++i) {
    const double v = mxGetPr(a)[i];
    if (!(fabs(v) <= 9007199254740992.0) || v != floor(v)) refuse(what);
    out[i] = (int64_t)v;
  }
  return out;
}

static int64_t* reversed_dimensions(const mxArray* a, int32_t* rank) {
  const mwSize n = mxGetNumberOfDimensions(a);
  const mwSize* const dims = mxGetDimensions(a);
  int64_t* const out = (int64_t*)mxMalloc(n * sizeof *out);
  mwSize i;
  for (i = 0; i < n; ++i) out[i] = (int64_t)dims[n - 1 - i];
  *rank = (int32_t)n;
  return out;
}

static oriel_problem_info describe(void) {
  oriel_problem_info info;
  memset(&info, 0, sizeof info);
  info.size = sizeof info;
  check(oriel_problem_describe(current, &info));
  return info;
}

/* words: op, kind, padding, nan policy, ceil mode, exclude, values; numbers: divisor, norm; lists: kernel, stride,
 * padding before and after, dilation, output size. */
static void make(const mxArray* const* given, const mxArray* x) {
  static const char* const names[] = {"kernel must be whole numbers",   "stride must be whole numbers",
                                      "padding must be whole numbers",  "padding must be whole numbers",
                                      "dilation must be whole numbers", "output_size must be whole numbers"};
  const double* const w = mxGetPr(given[0]);
  const int64_t* lists[6];
  oriel_pool pool = ORIEL_POOL_INIT;
  int32_t rank = 0;
  const int64_t* const shape = reversed_dimensions(x, &rank);
  int i;
  for (i = 0; i < 6; ++i) lists[i] = integers(mxGetCell(given[2], (mwIndex)i), names[i]);
  pool.op = (int32_t)w[0];
  pool.kind = (int32_t)w[1];
  pool.padding = (int32_t)w[2];
  pool.nan_policy = (int32_t)w[3];
  pool.ceil_mode = (int32_t)w[4];
  pool.exclude = (int32_t)w[5];
  pool.values = (int32_t)w[6];
  pool.divisor = (int64_t)mxGetPr(given[1])[0];
  pool.norm = mxGetPr(given[1])[1];
  pool.kernel = lists[0];
  pool.stride = lists[1];
  pool.pad_lo = lists[2];
  pool.pad_hi = lists[3];
  pool.dilation = lists[4];
  pool.output_size = lists[5];
  pool.axes = integers(given[3], "axes must be whole numbers");
  pool.pooled = (int32_t)mxGetNumberOfElements(given[3]);
  check(oriel_problem_make(&pool, dtype_of(x), rank, shape, &current));
}

static size_t count_of(const oriel_problem_info* info, int of_input) {
  const int64_t* const shape = of_input ? info->shape : info->output_shape;
  size_t n = 1;
  int32_t a;
  for (a = 0; a < info->rank; ++a) n *= (size_t)shape[a];
  return n;
}

static oriel_tensor tensor(const oriel_problem_info* info, int of_input, int32_t dtype, void* data) {
  oriel_tensor t = ORIEL_TENSOR_INIT;
  t.data = data;
  t.dtype = dtype;
  t.rank = info->rank;
  t.shape = of_input ? info->shape : info->output_shape;
  t.pitch = of_input ? info->pitch : info->output_pitch;
  return t;
}

/* An array's memory as a tensor, if it has that many bytes. */
static oriel_tensor tensor_of(const oriel_problem_info* info, int of_input, int32_t dtype, const mxArray* a,
                              const char* what) {
  const size_t bytes = mxGetNumberOfElements(a) * mxGetElementSize(a);
  if (bytes != count_of(info, of_input) * (size_t)oriel_dtype_bytes(dtype)) {
    release();
    mexErrMsgIdAndTxt("oriel:invalid", "%s must have %lu elements of dtype %s", what,
                      (unsigned long)count_of(info, of_input), oriel_dtype_name(dtype));
  }
  return tensor(info, of_input, dtype, mxGetData(a));
}

/* A new array of the class of `like`, of the dimensions of the input or the result. */
static mxArray* new_like(const oriel_problem_info* info, int of_input, const mxArray* like) {
  const int64_t* const shape = of_input ? info->shape : info->output_shape;
  mwSize dims[ORIEL_MAX_RANK];
  int32_t a;
  for (a = 0; a < info->rank; ++a) dims[a] = (mwSize)shape[info->rank - 1 - a];
  if (mxIsLogical(like)) return mxCreateLogicalArray((mwSize)info->rank, dims);
  return mxCreateNumericArray((mwSize)info->rank, dims, mxGetClassID(like), mxREAL);
}

/* A column of bytes that has room for a tensor. */
static mxArray* new_bytes(const oriel_problem_info* info, int of_input, int32_t dtype) {
  mwSize dims[2];
  dims[0] = (mwSize)(count_of(info, of_input) * (size_t)oriel_dtype_bytes(dtype));
  dims[1] = 1;
  return mxCreateNumericArray(2, dims, mxUINT8_CLASS, mxREAL);
}

/* Indices from 1 as doubles; NaN where a window has no tap. */
static mxArray* from_one(const oriel_problem_info* info, const int64_t* places) {
  mxArray *const like = mxCreateDoubleMatrix(1, 1, mxREAL), *const out = new_like(info, 0, like);
  const size_t n = count_of(info, 0);
  size_t i;
  for (i = 0; i < n; ++i) mxGetPr(out)[i] = places[i] < 0 ? mxGetNaN() : (double)places[i] + 1;
  mxDestroyArray(like);
  return out;
}

static int64_t* from_zero(const mxArray* indices) {
  const size_t n = mxGetNumberOfElements(indices);
  int64_t* const out = (int64_t*)mxMalloc((n + 1) * sizeof *out);
  size_t i;
  if (!mxIsDouble(indices)) refuse("indices must be double");
  for (i = 0; i < n; ++i) {
    const double v = mxGetPr(indices)[i];
    if (!mxIsNaN(v) && !(v >= 1 && v <= 9007199254740992.0)) refuse("indices must be 1 or larger, or NaN");
    out[i] = mxIsNaN(v) ? -1 : (int64_t)v - 1;
  }
  return out;
}

static oriel_run run_of(const mxArray* threads) {
  oriel_run run = ORIEL_RUN_INIT;
  run.threads = (int32_t)mxGetScalar(threads);
  return run;
}

static void forward(int nlhs, mxArray** plhs, const mxArray* const* prhs) {
  const mxArray* const x = prhs[4];
  oriel_problem_info info;
  oriel_run run;
  oriel_tensor tx, ty, ti;
  int64_t* places = NULL;
  make(prhs, x);
  info = describe();
  run = run_of(prhs[5]);
  tx = tensor_of(&info, 1, info.dtype, x, "x");
  plhs[0] = new_like(&info, 0, x);
  ty = tensor_of(&info, 0, info.dtype, plhs[0], "y");
  if (nlhs > 1) places = (int64_t*)mxMalloc((count_of(&info, 0) + 1) * sizeof *places);
  ti = tensor(&info, 0, ORIEL_I64, places);
  check(oriel_forward(current, &tx, &ty, nlhs > 1 ? &ti : NULL, ORIEL_PLANE, &run));
  if (nlhs > 1) plhs[1] = from_one(&info, places);
}

static void backward(mxArray** plhs, const mxArray* const* prhs) {
  const mxArray *const x = prhs[4], *const dy = prhs[5], *const indices = prhs[6];
  const int indexed = !mxIsEmpty(indices);
  oriel_problem_info info;
  oriel_run run;
  oriel_tensor tx, tdy, tdx, ti = ORIEL_TENSOR_INIT;
  make(prhs, x);
  info = describe();
  run = run_of(prhs[7]);
  if (dtype_of(dy) != info.dtype) refuse("dy must have the class of x");
  tx = tensor_of(&info, 1, info.dtype, x, "x");
  tdy = tensor_of(&info, 0, info.dtype, dy, "dy");
  if (indexed) {
    if (mxGetNumberOfElements(indices) != count_of(&info, 0)) refuse("indices must have as many elements as dy");
    ti = tensor(&info, 0, ORIEL_I64, from_zero(indices));
  }
  plhs[0] = new_like(&info, 1, x);
  tdx = tensor_of(&info, 1, info.dtype, plhs[0], "dx");
  check(oriel_backward(current, indexed ? NULL : &tx, &tdy, indexed ? &ti : NULL, ORIEL_PLANE, &tdx, &run));
}

static void unpool(mxArray** plhs, const mxArray* const* prhs) {
  const mxArray* const y = prhs[0];
  const oriel_run run = run_of(prhs[4]);
  oriel_problem_info info;
  oriel_tensor ty, ti, tx;
  const int64_t* shape;
  int64_t* output_shape;
  memset(&info, 0, sizeof info);
  output_shape = reversed_dimensions(y, &info.rank);
  shape = integers(prhs[2], "dim must be whole numbers");
  if (info.rank > ORIEL_MAX_RANK || mxGetNumberOfElements(prhs[2]) != (size_t)info.rank)
    refuse("dim must have as many values as y has axes");
  memcpy(info.shape, shape, (size_t)info.rank * sizeof *shape);
  memcpy(info.output_shape, output_shape, (size_t)info.rank * sizeof *shape);
  if (mxGetNumberOfElements(prhs[1]) != mxGetNumberOfElements(y)) refuse("indices must have as many elements as y");
  ty = tensor_of(&info, 0, dtype_of(y), y, "y");
  ti = tensor(&info, 0, ORIEL_I64, from_zero(prhs[1]));
  plhs[0] = new_like(&info, 1, y);
  tx = tensor_of(&info, 1, dtype_of(y), plhs[0], "x");
  ty.pitch = ti.pitch = tx.pitch = NULL;
  check(oriel_unpool((int32_t)mxGetNumberOfElements(prhs[3]), integers(prhs[3], "axes must be whole numbers"), &ty, &ti,
                     ORIEL_PLANE, &tx, &run));
}

/* What a name says, results as bytes: dx; or the result put back; or y and its indices. */
static void named(int nlhs, mxArray** plhs, const mxArray* const* prhs) {
  char* const name = mxArrayToString(prhs[0]);
  const int32_t space = (int32_t)mxGetScalar(prhs[3]), index_dtype = (int32_t)mxGetScalar(prhs[4]);
  oriel_problem_info info;
  oriel_tensor tx, ty, ti, tdx;
  mxArray *y, *indices, *dx;
  int32_t where, places;
  int indexed, back;
  if (name == NULL) refuse("a name must be a text");
  check(oriel_problem_parse(name, &current));
  mxFree(name);
  info = describe();
  indexed = info.index_dtype >= 0;
  back = info.direction == ORIEL_BACKWARD;
  where = space < 0 ? info.index_space : space;
  places = !indexed ? ORIEL_U8 : index_dtype < 0 ? info.index_dtype : index_dtype;
  tx = tensor_of(&info, 1, info.dtype, prhs[1], "x");
  y = new_bytes(&info, 0, info.dtype);
  dx = new_bytes(&info, 1, info.dtype);
  indices = new_bytes(&info, 0, places);
  ty = tensor_of(&info, 0, info.dtype, y, "y");
  tdx = tensor_of(&info, 1, info.dtype, dx, "dx");
  ti = tensor_of(&info, 0, places, indices, "indices");
  if (indexed || !back) check(oriel_forward(current, &tx, &ty, indexed ? &ti : NULL, where, NULL));
  plhs[0] = back || mxGetScalar(prhs[5]) != 0 ? dx : y;
  if (back) {
    const oriel_tensor tdy = tensor_of(&info, 0, info.dtype, prhs[2], "dy");
    check(oriel_backward(current, indexed ? NULL : &tx, &tdy, indexed ? &ti : NULL, where, &tdx, NULL));
  } else if (plhs[0] == dx) {
    check(oriel_unpool(info.pooled, info.axes, &ty, &ti, where, &tdx, NULL));
  }
  if (nlhs > 1) plhs[1] = indices;
}

static mxArray* target(int nrhs, const mxArray* const* prhs) {
  char text[64];
  if (nrhs > 0) {
    char* const name = mxArrayToString(prhs[0]);
    if (name == NULL) refuse("a target must be a text");
    check(oriel_set_target(name));
    mxFree(name);
  }
  check(oriel_active_target(text, sizeof text, NULL));
  return mxCreateString(text);
}

void mexFunction(int nlhs, mxArray* plhs[], int nrhs, const mxArray* prhs[]) {
  char command[16] = "";
  const mxArray* const* const rest = prhs + 1;
  const int n = nrhs - 1;
  release();
  if (nrhs < 1 || mxGetString(prhs[0], command, sizeof command) != 0)
    refuse("oriel_mex: the first argument must be a command");
  if (strcmp(command, "forward") == 0 && n == 6)
    forward(nlhs, plhs, rest);
  else if (strcmp(command, "backward") == 0 && n == 8)
    backward(plhs, rest);
  else if (strcmp(command, "unpool") == 0 && n == 5)
    unpool(plhs, rest);
  else if (strcmp(command, "named") == 0 && n == 6)
    named(nlhs, plhs, rest);
  else if (strcmp(command, "target") == 0 && n <= 1)
    plhs[0] = target(n, rest);
  else if (strcmp(command, "version") == 0 && n == 0)
    plhs[0] = mxCreateString(oriel_version());
  else
    refuse("oriel_mex: no such command with so many arguments; use the functions of +oriel");
  release();
}
