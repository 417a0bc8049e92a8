// Which U-Net a file holds, by its keys and shapes.
#include <algorithm>
#include <set>

#include "nn/network/layers.h"
#include "quoted.h"
#include "text.h"

namespace oriel::nn {
namespace {

constexpr index_t kAny = -1;  // an extent that another key will tell
constexpr int kMaxLevels = 16;

struct Expected {
  std::string key;
  Extents shape;
  bool optional = false;
};

bool has_prefix(const Weights& weights, const std::string& prefix) {
  const auto at = weights.tensors().lower_bound(prefix);
  return at != weights.tensors().end() && at->first.starts_with(prefix);
}

// Levels that a file speaks of, also where some of their keys are missing.
int count_levels(const Weights& weights, const KeyNames& names) {
  int levels = has_prefix(weights, names.first + ".") ? 1 : 0;
  for (int level = 1; level < kMaxLevels; ++level) {
    const std::string conv = names.level(level, 0).convolution;
    if (has_prefix(weights, conv.substr(0, conv.rfind('.') + 1))) levels = level + 1;
  }
  for (int number = 1; number < kMaxLevels; ++number) {
    const std::string conv = names.up_layer(number, 0).convolution;
    if (has_prefix(weights, names.up_convolution(number) + ".") ||
        has_prefix(weights, conv.substr(0, conv.rfind('.') + 1)))
      levels = std::max(levels, number + 1);
  }
  return levels;
}

index_t extent(const Weights& weights, const std::string& key, int axis) {
  const ConstTensor* const t = weights.find(key);
  return t == nullptr || t->rank() <= axis ? kAny : t->shape[axis];
}

// Channels of a level: what most of its keys would agree on, the first that is there.
index_t find_width(const Weights& weights, const KeyNames& names, int level) {
  for (int which : {1, 0}) {
    const LayerKeys keys = names.level(level, which);
    for (const std::string& key : {keys.convolution + ".weight", keys.norm + ".weight", keys.norm + ".running_mean"})
      if (const index_t width = extent(weights, key, 0); width != kAny) return width;
  }
  return kAny;
}

void expect_layer(std::vector<Expected>& out, const LayerKeys& keys, index_t inputs, index_t outputs) {
  out.push_back({keys.convolution + ".weight", {outputs, inputs, 3, 3}});
  out.push_back({keys.convolution + ".bias", {outputs}, true});
  for (const char* part : {".weight", ".bias", ".running_mean", ".running_var"})
    out.push_back({keys.norm + part, {outputs}});
  out.push_back({keys.norm + ".num_batches_tracked", {}, true});
}

std::vector<Expected> expected_keys(const UNetDescription& d, const KeyNames& names) {
  std::vector<Expected> out;
  const auto width = [&](int level) { return d.widths[static_cast<std::size_t>(level)]; };
  for (int level = 0; level < d.levels(); ++level) {
    expect_layer(out, names.level(level, 0), level == 0 ? d.input_channels : width(level - 1), width(level));
    expect_layer(out, names.level(level, 1), width(level), width(level));
  }
  for (int number = 1; number < d.levels(); ++number) {
    const int level = d.levels() - 1 - number;
    const index_t own = width(level);
    out.push_back({names.up_convolution(number) + ".weight", {width(level + 1), own, 2, 2}});
    out.push_back({names.up_convolution(number) + ".bias", {own}, true});
    expect_layer(out, names.up_layer(number, 0), own == kAny ? kAny : 2 * own, own);
    expect_layer(out, names.up_layer(number, 1), own, own);
  }
  out.push_back({names.head + ".weight", {d.classes, width(0), 1, 1}});
  out.push_back({names.head + ".bias", {d.classes}, true});
  return out;
}

bool matches(const ConstTensor& t, const Extents& shape) {
  if (t.rank() != shape.size()) return false;
  for (int axis = 0; axis < t.rank(); ++axis)
    if (t.shape[axis] < 1 || (shape[axis] != kAny && shape[axis] != t.shape[axis])) return false;
  return true;
}

std::string shape_text(const Extents& shape) {
  std::string out;
  for (index_t v : shape) out += (out.empty() ? "" : "x") + (v == kAny ? std::string("?") : std::to_string(v));
  return out.empty() ? "scalar" : out;
}

// `a, b, c and 7 more`
std::string list_of(const std::vector<std::string>& names) {
  constexpr std::size_t listed = 6;
  std::string out;
  for (std::size_t i = 0; i < std::min(names.size(), listed); ++i) out += (i == 0 ? "" : ", ") + names[i];
  return names.size() <= listed ? out : fmt::format("{} and {} more", out, names.size() - listed);
}

[[noreturn]] void refuse_other(const Weights& weights) {
  std::vector<std::string> keys;
  for (const auto& [key, tensor] : weights.tensors()) keys.push_back(detail::shortened(key));
  std::string wanted;
  for (const KeyNames& names : KeyNames::known())
    wanted +=
        fmt::format("{}'{}.weight' ({})", wanted.empty() ? "" : " or ", names.level(0, 0).convolution, names.name);
  throw Error(fmt::format("{}: not a U-Net with known key names: no key {}; the file has {}", weights.file(), wanted,
                          keys.empty() ? "no tensor" : list_of(keys)));
}

void refuse_bilinear(const Weights& weights, const KeyNames& names, int levels) {
  for (int number = 1; number < levels; ++number) {
    const std::string conv = names.up_layer(number, 0).convolution;
    if (has_prefix(weights, names.up_convolution(number)) || !has_prefix(weights, conv)) return;
  }
  if (levels < 2) return;
  throw Error(
      fmt::format("{}: a U-Net that up-samples bilinearly (there is no '{}.weight'); only those with transposed "
                  "convolutions are supported: make the network with bilinear=False",
                  weights.file(), names.up_convolution(1)));
}

// Every key is there, has its shape and is a number; no other key is.
void check_keys(const Weights& weights, const std::vector<Expected>& expected, const KeyNames& names, int levels) {
  std::vector<std::string> missing, wrong, left;
  std::set<std::string> known;
  for (const Expected& e : expected) {
    known.insert(e.key);
    const ConstTensor* const t = weights.find(e.key);
    if (t == nullptr) {
      if (!e.optional) missing.push_back(e.key);
    } else if (!e.key.ends_with(".num_batches_tracked")) {
      if (!matches(*t, e.shape))
        wrong.push_back(fmt::format("{} is {} instead of {}", e.key, shape_text(t->shape), shape_text(e.shape)));
      else if (!is_floating(t->dtype))
        wrong.push_back(fmt::format("{} has elements of {} instead of a floating type", e.key, name(t->dtype)));
    }
  }
  for (const auto& [key, tensor] : weights.tensors())
    if (!known.contains(key)) left.push_back(detail::shortened(key));
  if (missing.empty() && wrong.empty() && left.empty()) return;
  std::string text;
  for (const auto& [what, list] : {std::pair("missing: ", &missing), {"wrong: ", &wrong}, {"not part of it: ", &left}})
    if (!list->empty()) text += (text.empty() ? "" : "; ") + (what + list_of(*list));
  throw Error(fmt::format("{}: not the weights of a {}-level U-Net with the key names '{}': {}", weights.file(), levels,
                          names.name, text));
}

}  // namespace

UNetDescription describe(const Weights& weights) {
  const KeyNames* names = nullptr;
  int levels = 0;
  for (const KeyNames& candidate : KeyNames::known())
    if (const int count = count_levels(weights, candidate); count > levels) {
      names = &candidate;
      levels = count;
    }
  if (names == nullptr) refuse_other(weights);
  if (levels < 2) throw Error(fmt::format("{}: a U-Net of one level, but at least 2 are needed", weights.file()));
  refuse_bilinear(weights, *names, levels);

  UNetDescription d;
  d.key_names = names->name;
  d.skip_first = names->skip_first;
  for (int level = 0; level < levels; ++level) d.widths.push_back(find_width(weights, *names, level));
  const index_t inputs = extent(weights, names->level(0, 0).convolution + ".weight", 1);
  const index_t classes = extent(weights, names->head + ".weight", 0);
  constexpr index_t kMost = 1 << 16;
  d.input_channels = static_cast<int>(inputs > kMost ? kAny : inputs);
  d.classes = static_cast<int>(classes > kMost ? kAny : classes);
  for (index_t& width : d.widths) width = width > kMost ? kAny : width;
  d.convolution_bias = weights.find(names->level(0, 0).convolution + ".bias") != nullptr;
  check_keys(weights, expected_keys(d, *names), *names, levels);
  const auto too_many = [&](index_t channels) { return channels < 1; };
  if (too_many(d.input_channels) || too_many(d.classes) || std::any_of(d.widths.begin(), d.widths.end(), too_many))
    throw Error(fmt::format("{}: a layer has more than {} channels", weights.file(), kMost));
  return d;
}

index_t UNetDescription::parameters() const {
  const auto names = KeyNames::known().front();
  index_t count = 0;
  for (const Expected& e : expected_keys(*this, names)) {
    const bool statistics =
        e.key.ends_with(".running_mean") || e.key.ends_with(".running_var") || e.key.ends_with(".num_batches_tracked");
    const bool absent = !convolution_bias && e.optional && e.key.find("double_conv") != std::string::npos;
    if (!statistics && !absent) count += element_count(e.shape);
  }
  return count;
}

index_t UNetDescription::multiplications(index_t height, index_t width) const {
  index_t total = height * width * widths.front() * classes;
  for (int l = 0; l < levels(); ++l) {
    const auto at = static_cast<std::size_t>(l);
    const index_t pixels = (height >> l) * (width >> l), own = widths[at];
    total += 9 * pixels * own * ((l == 0 ? input_channels : widths[at - 1]) + own);
    if (l + 1 < levels()) total += pixels * own * (widths[at + 1] + 9 * (2 * own + own));
  }
  return total;
}

}  // namespace oriel::nn
