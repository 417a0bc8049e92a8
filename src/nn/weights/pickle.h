// The pickles of state dictionaries, read by a machine that can build tensors, lists and dictionaries and nothing else.
#pragma once

#include <map>
#include <span>
#include <string>

#include "oriel/types.h"

namespace oriel::nn {

/// A tensor that a pickle speaks of: a view of a storage, which is an entry of the archive.
struct PickledTensor {
  std::string storage;  ///< the entry's name below `data/`
  Dtype dtype = Dtype::f32;
  index_t elements = 0;  ///< of the storage, as the pickle says
  index_t offset = 0;    ///< in elements, into the storage
  Extents shape{};
  Extents pitch{};
};

/// The tensors of the state dictionary that a `data.pkl` holds, by name. Throws Error, naming whatever is not among
/// the instructions and names that `torch.load(weights_only=True)` accepts and plain tensors need.
std::map<std::string, PickledTensor> read_state_dict(std::span<const std::byte> pickle, const std::string& file);

}  // namespace oriel::nn
