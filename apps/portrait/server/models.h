// The models that requests may choose from.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "apps/portrait/segment/segmenters.h"

namespace oriel::portrait {

/// Where the masks of a server come from: the source that it was started with or, if that names no model, mask or
/// colour, every installed model. Its functions may be called by several threads at once.
class Models {
 public:
  /// Opens the first model; the others are opened when a request names them. Throws Error.
  explicit Models(MaskSource source);
  Models(const Models&) = delete;
  Models& operator=(const Models&) = delete;
  ~Models();

  /// Names for requests; the first is the default.
  std::vector<std::string> names() const;
  /// The default, with its file's name and family.
  const std::string& first() const;
  /// The segmenter of that name; empty: the default. Throws Error for names that are none of names().
  const NamedSegmenter& named(const std::string& name);

 private:
  struct Entry;
  MaskSource source_;
  std::vector<std::unique_ptr<Entry>> entries_;
};

}  // namespace oriel::portrait
