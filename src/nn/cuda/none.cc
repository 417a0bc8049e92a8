// A build without the CUDA backend.
#include "nn/cuda/engine.h"

namespace oriel::nn::cuda {
namespace {
[[noreturn]] void refuse() {
  throw Error(
      "unet: a CUDA device was requested, but this build runs networks on the CPU only; build with ORIEL_CUDA=ON and "
      "nvcc");
}
}  // namespace

struct Engine::State {};

void check_device() { refuse(); }
Engine::Engine(const Weights&, const UNetDescription&, bool, index_t, index_t) { refuse(); }
Engine::Engine(std::unique_ptr<State> state) : state_(std::move(state)) {}
Engine::Engine(Engine&&) noexcept = default;
Engine& Engine::operator=(Engine&&) noexcept = default;
Engine::~Engine() = default;
Engine Engine::another() const { refuse(); }
const Network& Engine::network() const { refuse(); }
const MemoryPlan& Engine::plan() const { refuse(); }
index_t Engine::weight_bytes() const { refuse(); }
std::string Engine::algorithm(std::size_t) const { refuse(); }
double Engine::milliseconds(std::size_t) const { refuse(); }
std::string Engine::library() const { refuse(); }
void Engine::run(const float*, float*, Copies&, const UNet::Observer&) const { refuse(); }
std::vector<double> Engine::time_steps(const float*, float*, Copies&) const { refuse(); }

}  // namespace oriel::nn::cuda
