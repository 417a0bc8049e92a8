// Every case of the conformance list and further ones for the kernels' own borders, on the device: the real one, or the
// grid emulator. Usage: PROGRAM CASES [DTYPE...]; ends with 1 after a difference.
#include <cstdio>
#include <fstream>

#include "cuda/device_case.h"
#include "cuda/run.h"
#include "every_case.h"
#include "pool/fill.h"
#include "pool/random_problem.h"

namespace oriel::test {

// Defined by the program that this is linked into: sets `watch` if kernels are emulated.
void prepare_device();

namespace {

std::vector<std::string> read_cases(const char* path) {
  std::ifstream file(path);
  std::vector<std::string> names;
  for (std::string line; std::getline(file, line);) {
    if (!line.empty() && line[0] != '#') names.push_back(line);
  }
  return names;
}

class Run {
 public:
  // In the emulator a case takes some 20 ms: f32 sees all, and the other types share them out.
  static bool skips(unsigned number, Dtype dtype) {
    const bool emulated = watch.begin != nullptr;
    return emulated && !every_case() && dtype != Dtype::f32 && (number + static_cast<unsigned>(dtype)) % 8 != 0;
  }
  // Two kinds of data, one in a dense layout and one in another: by turns every kind meets every layout.
  void check(const Problem& p) {
    ++number_;
    check(p, kAllData[number_ % 4], Layout::dense, Layout::dense);
    check(p, kAllData[(number_ + 1 + number_ / 4) % 4], kWritableLayouts[number_ % 5],
          kWritableLayouts[number_ / 5 % 5]);
  }

  int wrongs() const { return wrongs_; }
  unsigned done() const { return done_; }

 private:
  void check(const Problem& p, Data data, Layout in, Layout out) {
    std::mt19937_64 random(number_);
    const auto x = fill(p.dtype, element_count(p.shape), data, random);
    const bool no_backward = data == Data::specials && p.pool.op == Op::lp;  // only a bound, which these have not
    const auto dy = fill(p.dtype, no_backward ? 0 : element_count(p.output_shape), data, random);
    const DeviceCase c(p, x, dy);
    ++done_;
    if (watch.begin != nullptr) watch.begin(done_);
    const std::string wrong = DeviceCheck(c, in, out).all();
    if (wrong.empty()) return;
    if (++wrongs_ <= 20) {
      std::printf("%s %s: %s\n", std::string(oriel::name(p.dtype)).c_str(), oriel::test::name(data), wrong.c_str());
    }
  }

  unsigned number_ = 0, done_ = 0;
  int wrongs_ = 0;
};

int run(int count, char** words) {
  prepare_device();
  if (!cuda::built()) {
    std::puts("cuda conformance: this build has no CUDA backend");
    return 1;
  }
  if (count < 2 || read_cases(words[1]).size() < 30) {
    std::puts("usage: PROGRAM CASES [DTYPE...], CASES a file of problem names");
    return 2;
  }
  std::vector<Dtype> dtypes;
  for (int i = 2; i < count; ++i) dtypes.push_back(parse_dtype(words[i]));
  if (dtypes.empty()) {
    for (int d = 0; d <= static_cast<int>(Dtype::boolean); ++d) dtypes.push_back(static_cast<Dtype>(d));
  }
  Run run;
  for (const Dtype dtype : dtypes) {
    unsigned number = 0;
    for (const std::string& name : read_cases(words[1])) {
      if (Run::skips(++number, dtype)) continue;
      Problem p = parse_problem(name);
      p.dtype = p.result = dtype;
      run.check(p);
    }
    std::mt19937_64 random(17);
    for (int i = 0; i < 100; ++i) {
      Problem p = random_problem(random, 300);
      if (Run::skips(++number, dtype)) continue;
      p.dtype = p.result = dtype;
      run.check(p);
    }
  }
  std::printf("cuda conformance: %u cases, %d wrong\n", run.done(), run.wrongs());
  return run.wrongs() == 0 ? 0 : 1;
}

}  // namespace
}  // namespace oriel::test

int main(int count, char** words) {
  try {
    return oriel::test::run(count, words);
  } catch (const std::exception& e) {  // no device, say
    std::printf("cuda conformance: %s\n", e.what());
    return 1;
  }
}
