// What libtiff says of errors, kept until someone asks; its warnings are not shown.
#pragma once

#include <tiffio.h>

#include <array>
#include <cstdarg>
#include <cstdio>
#include <memory>
#include <new>
#include <string>

namespace oriel::io::tiff {

/// The first error since it was cleared. It must stay where it is as long as files use it.
class Errors {
 public:
  static constexpr std::size_t kMostText = 300;

  std::string said;

  /// Options of a file whose errors come here. Null: out of memory.
  std::unique_ptr<TIFFOpenOptions, decltype(&TIFFOpenOptionsFree)> options() {
    std::unique_ptr<TIFFOpenOptions, decltype(&TIFFOpenOptionsFree)> made(TIFFOpenOptionsAlloc(), &TIFFOpenOptionsFree);
    if (!made) return made;
    TIFFOpenOptionsSetErrorHandlerExtR(made.get(), &on_error, this);
    TIFFOpenOptionsSetWarningHandlerExtR(made.get(), &on_warning, nullptr);
    return made;
  }

 private:
  static int on_error(TIFF*, void* errors, const char*, const char* format, va_list arguments) {
    std::string& said = static_cast<Errors*>(errors)->said;
    if (!said.empty()) return 1;
    std::array<char, kMostText> text{};
    std::vsnprintf(text.data(), text.size(), format, arguments);
    try {
      said = text.data();
    } catch (const std::bad_alloc&) {  // then without a reason
    }
    return 1;
  }
  static int on_warning(TIFF*, void*, const char*, const char*, va_list) { return 1; }
};

}  // namespace oriel::io::tiff
