// The two formats of weights, from bytes in memory: what read.cc chooses from.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "oriel/nn/weights.h"

namespace oriel::nn {

using Bytes = std::span<const std::byte>;
using Keep = std::shared_ptr<const void>;

/// The elements of a shape; the Error of one too large begins with `what`.
index_t count_of(const Extents& shape, const std::string& what);

/// A safetensors file's tensors and metadata.
Weights read_safetensors(Bytes bytes, Keep memory, const std::string& file);

/// True for the first bytes of a zip archive.
bool is_zip(Bytes bytes);

/// The state dictionary in an archive of torch.save.
Weights read_pth(Bytes bytes, const std::string& file);

}  // namespace oriel::nn
