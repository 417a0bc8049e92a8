#include "apps/portrait/server/models.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <mutex>

#include "apps/portrait/runtime/load.h"
#include "apps/portrait/segment/installed.h"
#include "quoted.h"

namespace oriel::portrait {

struct Models::Entry {
  std::string name, path;
  std::once_flag once{};
  NamedSegmenter segmenter{};
};

Models::Models(MaskSource source) : source_(std::move(source)) {
  const auto add = [&](std::string name, std::string path) {
    entries_.push_back(std::make_unique<Entry>());
    entries_.back()->name = std::move(name);
    entries_.back()->path = std::move(path);
  };
  add("", source_.model);
  Entry& first = *entries_[0];
  std::call_once(first.once, [&] { first.segmenter = make_segmenter(source_); });
  first.name = first.segmenter.name;
  if (!source_.model.empty() || !source_.mask.empty() || source_.key || source_.device != Device::cpu) return;
  const std::string by_default = model_path("");
  for (const InstalledModel& m : installed_models()) {
    if (m.path == by_default)
      first.name = m.name;
    else if (m.bytes > 0 && (has_runtime() || !is_network_file(m.path)))
      add(m.name, m.path);
  }
}

Models::~Models() = default;

std::vector<std::string> Models::names() const {
  std::vector<std::string> all;
  for (const auto& entry : entries_) all.push_back(entry->name);
  return all;
}

const std::string& Models::first() const { return entries_[0]->segmenter.name; }

const NamedSegmenter& Models::named(const std::string& name) {
  const auto at = name.empty() || name == first()
                      ? entries_.begin()
                      : std::find_if(entries_.begin(), entries_.end(), [&](const auto& e) { return e->name == name; });
  if (at == entries_.end())
    throw Error(fmt::format("model: {} does not exist; allowed: {}", detail::quoted(name), fmt::join(names(), ", ")));
  Entry& entry = **at;
  std::call_once(entry.once, [&] {
    MaskSource source = source_;
    source.model = entry.path;
    entry.segmenter = make_segmenter(source);
  });
  return entry.segmenter;
}

}  // namespace oriel::portrait
