#include "io/hdf5_handle.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

namespace oriel::io {
namespace {

// The walk begins with the innermost call.
herr_t first_reason(unsigned n, const H5E_error2_t* error, void* text) {
  if (n == 0 && error->desc != nullptr) *static_cast<std::string*>(text) = error->desc;
  return 0;
}

// Of a failed system call HDF5 says a line full of numbers, with the system's words inside.
std::string plain(const std::string& reason) {
  constexpr std::string_view mark = "error message = '";
  const std::size_t begin = reason.find(mark);
  if (begin == std::string::npos) return reason;
  const std::size_t end = reason.find('\'', begin + mark.size());
  return reason.substr(begin + mark.size(), end - begin - mark.size());
}

Handle own(hid_t type) { return Handle(type, H5Tclose, "HDF5", "make a type"); }

// A float of 16 bits; HDF5 1.10 has none of its own.
Handle short_float(std::size_t exponent_bits, std::size_t bias) {
  Handle type = own(H5Tcopy(H5T_IEEE_F32LE));
  const std::size_t mantissa = 15 - exponent_bits;
  if (H5Tset_fields(type.get(), 15, mantissa, exponent_bits, 0, mantissa) < 0 || H5Tset_size(type.get(), 2) < 0 ||
      H5Tset_ebias(type.get(), bias) < 0)
    fail_hdf5("HDF5", "make a type");
  return type;
}

Handle boolean() {  // as h5py does
  Handle type = own(H5Tenum_create(H5T_STD_I8LE));
  for (const auto& [word, value] : {std::pair{"FALSE", std::int8_t{0}}, {"TRUE", std::int8_t{1}}})
    if (H5Tenum_insert(type.get(), word, &value) < 0) fail_hdf5("HDF5", "make a type");
  return type;
}

bool stands_for_itself(std::string_view name, hid_t type) {
  constexpr std::array kNot = {"CLASS",         "NAME",          "DIMENSION_LIST",      "REFERENCE_LIST",
                               "_Netcdf4Dimid", "oriel_problem", "_Netcdf4Coordinates", "_nc3_strict"};
  return std::find(kNot.begin(), kNot.end(), name) == kNot.end() && H5Tdetect_class(type, H5T_REFERENCE) <= 0;
}

void copy_attribute(hid_t from, hid_t to, const std::string& file, hsize_t number) {
  const std::string what = "copy an attribute";
  const Handle attribute(H5Aopen_by_idx(from, ".", H5_INDEX_NAME, H5_ITER_INC, number, H5P_DEFAULT, H5P_DEFAULT),
                         H5Aclose, file, what);
  std::string name(static_cast<std::size_t>(std::max<ssize_t>(H5Aget_name(attribute.get(), 0, nullptr), 0)), '\0');
  H5Aget_name(attribute.get(), name.size() + 1, name.data());
  const Handle stored(H5Aget_type(attribute.get()), H5Tclose, file, what);
  const Handle type(H5Tcopy(stored.get()), H5Tclose, file, what);  // one that the other file can have
  if (!stands_for_itself(name, type.get())) return;
  const Handle space(H5Aget_space(attribute.get()), H5Sclose, file, what);
  const hssize_t count = H5Sget_simple_extent_npoints(space.get());
  std::vector<std::byte> values(H5Tget_size(type.get()) * static_cast<std::size_t>(std::max<hssize_t>(count, 0)) + 1);
  const Handle copy(H5Acreate2(to, name.c_str(), type.get(), space.get(), H5P_DEFAULT, H5P_DEFAULT), H5Aclose, file,
                    what);
  if (H5Sget_simple_extent_type(space.get()) == H5S_NULL) return;
  if (H5Aread(attribute.get(), type.get(), values.data()) < 0) fail_hdf5(file, what);
  const bool written = H5Awrite(copy.get(), type.get(), values.data()) >= 0;
  H5Dvlen_reclaim(type.get(), space.get(), H5P_DEFAULT, values.data());
  if (!written) fail_hdf5(file, what);
}

}  // namespace

void fail_hdf5(const std::string& file, const std::string& what) {
  std::string reason;
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, first_reason, &reason);
  H5Eclear2(H5E_DEFAULT);
  throw Error(fmt::format("{}: cannot {}{}{}", file, what, reason.empty() ? "" : ": ", plain(reason)));
}

Handle hdf5_type(Dtype dtype) {
  switch (dtype) {
    case Dtype::f64:
      return own(H5Tcopy(H5T_IEEE_F64LE));
    case Dtype::f32:
      return own(H5Tcopy(H5T_IEEE_F32LE));
    case Dtype::f16:
      return short_float(5, 15);
    case Dtype::bf16:
      return short_float(8, 127);
    case Dtype::i8:
      return own(H5Tcopy(H5T_STD_I8LE));
    case Dtype::u8:
      return own(H5Tcopy(H5T_STD_U8LE));
    case Dtype::i16:
      return own(H5Tcopy(H5T_STD_I16LE));
    case Dtype::u16:
      return own(H5Tcopy(H5T_STD_U16LE));
    case Dtype::i32:
      return own(H5Tcopy(H5T_STD_I32LE));
    case Dtype::u32:
      return own(H5Tcopy(H5T_STD_U32LE));
    case Dtype::i64:
      return own(H5Tcopy(H5T_STD_I64LE));
    case Dtype::u64:
      return own(H5Tcopy(H5T_STD_U64LE));
    case Dtype::boolean:
      break;
  }
  return boolean();
}

