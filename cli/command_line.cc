#include "cli/command_line.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "oriel/types.h"
#include "quoted.h"

namespace oriel::cli {

std::string one_line(std::string_view text) { return detail::printable(text, ' '); }

void check_subcommand(const CLI::App& app, const std::string& word) {
  if (word.empty() || word[0] == '-') return;
  std::string names;
  for (const CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (sub->get_name() == word) return;
    names += (names.empty() ? "" : ", ") + sub->get_name();
  }
  throw Error(fmt::format("{} is not a subcommand; allowed: {}", detail::quoted(word), names));
}

int complain(const std::string& command, const std::string& text, int code) {
  fmt::print(stderr, "{}: {}\n", command, one_line(text));
  return code;
}

void add_completion(CLI::App& app, std::string& shell) {
  CLI::App& completion = *app.add_subcommand("completion", "Print a completion script for a shell");
  completion.add_option("SHELL", shell, "bash, zsh or fish")->required()->check(CLI::IsMember({"bash", "zsh", "fish"}));
  completion.footer(fmt::format(
      "Examples:\n  source <({0} completion bash)\n  {0} completion fish > ~/.config/fish/completions/{0}.fish\n",
      app.get_name()));
}

}  // namespace oriel::cli
