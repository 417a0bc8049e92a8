// A model file is tried in another process before this one trusts it.
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>

#include "apps/portrait/runtime/child.h"
#include "apps/portrait/runtime/load.h"

namespace oriel::portrait {
namespace {

constexpr unsigned kSeconds = 300;

}  // namespace

void try_network(const std::string& file, const std::vector<std::string>& options) {
  std::vector<std::string> command = {"/proc/self/exe", "models", "check", "--once"};
  command.insert(command.end(), options.begin(), options.end());
  command.insert(command.end(), {"--", file});
  const Ended ended = run_child(std::move(command));
  if (ended.code == 0) return;
  if (ended.signal != 0)
    throw Error(fmt::format("{}: OpenVINO {} in the process that tries a model first; the file is damaged or harmful",
                            file,
                            ended.signal == SIGALRM ? fmt::format("took more than {} s", kSeconds)
                                                    : fmt::format("crashed (signal {})", ended.signal)));
  std::string text = ended.errors.substr(0, ended.errors.find('\n'));
  constexpr std::string_view prefix = "oriel-portrait models: ";
  if (text.starts_with(prefix)) text.erase(0, prefix.size());
  throw Error(text.empty() ? fmt::format("{}: the process that tries it failed without a message", file) : text);
}

void limit_trial(const std::string& file) {
  std::error_code none;
  const auto size = std::filesystem::file_size(file, none);
  const rlim_t most = (rlim_t{4} << 30) + 8 * (none ? 0 : static_cast<rlim_t>(size));
  const rlimit data = {most, most}, core = {0, 0};
  ::setrlimit(RLIMIT_DATA, &data);
  ::setrlimit(RLIMIT_CORE, &core);
  ::alarm(kSeconds);
}

}  // namespace oriel::portrait
