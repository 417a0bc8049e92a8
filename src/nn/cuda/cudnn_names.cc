#include "nn/cuda/cudnn.h"

namespace oriel::nn::cuda {

// Version 8 is the first one that can be told to leave TF32 alone.
std::vector<std::string> cudnn_names() { return {"libcudnn.so.9", "libcudnn.so.8"}; }

}  // namespace oriel::nn::cuda