std::optional<Dtype> dtype_of(hid_t type) {
  const Handle little = own(H5Tcopy(type));
  const H5T_class_t kind = H5Tget_class(type);
  if (kind == H5T_INTEGER || kind == H5T_FLOAT) H5Tset_order(little.get(), H5T_ORDER_LE);
#define ORIEL_DTYPE(dtype, type, accumulator) \
  if (H5Tequal(little.get(), hdf5_type(Dtype::dtype).get()) > 0) return Dtype::dtype;
#include "oriel/dtypes.def"
#undef ORIEL_DTYPE
  return std::nullopt;
}

std::string words_of(hid_t type) {
  const std::size_t bits = 8 * H5Tget_size(type);
  switch (H5Tget_class(type)) {
    case H5T_INTEGER:
      return fmt::format("integers of {} bits", bits);
    case H5T_FLOAT:
      return fmt::format("floats of {} bits of an unusual kind", bits);
    case H5T_STRING:
      return "strings";
    case H5T_COMPOUND:
      return "compounds (complex numbers, records)";
    case H5T_ENUM:
      return "an enumeration that is not a boolean";
    case H5T_VLEN:
      return "lists of varying length";
    case H5T_REFERENCE:
      return "references";
    default:
      return "elements of another kind";
  }
}

void copy_attributes(hid_t from, hid_t to, const std::string& file) {
  H5O_info_t info;
  if (H5Oget_info(from, &info) < 0) fail_hdf5(file, "read the attributes");
  for (hsize_t i = 0; i < info.num_attrs; ++i) copy_attribute(from, to, file, i);
}

std::vector<double> read_numbers(hid_t object, const char* name, std::size_t most) {
  if (H5Aexists(object, name) <= 0) return {};
  const std::string what = fmt::format("read the attribute {}", name);
  const Handle attribute(H5Aopen(object, name, H5P_DEFAULT), H5Aclose, name, what);
  const Handle type(H5Aget_type(attribute.get()), H5Tclose, name, what);
  const Handle space(H5Aget_space(attribute.get()), H5Sclose, name, what);
  const H5T_class_t kind = H5Tget_class(type.get());
  const hssize_t count = H5Sget_simple_extent_npoints(space.get());
  if ((kind != H5T_FLOAT && kind != H5T_INTEGER) || count < 1 || count > static_cast<hssize_t>(most)) return {};
  std::vector<double> numbers(static_cast<std::size_t>(count));
  if (H5Aread(attribute.get(), H5T_NATIVE_DOUBLE, numbers.data()) < 0) fail_hdf5(name, what);
  return numbers;
}

void write_numbers(hid_t object, const char* name, const std::vector<double>& numbers, const std::string& file) {
  if (numbers.empty()) return;
  const std::string what = fmt::format("write the attribute {}", name);
  const hsize_t count = numbers.size();
  const Handle space(H5Screate_simple(1, &count, nullptr), H5Sclose, file, what);
  const Handle attribute(H5Acreate2(object, name, H5T_IEEE_F64LE, space.get(), H5P_DEFAULT, H5P_DEFAULT), H5Aclose,
                         file, what);
  if (H5Awrite(attribute.get(), H5T_NATIVE_DOUBLE, numbers.data()) < 0) fail_hdf5(file, what);
}

// As H5DSset_label, of another library, writes them.
void write_labels(hid_t dataset, const std::vector<std::string>& labels, const std::string& file) {
  const std::string what = "write the labels of dimensions";
  const hsize_t count = labels.size();
  const Handle type(H5Tcopy(H5T_C_S1), H5Tclose, file, what);
  const Handle space(H5Screate_simple(1, &count, nullptr), H5Sclose, file, what);
  if (H5Tset_size(type.get(), H5T_VARIABLE) < 0) fail_hdf5(file, what);
  const Handle attribute(H5Acreate2(dataset, "DIMENSION_LABELS", type.get(), space.get(), H5P_DEFAULT, H5P_DEFAULT),
                         H5Aclose, file, what);
  std::vector<const char*> words;
  for (const std::string& label : labels) words.push_back(label.c_str());
  if (H5Awrite(attribute.get(), type.get(), words.data()) < 0) fail_hdf5(file, what);
}

void write_attribute(hid_t object, const char* name, const std::string& text, const std::string& file) {
  const std::string what = fmt::format("write the attribute {}", name);
  const Handle type(H5Tcopy(H5T_C_S1), H5Tclose, file, what);
  const Handle space(H5Screate(H5S_SCALAR), H5Sclose, file, what);
  if (H5Tset_size(type.get(), H5T_VARIABLE) < 0 || H5Tset_cset(type.get(), H5T_CSET_UTF8) < 0) fail_hdf5(file, what);
  const Handle attribute(H5Acreate2(object, name, type.get(), space.get(), H5P_DEFAULT, H5P_DEFAULT), H5Aclose, file,
                         what);
  const char* const words = text.c_str();
  if (H5Awrite(attribute.get(), type.get(), &words) < 0) fail_hdf5(file, what);
}

}  // namespace oriel::io
