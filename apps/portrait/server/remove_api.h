// POST /api/remove without HTTP: parameters and a picture's bytes in, a finished picture's bytes out.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "apps/portrait/chain/look.h"
#include "apps/portrait/server/models.h"

namespace oriel::portrait {

/// What a request says: parameters by name, the picture, a background if one was sent.
struct RemoveRequest {
  std::map<std::string, std::string> parameters;
  std::string_view picture, background;
};

/// What is answered.
struct RemoveReply {
  int status = 200;
  std::string type;  ///< of the body, e.g. `image/png`
  std::string body;
  Person person;
  std::string model{};  ///< that made the mask
};

/// Pictures of requests, each in the thread that asks.
class RemoveApi {
 public:
  /// Pictures look as `look` says unless a request says otherwise; those of more than `most_pixels` are refused.
  RemoveApi(Look look, index_t most_pixels, const MaskSource& source);

  /// Parameters: rembg's `a`, `af`, `ab`, `ae`, `om`, `ppm`, `bgc`, `model`, and this program's `background` (without
  /// files), `fit`, `fill`, `feather`, `linear_light`, `light_wrap` (percent), `no_person`, `format`. Never throws:
  /// what is wrong becomes the status.
  RemoveReply remove(const RemoveRequest& request);

  const Models& models() const { return models_; }

 private:
  RemoveReply work(const RemoveRequest& request);

  Look look_;
  index_t most_pixels_;
  Models models_;
};

/// The parameters as a look, beginning with the server's own. Throws Error naming the parameter.
Look look_of(const Look& first, const std::map<std::string, std::string>& parameters, bool has_background);

}  // namespace oriel::portrait
