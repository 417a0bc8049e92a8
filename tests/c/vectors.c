/* The shared vectors (tests/vectors/vectors.txt) by the C interface alone, in C99. Usage: c_vectors FILE. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "oriel/c.h"

enum data { NUMBERS, TIES, SPECIALS };

/* A line's name, read. */
struct vector {
  oriel_problem* problem;
  oriel_problem_info info;
  enum data data;
  int32_t index_dtype;
  int32_t space;
  int unpool;
};

/* A tensor's memory, dense in the problem's order. */
struct memory {
  oriel_tensor view;
  size_t count;
};

static void require(int holds, const char* what, const char* name) {
  if (holds) return;
  fprintf(stderr, "c_vectors: %s: %s: %s\n", name, what, oriel_last_error());
  exit(2);
}

static uint32_t next(uint32_t* s) {
  *s = *s * UINT32_C(1664525) + UINT32_C(1013904223);
  return *s;
}

/* Of a floating type: its fraction's bits and its exponent's bias. */
static void format_of(int32_t dtype, int* fraction, uint64_t* bias) {
  *fraction = dtype == ORIEL_F64 ? 52 : dtype == ORIEL_F32 ? 23 : dtype == ORIEL_F16 ? 10 : 7;
  *bias = dtype == ORIEL_F64 ? 1023 : dtype == ORIEL_F16 ? 15 : 127;
}

static uint64_t sign_of(int32_t dtype, int negative) {
  return (uint64_t)(negative ? 1 : 0) << (8 * oriel_dtype_bytes(dtype) - 1);
}

static uint64_t infinity_of(int32_t dtype) {
  int fraction;
  uint64_t bias;
  format_of(dtype, &fraction, &bias);
  return (2 * bias + 1) << fraction;
}

static uint64_t small_number(int32_t dtype, int n) {
  static const int power[] = {0, 0, 1, 1, 2};
  const int magnitude = n < 0 ? -n : n;
  int fraction;
  uint64_t bias;
  format_of(dtype, &fraction, &bias);
  if (n == 0) return 0;
  return sign_of(dtype, n < 0) | (bias + (uint64_t)power[magnitude]) << fraction |
         (magnitude == 3 ? (uint64_t)1 << (fraction - 1) : 0);
}

static uint64_t special(int32_t dtype, uint32_t c) {
  int fraction;
  uint64_t bias;
  format_of(dtype, &fraction, &bias);
  switch (c) {
    case 0:
      return infinity_of(dtype) | (uint64_t)1 << (fraction - 1);
    case 1:
      return infinity_of(dtype);
    case 2:
      return sign_of(dtype, 1) | infinity_of(dtype);
    case 3:
      return sign_of(dtype, 1);
    case 4:
      return 0;
    case 5:
      return 1;
    case 6:
      return sign_of(dtype, 1) | 1;
    default:
      return small_number(dtype, (int)(c & 7) - 4);
  }
}

static int is_floating(int32_t dtype) { return dtype <= ORIEL_BF16; }

static uint64_t floating(int32_t dtype, uint32_t* state) {
  const uint32_t s = next(state);
  int fraction;
  uint64_t bias, bits;
  format_of(dtype, &fraction, &bias);
  bits = sign_of(dtype, s >> 31 != 0) | (bias - 8 + ((s >> 27) & 15)) << fraction;
  if (dtype == ORIEL_F64) return bits | (uint64_t)((s >> 7) & 0xfffff) << 32 | next(state);
  return bits | (s & 0x7ffffff) >> (27 - fraction);
}

static uint64_t element(int32_t dtype, enum data data, uint32_t* state) {
  const int is_signed = dtype == ORIEL_I8 || dtype == ORIEL_I16 || dtype == ORIEL_I32 || dtype == ORIEL_I64;
  uint32_t s;
  if (is_floating(dtype) && data == NUMBERS) return floating(dtype, state);
  s = next(state);
  if (dtype == ORIEL_BOOL) return s >> 31;
  if (data == SPECIALS) return special(dtype, s >> 27);
  if (data == TIES && is_floating(dtype)) return small_number(dtype, (int)(s >> 29) - 4);
  if (data == TIES) return (uint64_t)((int64_t)(s >> 29) - (is_signed ? 4 : 0));
  if (oriel_dtype_bytes(dtype) == 8) return (uint64_t)s << 32 | next(state);
  return s >> (32 - 8 * oriel_dtype_bytes(dtype));
}

