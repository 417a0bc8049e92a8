#include "tile/unique_names.h"

#include <cctype>

namespace oriel::tile {

std::string UniqueNames::unique(const std::string& wanted) {
  std::string name;
  for (const char c : wanted) name += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  if (name.empty() || std::isdigit(static_cast<unsigned char>(name[0])) != 0) name = "_" + name;
  while (taken_.contains(name)) name += "_";
  taken_.insert(name);
  return name;
}

}  // namespace oriel::tile
