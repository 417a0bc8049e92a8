// Words of CUDA C++.
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "oriel/tile/ir.h"

namespace oriel::tile {

std::string_view cuda_dtype(Dtype dtype);
/// A literal of the nearest float.
std::string cuda_float(double number);
/// `a alu b`, or `alu a`, as an expression.
std::string cuda_applied(Alu alu, const std::string& a, const std::string& b);
/// What a fold starts with: the exact identity, -0.0 of sums.
std::string cuda_identity(Alu alu);
/// One line, whatever names and texts are in it.
std::string cuda_comment(std::string text);
/// What every text begins with: elements and arithmetic.
std::string_view cuda_prelude();

/// UniqueNames that a text cannot give to what is a program's.
std::set<std::string> cuda_words();

}  // namespace oriel::tile
