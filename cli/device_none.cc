#include "cli/device.h"

namespace oriel::cli {
namespace {

[[noreturn]] void refuse() {
  throw Error("--device must be cpu in this build, which has no CUDA backend (ORIEL_CUDA=ON builds it), but is cuda");
}

}  // namespace

std::string device_name() { refuse(); }
void wait_for_device() { refuse(); }
DeviceMemory::DeviceMemory(std::size_t bytes) : bytes_(bytes) { refuse(); }
void DeviceMemory::copy_from_host(const void*) const { refuse(); }
void DeviceMemory::copy_to_host(void*) const { refuse(); }
void DeviceMemory::begin_copy_from(const DeviceMemory&) const { refuse(); }
DeviceTensor::DeviceTensor(const io::Buffer& host) : host_(host), memory_(0) { refuse(); }

}  // namespace oriel::cli
