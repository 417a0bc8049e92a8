#include "apps/portrait/picture_job.h"

#include <fmt/format.h>

#include "apps/portrait/picture_file.h"
#include "cli/json.h"
#include "cli/stopwatch.h"
#include "io/output_file.h"

namespace oriel::portrait {
PictureDone make_picture(const std::string& in, const std::string& out, const std::string& ending, const Asked& asked,
                         const Segmenter& segmenter) {
  cli::Stopwatch watch;
  PictureDone done;
  const PictureFile file = read_picture(in, asked.most_pixels);
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
  const std::vector<std::byte> bytes = encode_picture(*finished.picture, ending, out, file.meta);
  target.write(bytes.data(), bytes.size());
  target.commit();
  done.written = true;
  done.write = watch.seconds();
  return done;
}

std::string why_no_person(const Person& person, const MaskOptions& options) {
  return fmt::format(
      "what looks most like one covers {:.3g} % of the picture, at confidence {:.2f}; needed: {:.3g} % and "
      "{:.2f}",
      person.area * 100, person.confidence, static_cast<double>(options.least_area) * 100, options.least_confidence);
}

std::string json_of(const PictureDone& d) {
  return fmt::format(
      "\"width\": {}, \"height\": {}, \"written\": {}, \"person\": {{\"found\": {}, \"area\": {:.6f}, \"confidence\": "
      "{:.4f}}}, \"notes\": {}, \"seconds\": {{\"load\": {:.4f}, \"read\": {:.4f}, \"segment\": {:.4f}, "
      "\"edges\": {:.4f}, \"write\": {:.4f}, \"all\": {:.4f}}}",
      d.width, d.height, d.written, d.person.found, d.person.area, d.person.confidence, cli::json_list(d.notes), d.load,
      d.read, d.segment, d.edges, d.write, d.all());
}

}  // namespace oriel::portrait
