#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <exception>
#include <mutex>
#include <optional>

#include "element_copy.h"
#include "oriel/pool.h"
#include "parallel_loop.h"
#include "pyramid/carries.h"
#include "pyramid/chunk_board.h"
#include "pyramid/plan.h"

namespace oriel {
namespace detail {
namespace {

// Whether a window of equal elements gives that element, whatever its size.
bool keeps_uniform(const Pool& pool, Dtype dtype) {
  if (pool.result_dtype && *pool.result_dtype != dtype) return false;
  if (pool.nodata || pool.ignore || pool.min_count != 0 || pool.min_fraction != 0) return false;
  if (pool.nan != NanPolicy::propagate) return false;
  switch (pool.op) {
    case Op::max:
    case Op::min:
    case Op::first:
    case Op::median:
    case Op::quantile:
    case Op::mode:
      return true;
    case Op::avg:
      return !is_floating(dtype);  // a mean of f64 may be rounded, one of -0 be 0
    case Op::any:
    case Op::all:
      return dtype == Dtype::boolean;
    default:
      return false;
  }
}

class Builder {
 public:
  Builder(const Pyramid& pyramid, Dtype dtype, const Extents& shape, PyramidSource& source, PyramidSink& sink,
          const PyramidOptions& options)
      : pyramid_(pyramid),
        tiling_(pyramid_, dtype, shape, options),
        maker_(pyramid_, tiling_),
        ranks_(options.ranks != nullptr && options.ranks->size() > 1 ? options.ranks : nullptr),
        run_(tiling_.run(ranks_ != nullptr ? ranks_->rank() : 0, ranks_ != nullptr ? ranks_->size() : 1)),
        board_(tiling_.plan(), sink, ranks_ != nullptr),
        source_(source),
        threads_(options.threads),
        skips_(keeps_uniform(pyramid.pool, dtype)),
        next_(run_.begin) {
    const bool continues = tiling_.top() + 1 < static_cast<int>(tiling_.levels().size());
    if (continues) prepare_rest();
  }

  PyramidReport build(void (*done)(void*, index_t, index_t), void* context) {
    done_ = done;
    context_ = context;
    const int threads = tiling_.plan().threads;
    // Each takes the next place in Z order until there are none. A single tile is pooled by all of them.
    if (threads == 1)
      work(tiling_.plan().tiles == 1 ? threads_ : 1);
    else
      parallel_loop(0, threads, 1, [&](index_t begin, index_t end) {
        for (index_t i = begin; i < end; ++i) work(1);
      });
    if (ranks_ != nullptr) share();
    if (fault_) std::rethrow_exception(fault_);
    if (ranks_ == nullptr || ranks_->rank() == 0) make_rest();
    if (board_.left() != 0) throw Error(fmt::format("pyramid: {} chunks have not become whole", board_.left()));
    return {.tiles_read = read_,
            .tiles_uniform = uniform_,
            .chunks_written = board_.written(),
            .chunks_uniform = board_.uniform(),
            .peak_memory = board_.most_bytes() + scratch_bytes_ + rest_bytes()};
  }

 private:
  void work(int threads) noexcept {
    try {
      Scratch scratch;
      while (!stop_) {
        const index_t place = next_++;
        if (place >= run_.end) break;
        if (const auto tile = tiling_.tile(place)) make(*tile, scratch, threads);
      }
      scratch_bytes_ += scratch.bytes();
    } catch (...) {
      stop_ = true;
      const std::lock_guard lock(mutex_);
      if (!fault_) fault_ = std::current_exception();
    }
  }

  void make(const Extents& tile, Scratch& scratch, int threads) {
    const auto box_of = [&](int level) { return tiling_.box(tile, level); };
    const LevelBox box = box_of(0);
    std::array<std::byte, 8> element{};
    const bool uniform =
        skips_ && rest_.value.data == nullptr && source_.is_uniform(box.begin, box.shape, element.data());
    if (box.empty() || box_of(tiling_.first()).empty()) {
      // Beyond the last window of a pyramid that leaves parts out.
    } else if (uniform) {
      for (int level = tiling_.first(); level <= tiling_.top(); ++level) {
        const LevelBox there = box_of(level);
        if (!there.empty()) board_.put_uniform(level, there, element.data());
      }
      ++uniform_;
    } else {
      scratch.reset();
      const Tensor x = scratch.tensor(tiling_.levels()[0].dtype, box.shape);
      source_.read(box.begin, x);
      if (tiling_.first() == 0) board_.put(0, box, x);
      const Carry carry = maker_.climb(
          {x, {}}, 0, tiling_.top(), box_of, scratch, threads,
          [&](int level, const LevelBox& there, const ConstTensor& values) { board_.put(level, there, values); });
      keep(carry, box_of(tiling_.top()));
      ++read_;
    }
    if (done_ != nullptr) {
      const std::lock_guard lock(mutex_);
      done_(context_, ++made_, run_.places);
    }
  }

  static std::string text_of(const std::exception_ptr& fault) {
    try {
      std::rethrow_exception(fault);
    } catch (const std::exception& e) {
      return e.what();
    } catch (...) {
      return "an unknown exception";
    }
  }

  // What other ranks have the rest of.
  void share() {
    if (!fault_) {
      try {
        board_.give_parts();
      } catch (...) {
        fault_ = std::current_exception();
      }
    }
    ranks_->agree(fault_ ? text_of(fault_) : "");
    for_each_rest([&](void* bytes, index_t count) { ranks_->unite(bytes, count); });
  }

