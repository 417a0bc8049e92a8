#include "nn/cuda/cudnn.h"

#include <dlfcn.h>

#include <limits>

namespace oriel::nn::cuda::cudnn {
namespace {

bool fits(index_t channels, index_t plane) { return channels * plane <= std::numeric_limits<std::int32_t>::max(); }

}  // namespace

// A descriptor that is destroyed with its owner.
template <class T>
class Descriptor {
 public:
  Descriptor(const Library& library, Status (*create)(T**), Status (*destroy)(T*), const char* call)
      : destroy_(destroy) {
    library.check(create(&data_), call);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() { destroy_(data_); }
  T* get() const { return data_; }

 private:
  Status (*destroy_)(T*);
  T* data_ = nullptr;
};

static Descriptor<Tensor> new_tensor(const Library& library) {
  const Functions& f = library.functions();
  return {library, f.CreateTensorDescriptor, f.DestroyTensorDescriptor, "cudnnCreateTensorDescriptor"};
}

std::shared_ptr<const Library> Library::load() {
  std::string reasons;
  for (const std::string& name : cudnn_names()) {
    try {
      return std::shared_ptr<const Library>(new Library(name));
    } catch (const Error& e) {
      reasons += (reasons.empty() ? "" : "; ") + std::string(e.what());
    }
  }
  throw Error(reasons);
}

Library::Library(const std::string& name) : handle_(::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE)) {
  if (handle_ == nullptr) throw Error(::dlerror());
  std::string missing;
  const auto take = [&]<class F>(F& function, const char* symbol) {
    function = reinterpret_cast<F>(::dlsym(handle_, symbol));
    if (function == nullptr && missing.empty()) missing = symbol;
  };
#define ORIEL_TAKE(function) take(functions_.function, "cudnn" #function)
  ORIEL_TAKE(GetVersion);
  ORIEL_TAKE(GetErrorString);
  ORIEL_TAKE(Create);
  ORIEL_TAKE(Destroy);
  ORIEL_TAKE(SetStream);
  ORIEL_TAKE(CreateTensorDescriptor);
  ORIEL_TAKE(DestroyTensorDescriptor);
  ORIEL_TAKE(SetTensor4dDescriptorEx);
  ORIEL_TAKE(CreateFilterDescriptor);
  ORIEL_TAKE(DestroyFilterDescriptor);
  ORIEL_TAKE(SetFilter4dDescriptor);
  ORIEL_TAKE(CreateConvolutionDescriptor);
  ORIEL_TAKE(DestroyConvolutionDescriptor);
  ORIEL_TAKE(SetConvolution2dDescriptor);
  ORIEL_TAKE(SetConvolutionMathType);
  ORIEL_TAKE(CreateActivationDescriptor);
  ORIEL_TAKE(DestroyActivationDescriptor);
  ORIEL_TAKE(SetActivationDescriptor);
  ORIEL_TAKE(GetConvolutionForwardWorkspaceSize);
  ORIEL_TAKE(ConvolutionBiasActivationForward);
#undef ORIEL_TAKE
  if (missing.empty()) return;
  ::dlclose(handle_);
  throw Error(name + " has no " + missing);
}

Library::~Library() { ::dlclose(handle_); }

std::string Library::version() const {
  const std::size_t number = functions_.GetVersion(), major = number >= 10000 ? 10000 : 1000;  // 90100, before 9: 8902
  return std::to_string(number / major) + "." + std::to_string(number % major / 100) + "." +
         std::to_string(number % 100);
}

void Library::check(Status status, const char* call) const {
  if (status == 0) return;
  throw Error(std::string("cudnn: ") + call + " failed: " + functions_.GetErrorString(status) + " (status " +
              std::to_string(status) + ")");
}

Handle::Handle(std::shared_ptr<const Library> library, void* stream) : library_(std::move(library)) {
  library_->check(library_->functions().Create(&context_), "cudnnCreate");
  try {
    library_->check(library_->functions().SetStream(context_, stream), "cudnnSetStream");
  } catch (const Error&) {
    library_->functions().Destroy(context_);
    throw;
  }
}

Handle::~Handle() { library_->functions().Destroy(context_); }

// Read only once they are set, so handles of several threads may use them.
struct Algorithm::Descriptors {
  Descriptors(std::shared_ptr<const Library> from, const Shape& s)
      : library(std::move(from)),
        x(new_tensor(*library)),
        y(new_tensor(*library)),
        bias(new_tensor(*library)),
        weights(*library, f().CreateFilterDescriptor, f().DestroyFilterDescriptor, "cudnnCreateFilterDescriptor"),
        convolution(*library, f().CreateConvolutionDescriptor, f().DestroyConvolutionDescriptor,
                    "cudnnCreateConvolutionDescriptor"),
        relu(*library, f().CreateActivationDescriptor, f().DestroyActivationDescriptor,
             "cudnnCreateActivationDescriptor") {
    const int inputs = static_cast<int>(s.inputs), outputs = static_cast<int>(s.outputs);
    set_planes(x, s.inputs, s.input_plane, s);
    set_planes(y, s.outputs, s.output_plane, s);
    set(bias, outputs, 1, 1, {outputs, 1, 1, 1});
    library->check(f().SetFilter4dDescriptor(weights.get(), kFloat, kNchw, outputs, inputs, 3, 3),
                   "cudnnSetFilter4dDescriptor");
    library->check(f().SetConvolution2dDescriptor(convolution.get(), 1, 1, 1, 1, 1, 1, kCrossCorrelation, kFloat),
                   "cudnnSetConvolution2dDescriptor");
    library->check(f().SetConvolutionMathType(convolution.get(), kFmaMath), "cudnnSetConvolutionMathType");
    library->check(f().SetActivationDescriptor(relu.get(), kRelu, kPropagateNan, 0), "cudnnSetActivationDescriptor");
  }

