// vectors.txt, read and checked.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "vectors/vector.h"

namespace oriel::vectors {

/// The lines of a file that are vectors; `-` is the standard input. Throws Error for one that cannot be read or has
/// other names than names.cc.
std::vector<std::string> read_lines(const std::string& path);

/// A vector's line, whose hash is given.
std::string line_of(const std::string& name, std::uint64_t hash);

/// Prints the lines whose hash is not what `hash_of` gives, and how many they are; false if there are some.
bool check_lines(const std::vector<std::string>& lines, const std::string& where,
                 const std::function<std::uint64_t(const Vector&)>& hash_of);

}  // namespace oriel::vectors
