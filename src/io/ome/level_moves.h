// Levels that come into a group of OME-Zarr or leave it, one by one: what a run that was killed meanwhile left there is
// known by marks.
#pragma once

#include <string>
#include <vector>

namespace oriel::io::ome {

/// Moves folders of levels between a group and a folder in it, in which levels wait. Errors call the group `name`.
/// Every level that comes or goes has an empty file of that folder's name meanwhile, and the folder a list of them.
class LevelMoves {
 public:
  LevelMoves(std::string group, std::string waiting, std::string name);

  /// Marks levels that wait and will come, and levels of the group that will leave it.
  void mark(const std::vector<std::string>& coming, const std::vector<std::string>& leaving) const;
  /// Throws Error, naming the folder, if the group has something of that name.
  void move_in(const std::string& level) const;
  /// Into the folder that waits, with which it is removed.
  void move_out(const std::string& level) const;
  /// Of a level in the group, if it has one.
  void remove_mark(const std::string& level) const;
  bool has_mark(const std::string& level) const;
  /// All levels that were marked; nothing if there is no list that can be read.
  std::vector<std::string> marked() const;

 private:
  std::string in_group(const std::string& level) const { return group_ + "/" + level; }

  std::string group_, waiting_, name_;
};

/// The folder in which levels wait, of which io/temporary_name.h makes names.
std::string waiting_levels(const std::string& group);

/// Removes what runs that were killed left in a group: the folders in which levels waited, and marked levels that the
/// metadata do not name, whose paths are `named`.
void remove_unnamed_levels(const std::string& group, const std::vector<std::string>& named);

}  // namespace oriel::io::ome
