// Element types and fill values in Zarr's metadata.
#pragma once

#include <string>

#include "io/zarr/codec.h"
#include "io/zarr/json.h"
#include "oriel/types.h"

namespace oriel::io::zarr {

/// `float32` …, as in version 3.
std::string type_name(Dtype dtype);
Dtype parse_type_name(const Json& value, const std::string& file);

/// `<f4` …, as in version 2.
std::string typestr(Dtype dtype);

struct StoredType {
  Dtype dtype = Dtype::f32;
  bool big_endian = false;
};
StoredType parse_typestr(const Json& value, const std::string& file);

/// One element in this machine's byte order. Null is zero.
std::vector<std::byte> parse_fill(const Json& value, Dtype dtype, const std::string& file);
/// The text of which parse_fill makes that element (of none: zero); null if there is none (a NaN with other bits than
/// the usual ones).
Json fill_json(const std::vector<std::byte>& fill, Dtype dtype);

/// Whether elements are nothing but `fill`, bit for bit; if that is empty, zero.
bool is_filled(const Bytes& elements, const std::vector<std::byte>& fill);

}  // namespace oriel::io::zarr
