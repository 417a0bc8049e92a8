// oneDNN's pooling primitive behind five C functions, for bench/peers/onednn.py. Primitives keep their memory between
// runs.
#include <omp.h>

#include <cstring>
#include <dnnl.hpp>
#include <memory>
#include <string>
#include <unordered_map>

namespace {

using dnnl::memory;

// What is asked for; every list has as many values as there are pooled axes.
struct Wish {
  int op, dtype, layout, backward;  // op: 0 max, 1 average with padding, 2 without; layout: 0 first, 1 last, 2 blocked
  int axes;
  long shape[5], output[5];  // batch, channels, spatial
  long kernel[3], stride[3], lo[3], hi[3];
};

struct Pool {
  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream{engine};
  dnnl::primitive primitive;
  std::unordered_map<int, memory> arguments;
  std::string implementation;
};

std::string problem_text;  // of the last failure

memory::dims dims(const long* values, int count) { return {values, values + count}; }

memory::format_tag tag(const Wish& w) {
  using T = memory::format_tag;
  constexpr T tags[3][4] = {{T::ncw, T::nwc, T::nCw16c, T::nCw8c},
                            {T::nchw, T::nhwc, T::nChw16c, T::nChw8c},
                            {T::ncdhw, T::ndhwc, T::nCdhw16c, T::nCdhw8c}};
  constexpr int kBlocked = 2;
  static const bool avx512 = dnnl::get_effective_cpu_isa() >= dnnl::cpu_isa::avx512_core;
  return tags[w.axes - 1][w.layout == kBlocked && !avx512 ? w.layout + 1 : w.layout];
}

// The caller's layout.
memory::format_tag plain_tag(Wish w) {
  if (w.layout == 2) w.layout = 0;
  return tag(w);
}

memory::data_type dtype(const Wish& w) {
  using D = memory::data_type;
  constexpr D types[] = {D::f32, D::bf16, D::f16, D::u8, D::s8, D::s32};
  return types[w.dtype];
}

dnnl::algorithm algorithm(const Wish& w) {
  using A = dnnl::algorithm;
  constexpr A algorithms[] = {A::pooling_max, A::pooling_avg_include_padding, A::pooling_avg_exclude_padding};
  return algorithms[w.op];
}

// A memory of ours for blocked layouts, the caller's for plain ones.
memory place(const Pool& pool, const memory::desc& desc, void* data) {
  return data != nullptr ? memory(desc, pool.engine, data) : memory(desc, pool.engine);
}

std::unique_ptr<Pool> make(const Wish& w, void* x, void* y) {
  auto pool = std::make_unique<Pool>();
  const int rank = w.axes + 2;
  const memory::desc in(dims(w.shape, rank), dtype(w), tag(w)), out(dims(w.output, rank), dtype(w), tag(w));
  const auto k = dims(w.kernel, w.axes), s = dims(w.stride, w.axes), lo = dims(w.lo, w.axes), hi = dims(w.hi, w.axes);
  const auto kind = w.backward != 0 ? dnnl::prop_kind::forward_training : dnnl::prop_kind::forward_inference;
  const dnnl::pooling_forward::primitive_desc forward({kind, algorithm(w), in, out, s, k, lo, hi}, pool->engine);
  if (w.backward == 0) {
    pool->primitive = dnnl::pooling_forward(forward);
    pool->arguments = {{DNNL_ARG_SRC, place(*pool, in, x)}, {DNNL_ARG_DST, place(*pool, out, y)}};
    pool->implementation = forward.impl_info_str();
    return pool;
  }
  const dnnl::pooling_backward::primitive_desc backward({algorithm(w), in, out, s, k, lo, hi}, pool->engine, forward);
  pool->primitive = dnnl::pooling_backward(backward);
  pool->arguments = {{DNNL_ARG_DIFF_SRC, place(*pool, in, nullptr)}, {DNNL_ARG_DIFF_DST, place(*pool, out, y)}};
  if (w.op == 0) {  // the forward writes where the maxima are
    const memory workspace(forward.workspace_desc(), pool->engine);
    const memory::desc plain(dims(w.shape, rank), dtype(w), plain_tag(w));
    memory given(plain, pool->engine, x), source(in, pool->engine);
    dnnl::reorder(given, source).execute(pool->stream, given, source);
    dnnl::pooling_forward(forward).execute(
        pool->stream,
        {{DNNL_ARG_SRC, source}, {DNNL_ARG_DST, memory(out, pool->engine)}, {DNNL_ARG_WORKSPACE, workspace}});
    pool->stream.wait();
    pool->arguments[DNNL_ARG_WORKSPACE] = workspace;
  }
  pool->implementation = backward.impl_info_str();
  return pool;
}

// Copies between the caller's plain tensor and the memory that the primitive uses.
void reorder(Pool& pool, const Wish& w, int argument, void* plain, bool in) {
  Wish first = w;
  first.layout = 0;
  const bool input_sized = argument == DNNL_ARG_SRC || argument == DNNL_ARG_DIFF_SRC;
  const memory::desc desc(dims(input_sized ? w.shape : w.output, w.axes + 2), dtype(w), tag(first));
  memory outside(desc, pool.engine, plain), inside = pool.arguments.at(argument);
  if (in)
    dnnl::reorder(outside, inside).execute(pool.stream, outside, inside);
  else
    dnnl::reorder(inside, outside).execute(pool.stream, inside, outside);
  pool.stream.wait();
}

}  // namespace

extern "C" {

void onednn_threads(int count) { omp_set_num_threads(count); }

const char* onednn_version() {
  static const std::string text = std::to_string(dnnl::version()->major) + "." +
                                  std::to_string(dnnl::version()->minor) + "." + std::to_string(dnnl::version()->patch);
  return text.c_str();
}

const char* onednn_problem() { return problem_text.c_str(); }

// x and y are plain: channels first or last as the layout says, channels first for the blocked one, which gets copies.
// Backward, x is the input and y the gradient of the output.
void* onednn_make(const Wish* w, void* x, void* y) try {
  const bool blocked = w->layout == 2;
  auto pool = make(*w, blocked && w->backward == 0 ? nullptr : x, blocked ? nullptr : y);
  if (blocked && w->backward == 0) reorder(*pool, *w, DNNL_ARG_SRC, x, true);
  if (blocked && w->backward != 0) reorder(*pool, *w, DNNL_ARG_DIFF_DST, y, true);
  return pool.release();
} catch (const dnnl::error& error) {
  problem_text = error.what();
  return nullptr;
}

const char* onednn_implementation(const Pool* pool) { return pool->implementation.c_str(); }

int onednn_run(Pool* pool) try {
  pool->primitive.execute(pool->stream, pool->arguments);
  pool->stream.wait();
  return 0;
} catch (const dnnl::error& error) {
  problem_text = error.what();
  return 1;
}

// Writes the result as a plain tensor, channels first.
int onednn_result(Pool* pool, const Wish* w, void* plain) try {
  reorder(*pool, *w, w->backward != 0 ? DNNL_ARG_DIFF_SRC : DNNL_ARG_DST, plain, false);
  return 0;
} catch (const dnnl::error& error) {
  problem_text = error.what();
  return 1;
}

void onednn_free(Pool* pool) { delete pool; }

}  // extern "C"
