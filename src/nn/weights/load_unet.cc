#include "oriel/nn/unet.h"

namespace oriel::nn {

UNet UNet::load(const std::string& path, const UNetOptions& options) { return UNet(Weights::load(path), options); }

}  // namespace oriel::nn
