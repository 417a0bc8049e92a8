/* Oriel in C: what other languages call. c.md in share/doc/oriel has an example of each function.
 *
 * Rules of the whole header:
 *  - Functions that return an oriel_status return ORIEL_OK or the kind of an error, whose text oriel_last_error()
 *    returns. After an error, outputs are unchanged, except tensors that the call had begun to write.
 *  - A struct begins with its size in bytes, which the caller sets (the macros ORIEL_..._INIT do); every other field
 *    may be zero, which is its default. Later versions add fields at the end, whose default keeps the former behaviour.
 *  - Extents and numbers of elements are int64_t; enumerations are int32_t with the numbers in this header.
 *  - No call keeps a pointer that it was passed. Any number of threads may call at once. No call throws an exception.
 * Within one ORIEL_C_ABI symbols may be added, but none is changed or removed. That number is liboriel_c's soname. */
#ifndef ORIEL_C_H_
#define ORIEL_C_H_

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define ORIEL_C_API __attribute__((visibility("default")))
#else
#define ORIEL_C_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* The version of this interface; oriel_abi() returns the version of the library in use. */
#define ORIEL_C_ABI 1

/* Largest number of axes of a tensor, and of axes that one call may pool. */
#define ORIEL_MAX_RANK 16
#define ORIEL_MAX_POOLED 8

typedef int32_t oriel_status;
enum {
  ORIEL_OK = 0,
  ORIEL_INVALID = 1,   /* an argument is wrong */
  ORIEL_NO_MEMORY = 2, /* there is not enough memory */
  ORIEL_NO_DEVICE = 3, /* a tensor is on a device that this build does not support */
  ORIEL_INTERNAL = 4   /* anything else; please report it */
};

/* Element types. */
enum {
  ORIEL_F64 = 0,
  ORIEL_F32 = 1,
  ORIEL_F16 = 2,
  ORIEL_BF16 = 3,
  ORIEL_I8 = 4,
  ORIEL_U8 = 5,
  ORIEL_I16 = 6,
  ORIEL_U16 = 7,
  ORIEL_I32 = 8,
  ORIEL_U32 = 9,
  ORIEL_I64 = 10,
  ORIEL_U64 = 11,
  ORIEL_BOOL = 12 /* one byte; any value but 0 is true, results are 0 or 1 */
};

/* Operations. The struct oriel_pool has the first five; the others are part of problems made from names. */
enum {
  ORIEL_MAX = 0,
  ORIEL_MIN = 1,
  ORIEL_AVG = 2,
  ORIEL_SUM = 3,
  ORIEL_LP = 4,
  ORIEL_COUNT = 5,
  ORIEL_ANY = 6,
  ORIEL_ALL = 7,
  ORIEL_RANGE = 8,
  ORIEL_MIDRANGE = 9,
  ORIEL_FIRST = 10,
  ORIEL_CENTRE = 11,
  ORIEL_MEDIAN = 12,
  ORIEL_QUANTILE = 13,
  ORIEL_MODE = 14,
  ORIEL_NUNIQUE = 15,
  ORIEL_VAR = 16,
  ORIEL_STD = 17,
  ORIEL_RMS = 18,
  ORIEL_PROD = 19,
  ORIEL_GEO = 20,
  ORIEL_HARM = 21,
  ORIEL_LSE = 22,
  ORIEL_SOFT = 23
};

/* Windows of one size and stride; output_size windows that split the input evenly; one window over everything. */
enum { ORIEL_UNIFORM = 0, ORIEL_ADAPTIVE = 1, ORIEL_GLOBAL = 2 };

/* Padding as given, or as much as gives ceil(n / stride) outputs, an odd element of it after or before the input. */
enum { ORIEL_PADDING_GIVEN = 0, ORIEL_SAME_UPPER = 1, ORIEL_SAME_LOWER = 2 };

/* A NaN in a window makes its result NaN, or NaN are left out. */
enum { ORIEL_NAN_PROPAGATE = 0, ORIEL_NAN_OMIT = 1 };

