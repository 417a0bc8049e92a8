// The command line as CLI11 knows it; completion scripts are made from the same tree.
#pragma once

#include <CLI/CLI.hpp>

#include "cli/options.h"
#include "cli/window_options.h"

namespace oriel::cli {

/// The options of all subcommands as typed.
struct Typed {
  PoolCommand pool;
  WindowOptions window;
  std::string pool_dtype, pool_memory, index_space = "plane";
  CheckCommand check;
  ExplainCommand explain;
  std::string explain_name, explain_output, explain_ranks;
  BenchCommand bench;
  std::vector<std::string> check_names, bench_names;
  std::string bench_device = "cpu";
  PlanCommand plan;
  std::string plan_name, plan_grid, plan_network, plan_overhead, plan_memory;
  TileCommand tile;
  std::string tile_shape, tile_dtype = "f32";
  std::vector<std::string> tile_values;
  InfoCommand info;
  CompletionCommand completion;
};

/// Adds every subcommand and option to `app`; parsing fills `typed`, which must outlive it.
void add_commands(CLI::App& app, Typed& typed);

}  // namespace oriel::cli
