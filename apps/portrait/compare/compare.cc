#include "apps/portrait/compare/compare.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <random>

#include "apps/portrait/compare/process.h"
#include "cli/stopwatch.h"
#include "io/output_file.h"

namespace oriel::portrait {
namespace {

namespace fs = std::filesystem;

// A folder that is gone at the end.
class Folder {
 public:
  Folder() {
    std::string name = (fs::temp_directory_path() / "oriel-compare-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw Error(fmt::format("{}: no folder can be made there", name));
    path_ = name;
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  std::string file(const char* name) const { return (path_ / name).string(); }

 private:
  fs::path path_;
};

void save(const nn::Weights& weights, const std::string& path) {
  io::OutputFile out(path);
  nn::write_safetensors(weights, out.writer());
  out.commit();
}

std::vector<float> random_image(index_t count, std::uint64_t seed) {
  std::mt19937_64 random(seed + 1);
  std::uniform_real_distribution<float> values(0, 1);
  std::vector<float> out(static_cast<std::size_t>(count));
  for (float& v : out) v = values(random);
  return out;
}

struct Block {
  std::string name;
  Extents shape;
  std::vector<float> values;
};

BlockDifference difference(const Block& own, const nn::Weights& reference) {
  const ConstTensor* const theirs = reference.find(own.name);
  if (theirs == nullptr || theirs->dtype != Dtype::f32 || theirs->shape != own.shape)
    throw Error(fmt::format("compare: PyTorch's process gave no block {} of {}", own.name, to_string(own.shape)));
  const auto* const values = static_cast<const float*>(theirs->data);
  BlockDifference out;
  out.block = own.name;
  out.shape = own.shape;
  for (std::size_t i = 0; i < own.values.size(); ++i) {
    const double apart = std::fabs(static_cast<double>(own.values[i]) - values[i]);
    out.mean += apart;
    out.most = apart <= out.most ? out.most : apart;  // a NaN stays
    out.largest = std::max(out.largest, std::fabs(static_cast<double>(values[i])));
  }
  out.mean /= static_cast<double>(own.values.size());
  return out;
}

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

double seconds_of(const std::function<void()>& work) {
  const cli::Stopwatch watch;
  work();
  return watch.in_all();
}

class Run {
 public:
  explicit Run(const CompareOptions& options) : options_(options) {
    if (options.runs < 0) throw Error(fmt::format("compare: runs must be >= 0, but it is {}", options.runs));
    if (options.threads < 1) throw Error(fmt::format("compare: threads must be >= 1, but it is {}", options.threads));
    for (const std::string& other : options.others)
      if (other != "onnxruntime" && other != "openvino")
        throw Error(fmt::format("compare: engine '{}'; allowed: onnxruntime, openvino", other));
    if (!options.weights.empty()) return;
    if (options.widths.size() < 2 || *std::min_element(options.widths.begin(), options.widths.end()) < 1)
      throw Error("compare: widths must be at least two numbers >= 1");
  }

  Comparison compare() {
    open_network();
    image_ = random_image(out_.description.input_channels * options_.height * options_.width, options_.seed);
    logits_.resize(static_cast<std::size_t>(out_.description.classes * options_.height * options_.width));
    open_engines();
    compare_blocks();
    take_times();
    take_step_times();
    return std::move(out_);
  }

 private:
  void open_network() {
    weights_file_ = options_.weights;
    if (weights_file_.empty()) {
      weights_file_ = folder_.file("weights.safetensors");
      save(random_weights(options_.widths, options_.seed), weights_file_);
    }
    net_.emplace(nn::UNet::load(weights_file_, {.threads = options_.threads,
                                                .arithmetic = options_.arithmetic,
                                                .layout = options_.layout,
                                                .device = options_.device}));
    out_.prepare_seconds = seconds_of([&] { net_->prepare(options_.height, options_.width); });
    out_.weights = options_.weights.empty() ? fmt::format("random, seed {}", options_.seed) : options_.weights;
    out_.description = net_->description();
    out_.arithmetic = options_.arithmetic;
    out_.device = options_.device;
    out_.height = options_.height;
    out_.width = options_.width;
    out_.threads = net_->options().threads;
    out_.library = net_->library();
    out_.memory = net_->memory();
    out_.steps = net_->steps();
  }

  // Each answers `open` with its name and version.
  void open_engines() {
    nn::Weights picture;
    picture.add("image", ConstTensor(image_.data(), {1, out_.description.input_channels, out_.height, out_.width}));
    save(picture, folder_.file("image.safetensors"));
    std::vector<std::string> names{"torch"};
    names.insert(names.end(), options_.others.begin(), options_.others.end());
    const std::string script = options_.script.empty() ? ORIEL_COMPARE_SCRIPT : options_.script;
    const bool cuda = options_.device == Device::cuda;
    out_.times.push_back({fmt::format("Oriel ({}{})", name(options_.arithmetic), cuda ? ", CUDA" : ""), {}});
    for (const std::string& name : names) {
      engines_.push_back(std::make_unique<Process>(
          std::vector<std::string>{options_.python, script, name, std::to_string(out_.threads), weights_file_,
                                   folder_.file("image.safetensors"), cuda ? "cuda" : "cpu"}));
      out_.times.push_back({engines_.back()->ask("open"), {}});
    }
  }

  void compare_blocks() {
    engines_.front()->ask("blocks " + folder_.file("blocks.safetensors"));
    const nn::Weights theirs = nn::Weights::load(folder_.file("blocks.safetensors"));
    net_->run(image_.data(), logits_.data(),
              [&](const std::string& block, const Extents& shape, std::span<const float> values) {
                out_.blocks.push_back(difference({block, shape, {values.begin(), values.end()}}, theirs));
              });
    for (BlockDifference& block : out_.blocks)
      for (const nn::UNetCopies& row : net_->copies())
        if (row.block == block.block) block.copies = row.copies;
  }

  // The steps' own times; those of whole runs have no clock inside.
  void take_step_times() {
    std::vector<std::vector<double>> runs;
    for (int run = 0; run < options_.runs; ++run) runs.push_back(net_->time_steps(image_.data(), logits_.data()));
    for (std::size_t step = 0; step < out_.steps.size() && !runs.empty(); ++step) {
      std::vector<double> values;
      for (const std::vector<double>& run : runs) values.push_back(run[step]);
      out_.step_milliseconds.push_back(median(values));
    }
  }

  void take_times() {
    for (int run = -1; run < options_.runs; ++run)  // the first of each warms up
      for (std::size_t engine = 0; engine < out_.times.size(); ++engine) {
        const double seconds = engine == 0 ? seconds_of([&] { net_->run(image_.data(), logits_.data()); })
                                           : std::atof(engines_[engine - 1]->ask("time").c_str());
        if (run >= 0) out_.times[engine].seconds.push_back(seconds);
      }
  }

  const CompareOptions& options_;
  Folder folder_;
  std::string weights_file_;
  std::optional<nn::UNet> net_;
  std::vector<float> image_, logits_;
  std::vector<std::unique_ptr<Process>> engines_;
  Comparison out_;
};

}  // namespace

double EngineTimes::median() const { return portrait::median(seconds); }

Comparison compare(const CompareOptions& options) { return Run(options).compare(); }

}  // namespace oriel::portrait