/* What indices count: elements of the pooled plane, of the whole tensor, or taps of the window. */
enum { ORIEL_PLANE = 0, ORIEL_TENSOR = 1, ORIEL_WINDOW = 2 };

enum { ORIEL_CPU = 0, ORIEL_CUDA = 1 };

enum { ORIEL_FORWARD = 0, ORIEL_BACKWARD = 1 };

/* A view of memory as a tensor: element (i, j, ...) is i*pitch[0] + j*pitch[1] + ... elements after data. */
typedef struct oriel_tensor {
  size_t size;          /* sizeof(oriel_tensor) */
  void* data;           /* element (0, 0, ...); inputs are only read */
  int32_t dtype;        /* ORIEL_F64 ... */
  int32_t device;       /* ORIEL_CPU ... */
  int32_t rank;         /* 1 to ORIEL_MAX_RANK */
  int32_t reserved;     /* 0 */
  const int64_t* shape; /* rank extents */
  const int64_t* pitch; /* rank distances in elements, may be 0 or negative; NULL: dense, last axis innermost */
} oriel_tensor;
#define ORIEL_TENSOR_INIT \
  { sizeof(oriel_tensor), NULL, ORIEL_F64, ORIEL_CPU, 0, 0, NULL, NULL }

/* A pool, for tensors of any shape. A list is NULL, its default, or has `values` values: one for all pooled axes, or
 * one for each in the order of `axes`. */
typedef struct oriel_pool {
  size_t size;        /* sizeof(oriel_pool) */
  int32_t op;         /* ORIEL_MAX ... */
  int32_t kind;       /* ORIEL_UNIFORM ... */
  int32_t padding;    /* ORIEL_PADDING_GIVEN ... */
  int32_t nan_policy; /* ORIEL_NAN_PROPAGATE ... */
  int32_t ceil_mode;  /* 1: the number of outputs is rounded up */
  int32_t exclude;    /* averages: 1: padding does not count in the divisor */
  int64_t divisor;    /* averages: replaces the count; 0: none */
  double norm;        /* lp: p >= 1, or infinity; 0: the default, 2 */
  int32_t values;     /* of each list: 1, or as many as axes are pooled */
  int32_t pooled;     /* of `axes`; 0: all axes are pooled */
  const int64_t* kernel;
  const int64_t* stride;      /* NULL: as kernel */
  const int64_t* pad_lo;      /* before the first input; NULL: 0 */
  const int64_t* pad_hi;      /* after the last input; NULL: as pad_lo */
  const int64_t* dilation;    /* NULL: 1 */
  const int64_t* output_size; /* adaptive windows */
  const int64_t* axes;        /* negative from the end */
} oriel_pool;
#define ORIEL_POOL_INIT                                                                                               \
  {                                                                                                                   \
    sizeof(oriel_pool), ORIEL_MAX, ORIEL_UNIFORM, ORIEL_PADDING_GIVEN, ORIEL_NAN_PROPAGATE, 0, 0, 0, 0.0, 0, 0, NULL, \
        NULL, NULL, NULL, NULL, NULL, NULL                                                                            \
  }

/* How a call runs; its result does not depend on it. A NULL pointer means the defaults. */
typedef struct oriel_run {
  size_t size;      /* sizeof(oriel_run) */
  int32_t threads;  /* largest number to use; 0: all that the process may use */
  int32_t reserved; /* 0 */
  void* stream;     /* for tensors on a CUDA device: the cudaStream_t; NULL: the default stream */
  /* Runs the call on your program's threads: calls task(state, i) once for each i from 0 to tasks - 1, on any threads
   * and in any order, and returns when all have ended. Tasks never block. NULL: oneTBB's threads. */
  void (*executor)(void* context, int64_t tasks, void (*task)(void* state, int64_t i), void* state);
  void* executor_context;   /* executor's first argument */
  int32_t executor_threads; /* tasks that it can run at once, at least 1; 0 without an executor */
  int32_t reserved2;        /* 0 */
} oriel_run;
#define ORIEL_RUN_INIT \
  { sizeof(oriel_run), 0, 0, NULL, NULL, NULL, 0, 0 }

