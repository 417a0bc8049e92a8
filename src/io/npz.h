// NumPy's .npz archives, by libzip.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "io/array.h"
#include "io/bytes.h"

namespace oriel::io {

/// The array `array` (empty: the only one) of the archive in `bytes`. Throws Error naming `file`, and the arrays that
/// there are.
Array read_npz(std::span<const std::byte> bytes, const std::string& array, const std::string& file,
               std::optional<Dtype> dtype = std::nullopt);

/// An array's name without the `.npy` of its member; `arr_0`, as numpy.savez says, if it is empty.
std::string npz_array_name(std::string name);

/// An archive with one array, not compressed; its name is npz_array_name(array).
void write_npz(const WriteBytes& write, const std::string& array, const std::string& file, const ConstTensor& t);

}  // namespace oriel::io