  // Levels above those of tiles are made of what all tiles have left.
  void prepare_rest() {
    const Extents& shape = tiling_.levels()[static_cast<std::size_t>(tiling_.top())].shape;
    rest_.value = rest_scratch_.tensor(maker_.value_dtype(tiling_.top()), shape);
    if (maker_.has_counts()) rest_.counts = rest_scratch_.tensor(Dtype::i64, shape);
    if (ranks_ == nullptr) return;  // every element will be set
    for_each_rest([](void* bytes, index_t count) { std::memset(bytes, 0, static_cast<std::size_t>(count)); });
  }

  template <class Use>
  void for_each_rest(const Use& use) const {
    for (const ConstTensor& t : {rest_.value, rest_.counts}) {
      if (t.data != nullptr) use(const_cast<void*>(t.data), element_count(t.shape) * size_bytes(t.dtype));
    }
  }

  void keep(const Carry& carry, const LevelBox& box) {
    if (rest_.value.data == nullptr || box.empty()) return;
    copy_elements(carry.value, part(rest_.value, box));
    if (maker_.has_counts()) copy_elements(carry.counts, part(rest_.counts, box));
  }

  static Tensor part(const ConstTensor& whole, const LevelBox& box) {
    index_t offset = 0;
    for (int d = 0; d < box.begin.size(); ++d) offset += box.begin[d] * whole.pitch[d];
    auto* const first = static_cast<std::byte*>(const_cast<void*>(whole.data));
    return {first + offset * size_bytes(whole.dtype), whole.dtype, box.shape, whole.pitch};
  }

  void make_rest() {
    if (rest_.value.data == nullptr) return;
    const int last = static_cast<int>(tiling_.levels().size()) - 1;
    maker_.climb(
        rest_, tiling_.top(), last,
        [&](int level) {
          const Extents& shape = tiling_.levels()[static_cast<std::size_t>(level)].shape;
          return LevelBox{Extents::filled(shape.size(), 0), shape};
        },
        rest_scratch_, threads_,
        [&](int level, const LevelBox& there, const ConstTensor& values) { board_.put(level, there, values); });
  }

  index_t rest_bytes() const { return rest_scratch_.bytes(); }

  const Pyramid pyramid_;
  const Tiling tiling_;
  const LevelMaker maker_;
  PyramidRanks* const ranks_;  // null: this process is alone
  const ZOrder::Run run_;
  ChunkBoard board_;
  PyramidSource& source_;
  const int threads_;  // 0: all
  const bool skips_;
  void (*done_)(void*, index_t, index_t) = nullptr;
  void* context_ = nullptr;
  Scratch rest_scratch_;
  Carry rest_;
  std::atomic<index_t> next_, read_{0}, uniform_{0}, scratch_bytes_{0};
  std::atomic<bool> stop_{false};
  std::mutex mutex_;
  index_t made_ = 0;
  std::exception_ptr fault_;
};

// Tensors in memory as a source and a sink.
class InMemory : public PyramidSource, public PyramidSink {
 public:
  InMemory(const ConstTensor& x, const std::vector<Tensor>& levels) : x_(x), levels_(levels) {}

  void read(const Extents& begin, const Tensor& to) override {
    ConstTensor from = x_;
    from.data = static_cast<const std::byte*>(x_.data) + offset(begin, x_.pitch) * size_bytes(x_.dtype);
    from.shape = to.shape;
    copy_elements(from, to);
  }
  void write(int level, const Extents& begin, const ConstTensor& chunk) override {
    const Tensor& whole = levels_[static_cast<std::size_t>(level) - 1];
    Tensor to = whole;
    to.data = static_cast<std::byte*>(whole.data) + offset(begin, whole.pitch) * size_bytes(whole.dtype);
    to.shape = chunk.shape;
    copy_elements(chunk, to);
  }

 private:
  static index_t offset(const Extents& place, const Extents& pitch) {
    index_t offset = 0;
    for (int d = 0; d < place.size(); ++d) offset += place[d] * pitch[d];
    return offset;
  }

  const ConstTensor& x_;
  const std::vector<Tensor>& levels_;
};

}  // namespace
}  // namespace detail

PyramidReport build_pyramid(const Pyramid& pyramid, Dtype dtype, const Extents& shape, PyramidSource& source,
                            PyramidSink& sink, const PyramidOptions& options, void (*done)(void*, index_t, index_t),
                            void* context) {
  detail::Builder builder(pyramid, dtype, shape, source, sink, options);
  return builder.build(done, context);
}

PyramidReport build_pyramid(const Pyramid& pyramid, const ConstTensor& x, const std::vector<Tensor>& levels,
                            const PyramidOptions& options) {
  const std::vector<PyramidLevel> made = pyramid_levels(pyramid, x.dtype, x.shape);
  if (levels.size() + 1 != made.size()) {
    throw Error(Error::Fields{.function = "pyramid",
                              .argument = "levels",
                              .allowed = fmt::format("must be {}", made.size() - 1),
                              .value = fmt::format("are {}", levels.size())});
  }
  for (std::size_t l = 0; l < levels.size(); ++l) {
    const Tensor& y = levels[l];
    const PyramidLevel& level = made[l + 1];
    if (y.dtype != level.dtype || !(y.shape == level.shape)) {
      throw Error(Error::Fields{.function = "pyramid",
                                .argument = fmt::format("level {}", l + 1),
                                .allowed = fmt::format("must be {} of {}", name(level.dtype), to_string(level.shape)),
                                .value = fmt::format("is {} of {}", name(y.dtype), to_string(y.shape))});
    }
    if (may_self_overlap(y) || may_overlap(y, x)) {
      throw Error(Error::Fields{.function = "pyramid",
                                .argument = fmt::format("level {}", l + 1),
                                .allowed = "must not share memory with the input or within itself",
                                .value = "does"});
    }
  }
  detail::InMemory memory(x, levels);
  return build_pyramid(pyramid, x.dtype, x.shape, memory, memory, options);
}

}  // namespace oriel
