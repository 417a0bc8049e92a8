// `oriel-portrait image`.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "apps/portrait/commands/image_job.h"
#include "apps/portrait/commands/options.h"
#include "apps/portrait/commands/output_check.h"
#include "apps/portrait/image/image_file.h"
#include "cli/json.h"
#include "cli/progress.h"
#include "cli/quantities.h"
#include "cli/stopwatch.h"
#include "quoted.h"

namespace oriel::portrait {

int run_image(ImageCommand c) {
  cli::Stopwatch watch;
  cli::Progress progress("oriel-portrait image");
  progress.set(c.in);
  const std::string ending = image_ending(c.out, c.format, c.asked.look.channels());
  check_output("oriel-portrait image", c.in, c.out, c.asked);
  load_background(c.asked);
  const NamedSegmenter segmenter = make_segmenter(c.asked.source);
  const double load = watch.seconds();
  ImageDone done = make_image(c.in, c.out, ending, c.asked, segmenter);
  done.load = load;
  done.notes.insert(done.notes.end(), c.asked.notes.begin(), c.asked.notes.end());
  done.notes.insert(done.notes.end(), segmenter.notes.begin(), segmenter.notes.end());
  if (c.asked.json && c.out != "-") {
    nlohmann::ordered_json said = {{"in", c.in}, {"out", c.out}, {"model", segmenter.name}};
    said.update(json_of(done));
    progress.say(cli::json_line(said));
  }
  if (!done.written)
    throw Error(fmt::format("{}: no person found: {}; --no-person background or keep writes an image anyway", c.in,
                            why_no_person(done, c.asked.look.chain.mask)));
  if (c.asked.json || c.asked.quiet) return cli::kExitDone;
  std::string notes;
  for (const std::string& note : done.notes) notes += "; " + detail::printable(note);
  if (c.out == "-") {
    if (!notes.empty()) progress.complain(fmt::format("{}{}\n", detail::printable(c.in), notes));
    return cli::kExitDone;
  }
  progress.say(fmt::format("{}: {}x{} -> {}: {} {:.0f} % of it ({}){}\n", detail::printable(c.in), done.width,
                           done.height, detail::printable(c.out),
                           done.person.found ? "a person on" : "no person found;", done.person.area * 100,
                           cli::spent("cut out", done.segment + done.edges, done.all()), notes));
  return cli::kExitDone;
}

}  // namespace oriel::portrait
