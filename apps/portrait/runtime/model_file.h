// What a model file is seen to be before a library reads it.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace oriel::portrait {

/// Throws Error unless the file can be an ONNX model (`.onnx`) or a TensorFlow Lite model (`.tflite`): its messages end
/// inside it, each tensor has as many bytes as its shape needs, and none is in another file.
void check_model_file(const std::string& file);

/// The two of them for bytes; `file` is what errors call it.
void check_onnx(std::span<const std::byte> bytes, const std::string& file);
void check_lite(std::span<const std::byte> bytes, const std::string& file);

}  // namespace oriel::portrait
