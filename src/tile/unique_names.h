// Names of emitted texts: letters, digits and underscores, each another one.
#pragma once

#include <set>
#include <string>

namespace oriel::tile {

class UniqueNames {
 public:
  explicit UniqueNames(std::set<std::string> taken) : taken_(std::move(taken)) {}
  /// The name, or one like it where it is none or is taken.
  std::string unique(const std::string& wanted);

 private:
  std::set<std::string> taken_;
};

}  // namespace oriel::tile
