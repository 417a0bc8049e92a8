// `oriel-portrait folder`: what has a result is not made again, so that an interrupted run goes on where it was.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>

#include "apps/portrait/commands/image_job.h"
#include "apps/portrait/commands/options.h"
#include "apps/portrait/commands/output_check.h"
#include "cli/json.h"
#include "cli/progress.h"
#include "cli/stopwatch.h"
#include "oriel/pool.h"
#include "quoted.h"

namespace oriel::portrait {
namespace {

namespace fs = std::filesystem;

bool is_image_file(const fs::path& path) {
  std::string ending = path.extension();
  std::transform(ending.begin(), ending.end(), ending.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  for (const char* known : {".png", ".jpg", ".jpeg", ".tif", ".tiff", ".webp"})
    if (ending == known) return path.filename().string().front() != '.';
  return false;
}

struct Job {
  std::string in, out;
};

// What there is to do, by name; results that are there already are counted.
std::vector<Job> jobs_of(const FolderCommand& c, index_t& skipped) {
  std::error_code error;
  const fs::directory_iterator files(c.in, error);
  if (error) throw Error(fmt::format("{}: cannot read the folder: {}", c.in, error.message()));
  fs::create_directories(c.out, error);
  if (error) throw Error(fmt::format("{}: cannot make the folder: {}", c.out, error.message()));
  if (fs::equivalent(c.in, c.out, error))
    throw Error(fmt::format("{}: IN and OUT are the same folder; allowed: two folders", c.out));
  std::map<std::string, std::string> by_out;
  for (const fs::directory_entry& entry : files) {
    if (!entry.is_regular_file(error) || !is_image_file(entry.path())) continue;
    const std::string out = (fs::path(c.out) / (entry.path().stem().string() + "." + c.format)).string();
    const auto [at, fresh] = by_out.emplace(out, entry.path().string());
    if (!fresh)
      throw Error(fmt::format("{} and {} would both become {}; allowed: names that differ before their extensions",
                              std::min(at->second, entry.path().string()), std::max(at->second, entry.path().string()),
                              out));
  }
  if (by_out.empty()) throw Error(fmt::format("{}: no image in the folder; allowed: PNG, JPEG, TIFF, WebP", c.in));
  std::vector<Job> jobs;
  for (const auto& [out, in] : by_out) {
    if (!c.again && fs::exists(out, error))
      ++skipped;
    else
      jobs.push_back({in, out});
  }
  return jobs;
}

// The workers' common state.
class Run {
 public:
  Run(const FolderCommand& c, std::vector<Job> jobs, const NamedSegmenter& segmenter, cli::Progress& progress)
      : c_(c), jobs_(std::move(jobs)), segmenter_(segmenter), progress_(progress) {}

  void work() {
    for (std::size_t i = next_++; i < jobs_.size(); i = next_++) one(jobs_[i]);
  }

  std::size_t written() const { return written_; }
  std::size_t without_person() const { return without_person_; }
  std::size_t failed() const { return failed_; }
  // Files with several pictures, of which the first was taken.
  std::size_t several() const { return several_; }

 private:
  void one(const Job& job) {
    std::string failure;
    nlohmann::ordered_json json = nlohmann::ordered_json::object();
    bool person = true, several = false;
    try {
      check_output("oriel-portrait folder", job.in, job.out, c_.asked);
      const ImageDone done = make_image(job.in, job.out, "." + c_.format, c_.asked, segmenter_);
      person = done.written;
      several = done.first_of_several;
      json = json_of(done);
      if (!person)
        failure = fmt::format("{}: no person found: {}", job.in, why_no_person(done, c_.asked.look.chain.mask));
    } catch (const std::bad_alloc&) {
      failure = fmt::format("{}: not enough memory", job.in);
    } catch (const std::exception& e) {
      failure = e.what();
    }
    const std::lock_guard lock(mutex_);
    several_ += several ? 1 : 0;
    (failure.empty() ? written_ : person ? failed_ : without_person_) += 1;
    tell(job, failure, json);
  }

  void tell(const Job& job, const std::string& failure, const nlohmann::ordered_json& json) {
    const std::size_t done = written_ + failed_ + without_person_;
    const double rate = static_cast<double>(done) / std::max(watch_.in_all(), 1e-9);
    progress_.set(fmt::format("{} of {}, {:.2g} a second, {:.0f} s left: {}", done, jobs_.size(), rate,
                              static_cast<double>(jobs_.size() - done) / rate, job.in));
    if (c_.asked.json) {
      nlohmann::ordered_json said = {{"in", job.in}, {"out", job.out}};
      said.update(json);
      if (!failure.empty()) said["error"] = failure;
      progress_.say(cli::json_line(said));
    } else if (!failure.empty()) {
      progress_.complain(detail::printable(failure) + "\n");
    }
  }

  const FolderCommand& c_;
  std::vector<Job> jobs_;
  const NamedSegmenter& segmenter_;
  cli::Progress& progress_;
  std::mutex mutex_;
  std::atomic<std::size_t> next_{0};
  std::size_t several_ = 0, written_ = 0, without_person_ = 0, failed_ = 0;
  const cli::Stopwatch watch_;
};

}  // namespace

int run_folder(FolderCommand c) {
  cli::Progress progress("oriel-portrait folder");
  index_t skipped = 0;
  std::vector<Job> jobs = jobs_of(c, skipped);
  const std::size_t count = jobs.size();
  load_background(c.asked);
  const int threads = c.asked.look.chain.threads > 0 ? c.asked.look.chain.threads : default_threads();
  c.asked.look.chain.threads = 1;  // pictures are what is shared out: as many are in memory as there are threads
  const NamedSegmenter segmenter = count > 0 ? make_segmenter(c.asked.source) : NamedSegmenter{};
  Run run(c, std::move(jobs), segmenter, progress);
  std::vector<std::thread> workers;
  for (std::size_t i = 1; i < std::min(static_cast<std::size_t>(threads), count); ++i)
    workers.emplace_back([&run] { run.work(); });
  run.work();
  for (std::thread& worker : workers) worker.join();
  if (!c.asked.json && !c.asked.quiet)
    progress.say(fmt::format(
        "{}: {} written, {} existed already, {} without a person, {} failed{}\n", detail::printable(c.out),
        run.written(), skipped, run.without_person(), run.failed(),
        run.several() == 0 ? "" : fmt::format("; {} had several images, of which the first was used", run.several())));
  return run.failed() + run.without_person() > 0 ? cli::kExitFailure : cli::kExitDone;
}

}  // namespace oriel::portrait
