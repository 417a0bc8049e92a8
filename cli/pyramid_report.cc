#include "cli/pyramid_report.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/json.h"
#include "cli/quantities.h"
#include "quoted.h"

namespace oriel::cli {

void say(Progress& progress, const PyramidMade& r) {
  const PyramidCommand& c = r.command;
  if (c.json) {
    Json levels = Json::array();
    for (std::size_t l = 0; l < r.plan.levels.size(); ++l) {
      levels.push_back({{"path", r.image.levels[l].path},
                        {"dtype", name(r.plan.levels[l].dtype)},
                        {"shape", json_of(r.plan.levels[l].shape)},
                        {"chunk", json_of(r.plan.chunks[l])},
                        {"scale", r.image.levels[l].scale},
                        {"translation", r.image.levels[l].translation}});
    }
    return progress.say(json_text({{"in", c.in},
                                   {"out", c.out},
                                   {"method", r.image.method},
                                   {"levels", levels},
                                   {"tile", json_of(r.plan.tile)},
                                   {"tiles", r.plan.tiles},
                                   {"tiles_read", r.made.tiles_read},
                                   {"tiles_uniform", r.made.tiles_uniform},
                                   {"chunks_written", r.made.chunks_written},
                                   {"chunks_uniform", r.made.chunks_uniform},
                                   {"buffers", r.made.peak_memory},
                                   {"peak_memory", r.peak},
                                   {"threads", r.plan.threads},
                                   {"ranks", r.ranks},
                                   {"seconds", {{"levels", json_of(r.build)}, {"all", json_of(r.all)}}}}));
  }
  if (c.quiet) return;
  const PyramidLevel &base = r.plan.levels.front(), &last = r.plan.levels.back();
  const std::string to = c.in_place ? "" : fmt::format(" -> {}", detail::printable(c.out));
  progress.say(fmt::format("{}: {} {}{}: {} level{} by {}{}, the coarsest {} ({})\n", detail::printable(c.in),
                           name(base.dtype), to_string(base.shape), to, r.plan.levels.size() - 1,
                           r.plan.levels.size() == 2 ? "" : "s", r.image.method, c.in_place ? " added" : "",
                           to_string(last.shape), spent("made", r.build, r.all)));
}

}  // namespace oriel::cli
