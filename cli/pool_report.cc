#include "cli/pool_report.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/json.h"
#include "cli/quantities.h"
#include "cli/window_options.h"
#include "io/hdf5.h"
#include "io/image.h"
#include "oriel/pool.h"
#include "quoted.h"

namespace oriel::cli {
namespace {

// What of IN was read.
void add_part(const PoolReport& r, Json& json) {
  if (r.picture) {
    json["page"] = r.picture->page > 0 ? r.picture->page : 1;
    json["pages"] = r.picture->pages;
  } else if (!r.part.empty()) {
    json[io::split_hdf5_path(r.command.in) ? "dataset" : "array"] = r.part;
  }
}

void add_blocks(const BlocksReport& b, Json& json) {
  json["ranks"] = b.ranks;
  json["blocks"] = b.blocks;
  json["memory"] = b.memory;
  if (b.chunks) json["chunks"] = *b.chunks;
  if (b.chunk_reads) json["chunk_reads"] = *b.chunk_reads;
}

Json to_json(const PoolReport& r) {
  const PoolCommand& c = r.command;
  const Problem& p = r.problem;
  Json json{{"in", c.in}};
  add_part(r, json);
  json.update({{"out", c.out},
               {"problem", to_string(p)},
               {"dtype", name(p.dtype)},
               {"shape", json_of(p.shape)},
               {"axes", json_of(pooled_axes(p))},
               {"output_shape", json_of(p.output_shape)}});
  if (!c.indices.empty()) {
    json["indices"] = c.indices;
    json["index_space"] = c.index_space == IndexSpace::tensor ? "tensor" : "plane";
  }
  if (r.blocks) add_blocks(*r.blocks, json);
  json["target"] = active_target();
  json["threads"] = r.threads;
  json["seconds"] = {{"read", json_of(r.seconds.read)},
                     {"pool", json_of(r.seconds.pool)},
                     {"write", json_of(r.seconds.write)},
                     {"all", json_of(r.seconds.all)}};
  return json;
}

// A note to print if only a part of IN was read, unless the command named that part; else empty.
std::string note_of(const PoolReport& r) {
  return r.picture ? detail::printable(io::pages_note(*r.picture, r.command.in)) : "";
}

std::string in_blocks(const BlocksReport& b) {
  const std::string ranks = b.ranks == 1 ? "" : fmt::format(", {} ranks", b.ranks);
  return fmt::format("{} block{}{}; ", b.blocks, b.blocks == 1 ? "" : "s", ranks);
}

}  // namespace

void say(Progress& progress, const PoolReport& r) {
  const PoolCommand& c = r.command;
  if (c.json) return progress.say(json_text(to_json(r)));
  if (c.quiet) return;
  const std::string note = note_of(r);
  if (c.out == "-") {
    if (!note.empty()) progress.complain(fmt::format("{}: {}\n", detail::printable(c.in), note));
    return;
  }
  const Problem& p = r.problem;
  progress.say(fmt::format("{}: {} {}, {} -> {}: {} ({}{}){}{}\n", detail::printable(c.in), name(p.dtype),
                           to_string(p.shape), show_axes(p), detail::printable(c.out), to_string(p.output_shape),
                           r.blocks ? in_blocks(*r.blocks) : "", spent("pooled", r.seconds.pool, r.seconds.all),
                           note.empty() ? "" : "; ", note));
}

}  // namespace oriel::cli
