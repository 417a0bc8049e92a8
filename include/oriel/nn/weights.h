// Files of weights: safetensors, and PyTorch's .pth read without executing anything.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "oriel/tensor.h"

namespace oriel::nn {

/// The named tensors of a file, and its text metadata. Copies share the memory.
///
/// Two formats are recognised by their first bytes, not by the file's name:
/// - safetensors (https://github.com/huggingface/safetensors): the file is mapped and tensors are views of it.
/// Duplicate
///   names, overlaps, holes, lengths that do not match shapes, bytes after the last tensor, headers beyond 100 MB and
///   element types that Oriel does not have are errors.
/// - PyTorch's `torch.save`, the zip form of PyTorch 1.6 and later: a machine with the instructions of
///   `torch.load(weights_only=True)` reads the pickle. It executes nothing; it accepts only the names that tensors,
///   parameters and ordered dictionaries need, and any other name is an error. Tensors keep their strides and share
///   storages as in the file. A dictionary {'state_dict': ...} is unwrapped, and a prefix `module.` of every name
///   removed. The older form and tar files are refused; the error says what to do.
class Weights {
 public:
  /// Maps or reads a file. Throws Error, which names the file.
  ORIEL_API static Weights load(const std::string& path);
  /// The same for bytes, which `memory` keeps alive; `file` is their name in errors. Safetensors must begin at an
  /// address that is a multiple of 8.
  ORIEL_API static Weights parse(std::span<const std::byte> bytes, std::shared_ptr<const void> memory,
                                 const std::string& file);

  /// By name, in byte order. Data that the file does not align to the element size is copied.
  const std::map<std::string, ConstTensor>& tensors() const { return tensors_; }
  /// The tensor of that name, or null.
  const ConstTensor* find(const std::string& name) const {
    const auto at = tensors_.find(name);
    return at == tensors_.end() ? nullptr : &at->second;
  }
  /// `__metadata__` of a safetensors file; empty for a .pth.
  const std::map<std::string, std::string>& metadata() const { return metadata_; }
  /// The file's name in errors.
  const std::string& file() const { return file_; }
  /// `safetensors` or `pth`.
  const std::string& format() const { return format_; }

  /// For tensors in memory: the caller keeps their memory alive, or passes its owner to `keep`.
  Weights() = default;
  void add(const std::string& name, const ConstTensor& tensor) { tensors_[name] = tensor; }
  void note(const std::string& key, const std::string& value) { metadata_[key] = value; }
  void keep(std::shared_ptr<const void> memory) { memory_ = std::move(memory); }
  void call(std::string file, std::string format) {
    file_ = std::move(file);
    format_ = std::move(format);
  }

 private:
  std::map<std::string, ConstTensor> tensors_;
  std::map<std::string, std::string> metadata_;
  std::string file_ = "weights";
  std::string format_ = "memory";
  std::shared_ptr<const void> memory_;
};

/// Receives the next `count` bytes of an output.
using WriteBytes = std::function<void(const void* from, std::size_t count)>;

/// Writes tensors and metadata as a safetensors file: large elements first, then by name, so that each tensor's data is
/// aligned to its element size; in C order. The same weights give the same bytes. Throws Error for a tensor named
/// `__metadata__`. Example: io::OutputFile out("w.safetensors"); nn::write_safetensors(weights, out.writer());
/// out.commit();
ORIEL_API void write_safetensors(const Weights& weights, const WriteBytes& write);

}  // namespace oriel::nn
