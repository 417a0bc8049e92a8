// NumPy's .npy files, versions 1 to 3.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "io/array.h"
#include "io/bytes.h"

namespace oriel::io {

/// Headers longer than this are refused: those of plain arrays have about a hundred bytes.
inline constexpr std::size_t kMaxNpyHeader = std::size_t{1} << 20;
/// Bytes that npy_header_bytes needs to see.
inline constexpr std::size_t kNpyPrefix = 12;

/// What the header of a .npy file says.
struct NpyHeader {
  Dtype dtype = Dtype::f32;
  bool swapped = false;  // the bytes of an element are in the other order than this machine's
  bool fortran = false;  // the first axis is the innermost in memory
  Extents shape;
};

/// Where the data begins, from the first kNpyPrefix bytes of a file. Throws Error for a wrong magic, an unknown
/// version, a header beyond kMaxNpyHeader.
std::size_t npy_header_bytes(std::span<const std::byte> prefix, const std::string& file);

/// Reads the dict of a header, e.g. `{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }`. `dtype` as in
/// read_array. Throws Error for anything that is not an array of Oriel's dtypes with at most 2^63 - 1 bytes.
NpyHeader parse_npy_header(std::string_view dict, const std::string& file, std::optional<Dtype> dtype = std::nullopt);

/// The array in a .npy file. The file is mapped, not read; Fortran order becomes pitches; other byte orders and
/// misaligned data are copied. Throws Error naming the file.
Array read_npy(const std::string& path, std::optional<Dtype> dtype = std::nullopt);

/// The same from bytes in memory, which `memory` keeps alive.
Array read_npy(std::span<const std::byte> bytes, std::shared_ptr<const void> memory, const std::string& file,
               std::optional<Dtype> dtype = std::nullopt);

/// The same from a stream, which must end with the array. More than memory_bound is refused by the header alone; below
/// it memory grows with what arrives.
Array read_npy(const ReadBytes& read, const std::string& file, std::optional<Dtype> dtype = std::nullopt);

/// The bytes before the data of a C-order array: magic, version 1, a dict padded to a multiple of 64.
std::string npy_header(Dtype dtype, const Extents& shape);

/// Writes a .npy file in C order; bf16 as `<V2`, the form of ml_dtypes.
void write_npy(const WriteBytes& write, const ConstTensor& t);

}  // namespace oriel::io
