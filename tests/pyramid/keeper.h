// Sources and sinks of pyramids in memory that check what they are given, and volumes to make pyramids of.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <mutex>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "oriel/pyramid.h"
#include "pyramid/naive_pyramid.h"
#include "support.h"

namespace oriel::test {

inline Extents extents(const std::vector<index_t>& values) {
  Extents e;
  for (const index_t v : values) e.push_back(v);
  return e;
}

inline std::vector<std::byte> stored(const std::vector<double>& values, Dtype dtype) {
  std::vector<std::byte> bytes(values.size() * static_cast<std::size_t>(size_bytes(dtype)));
  visit(dtype, [&]<class T>() {
    for (std::size_t i = 0; i < values.size(); ++i) {
      T value{};
      if constexpr (std::is_same_v<T, bool8>)
        value = bool8(values[i] != 0);
      else
        value = static_cast<T>(values[i]);
      std::memcpy(bytes.data() + i * sizeof(T), &value, sizeof value);
    }
  });
  return bytes;
}

/// Keeps what it is given, and checks that it is given every chunk once and whole.
class Keeper : public PyramidSource, public PyramidSink {
 public:
  Keeper(const std::vector<std::byte>& x, const PyramidPlan& plan) : x_(x), plan_(plan) {
    for (const PyramidLevel& level : plan.levels) {
      levels_.emplace_back(static_cast<std::size_t>(element_count(level.shape) * size_bytes(level.dtype)),
                           std::byte{0xa5});
    }
  }

  void read(const Extents& begin, const Tensor& to) override {
    read_ += element_count(to.shape);
    copy(x_.data(), plan_.levels[0], begin, to.shape, static_cast<std::byte*>(to.data), to.pitch, true);
  }
  bool is_uniform(const Extents& begin, const Extents& shape, void* element) override {
    if (!tells_) return false;
    const PyramidLevel& level = plan_.levels[0];
    std::vector<std::byte> box(static_cast<std::size_t>(element_count(shape) * size_bytes(level.dtype)));
    copy(x_.data(), level, begin, shape, box.data(), dense_pitch(shape), true);
    const auto size = static_cast<std::size_t>(size_bytes(level.dtype));
    for (std::size_t i = 0; i < box.size(); i += size) {
      if (std::memcmp(box.data(), box.data() + i, size) != 0) return false;
    }
    std::memcpy(element, box.data(), size);
    return true;
  }
  void write(int level, const Extents& begin, const ConstTensor& chunk) override {
    const PyramidLevel& l = plan_.levels[static_cast<std::size_t>(level)];
    const std::lock_guard lock(mutex_);
    EXPECT_EQ(chunk.dtype, l.dtype);
    for (int d = 0; d < begin.size(); ++d) {
      const index_t extent = plan_.chunks[static_cast<std::size_t>(level)][d];
      EXPECT_EQ(begin[d] % extent, 0);
      EXPECT_EQ(chunk.shape[d], std::min(extent, l.shape[d] - begin[d]));
    }
    EXPECT_TRUE(seen_.insert({level, std::vector<index_t>(begin.begin(), begin.end())}).second) << "a chunk twice";
    copy(static_cast<const std::byte*>(chunk.data), l, begin, chunk.shape,
         levels_[static_cast<std::size_t>(level)].data(), chunk.pitch, false);
  }

  void write_part(int level, const Extents& begin, const ConstTensor& box) override {
    const PyramidLevel& l = plan_.levels[static_cast<std::size_t>(level)];
    const std::lock_guard lock(mutex_);
    EXPECT_EQ(box.dtype, l.dtype);
    for (int d = 0; d < begin.size(); ++d) {
      const index_t extent = plan_.chunks[static_cast<std::size_t>(level)][d];
      EXPECT_EQ(begin[d] / extent, (begin[d] + box.shape[d] - 1) / extent) << "a part of several chunks";
    }
    parts_ += 1;
    copy(static_cast<const std::byte*>(box.data), l, begin, box.shape, levels_[static_cast<std::size_t>(level)].data(),
         box.pitch, false);
  }

