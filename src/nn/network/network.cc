#include "nn/network/network.h"
#include "text.h"

#include <algorithm>

namespace oriel::nn {
namespace {

class Builder {
 public:
  Builder(const UNetDescription& d, const NetworkForm& form)
      : d_(d),
        form_(form),
        names_(*std::find_if(KeyNames::known().begin(), KeyNames::known().end(),
                             [&](const KeyNames& n) { return n.name == d.key_names; })) {}

  Network build() {
    const int deepest = d_.levels() - 1;
    int at = image();
    std::vector<int> skips, ups;
    for (int level = 0; level <= deepest; ++level) {
      const std::string block = fmt::format("down_{}", level + 1);
      if (level > 0) at = pool(block, at, level);
      const int first = convolution(block, 0, names_.level(level, 0), at, -1, blocks(level), level,
                                    {{0, 0, level == 0 ? d_.input_channels : width(level - 1)}});
      const int up = level < deepest ? blocks(level) : -1;  // the skip's neighbour, written on the way up
      ups.push_back(up);
      const int out = blocks(level, up);
      at = convolution(block, 1, names_.level(level, 1), first, -1, out, level, {{0, 0, width(level)}});
      skips.push_back(at);
    }
    for (int number = 1; number <= deepest; ++number) {
      const int level = deepest - number;
      const std::string block = fmt::format("up_{}", number);
      const int raised = ups[static_cast<std::size_t>(level)];
      up(block, number, at, raised, level);
      const int first = convolution(block, 0, names_.up_layer(number, 0), raised,
                                    skips[static_cast<std::size_t>(level)], blocks(level), level, joined(level));
      at = convolution(block, 1, names_.up_layer(number, 1), first, -1, blocks(level), level, {{0, 0, width(level)}});
    }
    head(at);
    return std::move(net_);
  }

 private:
  index_t width(int level) const { return d_.widths[static_cast<std::size_t>(level)]; }
  index_t padded(index_t channels) const { return (channels + form_.block - 1) / form_.block * form_.block; }

  int tensor(index_t channels, int level, bool plain, Dtype dtype, int after = -1) {
    NetworkTensor t;
    t.channels = channels;
    t.height = form_.height >> level;
    t.width = form_.width >> level;
    const index_t multiple = plain ? 1 : form_.plane_multiple;
    t.plane = (t.height * t.width + multiple - 1) / multiple * multiple;
    t.bytes = t.channels * t.plane * size_bytes(dtype);
    t.plain = plain;
    t.dtype = dtype;
    t.after = form_.channels_last ? -1 : after;
    net_.tensors.push_back(t);
    return static_cast<int>(net_.tensors.size()) - 1;
  }

  int blocks(int level, int after = -1) { return tensor(padded(width(level)), level, false, form_.dtype, after); }

  NetworkStep& step(StepKind kind, const std::string& block, const std::string& layer, int input, int output) {
    NetworkStep s;
    s.kind = kind;
    s.block = block;
    s.layer = layer;
    s.input = input;
    s.output = output;
    net_.steps.push_back(std::move(s));
    return net_.steps.back();
  }

  index_t pixels(int level) const { return (form_.height >> level) * (form_.width >> level); }

  int image() {
    const index_t channels = form_.plain_image ? d_.input_channels : padded(d_.input_channels);
    const int out = tensor(channels, 0, form_.plain_image && !form_.channels_last, form_.dtype);
    step(StepKind::copy_in, "down_1", "in", -1, out).channels = d_.input_channels;
    return out;
  }

  int convolution(const std::string& block, int which, const LayerKeys& keys, int input, int more, int output,
                  int level, std::vector<ChannelRun> runs) {
    NetworkStep& s = step(StepKind::convolution, block, which == 0 ? "conv1" : "conv2", input, output);
    s.input_more = more;
    s.keys = keys;
    s.channels = width(level);
    s.ends_block = which == 1;
    for (const ChannelRun& run : runs) s.multiplications += 9 * pixels(level) * run.count * s.channels;
    s.runs = std::move(runs);
    return output;
  }

  int pool(const std::string& block, int input, int level) {
    const int out = tensor(padded(width(level - 1)), level, false, form_.dtype);
    if (form_.fused_pools) {
      net_.steps.back().pooled = out;
      return out;
    }
    step(StepKind::pool, block, "pool", input, out).channels = width(level - 1);
    return out;
  }

  void up(const std::string& block, int number, int input, int output, int level) {
    NetworkStep& s = step(StepKind::up, block, "up", input, output);
    s.keys.convolution = names_.up_convolution(number);
    s.channels = width(level);
    s.multiplications = pixels(level) * width(level + 1) * width(level);
  }

  // In memory the up-sampled channels lie before the skip; in the file the order is the author's.
  std::vector<ChannelRun> joined(int level) const {
    const index_t own = width(level);
    return {{d_.skip_first ? own : 0, 0, own}, {d_.skip_first ? 0 : own, padded(own), own}};
  }

  void head(int input) {
    const int logits = tensor(d_.classes, 0, true, Dtype::f32);
    NetworkStep& s = step(StepKind::head, "out", "head", input, logits);
    s.keys.convolution = names_.head;
    s.channels = d_.classes;
    s.ends_block = true;
    s.multiplications = pixels(0) * width(0) * d_.classes;
    step(StepKind::copy_out, "out", "out", logits, -1).channels = d_.classes;
  }

  const UNetDescription& d_;
  const NetworkForm& form_;
  const KeyNames& names_;
  Network net_;
};

}  // namespace

std::vector<Lifetime> Network::lifetimes() const {
  std::vector<Lifetime> out(tensors.size());
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    out[i].bytes = tensors[i].bytes;
    out[i].after = tensors[i].after;
  }
  for (std::size_t s = 0; s < steps.size(); ++s) {
    const int at = static_cast<int>(s);
    for (int t : {steps[s].output, steps[s].pooled})
      if (t >= 0) out[static_cast<std::size_t>(t)].first = at;
    for (int t : {steps[s].input, steps[s].input_more, steps[s].output, steps[s].pooled})
      if (t >= 0) out[static_cast<std::size_t>(t)].last = at;
  }
  return out;
}

Network make_network(const UNetDescription& description, const NetworkForm& form) {
  return Builder(description, form).build();
}

}  // namespace oriel::nn
