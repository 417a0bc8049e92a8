// Options of networks of others, and those of `oriel-portrait models`.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <utility>

#include "apps/portrait/commands/options.h"

namespace oriel::portrait {

/// Options of a network as typed.
struct TypedNetwork {
  std::string size, mean, scale;
};

/// Those of subcommands that cut out; not `--size` for `pipe` and `camera`, where it is the frames'.
void add_network_source(CLI::App& app, MaskSource& source, TypedNetwork& typed);

/// Adds the subcommand `models`.
void add_models(CLI::App& app, ModelsCommand& command, MaskSource& source, TypedNetwork& typed);

/// What was typed, as numbers. Throws Error naming the option.
void finish_network(const TypedNetwork& typed, MaskSource& source);

/// WIDTHxHEIGHT, sides from 1 to `most`. Throws Error naming the option.
std::pair<index_t, index_t> parse_size(const std::string& option, const std::string& text, index_t most);

}  // namespace oriel::portrait