  void tell_uniform() { tells_ = true; }
  const std::vector<std::byte>& level(int l) const { return levels_[static_cast<std::size_t>(l)]; }
  index_t read_elements() const { return read_; }
  /// Boxes of chunks that came in parts.
  index_t parts() const { return parts_; }

 private:
  // A box of a dense volume to memory with that pitch, or the other way round (`from` and `to` swap their parts).
  static void copy(const std::byte* from, const PyramidLevel& level, const Extents& begin, const Extents& shape,
                   std::byte* to, const Extents& pitch, bool out) {
    const index_t size = size_bytes(level.dtype), count = element_count(shape);
    const Extents whole = dense_pitch(level.shape);
    for (index_t i = 0; i < count; ++i) {
      index_t rest = i, in_whole = 0, in_box = 0;
      for (int d = shape.size() - 1; d >= 0; --d) {
        in_whole += (begin[d] + rest % shape[d]) * whole[d];
        in_box += rest % shape[d] * pitch[d];
        rest /= shape[d];
      }
      const index_t source = out ? in_whole : in_box, target = out ? in_box : in_whole;
      std::memcpy(to + target * size, from + source * size, static_cast<std::size_t>(size));
    }
  }

  const std::vector<std::byte>& x_;
  const PyramidPlan& plan_;
  std::vector<std::vector<std::byte>> levels_;
  std::set<std::pair<int, std::vector<index_t>>> seen_;
  std::mutex mutex_;
  std::atomic<index_t> read_{0}, parts_{0};
  bool tells_ = false;
};

// Sums of these are exact in any order, and ties of rounding are frequent.
inline Numbers random_numbers(std::mt19937_64& random, const std::vector<index_t>& shape, Dtype dtype, bool labels) {
  Numbers x{shape, {}};
  const index_t count = count_of(shape);
  double run = 0;
  for (index_t i = 0; i < count; ++i) {
    if (labels) {  // long runs of a value
      if (random() % 8 == 0) run = static_cast<double>(random() % 4);
      x.values.push_back(run);
    } else if (is_floating(dtype)) {
      x.values.push_back(static_cast<double>(static_cast<int>(random() % 2001) - 1000) / 8);
    } else {
      const bool is_signed = dtype == Dtype::i8 || dtype == Dtype::i16 || dtype == Dtype::i32;
      x.values.push_back(static_cast<double>(random() % 100) - (is_signed ? 50 : 0));
    }
  }
  return x;
}

struct Kind {
  Pool pool;
  std::vector<Dtype> dtypes;
  bool labels = false;
};

inline std::vector<Kind> kinds() {
  const Scalar zero{std::int64_t{0}};
  const std::vector<Dtype> numbers{Dtype::u8, Dtype::i16, Dtype::u16, Dtype::i32, Dtype::f32, Dtype::f64};
  return {{{.op = Op::avg}, numbers},
          {{.op = Op::max}, numbers},
          {{.op = Op::min}, {Dtype::i16, Dtype::f32}},
          {{.op = Op::first}, {Dtype::u8, Dtype::f32}},
          {{.op = Op::sum}, {Dtype::u8}},
          {{.op = Op::any}, {Dtype::u8, Dtype::boolean}, true},
          {{.op = Op::all}, {Dtype::boolean}, true},
          {{.op = Op::count}, {Dtype::u16}},
          {{.op = Op::median}, {Dtype::u8, Dtype::f32}},
          {{.op = Op::mode}, {Dtype::u8, Dtype::u32, Dtype::i64}, true},
          {{.op = Op::mode, .tie = Tie::highest, .ignore = zero}, {Dtype::u16, Dtype::u64}, true},
          {{.op = Op::avg, .nodata = zero}, {Dtype::u8, Dtype::f32}, true},
          {{.op = Op::avg, .nodata = zero, .min_count = 2}, {Dtype::u16}, true}};
}

}  // namespace oriel::test
