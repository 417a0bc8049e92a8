// The header of a NIfTI file, of both versions and byte orders.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "oriel/types.h"

namespace oriel::io::nifti {

inline constexpr std::size_t kHeader1 = 348, kHeader2 = 540;
/// Bytes behind the header that say whether extensions follow.
inline constexpr std::size_t kExtender = 4;
inline constexpr int kMostAxes = 7;

/// Fields as the standard names them; texts end at the first zero byte.
struct Header {
  int version = 1;          ///< 1 or 2
  bool swapped = false;     ///< whether the file has the byte order that this machine has not
  bool pair = false;        ///< whether the data are in another file
  Dtype dtype = Dtype::u8;  ///< as stored
  Extents shape;            ///< x, y, z, time …
  index_t data = 0;         ///< vox_offset: where the data begin
  double slope = 1;         ///< scl_slope; 1 if the file does not scale
  double inter = 0;         ///< scl_inter; 0 if the file does not scale

  std::array<double, 8> pixdim{1, 1, 1, 1, 1, 1, 1, 1};
  index_t xyzt_units = 0;
  double toffset = 0;
  index_t qform_code = 0, sform_code = 0;
  std::array<double, 3> quatern{};  ///< b, c, d
  std::array<double, 3> qoffset{};
  std::array<std::array<double, 4>, 3> srow{};

  index_t dim_info = 0;
  index_t slice_start = 0, slice_end = 0, slice_code = 0;
  double slice_duration = 0;
  double cal_max = 0, cal_min = 0;
  index_t intent_code = 0;
  std::array<double, 3> intent_p{};
  std::string intent_name, descrip, aux_file;

  bool scales() const { return slope != 1 || inter != 0; }
  std::size_t bytes() const { return version == 1 ? kHeader1 : kHeader2; }
};

/// Whether bytes, as many as are there, begin as a header of NIfTI does, and of which version: 1 or 2; 0: neither.
int header_version(std::span<const std::byte> bytes);

/// Throws Error naming the file. `bytes`: at least those of the header; more are not looked at.
Header parse_header(std::span<const std::byte> bytes, const std::string& file);

/// The bytes of a header of a file that has its data, little endian. Sizes must fit into the version.
std::vector<std::byte> to_bytes(const Header& header);

/// An extension: its code, and its text or bytes.
struct Extension {
  std::int32_t code = 0;
  std::vector<std::byte> content;
};
inline constexpr std::int32_t kComment = 6;

/// The extensions of a file whose bytes between the header and the data these are. What is damaged, and all that is
/// behind it, is left out.
std::vector<Extension> parse_extensions(std::span<const std::byte> bytes, bool swapped);
/// What stands behind the header: the extender and the extensions, little endian.
std::vector<std::byte> to_bytes(const std::vector<Extension>& extensions);

}  // namespace oriel::io::nifti
