// Several ranks, here threads, make one pyramid: the same as one process does.
#include <gtest/gtest.h>

#include <barrier>
#include <random>
#include <thread>

#include "pyramid/keeper.h"
#include "pyramid/plan.h"
#include "seeds.h"

namespace oriel::test {
namespace {

// What threads that are ranks share.
class Meeting {
 public:
  explicit Meeting(int size) : size_(size), barrier_(size) {}

  int size() const { return size_; }
  void agree(const std::string& failure) {
    {
      const std::lock_guard lock(mutex_);
      if (failure_.empty()) failure_ = failure;
    }
    barrier_.arrive_and_wait();
    if (!failure_.empty()) throw Error(failure_);
  }
  void unite(int rank, void* bytes, index_t count) {
    auto* const mine = static_cast<std::byte*>(bytes);
    {
      const std::lock_guard lock(mutex_);
      all_.resize(static_cast<std::size_t>(count));
      for (std::size_t i = 0; i < all_.size(); ++i) all_[i] |= mine[i];
    }
    barrier_.arrive_and_wait();
    if (rank == 0) {
      std::copy(all_.begin(), all_.end(), mine);
      all_.assign(all_.size(), std::byte{0});
    }
    barrier_.arrive_and_wait();
  }

 private:
  const int size_;
  std::barrier<> barrier_;
  std::mutex mutex_;
  std::string failure_;
  std::vector<std::byte> all_;
};

class Rank : public PyramidRanks {
 public:
  Rank(int rank, Meeting& meeting) : rank_(rank), meeting_(meeting) {}
  int rank() const override { return rank_; }
  int size() const override { return meeting_.size(); }
  void agree(const std::string& failure) override { meeting_.agree(failure); }
  void unite(void* bytes, index_t count) override { meeting_.unite(rank_, bytes, count); }