/* A checked pool for tensors of one dtype and shape. It is immutable, and threads may share it. */
typedef struct oriel_problem oriel_problem;

/* What oriel_problem_describe fills in. The arrays have one value for each axis; the rest are 0. */
typedef struct oriel_problem_info {
  size_t size;          /* sizeof(oriel_problem_info) */
  int32_t op;           /* ORIEL_MAX ... */
  int32_t dtype;        /* of the input and its gradient */
  int32_t rank;         /* of the input and the result (of several quantiles the result has another axis first) */
  int32_t pooled;       /* axes that are pooled */
  int32_t direction;    /* in the name: ORIEL_FORWARD ... */
  int32_t index_dtype;  /* of the indices in the name: ORIEL_I64, with `codes` ORIEL_U8; -1: none */
  int32_t index_space;  /* what these indices count: ORIEL_PLANE, with `codes` ORIEL_WINDOW */
  int32_t result_dtype; /* of the result and its gradient */
  int64_t taps;         /* of the largest window */
  int64_t axes[ORIEL_MAX_POOLED];
  int64_t shape[ORIEL_MAX_RANK];
  int64_t output_shape[ORIEL_MAX_RANK];
  int64_t pitch[ORIEL_MAX_RANK];        /* of a dense input in the memory order that the name gives */
  int64_t output_pitch[ORIEL_MAX_RANK]; /* of a dense result in that order */
} oriel_problem_info;

/* The problem that a name describes, such as max:f32:8x64x112x112:k3x3s2p1 (syntax: include/oriel/problem.h). */
ORIEL_C_API oriel_status oriel_problem_parse(const char* name, oriel_problem** problem);
/* The problem of a pool on a tensor of that dtype and shape. */
ORIEL_C_API oriel_status oriel_problem_make(const oriel_pool* pool, int32_t dtype, int32_t rank, const int64_t* shape,
                                            oriel_problem** problem);
/* Frees a problem that one of these two functions made; does nothing for NULL. */
ORIEL_C_API void oriel_problem_free(oriel_problem* problem);

/* Fills in the first info->size bytes of `info`. */
ORIEL_C_API oriel_status oriel_problem_describe(const oriel_problem* problem, oriel_problem_info* info);
/* The shortest name of the problem, ended by a zero byte. `length`, which may be NULL, is set to the bytes of the whole
 * text without the zero byte. If capacity is at most that, the text is cut off; if it is 0, nothing is written.
 * oriel_active_target and oriel_supported_targets do the same. */
ORIEL_C_API oriel_status oriel_problem_name(const oriel_problem* problem, char* text, size_t capacity, size_t* length);
/* Whether max or min followed by its gradient takes less time in total with stored codes (u8 indices in space
 * ORIEL_WINDOW) than without: *pay is 1 or 0. */
ORIEL_C_API oriel_status oriel_codes_pay(const oriel_problem* problem, int32_t* pay);

/* y = the pool of x. `indices`, for max and min, may be NULL; otherwise it has y's shape and dtype i64, or, in space
 * ORIEL_WINDOW, also u8 (windows of at most 255 taps) or i32. Outputs must not share memory with another tensor. */
ORIEL_C_API oriel_status oriel_forward(const oriel_problem* problem, const oriel_tensor* x, const oriel_tensor* y,
                                       const oriel_tensor* indices, int32_t space, const oriel_run* run);
/* dx = the gradient of the pool, given dy. `indices` may be NULL; `x` may be NULL if `indices` are given, and for sums
 * and averages that propagate NaN. */
ORIEL_C_API oriel_status oriel_backward(const oriel_problem* problem, const oriel_tensor* x, const oriel_tensor* dy,
                                        const oriel_tensor* indices, int32_t space, const oriel_tensor* dx,
                                        const oriel_run* run);
/* The same of the elements that are valid. `mask` (bool or u8) is not 0 at these; `weights` (f32 or f64) are for sums,
 * averages, variances, modes and some quantiles. Each may be NULL, and has x's extents along the pooled axes and x's or
 * 1 along the others. Tensors on the CPU only. */
