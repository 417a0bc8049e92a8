// A build without a library of convolutions.
#include "nn/cpu/convolution.h"
#include "nn/cpu/threads.h"

namespace oriel::nn {
namespace {

constexpr const char* kText =
    "this build of Oriel has no oneDNN, which carries out convolutions; install libdnnl-dev and build again";

}  // namespace

bool convolution_supported(Arithmetic) { return false; }
std::string convolution_missing(Arithmetic) { return kText; }
std::string convolution_library() { return "none"; }
bool prefers_channels_last(Arithmetic) { return false; }
int channel_block(Arithmetic) { return 16; }

ThreadScope::ThreadScope(int) : before_(0) {}
ThreadScope::~ThreadScope() { (void)before_; }
void share_out(index_t n, const std::function<void(index_t, index_t)>& body) {
  if (n > 0) body(0, n);
}
void with_threads(const std::function<void()>& work) { work(); }

struct Convolution::Way {
  std::string name;
};

std::vector<Convolution> Convolution::ways(const ConvolutionShape&) { throw Error(kText); }
const std::string& Convolution::name() const { return way_->name; }
bool Convolution::is_winograd() const { return false; }
index_t Convolution::scratch_bytes() const { return 0; }
index_t Convolution::weight_bytes() const { return 0; }
Convolution Convolution::fresh() const { return *this; }
void Convolution::pack(const float*, const float*) {}
void Convolution::pack_zeros() {}
void Convolution::run(const void*, void*, void*) const { throw Error(kText); }

}  // namespace oriel::nn