  const Functions& f() const { return library->functions(); }

  void set(const Descriptor<Tensor>& tensor, int channels, int height, int width,
           const std::array<int, 4>& strides) const {
    library->check(f().SetTensor4dDescriptorEx(tensor.get(), kFloat, 1, channels, height, width, strides[0], strides[1],
                                               strides[2], strides[3]),
                   "cudnnSetTensor4dDescriptorEx");
  }

  void set_planes(const Descriptor<Tensor>& tensor, index_t channels, index_t plane, const Shape& s) const {
    const int width = static_cast<int>(s.width);
    set(tensor, static_cast<int>(channels), static_cast<int>(s.height), width,
        {static_cast<int>(channels * plane), static_cast<int>(plane), width, 1});
  }

  std::shared_ptr<const Library> library;
  Descriptor<Tensor> x, y, bias;
  Descriptor<Filter> weights;
  Descriptor<Convolution> convolution;
  Descriptor<Activation> relu;
};

std::vector<Algorithm> Algorithm::all(const Handle& handle, const Shape& shape) {
  std::vector<Algorithm> out;
  if (!fits(shape.inputs, shape.input_plane) || !fits(shape.outputs, shape.output_plane)) return out;
  const auto d = std::make_shared<const Descriptors>(handle.library(), shape);
  for (int number = 0; number < static_cast<int>(kAlgorithms.size()); ++number) {
    std::size_t bytes = 0;
    const Status status = d->f().GetConvolutionForwardWorkspaceSize(handle.get(), d->x.get(), d->weights.get(),
                                                                    d->convolution.get(), d->y.get(), number, &bytes);
    if (status == 0)
      out.push_back(Algorithm(d, number, static_cast<index_t>(bytes)));  // else it does not take the shape
  }
  return out;
}

std::string Algorithm::name() const { return kAlgorithms[static_cast<std::size_t>(number_)]; }

Status Algorithm::run(const Handle& handle, const ConvolutionCall& call, void* workspace) const {
  const float one = 1, zero = 0;
  const Descriptors& d = *descriptors_;
  return d.f().ConvolutionBiasActivationForward(
      handle.get(), &one, d.x.get(), call.x.data, d.weights.get(), call.weights, d.convolution.get(), number_,
      workspace, static_cast<std::size_t>(workspace_bytes_), &zero, d.y.get(), call.y.data, d.bias.get(), call.bias,
      d.relu.get(), d.y.get(), call.y.data);
}

}  // namespace oriel::nn::cuda::cudnn