ORIEL_C_API oriel_status oriel_forward_masked(const oriel_problem* problem, const oriel_tensor* x,
                                              const oriel_tensor* mask, const oriel_tensor* weights,
                                              const oriel_tensor* y, const oriel_tensor* indices, int32_t space,
                                              const oriel_run* run);
/* Its gradient, which needs x. */
ORIEL_C_API oriel_status oriel_backward_masked(const oriel_problem* problem, const oriel_tensor* x,
                                               const oriel_tensor* mask, const oriel_tensor* weights,
                                               const oriel_tensor* dy, const oriel_tensor* dx, const oriel_run* run);
/* Sets x to zeros, except x[indices[o]] = y[o]. `axes` are the `pooled` pooled axes; 0 and NULL: all. */
ORIEL_C_API oriel_status oriel_unpool(int32_t pooled, const int64_t* axes, const oriel_tensor* y,
                                      const oriel_tensor* indices, int32_t space, const oriel_tensor* x,
                                      const oriel_run* run);

/* DLPack's structs, byte for byte (https://dmlc.github.io/dlpack): a DLTensor* may be cast to oriel_dl_tensor*, a
 * DLManagedTensorVersioned* to oriel_dl_managed_tensor*. */
typedef struct oriel_dl_device {
  int32_t type;
  int32_t id;
} oriel_dl_device;
typedef struct oriel_dl_dtype {
  uint8_t code;
  uint8_t bits;
  uint16_t lanes;
} oriel_dl_dtype;
typedef struct oriel_dl_tensor {
  void* data;
  oriel_dl_device device;
  int32_t ndim;
  oriel_dl_dtype dtype;
  int64_t* shape;
  int64_t* strides;
  uint64_t byte_offset;
} oriel_dl_tensor;
typedef struct oriel_dl_version {
  uint32_t major;
  uint32_t minor;
} oriel_dl_version;
typedef struct oriel_dl_managed_tensor {
  oriel_dl_version version;
  void* manager_ctx;
  void (*deleter)(struct oriel_dl_managed_tensor* self);
  uint64_t flags;
  oriel_dl_tensor dl_tensor;
} oriel_dl_managed_tensor;

/* Makes `to`, whose size the caller has set, a view of from's memory. It points to from's shape and strides. */
ORIEL_C_API oriel_status oriel_tensor_from_dlpack(const oriel_dl_tensor* from, oriel_tensor* to);
/* The same for a managed tensor of DLPack 1; the caller still owns it, the deleter is not called. `written`: 1 if the
 * tensor will be written to, an error if it is marked read-only. */
ORIEL_C_API oriel_status oriel_tensor_from_dlpack_managed(const oriel_dl_managed_tensor* from, int32_t written,
                                                          oriel_tensor* to);

/* The error text of this thread's last failed call: one line, valid until the next failed call; "" if none failed. */
ORIEL_C_API const char* oriel_last_error(void);

/* The library's ORIEL_C_ABI, and its version, such as "0.2.0". */
ORIEL_C_API uint32_t oriel_abi(void);
ORIEL_C_API const char* oriel_version(void);

/* The bytes of an element, and the dtype's name, such as "f32"; 0 and NULL, with an error, for an unknown dtype. */
ORIEL_C_API int64_t oriel_dtype_bytes(int32_t dtype);
ORIEL_C_API const char* oriel_dtype_name(int32_t dtype);

/* The instruction set in use; those that this build has and this processor runs, best first, separated by spaces; a
 * function that selects one for later calls ("": the best). ORIEL_TARGET in the environment selects the first one. */
ORIEL_C_API oriel_status oriel_active_target(char* text, size_t capacity, size_t* length);
ORIEL_C_API oriel_status oriel_supported_targets(char* text, size_t capacity, size_t* length);
ORIEL_C_API oriel_status oriel_set_target(const char* name);

/* The number of threads that a call uses by default; whether this build pools tensors on CUDA devices. */
ORIEL_C_API int32_t oriel_default_threads(void);
ORIEL_C_API int32_t oriel_has_cuda(void);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* ORIEL_C_H_ */
