// The formats that hold the levels of a pyramid.
#pragma once

#include <string>

#include "io/levels.h"

namespace oriel::io {

/// The format of a path; null: none has it.
const LevelsFormat* levels_format_of(const std::string& path);
/// The endings of all, for errors.
std::string levels_endings();

}  // namespace oriel::io
