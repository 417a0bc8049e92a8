#include "apps/portrait/commands/image_job.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "apps/portrait/image/image_file.h"
#include "cli/json.h"
#include "cli/stopwatch.h"
#include "io/output_file.h"

namespace oriel::portrait {

ImageDone make_image(const std::string& in, const std::string& out, const std::string& ending, const Asked& asked,
                     const Segmenter& segmenter) {
  cli::Stopwatch watch;
  ImageDone done;
  const ImageFile file = read_image_file(in, asked.most_pixels);
  done.width = file.image.width;
  done.height = file.image.height;
  done.notes = file.notes;
  done.first_of_several = file.first_of_several;
  done.read = watch.seconds();
  io::OutputFile target(out);  // before the work: a folder that cannot be written is not worth waiting for
  const Planes mask = segmenter(file.image);
  done.segment = watch.seconds();
  const Finished finished = finish(file.image, mask, asked.look, file.opacity);
  done.person = finished.person;
  done.edges = watch.seconds();
  if (!finished.picture) return done;
  const std::vector<std::byte> bytes = encode_image(*finished.picture, ending, out, file.meta);
  target.write(bytes.data(), bytes.size());
  target.commit();
  done.written = true;
  done.write = watch.seconds();
  return done;
}

std::string why_no_person(const Person& person, const MaskOptions& options) {
  return fmt::format(
      "the most likely candidate covers {:.3g} % of the image, with confidence {:.2f}; required: {:.3g} % and {:.2f}",
      person.area * 100, person.confidence, static_cast<double>(options.least_area) * 100, options.least_confidence);
}

nlohmann::ordered_json json_of(const ImageDone& d) {
  const auto seconds = [](double value) { return cli::rounded(value, 4); };
  return {{"width", d.width},
          {"height", d.height},
          {"written", d.written},
          {"person",
           {{"found", d.person.found},
            {"area", cli::rounded(d.person.area, 6)},
            {"confidence", cli::rounded(d.person.confidence, 4)}}},
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
