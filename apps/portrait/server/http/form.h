// The parts of a form that was uploaded, multipart/form-data (RFC 7578).
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace oriel::portrait::http {

/// One part; what it holds lies in the request's body.
struct Part {
  std::string name;
  std::string_view content;
};

/// True for a Content-Type that is a form with parts.
bool is_form(std::string_view type);

/// The parts of `body`, whose Content-Type is `type`, in their order; nothing is copied. Throws Error for a body that
/// is no such form: a boundary that is missing or not from 1 to 70 characters, a part without a name, no last line,
/// more than 100 parts.
std::vector<Part> parts_of(std::string_view type, std::string_view body);

}  // namespace oriel::portrait::http
