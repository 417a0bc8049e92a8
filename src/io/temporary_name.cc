#include "io/temporary_name.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdint>
#include <fstream>
#include <map>
#include <mutex>
#include <optional>
#include <random>
#include <string_view>
#include <vector>

namespace oriel::io {
namespace {

// The part of the target's name that is kept: file names have at most 255 bytes, and the rest needs 60.
std::string kept_name(const std::filesystem::path& target) {
  constexpr std::size_t longest = 190;
  return target.filename().string().substr(0, longest);
}

// Where process numbers mean the same as here: one boot of one machine, and one namespace of processes in it (a
// container has its own). 0: not known.
std::uint64_t place_of_processes() {
  std::string text;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), text);
  struct stat space {};
  if (text.empty() || ::stat("/proc/self/ns/pid", &space) != 0) return 0;
  std::uint64_t hash = 0xcbf29ce484222325ULL;  // FNV-1a
  for (const char c : text + fmt::format("/{}", space.st_ino))
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  return hash;
}

// When a process began, in the clock ticks of /proc/PID/stat: its 22nd word, the second being a name in brackets that
// may hold anything. Nothing where it cannot be read.
std::optional<std::uint64_t> start_of(const std::string& process) {
  std::string text;
  std::getline(std::ifstream(fmt::format("/proc/{}/stat", process)), text, '\0');
  std::size_t at = text.rfind(')');
  constexpr int words_after_name = 20;
  for (int i = 0; i < words_after_name && at != std::string::npos; ++i) at = text.find(' ', at + 1);
  if (at == std::string::npos) return std::nullopt;
  std::uint64_t ticks = 0;
  const char* const first = text.data() + at + 1;
  const auto [end, error] = std::from_chars(first, text.data() + text.size(), ticks);
  return error == std::errc() && end != first ? std::optional(ticks) : std::nullopt;
}

struct Leftover {
  std::string kept, path;
};

// Takes the last word of a name, after its last full stop, as a number.
std::optional<std::uint64_t> take_number(std::string_view& name) {
  const std::size_t dot = name.rfind('.');
  if (dot == std::string_view::npos) return std::nullopt;
  const std::string_view word = name.substr(dot + 1);
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value, 16);
  if (word.empty() || error != std::errc() || end != word.data() + word.size()) return std::nullopt;
  name = name.substr(0, dot);
  return value;
}

bool has_ended(std::uint64_t process, std::uint64_t start) {
  const auto number = static_cast<pid_t>(process);
  if (number <= 0 || static_cast<std::uint64_t>(number) != process) return false;
  if (::kill(number, 0) != 0 && errno == ESRCH) return true;
  const std::optional<std::uint64_t> now = start_of(std::to_string(number));
  return now && start != 0 && *now != start;  // another process has the number now
}

// The parts of a name as temporary_name makes it, if its writer has ended.
std::optional<std::string> leftover_of(std::string_view name, std::uint64_t here) {
  constexpr std::string_view ending = ".tmp";
  if (!name.starts_with('.') || !name.ends_with(ending)) return std::nullopt;
  name.remove_suffix(ending.size());
  const auto random = take_number(name), start = take_number(name), process = take_number(name),
             place = take_number(name);
  if (!random || !start || !process || !place || *place != here || here == 0) return std::nullopt;
  if (!has_ended(*process, *start)) return std::nullopt;
  return std::string(name.substr(1));
}

std::vector<Leftover> leftovers_in(const std::filesystem::path& folder) {
  static const std::uint64_t here = place_of_processes();
  std::vector<Leftover> found;
  std::error_code none;
  for (std::filesystem::directory_iterator at(folder.empty() ? "." : folder, none), end; !none && at != end;
       at.increment(none)) {
    const std::string name = at->path().filename().string();
    if (auto kept = leftover_of(name, here)) found.push_back({std::move(*kept), (folder / name).string()});
  }
  return found;
}

}  // namespace

std::string temporary_name(const std::filesystem::path& target) {
  static const std::uint64_t here = place_of_processes(), start = start_of("self").value_or(0);
  return (target.parent_path() / fmt::format(".{}.{:x}.{:x}.{:x}.{:08x}.tmp", kept_name(target), here, ::getpid(),
                                             start, std::random_device{}()))
      .string();
}

void remove_leftovers(const std::filesystem::path& target,
                      const std::function<void(const std::string&)>& before) noexcept {
  try {
    // A folder is looked through once: a program may write thousands of files into one.
    static std::mutex mutex;
    static std::map<std::string, std::vector<Leftover>> folders;
    const std::lock_guard lock(mutex);
    const std::string folder = target.parent_path().string();
    auto known = folders.find(folder);
    if (known == folders.end()) known = folders.emplace(folder, leftovers_in(folder)).first;
    const std::string kept = kept_name(target);
    std::erase_if(known->second, [&](const Leftover& l) {
      if (l.kept != kept) return false;
      if (before) before(l.path);
      std::error_code none;
      std::filesystem::remove_all(l.path, none);
      return true;
    });
  } catch (const std::exception&) {  // what cannot be tidied up does no harm
  }
}

}  // namespace oriel::io
