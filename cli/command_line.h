// What the command lines of all programs here have in common.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>

#include "cli/usage.h"

namespace oriel::cli {

/// Throws Error if `word`, the first of a command line, is neither an option nor a subcommand of `app`, whose names
/// it lists: CLI11 would only say that some subcommand is missing.
void check_subcommand(const CLI::App& app, const std::string& word);

/// Adds the subcommand `completion SHELL`.
void add_completion(CLI::App& app, std::string& shell);

/// Words that may follow an option (`--op`) or stand for a positional (`SHELL`), with spaces between them; empty: those
/// that the option's own check names, and otherwise a file or free text.
using ValueWords = std::string (*)(const std::string& name);

/// The completion script of the program `app.get_name()` for `shell`: bash, zsh or fish.
std::string completion_script(const CLI::App& app, const std::string& shell, ValueWords words);

}  // namespace oriel::cli
