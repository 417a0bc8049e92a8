// The exception that the tile language throws for an invalid program.
#pragma once

#include "oriel/types.h"

namespace oriel::tile {

/// The source line of a call, passed as a default argument `const Where& where = Where::current()`:
/// std::source_location, which clang 14 does not have.
struct Where {
  const char* path = "";
  int line_number = 0;

  static constexpr Where current(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    return {file, line};
  }
};

/// The line of a kernel's source that an object or an error comes from.
struct Place {
  std::string file;  // without its folders
  int line = 0;

  Place() = default;
  ORIEL_API Place(const Where& where);
};

/// `kernel.cc:12`.
ORIEL_API std::string to_string(const Place& place);

/// A tile program that cannot be recorded or run. `what()` is, with the line of the kernel's source if it is known,
/// `err_num_partition_exceed_arch_limit: number of partitions 256 exceed … [kernel.cc:12]`; the id is NKI's if NKI's
/// error page has one (SDK 2.26, nki.errors), and otherwise a short one of Oriel (AP5, SBUF1, …).
class ORIEL_API Failure : public Error {
 public:
  Failure(std::string id, const std::string& text, const Place& where);

  const std::string& id() const { return id_; }
  const Place& where() const { return where_; }

 private:
  std::string id_;
  Place where_;
};

}  // namespace oriel::tile
