#include "apps/portrait/server/remove_api.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <span>
#include <vector>

#include "apps/portrait/image/image_file.h"
#include "apps/portrait/server/http/message.h"
#include "quoted.h"

namespace oriel::portrait {
namespace {

using Parameters = std::map<std::string, std::string>;

constexpr const char* kKnown[] = {"a",          "af",    "ab",         "ae",        "om",      "ppm",
                                  "bgc",        "model", "background", "fit",       "feather", "linear_light",
                                  "light_wrap", "fill",  "format",     "no_person", "matte"};

bool flag(const std::string& name, const std::string& text) {
  if (text == "true" || text == "1" || text == "on") return true;
  if (text == "false" || text == "0" || text == "off" || text.empty()) return false;
  throw Error(fmt::format("{}: {} is neither true nor false", name, detail::quoted(text)));
}

int number(const std::string& name, const std::string& text, int most) {
  int value = 0;
  const auto [at, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || at != text.data() + text.size() || value < 0 || value > most)
    throw Error(fmt::format("{}: {} is not a number from 0 to {}", name, detail::quoted(text), most));
  return value;
}

// rembg's background: R,G,B,A; what is wholly transparent is none.
Background background_of(const std::string& text) {
  std::vector<int> parts;
  std::size_t begin = 0;
  for (;;) {
    const std::size_t comma = text.find(',', begin);
    parts.push_back(number("bgc", text.substr(begin, comma - begin), 255));
    if (comma == std::string::npos) break;
    begin = comma + 1;
  }
  if (parts.size() < 3 || parts.size() > 4 || (parts.size() == 4 && parts[3] != 0 && parts[3] != 255))
    throw Error("bgc: allowed: R,G,B or R,G,B,A with A 0 or 255");
  if (parts.size() == 4 && parts[3] == 0) return {};
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(parts[i]); };
  return {.kind = Background::Kind::colour, .first = {byte(0), byte(1), byte(2)}};
}

// rembg's options of matting: thresholds out of 255, and a radius that here is the guided filter's.
void matting(const Parameters& p, ChainOptions& chain) {
  const auto of = [&](const char* name, int otherwise) {
    const auto at = p.find(name);
    return at == p.end() ? otherwise : number(name, at->second, 255);
  };
  chain.mask.low = static_cast<float>(of("ab", 10)) / 255;
  chain.mask.high = static_cast<float>(of("af", 240)) / 255;
  chain.edge.radius = of("ae", 10);
  if (chain.mask.low > chain.mask.high) throw Error("ab: greater than af; allowed: at most af");
}

void choose_background(const Parameters& p, bool has_background, Look& look) {
  if (const auto at = p.find("bgc"); at != p.end() && !at->second.empty()) look.background = background_of(at->second);
  if (const auto at = p.find("background"); at != p.end() && !at->second.empty()) {
    look.background = parse_background("background", at->second);
    if (look.background.kind == Background::Kind::picture)
      throw Error(
          "background: allowed: transparent, a colour, blur:RADIUS, gradient:COLOUR,COLOUR; an image is sent as the "
          "part background_file");
  }
  if (!has_background) return;
  look.background = {.kind = Background::Kind::picture};
  if (const auto at = p.find("fill"); at != p.end()) look.background.first = parse_colour("fill", at->second);
  if (const auto at = p.find("fit"); at != p.end()) {
    if (at->second != "cover" && at->second != "contain") throw Error("fit: allowed: cover, contain");
    look.background.fit = at->second == "cover" ? Background::Fit::cover : Background::Fit::contain;
  }
}

std::span<const std::byte> bytes_of(std::string_view text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

std::string type_of(const std::string& ending) {
  if (ending == ".png") return "image/png";
  if (ending == ".webp") return "image/webp";
  return ending == ".tif" ? "image/tiff" : "image/jpeg";
}

RemoveReply refusal(int status, const std::string& text) {
  return {.status = status, .type = "application/json", .body = http::error_json(text), .person = {}};
}

}  // namespace

Look look_of(const Look& first, const Parameters& p, bool has_background) {
  for (const auto& [name, value] : p)
    if (std::find(std::begin(kKnown), std::end(kKnown), name) == std::end(kKnown))
      throw Error(
          fmt::format("{}: no such parameter; allowed: {}", detail::shortened(name, 40), fmt::join(kKnown, ", ")));
  Look look = first;
  if (const auto at = p.find("om"); at != p.end()) look.only_mask = flag("om", at->second);
  if (const auto at = p.find("linear_light"); at != p.end()) look.blend.linear_light = flag("linear_light", at->second);
  if (const auto at = p.find("light_wrap"); at != p.end())
    look.blend.light_wrap = number("light_wrap", at->second, 100) / 100.0;
  if (const auto at = p.find("ppm"); at != p.end()) (void)flag("ppm", at->second);  // masks are always cleaned
  if (const auto at = p.find("a"); at != p.end() && flag("a", at->second)) matting(p, look.chain);
  if (const auto at = p.find("feather"); at != p.end()) look.chain.edge.feather = number("feather", at->second, 1000);
  if (const auto at = p.find("matte"); at != p.end()) {
    if (at->second != "fast" && at->second != "fine") throw Error("matte: allowed: fast, fine");
    look.chain.edge.matte = at->second == "fine" ? Matte::fine : Matte::fast;
  }
  if (const auto at = p.find("no_person"); at != p.end()) {
    if (at->second != "fail" && at->second != "background" && at->second != "keep")
      throw Error("no_person: allowed: fail, background, keep");
    look.no_person = at->second == "fail"   ? NoPerson::fail
                     : at->second == "keep" ? NoPerson::keep
                                            : NoPerson::background;
  }
  choose_background(p, has_background, look);
  return look;
}

RemoveApi::RemoveApi(Look look, index_t most_pixels, const MaskSource& source)
    : look_(std::move(look)), most_pixels_(most_pixels), models_(source) {
  look_.chain.threads = 1;  // requests are what is shared out
}

RemoveReply RemoveApi::remove(const RemoveRequest& request) {
  try {
    return work(request);
  } catch (const Error& e) {
    return refusal(400, e.what());
  } catch (const std::bad_alloc&) {
    return refusal(503, "not enough memory");
  } catch (const std::exception& e) {
    return refusal(500, e.what());
  }
}

RemoveReply RemoveApi::work(const RemoveRequest& request) {
  if (request.picture.empty())
    return refusal(400, "file: no image was sent; allowed: a part called file, or the image as the body");
  const Parameters& p = request.parameters;
  const auto model = p.find("model");
  const NamedSegmenter& segmenter = models_.named(model == p.end() ? "" : model->second);
  Look look = look_of(look_, p, !request.background.empty());
  const auto format = p.find("format");
  const std::string ending =
      image_ending("format", format == p.end() || format->second.empty() ? "png" : format->second, look.channels());
  if (look.background.kind == Background::Kind::picture && !request.background.empty())
    look.background.picture = std::make_shared<const Image>(
        decode_image(bytes_of(request.background), "background_file", most_pixels_).image);
  const ImageFile file = decode_image(bytes_of(request.picture), "file", most_pixels_);
  const Seen seen = look_twice(segmenter, file.image, look.chain.mask);
  const Finished done = finish(file.image, seen.mask, look, file.opacity);
  if (!done.picture) return refusal(422, "no person found; no_person=background or keep returns an image anyway");
  const std::vector<std::byte> bytes = encode_image(*done.picture, ending, "the result", file.meta);
  return {.status = 200,
          .type = type_of(ending),
          .body = std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()),
          .person = seen.rejected ? seen.person : done.person,
          .model = segmenter.name};
}

}  // namespace oriel::portrait
