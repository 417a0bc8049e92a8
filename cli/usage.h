// How a program ends, and what it says of a command line that makes no sense.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace oriel::cli {

/// Exit codes: done; a difference or a failure; a command line that makes no sense.
inline constexpr int kExitDone = 0, kExitFailure = 1, kExitUsage = 2;

/// A bad command line; `command` is what the line on stderr begins with, e.g. `oriel pool`.
struct UsageError : std::runtime_error {
  UsageError(std::string command_, const std::string& text) : std::runtime_error(text), command(std::move(command_)) {}
  std::string command;
};

/// `text` in one line: every control character is replaced by a space.
std::string one_line(std::string_view text);
/// Writes `command: text` as one line to standard error. Returns `code`.
int complain(const std::string& command, const std::string& text, int code);

}  // namespace oriel::cli
