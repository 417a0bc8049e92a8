// The texts of both generations of NKI, and CUDA.
#include <gtest/gtest.h>

#include "oriel/tile/kernels.h"
#include "tile/tutorial.h"

namespace oriel::tile::test {
namespace {

const Program& tutorial() {
  static const Program program = tensor_avgpool_kernel.trace(nki::meta{Dtype::f32, {64, 112, 112}}, 2);
  return program;
}

TEST(Emit, TheTutorialInTheCurrentLanguage) {
  EXPECT_EQ(
      emit_nki(tutorial(), nki::nki_version::v0_6),
      R"(# tensor_avgpool_kernel(f32[64, 112, 112]; 2) for NKI 0.6; written from its documentation, not run on a device.
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def tensor_avgpool_kernel(in0):
    out = nl.ndarray((64, 56, 56), dtype=nl.float32, buffer=nl.shared_hbm)
    t2 = nl.ndarray((64, 112, 112), dtype=nl.float32, buffer=nl.sbuf)
    nisa.dma_copy(dst=t2, src=in0)
    t3 = nl.ndarray((64, 56, 56), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_reduce(dst=t3, op=nl.add, data=t2.ap([[12544, 64], [224, 56], [2, 56], [112, 2], [1, 2]]), axis=(3, 4))
    t4 = nl.ndarray((64, 56, 56), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_scalar(dst=t4, data=t3, op0=nl.multiply, operand0=0.25)
    nisa.dma_copy(dst=out, src=t4)
    return out
)");
}

TEST(Emit, TheTutorialInItsOwnLanguage) {
  EXPECT_EQ(
      emit_nki(tutorial(), nki::nki_version::v0_1),
      R"(# tensor_avgpool_kernel(f32[64, 112, 112]; 2) for NKI 0.1; written from its documentation, not run on a device.
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


@nki.jit
def tensor_avgpool_kernel(in0):
    out = nl.ndarray((64, 56, 56), dtype=nl.float32, buffer=nl.shared_hbm)
    t2 = nl.ndarray((64, 112, 112), dtype=nl.float32, buffer=nl.sbuf)
    a0, a1, a2 = nl.mgrid[0:64, 0:112, 0:112]
    t2[a0, a1, a2] = nl.load(in0[a0, a1, a2], dtype=nl.float32)
    t3 = nl.ndarray((64, 56, 56), dtype=nl.float32, buffer=nl.sbuf)
    a0, a1, a2, a3, a4 = nl.mgrid[0:64, 0:56, 0:56, 0:2, 0:2]
    b0, b1, b2 = nl.mgrid[0:64, 0:56, 0:56]
    t3[b0, b1, b2] = nl.sum(t2[a0, 2*a1 + a3, 2*a2 + a4], axis=[3, 4], dtype=nl.float32)
    t4 = nl.ndarray((64, 56, 56), dtype=nl.float32, buffer=nl.sbuf)
    a0, a1, a2 = nl.mgrid[0:64, 0:56, 0:56]
    t4[a0, a1, a2] = nl.divide(t3[a0, a1, a2], 4, dtype=nl.float32)
    a0, a1, a2 = nl.mgrid[0:64, 0:56, 0:56]
    nl.store(out[a0, a1, a2], value=t4[a0, a1, a2])
    return out
)");
}

// A text without what all begin with.
std::string cuda_body(const Program& program) {
  const std::string text = emit_cuda(program).text;
  return text.substr(text.find("extern \"C\""));
}

TEST(Emit, TheTutorialInCuda) {  // no tile is left: one pass over the input
  EXPECT_EQ(
      cuda_body(tutorial()),
      R"(extern "C" __global__ void __launch_bounds__(256) tensor_avgpool_kernel(const float* __restrict__ in0, float* out) {
  using namespace oriel_tile;
  using index = int;
  const index partition = static_cast<index>(blockIdx.x);
  // tensor_reduce add %t3 <- %in0 @[[12544,64],[224,56],[2,56],[112,2],[1,2]] n_red=2
  // tensor_scalar divide %t4 <- %t3, 4
  // dma_copy %out <- %t4
  for (index element = threadIdx.x; element < 56 * 56; element += blockDim.x) {
    const index a1 = element / 56;
    const index a2 = element % 56;
    float value = -0.0f;
    for (index a3 = 0; a3 < 2; ++a3)
      for (index a4 = 0; a4 < 2; ++a4)
        value = __fadd_rn(value, in0[12544*partition + 224*a1 + 2*a2 + 112*a3 + a4]);
    value = __fdiv_rn(value, 4.0f);
    out[3136*partition + 56*a1 + a2] = value;
  }
}

#if defined(__CUDACC__) && !defined(__CUDACC_RTC__)
inline cudaError_t launch_tensor_avgpool_kernel(const float* __restrict__ in0, float* out, cudaStream_t stream) {
  tensor_avgpool_kernel<<<64, 256, 0, stream>>>(in0, out);
  return cudaGetLastError();
}
#endif
)");
}

TEST(Emit, CudaOfAProgramWithoutMeaningIsRefused) {
  const auto kernel = nki::jit("unwritten", [](nl::tensor) { return nl::ndarray({2, 3}, {.buffer = nl::shared_hbm}); });
  const Program program = kernel.trace(nki::meta{Dtype::f32, {2, 3}});
  EXPECT_EQ(thrown_by([&] { (void)emit_cuda(program); }).id, "err_tensor_output_not_written_to");
}

TEST(Emit, NamesAndTextsThatAreNotTheLanguages) {
  const auto kernel = nki::jit("my kernel", [](nl::tensor x, const std::string&) {
    auto out = nl::ndarray({2, 3}, {.buffer = nl::shared_hbm});
    auto t = nl::load(x).named("lambda"), u = (t + 1).named("a0"), v = (u + 2).named("in tile");
    nl::device_print("say \"this\"\n", v);
    nl::store(out, v);
    return out;
  });
  const Program program = kernel.trace(nki::meta{Dtype::f32, {2, 3}}, std::string("two\nlines"));
  for (const auto version : {nki::nki_version::v0_1, nki::nki_version::v0_6}) {
    const std::string text = emit_nki(program, version);
    for (const char* part : {"; two lines) for NKI", "def my_kernel(in0):", "\n    lambda_ = ", "\n    a0_ = ",
                             "\n    in_tile = ", "nl.device_print(\"say \\\"this\\\"\\n\", "})
      EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  }
  const std::string text = emit_cuda(program).text;
  EXPECT_EQ(text.find("// my kernel(f32[2x3]; two lines) as CUDA"), 0U) << text;
  EXPECT_NE(text.find("printf(\"say \\\"this\\\"\\n [2x3]:\");"), std::string::npos) << text;
}

TEST(Emit, CudaTellsItsScratchMemory) {
  const auto kernel = nki::jit("large", [](nl::tensor x) {
    auto out = nl::ndarray({3, 20000}, {.buffer = nl::shared_hbm});
    auto t = nl::load(x) + 1;
    nl::store(out, t * nl::max(t, {.axis = 1, .keepdims = true}));
    return out;
  });
  const CudaText text = emit_cuda(kernel.trace(nki::meta{Dtype::f32, {3, 20000}}));
  EXPECT_EQ(text.kernel, "large");
  EXPECT_EQ(text.blocks, 3);
  EXPECT_EQ(text.threads, 256);
  EXPECT_EQ(text.scratch_bytes, 3 * (80000 + 16));  // a partition's tile, and its maximum
  EXPECT_NE(text.text.find("float* out, unsigned char* scratch)"), std::string::npos);
}

TEST(Emit, MasksBecomeShorterPatterns) {
  const auto kernel = nki::jit("tail", [](nl::tensor x) {
    auto out = nl::ndarray({300, 3}, {.buffer = nl::shared_hbm});
    auto [p, f] = nl::mgrid(128, 3);
    for (auto p0 : nl::affine_range(0, 300, 128)) {
      auto t = nl::load(x[{p0 + p, f}], {.mask = p0 + p < 300});
      nl::store(out[{p0 + p, f}], {.value = t, .mask = p0 + p < 300});
    }
    return out;
  });
  const std::string text = emit_nki(kernel.trace(nki::meta{Dtype::f32, {300, 3}}));
  for (const char* line :
       {"    for i0 in range(0, 257, 128):\n", "        b0, e0 = 0, min(128, (-1*i0 + 299) // 1 + 1)\n",
        "        if b0 < e0:\n", "src=in0.ap([[3, e0 - b0], [1, 3]], offset=3*i0 + 3*b0)"})
    EXPECT_NE(text.find(line), std::string::npos) << line << text;
}

TEST(Emit, DivisionIsTheReciprocalInTheCurrentLanguage) {
  const auto kernel = nki::jit("third", [](nl::tensor x) {
    auto out = nl::ndarray({2, 3}, {.buffer = nl::shared_hbm});
    nl::store(out, nl::load(x) / 3);
    return out;
  });
  const Program program = kernel.trace(nki::meta{Dtype::f32, {2, 3}});
  EXPECT_NE(emit_nki(program).find("op0=nl.multiply, operand0=0.3333333432674408"), std::string::npos);
  EXPECT_NE(emit_nki(program, nki::nki_version::v0_1).find("nl.divide("), std::string::npos);
  EXPECT_EQ(for_version(program, nki::nki_version::v0_1).instructions[1].alu, Alu::divide);
}

TEST(Emit, EveryShippedKernelHasATextInBoth) {
  for (const ShippedKernel& k : shipped_kernels()) {
    const nki::meta x{Dtype::f32, k.rank == 4 ? Extents{130, 6, 6, 6} : Extents{130, 6, 6}};
    if (k.name == "tensor_avgpool_kernel") continue;  // takes 128 planes at most
    const Program program = k.trace(x, {{"kernel", 2}, {"output", 3}});
    for (const auto version : {nki::nki_version::v0_1, nki::nki_version::v0_6})
      EXPECT_NE(emit_nki(program, version).find("def " + std::string(k.name) + "(in0"), std::string::npos);
  }
}

}  // namespace
}  // namespace oriel::tile::test