static void store(void* data, int64_t bytes, size_t i, uint64_t bits) {
  if (bytes == 1)
    ((uint8_t*)data)[i] = (uint8_t)bits;
  else if (bytes == 2)
    ((uint16_t*)data)[i] = (uint16_t)bits;
  else if (bytes == 4)
    ((uint32_t*)data)[i] = (uint32_t)bits;
  else
    ((uint64_t*)data)[i] = bits;
}

static uint64_t load(const void* data, int64_t bytes, size_t i) {
  if (bytes == 1) return ((const uint8_t*)data)[i];
  if (bytes == 2) return ((const uint16_t*)data)[i];
  if (bytes == 4) return ((const uint32_t*)data)[i];
  return ((const uint64_t*)data)[i];
}

static struct memory allocate(const struct vector* v, int of_input, int32_t dtype) {
  const oriel_tensor empty = ORIEL_TENSOR_INIT;
  struct memory m;
  int32_t a;
  m.view = empty;
  m.view.dtype = dtype;
  m.view.rank = v->info.rank;
  m.view.shape = of_input ? v->info.shape : v->info.output_shape;
  m.view.pitch = of_input ? v->info.pitch : v->info.output_pitch;
  m.count = 1;
  for (a = 0; a < m.view.rank; ++a) m.count *= (size_t)m.view.shape[a];
  m.view.data = malloc(m.count * (size_t)oriel_dtype_bytes(dtype) + 1);
  if (m.view.data == NULL) exit(2);
  return m;
}

static struct memory input(const struct vector* v, int of_input, uint32_t seed) {
  const struct memory m = allocate(v, of_input, v->info.dtype);
  size_t i;
  for (i = 0; i < m.count; ++i)
    store(m.view.data, oriel_dtype_bytes(m.view.dtype), i, element(m.view.dtype, v->data, &seed));
  return m;
}

static uint64_t hash(uint64_t h, const struct memory* m) {
  const int64_t bytes = oriel_dtype_bytes(m->view.dtype);
  size_t i;
  int64_t b;
  for (i = 0; i < m->count; ++i) {
    uint64_t bits = load(m->view.data, bytes, i);
    if (is_floating(m->view.dtype) && (bits & ~sign_of(m->view.dtype, 1)) > infinity_of(m->view.dtype))
      bits = special(m->view.dtype, 0);
    for (b = 0; b < bytes; ++b) h = (h ^ (bits >> (8 * b) & 0xff)) * UINT64_C(0x100000001b3);
  }
  return h;
}

/* The same tensor by way of DLPack's struct, so that this is tried with all problems too. */
static oriel_tensor by_dlpack(const oriel_tensor* from, const char* name) {
  static const uint8_t codes[] = {2, 2, 2, 4, 0, 1, 0, 1, 0, 1, 0, 1, 6};
  oriel_tensor to = ORIEL_TENSOR_INIT;
  oriel_dl_tensor dl;
  dl.byte_offset = (uint64_t)oriel_dtype_bytes(from->dtype);
  dl.data = (char*)from->data - dl.byte_offset;
  dl.device.type = 1;
  dl.device.id = 0;
  dl.ndim = from->rank;
  dl.dtype.code = codes[from->dtype];
  dl.dtype.bits = (uint8_t)(8 * oriel_dtype_bytes(from->dtype));
  dl.dtype.lanes = 1;
  dl.shape = (int64_t*)from->shape;
  dl.strides = (int64_t*)from->pitch;
  require(oriel_tensor_from_dlpack(&dl, &to) == ORIEL_OK, "oriel_tensor_from_dlpack", name);
  return to;
}

