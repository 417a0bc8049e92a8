#include "apps/portrait/commands/image_job.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "apps/portrait/image/image_file.h"
#include "cli/json.h"
#include "cli/stopwatch.h"
#include "io/output_file.h"

namespace oriel::portrait {

ImageDone make_image(const std::string& in, const std::string& out, const std::string& ending, const Asked& asked,
                     const NamedSegmenter& segmenter) {
  cli::Stopwatch watch;
  ImageDone done;
  const ImageFile file = read_image_file(in, asked.most_pixels);
  done.width = file.image.width;
  done.height = file.image.height;
  done.notes = file.notes;
  done.first_of_several = file.first_of_several;
  done.read = watch.seconds();
  io::OutputFile target(out);  // before the work: a folder that cannot be written is not worth waiting for
  const Seen seen = look_twice(segmenter, file.image, asked.look.chain.mask);
  done.segment = watch.seconds();
  const Finished finished = finish(file.image, seen.mask, asked.look, file.opacity);
  done.person = seen.rejected ? seen.person : finished.person;
  if (seen.looked_twice) done.agreement = seen.agreement;
  done.least_agreement = segmenter.least_agreement;
  done.edges = watch.seconds();
  if (!finished.picture) return done;
  const std::vector<std::byte> bytes = encode_image(*finished.picture, ending, out, file.meta);
  target.write(bytes.data(), bytes.size());
  target.commit();
  done.written = true;
  done.write = watch.seconds();
  return done;
}

std::string why_no_person(const ImageDone& done, const MaskOptions& options) {
  if (done.agreement && *done.agreement < done.least_agreement)
    return fmt::format(
        "the most likely candidate changes with the part of the image that is looked at: agreement {:.2f}; required: "
        "{} (--min-agreement)",
        *done.agreement, done.least_agreement);
  return fmt::format(
      "the most likely candidate covers {:.3g} % of the image, with confidence {:.2f}; required: {:.3g} % and {:.2f}",
      done.person.area * 100, done.person.confidence, static_cast<double>(options.least_area) * 100,
      options.least_confidence);
}

nlohmann::ordered_json json_of(const ImageDone& d) {
  const auto seconds = [](double value) { return cli::rounded(value, 4); };
  nlohmann::ordered_json person = {{"found", d.person.found},
                                   {"area", cli::rounded(d.person.area, 6)},
                                   {"confidence", cli::rounded(d.person.confidence, 4)}};
  if (d.agreement) person["agreement"] = cli::rounded(*d.agreement, 4);
  return {{"width", d.width},
          {"height", d.height},
          {"written", d.written},
          {"person", person},
          {"notes", d.notes},
          {"seconds",
           {{"load", seconds(d.load)},
            {"read", seconds(d.read)},
            {"segment", seconds(d.segment)},
            {"edges", seconds(d.edges)},
            {"write", seconds(d.write)},
            {"all", seconds(d.all())}}}};
}

}  // namespace oriel::portrait