 private:
  int rank_;
  Meeting& meeting_;
};

std::vector<std::string> build(int ranks, const Pyramid& pyramid, Dtype dtype, const Extents& shape,
                               PyramidSource& source, PyramidSink& sink, const PyramidOptions& options) {
  Meeting meeting(ranks);
  std::vector<std::string> errors(static_cast<std::size_t>(ranks));
  std::vector<std::thread> threads;
  for (int r = 0; r < ranks; ++r) {
    threads.emplace_back([&, r] {
      Rank rank(r, meeting);
      PyramidOptions mine = options;
      mine.ranks = &rank;
      errors[static_cast<std::size_t>(r)] = message([&] { build_pyramid(pyramid, dtype, shape, source, sink, mine); });
    });
  }
  for (std::thread& thread : threads) thread.join();
  return errors;
}

TEST(PyramidRanks, RunsDivideAllTiles) {
  std::mt19937_64 random(6);
  for (int i = 0; i < 300; ++i) {
    Extents shape, step;
    const std::size_t rank = 1 + random() % 3;
    for (std::size_t d = 0; d < rank; ++d) {
      shape.push_back(1 + static_cast<index_t>(random() % 60));
      step.push_back(2);
    }
    const Pyramid pyramid{.pool = {.op = Op::max}, .factors = {step}};
    PyramidOptions options{.threads = 1, .chunks = {Extents::filled(shape.size(), 4)}};
    options.memory = 200 + static_cast<index_t>(random() % 4000);
    if (message([&] { plan_pyramid(pyramid, Dtype::u8, shape, options); }) != "(no error)") options.memory = 0;
    const detail::Tiling tiling(pyramid, Dtype::u8, shape, options);
    const int ranks = 1 + static_cast<int>(random() % 6);
    index_t next = 0, tiles = 0;
    for (int r = 0; r < ranks; ++r) {
      const detail::ZOrder::Run run = tiling.run(r, ranks);
      EXPECT_EQ(run.begin, next);
      index_t there = 0;
      for (index_t place = run.begin; place < run.end; ++place) there += tiling.tile(place) ? 1 : 0;
      EXPECT_EQ(there, run.places);
      EXPECT_LE(std::abs(run.places * ranks - tiling.plan().tiles), ranks);
      next = run.end;
      tiles += there;
    }
    EXPECT_EQ(tiles, tiling.plan().tiles);
    for (index_t place = next; place < tiling.places(); ++place) EXPECT_FALSE(tiling.tile(place));
  }
}

TEST(PyramidRanks, S21_AnyNumberOfRanksMakesTheSame) {
  const std::vector<Kind> all = kinds();
  index_t in_parts = 0;
  for (const unsigned seed : seeds()) {
    std::mt19937_64 random(seed);
    for (int i = 0; i < 150; ++i) {
      const Kind& kind = all[random() % all.size()];
      const Dtype dtype = kind.dtypes[random() % kind.dtypes.size()];
      const std::size_t rank = 1 + random() % 3;
      std::vector<index_t> sizes;
      Extents chunk, first, second;
      for (std::size_t d = 0; d < rank; ++d) {
        sizes.push_back(1 + static_cast<index_t>(random() % (rank == 3 ? 30 : rank == 2 ? 80 : 2000)));
        chunk.push_back(1 + static_cast<index_t>(random() % 12));
        first.push_back(1 + static_cast<index_t>(random() % 2));
        second.push_back(1 + static_cast<index_t>(random() % 3));
      }
      first[0] = 2;
      second[0] = 3;
      Pyramid pyramid{.pool = kind.pool, .factors = {first, second}};
      if (random() % 2 == 0) pyramid.origin = {static_cast<index_t>(random() % 6)};
      const Numbers x = random_numbers(random, sizes, dtype, kind.labels);
      const Extents shape = extents(sizes);
      const std::vector<std::byte> bytes = stored(x.values, dtype);
      PyramidOptions options{
          .threads = 1 + static_cast<int>(random() % 2), .with_base = random() % 2 == 0, .chunks = {chunk}};
      // The least memory gives the smallest tiles; ranks need more than one process.
      const int ranks = 2 + static_cast<int>(random() % 3);
      Meeting meeting(ranks);
      Rank one(0, meeting);
      options.ranks = &one;
      index_t least = 1, most = plan_pyramid(pyramid, dtype, shape, options).memory * 4;
      while (least < most) {
        options.memory = (least + most) / 2;
        const bool fits = message([&] { plan_pyramid(pyramid, dtype, shape, options); }) == "(no error)";
        (fits ? most : least) = fits ? options.memory : options.memory + 1;
      }
      options.memory = 2 * least;
      if (message([&] { plan_pyramid(pyramid, dtype, shape, options); }) != "(no error)") options.memory = 0;
      options.ranks = nullptr;
      const PyramidPlan plan = plan_pyramid(pyramid, dtype, shape, options);
      Keeper alone(bytes, plan), together(bytes, plan);
      if (random() % 2 == 0) {
        alone.tell_uniform();
        together.tell_uniform();
      }
      build_pyramid(pyramid, dtype, shape, alone, alone, options);
      for (const std::string& error : build(ranks, pyramid, dtype, shape, together, together, options))
        ASSERT_EQ(error, "(no error)");
      EXPECT_LE(together.read_elements(), element_count(shape)) << "level 0 is read more than once";
      for (std::size_t l = options.with_base ? 0 : 1; l < plan.levels.size(); ++l)
        ASSERT_EQ(together.level(static_cast<int>(l)), alone.level(static_cast<int>(l)))
            << "level " << l << " of " << to_string(shape) << " by " << ranks << ", seed " << seed << " problem " << i;
      in_parts += together.parts();
    }
  }
  EXPECT_GT(in_parts, 0);
}

// Windows of more elements than a tile may have: what tiles leave comes together in rank 0.
TEST(PyramidRanks, S21_LevelsAboveTilesAreMadeOfAllRanksSums) {
  const Extents shape{5'000'000};
  Numbers x{{shape[0]}, {}};
  std::mt19937_64 random(7);
  for (index_t i = 0; i < shape[0]; ++i) x.values.push_back(static_cast<double>(random() % 200));
  const std::vector<std::byte> bytes = stored(x.values, Dtype::u8);
  const Scalar zero{std::int64_t{0}};
  for (const Pool& pool : {Pool{.op = Op::avg}, Pool{.op = Op::max}, Pool{.op = Op::avg, .nodata = zero}}) {
    const Pyramid pyramid{.pool = pool, .factors = {{1024}, {1024}, {4}, {2}}};
    const PyramidOptions options{.threads = 1, .chunks = {{4096}}};
    const PyramidPlan plan = plan_pyramid(pyramid, Dtype::u8, shape, options);
    Keeper alone(bytes, plan), together(bytes, plan);
    build_pyramid(pyramid, Dtype::u8, shape, alone, alone, options);
    for (const std::string& error : build(3, pyramid, Dtype::u8, shape, together, together, options))
      ASSERT_EQ(error, "(no error)");
    for (int l = 1; l <= 4; ++l) EXPECT_EQ(together.level(l), alone.level(l)) << name(pool.op) << " level " << l;
  }
}

TEST(PyramidRanks, AFailureIsThatOfAll) {
  class Bad : public PyramidSource, public PyramidSink {
   public:
    void read(const Extents& begin, const Tensor& to) override {
      if (begin[0] > 300) throw Error("cannot read");
      std::memset(to.data, 0, static_cast<std::size_t>(element_count(to.shape)));
    }
    void write(int, const Extents&, const ConstTensor&) override {}
    void write_part(int, const Extents&, const ConstTensor&) override {}
  };
  class TakesWhole : public Bad {
   public:
    void read(const Extents&, const Tensor& to) override {
      std::memset(to.data, 0, static_cast<std::size_t>(element_count(to.shape)));
    }
    void write_part(int level, const Extents& begin, const ConstTensor& box) override {
      PyramidSink::write_part(level, begin, box);
    }
  };
  const Pyramid pyramid{.pool = {.op = Op::avg}, .factors = {{2}, {2}}};
  const PyramidOptions options{.threads = 1, .chunks = {{60}}, .memory = 150000};
  Bad bad;
  for (const std::string& error : build(2, pyramid, Dtype::u8, {500, 500}, bad, bad, options))
    EXPECT_EQ(error, "cannot read");
  TakesWhole whole;
  for (const std::string& error : build(2, pyramid, Dtype::u8, {500, 500}, whole, whole, options))
    EXPECT_EQ(error,
              "pyramid: this sink takes whole chunks, but several ranks share some; allowed: one that has write_part");
}

}  // namespace
}  // namespace oriel::test