static uint64_t run(const struct vector* v, const char* name) {
  struct memory x = input(v, 1, 1), y = allocate(v, 0, v->info.dtype), dy = input(v, 0, 2);
  struct memory dx = allocate(v, 1, v->info.dtype), indices = {ORIEL_TENSOR_INIT, 0};
  const int indexed = v->index_dtype >= 0, backward = v->info.direction == ORIEL_BACKWARD;
  const oriel_tensor gradient = by_dlpack(&dy.view, name);
  uint64_t h = UINT64_C(0xcbf29ce484222325);
  if (indexed) indices = allocate(v, 0, v->index_dtype);
  if (indexed || !backward)
    require(oriel_forward(v->problem, &x.view, &y.view, indexed ? &indices.view : NULL, v->space, NULL) == ORIEL_OK,
            "oriel_forward", name);
  if (backward) {
    require(oriel_backward(v->problem, indexed ? NULL : &x.view, &gradient, indexed ? &indices.view : NULL, v->space,
                           &dx.view, NULL) == ORIEL_OK,
            "oriel_backward", name);
    h = hash(h, &dx);
  } else if (v->unpool) {
    require(oriel_unpool(v->info.pooled, v->info.axes, &y.view, &indices.view, v->space, &dx.view, NULL) == ORIEL_OK,
            "oriel_unpool", name);
    h = hash(h, &dx);
  } else {
    h = hash(h, &y);
    if (indexed) h = hash(h, &indices);
  }
  free(x.view.data);
  free(y.view.data);
  free(dy.view.data);
  free(dx.view.data);
  free(indices.view.data);
  return h;
}

/* Reads a name, in which zero bytes take the place of @. */
static struct vector read_name(char* name) {
  struct vector v;
  char* word;
  memset(&v, 0, sizeof v);
  v.info.size = sizeof v.info;
  word = strchr(name, '@');
  if (word != NULL) *word = '\0';
  require(oriel_problem_parse(name, &v.problem) == ORIEL_OK, "oriel_problem_parse", name);
  require(oriel_problem_describe(v.problem, &v.info) == ORIEL_OK, "oriel_problem_describe", name);
  v.index_dtype = v.info.index_dtype;
  v.space = v.info.index_space;
  while (word != NULL) {
    char* const after = strchr(word + 1, '@');
    if (after != NULL) *after = '\0';
    if (strcmp(word + 1, "ties") == 0) v.data = TIES;
    if (strcmp(word + 1, "specials") == 0) v.data = SPECIALS;
    if (strcmp(word + 1, "tensor") == 0) v.space = ORIEL_TENSOR;
    if (strcmp(word + 1, "window") == 0) v.space = ORIEL_WINDOW;
    if (strcmp(word + 1, "i32") == 0) v.index_dtype = ORIEL_I32;
    if (strcmp(word + 1, "unpool") == 0) v.unpool = 1;
    word = after;
  }
  return v;
}

int main(int argc, char** argv) {
  FILE* const file = argc == 2 ? fopen(argv[1], "r") : NULL;
  char line[300], name[300];
  int count = 0, wrong = 0;
  if (file == NULL) {
    fputs("usage: c_vectors FILE\n", stderr);
    return 2;
  }
  while (fgets(line, sizeof line, file) != NULL) {
    char digits[17] = "";
    struct vector v;
    uint64_t h;
    if (line[0] == '#' || line[0] == '\n') continue;
    if (sscanf(line, "%299s %16s", name, digits) != 2) return 2;
    v = read_name(name);
    h = run(&v, name);
    oriel_problem_free(v.problem);
    ++count;
    if (h == strtoull(digits, NULL, 16)) continue;
    ++wrong;
    printf("%s  is %016llx in C\n", line, (unsigned long long)h);
  }
  fclose(file);
  printf("%d vectors in C: %d differ\n", count, wrong);
  return count > 1000 && wrong == 0 ? 0 : 1;
}
