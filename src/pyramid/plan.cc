#include "pyramid/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "oriel/pool.h"
#include "pyramid/way.h"

namespace oriel {
namespace detail {
namespace {

constexpr index_t kUsualTile = index_t{4} << 20;     // bytes of level 0: small enough for a cache, large enough to read
constexpr index_t kLargestTile = index_t{64} << 20;  // to hold whole chunks of level 0
constexpr index_t kUsualChunk = 64;
constexpr index_t kMostCounted = index_t{1} << 22;  // chunks whose times are looked at one by one

int bits_for(index_t n) {
  int bits = 0;
  while ((index_t{1} << bits) < n) ++bits;
  return bits;
}

[[noreturn]] void refuse(std::string argument, std::string allowed, std::string value) {
  throw Error(Error::Fields{.function = "pyramid",
                            .argument = std::move(argument),
                            .allowed = std::move(allowed),
                            .value = std::move(value)});
}

Extents usual_chunk(const Extents& shape) {
  Extents chunk;
  for (int d = 0; d < shape.size(); ++d) {
    chunk.push_back(std::min(shape[d], d + 3 >= shape.size() ? kUsualChunk : index_t{1}));
  }
  return chunk;
}

}  // namespace

bool LevelBox::empty() const {
  return std::any_of(shape.begin(), shape.end(), [](index_t n) { return n <= 0; });
}

ZOrder::ZOrder(const Extents& grid) : grid_(grid) {
  for (const index_t n : grid) {
    bits_.push_back(bits_for(n));
    bits_in_all_ += bits_for(n);
  }
}

std::optional<Extents> ZOrder::place(index_t number) const {
  Extents at = Extents::filled(grid_.size(), 0);
  int taken = 0;
  for (int bit = 0; taken < bits_in_all_; ++bit) {
    for (int d = grid_.size() - 1; d >= 0; --d) {
      if (bit >= bits_[d]) continue;
      at[d] |= ((number >> taken) & 1) << bit;
      ++taken;
    }
  }
  for (int d = 0; d < grid_.size(); ++d) {
    if (at[d] >= grid_[d]) return std::nullopt;
  }
  return at;
}

index_t ZOrder::number(const Extents& place) const {
  index_t number = 0;
  int taken = 0;
  for (int bit = 0; taken < bits_in_all_; ++bit) {
    for (int d = grid_.size() - 1; d >= 0; --d) {
      if (bit < bits_[d]) number |= ((place[d] >> bit) & 1) << taken++;
    }
  }
  return number;
}

// The numbers below fall into blocks, one for each bit of `number` that is set: those that have its bits above that
// one, 0 there, and anything below. The places of a block are a box.
index_t ZOrder::places_before(index_t number) const {
  std::vector<int> axis_of, shift_of;  // of each bit, the lowest first
  for (int bit = 0; static_cast<int>(axis_of.size()) < bits_in_all_; ++bit) {
    for (int d = grid_.size() - 1; d >= 0; --d) {
      if (bit >= bits_[d]) continue;
      axis_of.push_back(d);
      shift_of.push_back(bit);
    }
  }
  if (number >> bits_in_all_ != 0) return element_count(grid_);
  Extents begin = Extents::filled(grid_.size(), 0), extent = Extents::filled(grid_.size(), 1);
  for (int d = 0; d < grid_.size(); ++d) extent[d] = index_t{1} << bits_[d];
  index_t count = 0;
  for (int b = bits_in_all_ - 1; b >= 0; --b) {
    const int d = axis_of[static_cast<std::size_t>(b)];
    extent[d] /= 2;
    if (((number >> b) & 1) == 0) continue;
    index_t places = 1;
    for (int e = 0; e < grid_.size(); ++e) places *= std::clamp<index_t>(grid_[e] - begin[e], 0, extent[e]);
    count += places;
    begin[d] += index_t{1} << shift_of[static_cast<std::size_t>(b)];
  }
  return count;
}

ZOrder::Run ZOrder::run(int rank, int ranks) const {
  const index_t all = element_count(grid_);
  // The first number that has so many places before it.
  const auto number_after = [&](index_t places) {
    index_t least = 0, most = index_t{1} << bits_in_all_;
    while (least < most) {
      const index_t middle = least + (most - least) / 2;
      if (places_before(middle) < places)
        least = middle + 1;
      else
        most = middle;
    }
    return least;
  };
  const auto share = [&](index_t r) { return all / ranks * r + all % ranks * r / ranks; };
  const index_t begin = share(rank), end = share(rank + 1);
  return {.begin = number_after(begin), .end = number_after(end), .places = end - begin};
}

Tiling::Tiling(const Pyramid& pyramid, Dtype dtype, const Extents& shape, const PyramidOptions& options) {
  plan_.levels = pyramid_levels(pyramid, dtype, shape);
  const int rank = shape.size();
  origin_ = pyramid.origin.empty()       ? Extents::filled(rank, 0)
            : pyramid.origin.size() == 1 ? Extents::filled(rank, pyramid.origin[0])
                                         : pyramid.origin;
  first_ = options.with_base ? 0 : 1;
  choose_top(pyramid);
  choose_chunks(options);
  if (options.memory < 0) refuse("memory", "must be >= 0", fmt::format("is {}", options.memory));
  if (options.threads < 0) refuse("threads", "must be >= 0", fmt::format("is {}", options.threads));
  fit(options);
}

// Tiles as large as is usual, or smaller ones if the memory does not suffice.
void Tiling::fit(const PyramidOptions& options) {
  index_t least = std::numeric_limits<index_t>::max();
  const int threads = options.threads > 0 ? options.threads : default_threads();
  for (index_t share = options.memory > 0 ? options.memory / (2 * threads) : kLargestTile;; share /= 2) {
    plan_.threads = threads;
    choose_tile(options, share);
    set_memory(options);
    if (options.memory == 0 || plan_.memory <= options.memory) return;
    least = std::min(least, plan_.memory);
    if (std::all_of(unit_.begin(), unit_.end(), [](index_t n) { return n == 1; })) break;
  }
  refuse("memory", fmt::format("must be at least {} bytes for these levels and chunks", least),
         fmt::format("is {}", options.memory));
}

void Tiling::choose_top(const Pyramid& pyramid) {
  const Way way = way_of(pyramid, levels()[0].dtype);
  carry_bytes_ = carry_bytes(pyramid, way);
  const int last = static_cast<int>(levels().size()) - 1;
  top_ = 1;
  while (top_ < last && element_count(levels()[static_cast<std::size_t>(top_) + 1].factor) <= kMostTileTaps) ++top_;
  if (top_ < last && !can_continue(way)) {
    refuse("factors",
           fmt::format("must make windows of at most {} elements of level 0 for {} of level 0", kMostTileTaps,
                       name(pyramid.pool.op)),
           fmt::format("level {} has windows of {}", top_ + 1,
                       to_string(levels()[static_cast<std::size_t>(top_) + 1].factor)));
  }
}

void Tiling::choose_chunks(const PyramidOptions& options) {
  const auto first = static_cast<std::size_t>(first_), made = levels().size() - first;
  if (options.chunks.size() > 1 && options.chunks.size() != made) {
    refuse("chunks", fmt::format("must be given for no level, for all, or for each of {}", made),
           fmt::format("has {}", options.chunks.size()));
  }
  if (first == 1) plan_.chunks.emplace_back();
  for (std::size_t l = first; l < levels().size(); ++l) {
    const Extents& shape = levels()[l].shape;
    Extents chunk =
        options.chunks.empty() ? usual_chunk(shape) : options.chunks[options.chunks.size() > 1 ? l - first : 0];
    if (chunk.size() == 1) chunk = Extents::filled(shape.size(), chunk[0]);
    if (chunk.size() != shape.size()) {
      refuse("chunks", fmt::format("must have {} values, one for each axis", shape.size()),
             fmt::format("are {}", to_string(chunk)));
    }
    for (int d = 0; d < chunk.size(); ++d) {
      if (chunk[d] < 1) refuse("chunks", "must be >= 1", fmt::format("axis {} has {}", d, chunk[d]));
    }
    plan_.chunks.push_back(chunk);
  }
}

index_t Tiling::begin_of_level(int level, int axis) const {
  return origin_[axis] / levels()[static_cast<std::size_t>(level)].factor[axis];
}

index_t Tiling::tile_extent(int level, int axis) const {
  return unit_[axis] * (levels()[static_cast<std::size_t>(top_)].factor[axis] /
                        levels()[static_cast<std::size_t>(level)].factor[axis]);
}

// Level 0, and of each level what is kept of it and what is written, of one tile.
index_t Tiling::tile_bytes() const {
  index_t bytes = 0;
  for (int l = 0; l <= top_; ++l) {
    index_t elements = 1;
    for (int d = 0; d < unit_.size(); ++d) {
      elements *= std::min(tile_extent(l, d), levels()[static_cast<std::size_t>(l)].shape[d]);
    }
    bytes += elements * (size_bytes(levels()[static_cast<std::size_t>(l)].dtype) + (l > 0 ? carry_bytes_ : 0));
  }
  return bytes;
}

void Tiling::choose_tile(const PyramidOptions& options, index_t share) {
  const Extents& shape = levels()[0].shape;
  unit_ = Extents::filled(shape.size(), 1);
  const auto grow = [&](int axis, index_t most) {
    const Extents before = unit_;
    unit_[axis] *= 2;
    if (tile_bytes() <= most) return true;
    unit_ = before;
    return false;
  };
  for (int d = 0; d < options.source_chunk.size() && d < shape.size(); ++d) {
    while (tile_extent(0, d) < std::min(options.source_chunk[d], shape[d]) && grow(d, std::min(share, kLargestTile))) {
    }
  }
  for (bool grown = true; grown;) {
    int least = -1;
    for (int d = 0; d < shape.size(); ++d) {
      if (tile_extent(0, d) < shape[d] && (least < 0 || tile_extent(0, d) < tile_extent(0, least))) least = d;
    }
    grown = least >= 0 && grow(least, std::min(share, kUsualTile));
  }
  lay_out();
}

void Tiling::lay_out() {
  grid_ = {};
  plan_.tile = {};
  plan_.tiles = 1;
  for (int d = 0; d < unit_.size(); ++d) {
    index_t count = 1;
    const index_t first = begin_of_level(top_, d);
    for (int l = first_; l <= top_; ++l) {
      const index_t ratio =
          levels()[static_cast<std::size_t>(top_)].factor[d] / levels()[static_cast<std::size_t>(l)].factor[d];
      const index_t end = begin_of_level(l, d) + levels()[static_cast<std::size_t>(l)].shape[d];
      count = std::max(count, ceil_div(end - first * ratio, tile_extent(l, d)));
    }
    grid_.push_back(count);
    plan_.tiles *= count;
    plan_.tile.push_back(std::min(tile_extent(0, d), levels()[0].shape[d]));
  }
  order_ = ZOrder(grid_);
  if (order_.bits() > 60) refuse("shape", "must be of at most 2^60 tiles", to_string(levels()[0].shape));
  plan_.threads = static_cast<int>(std::min<index_t>(plan_.threads, plan_.tiles));
}

LevelBox Tiling::box(const Extents& tile, int level) const {
  LevelBox box;
  const PyramidLevel& here = levels()[static_cast<std::size_t>(level)];
  for (int d = 0; d < tile.size(); ++d) {
    const index_t ratio = levels()[static_cast<std::size_t>(top_)].factor[d] / here.factor[d];
    const index_t first = begin_of_level(top_, d) * ratio + tile[d] * tile_extent(level, d) - begin_of_level(level, d);
    const index_t begin = std::max<index_t>(first, 0), end = std::min(first + tile_extent(level, d), here.shape[d]);
    box.begin.push_back(begin);
    box.shape.push_back(std::max<index_t>(end - begin, 0));
  }
  return box;
}

Windows Tiling::windows(const LevelBox& from, int i, const LevelBox& to, int j) const {
  Windows windows;
  for (int d = 0; d < from.shape.size(); ++d) {
    const index_t ratio =
        levels()[static_cast<std::size_t>(j)].factor[d] / levels()[static_cast<std::size_t>(i)].factor[d];
    if (ratio == 1) continue;
    const index_t start = (to.begin[d] + begin_of_level(j, d)) * ratio;
    const index_t lacking = std::max<index_t>(from.begin[d] + begin_of_level(i, d) - start, 0);
    windows.axes.push_back(d);
    windows.kernel.push_back(ratio);
    windows.pad_lo.push_back(lacking);
    windows.pad_hi.push_back(std::max<index_t>(to.shape[d] * ratio - lacking - from.shape[d], 0));
  }
  return windows;
}

std::vector<index_t> Tiling::taps(const LevelBox& box, int level, int axis) const {
  const index_t factor = levels()[static_cast<std::size_t>(level)].factor[axis];
  const index_t begin = origin_[axis], end = begin + levels()[0].shape[axis];
  std::vector<index_t> taps;
  for (index_t o = 0; o < box.shape[axis]; ++o) {
    const index_t first = (box.begin[axis] + o + begin_of_level(level, axis)) * factor;
    taps.push_back(std::min(first + factor, end) - std::max(first, begin));
  }
  return taps;
}

// The most bytes of chunks of a level of which a part has been made, while tiles are made in order. With several
// threads tiles end up to `threads` places later.
index_t Tiling::open_bytes(int level) const {
  const PyramidLevel& here = levels()[static_cast<std::size_t>(level)];
  const Extents& chunk = plan_.chunks[static_cast<std::size_t>(level)];
  index_t count = 1, bytes = size_bytes(here.dtype);
  Extents chunks;
  bool whole = true;  // each chunk is made by one tile
  for (int d = 0; d < chunk.size(); ++d) {
    chunks.push_back(ceil_div(here.shape[d], chunk[d]));
    count *= chunks[d];
    bytes *= std::min(chunk[d], here.shape[d]);
    whole = whole && (chunks[d] == 1 ? grid_[d] == 1 : here.lead[d] == 0 && tile_extent(level, d) % chunk[d] == 0);
  }
  if (whole) return 0;
  if (count > kMostCounted) return bytes * (plan_.threads + 1) * (index_t{1} << chunk.size());
  std::vector<std::pair<index_t, index_t>> events;
  Extents at = Extents::filled(chunk.size(), 0);
  for (index_t c = 0; c < count; ++c) {
    Extents first, last;
    for (int d = 0; d < chunk.size(); ++d) {
      const index_t ratio = levels()[static_cast<std::size_t>(top_)].factor[d] / here.factor[d];
      const index_t shift = begin_of_level(level, d) - begin_of_level(top_, d) * ratio;
      const index_t end = std::min((at[d] + 1) * chunk[d], here.shape[d]) - 1;
      first.push_back((at[d] * chunk[d] + shift) / tile_extent(level, d));
      last.push_back((end + shift) / tile_extent(level, d));
    }
    if (!(first == last)) {
      events.emplace_back(order_.number(first), bytes);
      events.emplace_back(order_.number(last) + plan_.threads, -bytes);
    }
    for (int d = chunk.size() - 1; d >= 0 && ++at[d] == chunks[d]; --d) at[d] = 0;
  }
  std::sort(events.begin(), events.end());
  index_t open = 0, most = 0;
  for (const auto& [place, more] : events) most = std::max(most, open += more);
  return most;
}

void Tiling::set_memory(const PyramidOptions& options) {
  index_t open = 0;
  for (int l = first_; l <= top_; ++l) open += open_bytes(l);
  // What a rank has of chunks that began with another stays until its end, beside those that become whole.
  if (options.ranks != nullptr && options.ranks->size() > 1) open *= 2;
  const int last = static_cast<int>(levels().size()) - 1;
  if (top_ < last) open += element_count(levels()[static_cast<std::size_t>(top_)].shape) * 2 * carry_bytes_;
  const auto total = [&] { return open + plan_.threads * tile_bytes(); };
  while (options.memory > 0 && total() > options.memory && plan_.threads > 1) --plan_.threads;
  plan_.memory = total();
}

}  // namespace detail

PyramidPlan plan_pyramid(const Pyramid& pyramid, Dtype dtype, const Extents& shape, const PyramidOptions& options) {
  return detail::Tiling(pyramid, dtype, shape, options).plan();
}

}  // namespace oriel
