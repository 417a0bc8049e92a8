// The two formats of weights, from bytes in memory.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "oriel/nn/weights.h"

namespace oriel::nn {

using Bytes = std::span<const std::byte>;
using Keep = std::shared_ptr<const void>;

/// A name from a file, fit for one line of an error.
std::string shown(std::string_view name);

/// A safetensors file's tensors and metadata.
Weights read_safetensors(Bytes bytes, Keep memory, const std::string& file);

/// True for the first bytes of a zip archive.
bool is_zip(Bytes bytes);

/// The state dictionary in an archive of torch.save.
Weights read_pth(Bytes bytes, const std::string& file);

/// Throws an Error that says what the bytes are, as far as their beginning tells, and what is accepted.
[[noreturn]] void refuse_unknown(Bytes bytes, const std::string& file);

}  // namespace oriel::nn
