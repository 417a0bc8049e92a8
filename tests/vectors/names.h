// The names of vectors.txt.
#pragma once

#include <string>
#include <vector>

namespace oriel::vectors {

/// All of them, in the order of the file. The first some hundred are small and have every op, dtype and direction.
const std::vector<std::string>& all_names();

}  // namespace oriel::vectors
