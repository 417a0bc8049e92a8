// `oriel pool` on what does not fit into memory, by one process or by ranks.
#pragma once

#include "cli/beside_files.h"
#include "cli/options.h"
#include "cli/team.h"

namespace oriel::cli {

/// Whether a call goes block by block: HDF5 files and other formats of volumes do, .npy files with --memory, and
/// whatever several ranks are asked for.
bool goes_in_blocks(const PoolCommand& command, const Team& team);

/// `oriel pool` in blocks. Every rank of the team calls it. `read_whole` may be null: then such files are refused.
int run_pool_in_blocks(const PoolCommand& command, Team& team, ReadWhole read_whole = nullptr);

}  // namespace oriel::cli
