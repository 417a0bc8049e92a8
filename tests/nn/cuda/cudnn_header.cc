// The declarations of src/nn/cuda/cudnn.h and its constants beside those of cuDNN's own header: cudnn_header_test.py
// compiles this where that header is.
#include <cudnn.h>

#include <tuple>
#include <type_traits>

#include "nn/cuda/cudnn.h"

namespace {

template <class F>
struct Signature;
template <class R, class... P>
struct Signature<R (*)(P...)> {
  using Types = std::tuple<R, P...>;
};
template <class R, class... P>
struct Signature<R(P...)> {
  using Types = std::tuple<R, P...>;
};

// Enumerations are passed as int, pointers to opaque types as pointers.
template <class Own, class Real>
constexpr bool is_alike() {
  if constexpr (std::is_pointer_v<Own>)
    return std::is_pointer_v<Real>;
  else if constexpr (std::is_enum_v<Real>)
    return std::is_same_v<Own, int> && sizeof(Real) == sizeof(int);
  else
    return std::is_same_v<Own, Real>;
}

template <class... Own, class... Real>
constexpr bool are_alike(std::tuple<Own...>*, std::tuple<Real...>*) {
  if constexpr (sizeof...(Own) == sizeof...(Real))
    return (is_alike<Own, Real>() && ...);
  else
    return false;
}

template <class Own, class Real>
constexpr bool kAlike = are_alike(static_cast<typename Signature<Own>::Types*>(nullptr),
                                  static_cast<typename Signature<Real>::Types*>(nullptr));

using oriel::nn::cuda::cudnn::Functions;
#define ORIEL_CHECK(function) static_assert(kAlike<decltype(Functions::function), decltype(cudnn##function)>, #function)
ORIEL_CHECK(GetVersion);
ORIEL_CHECK(GetErrorString);
ORIEL_CHECK(Create);
ORIEL_CHECK(Destroy);
ORIEL_CHECK(SetStream);
ORIEL_CHECK(CreateTensorDescriptor);
ORIEL_CHECK(DestroyTensorDescriptor);
ORIEL_CHECK(SetTensor4dDescriptorEx);
ORIEL_CHECK(CreateFilterDescriptor);
ORIEL_CHECK(DestroyFilterDescriptor);
ORIEL_CHECK(SetFilter4dDescriptor);
ORIEL_CHECK(CreateConvolutionDescriptor);
ORIEL_CHECK(DestroyConvolutionDescriptor);
ORIEL_CHECK(SetConvolution2dDescriptor);
ORIEL_CHECK(SetConvolutionMathType);
ORIEL_CHECK(CreateActivationDescriptor);
ORIEL_CHECK(DestroyActivationDescriptor);
ORIEL_CHECK(SetActivationDescriptor);
ORIEL_CHECK(GetConvolutionForwardWorkspaceSize);
ORIEL_CHECK(ConvolutionBiasActivationForward);

// Differences are seen: of numbers, of kinds, of widths.
static_assert(!kAlike<decltype(Functions::SetFilter4dDescriptor), decltype(cudnnSetTensor4dDescriptorEx)>);
static_assert(!kAlike<decltype(Functions::SetStream), decltype(cudnnSetConvolutionMathType)>);
static_assert(!kAlike<decltype(Functions::GetVersion), int()>);

namespace own = oriel::nn::cuda::cudnn;
static_assert(CUDNN_STATUS_SUCCESS == 0);
static_assert(own::kFloat == CUDNN_DATA_FLOAT && own::kNchw == CUDNN_TENSOR_NCHW);
static_assert(own::kCrossCorrelation == CUDNN_CROSS_CORRELATION && own::kFmaMath == CUDNN_FMA_MATH);
static_assert(own::kRelu == CUDNN_ACTIVATION_RELU && own::kPropagateNan == CUDNN_PROPAGATE_NAN);
static_assert(CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM == 0 && CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM == 1 &&
              CUDNN_CONVOLUTION_FWD_ALGO_GEMM == 2 && CUDNN_CONVOLUTION_FWD_ALGO_DIRECT == 3 &&
              CUDNN_CONVOLUTION_FWD_ALGO_FFT == 4 && CUDNN_CONVOLUTION_FWD_ALGO_FFT_TILING == 5 &&
              CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD == 6 && CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD_NONFUSED == 7 &&
              CUDNN_CONVOLUTION_FWD_ALGO_COUNT == own::kAlgorithms.size());

}  // namespace
