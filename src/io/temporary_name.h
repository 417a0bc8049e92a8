// Names of files that are being written, from which one can tell whether their writer still runs.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

namespace oriel::io {

/// A name beside `target`, `.NAME.PLACE.PID.START.RANDOM.tmp`: which boot of which machine (and which space of process
/// numbers in it) the writer belongs to, its number, and when it began, all in hexadecimal.
/// Example: temporary_name("folder/y.npy") gives "folder/.y.npy.5d2c66da3ac61b5e.1f3a.2c9b1.7e0a93c4.tmp".
std::string temporary_name(const std::filesystem::path& target);

/// Removes what writers of `target` that have ended left beside it. A file stays if its writer may still run: if the
/// process is there, or belongs to another machine, boot or container, about which nothing is known here. `before` is
/// called with the path of each before it is removed.
void remove_leftovers(const std::filesystem::path& target,
                      const std::function<void(const std::string&)>& before = {}) noexcept;

}  // namespace oriel::io
