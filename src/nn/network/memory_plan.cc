#include "nn/network/memory_plan.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>
#include <random>

namespace oriel::nn {
namespace {

constexpr index_t kAlignment = 64;
constexpr int kShuffles = 200;

index_t aligned(index_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

bool meet(const Lifetime& a, const Lifetime& b) { return a.first <= b.last && b.first <= a.last; }

// A tensor, or two that lie side by side.
struct Unit {
  std::vector<int> members;
  index_t bytes = 0;
  int steps = 0;  // from its first to its last
  int first = 0;
};

class Placement {
 public:
  explicit Placement(const std::vector<Lifetime>& tensors) : tensors_(tensors), offsets_(tensors.size(), -1) {}

  // The lowest offset at which no member meets what is placed already: 0, or where something placed ends.
  void place(const Unit& unit) {
    index_t best = fits(unit, 0) ? 0 : std::numeric_limits<index_t>::max();
    for (int p : placed_) {
      const index_t end = offsets_[static_cast<std::size_t>(p)] + size(p);
      index_t within = 0;
      for (int member : unit.members) {  // the end may touch the second member as well as the first
        const index_t at = end - within;
        if (at >= 0 && at < best && fits(unit, at)) best = at;
        within += size(member);
      }
    }
    for (int member : unit.members) {
      offsets_[static_cast<std::size_t>(member)] = best;
      best += size(member);
      placed_.push_back(member);
    }
    bytes_ = std::max(bytes_, best);
  }

  index_t bytes() const { return bytes_; }
  std::vector<index_t> offsets() && { return std::move(offsets_); }

 private:
  index_t size(int tensor) const { return aligned(tensors_[static_cast<std::size_t>(tensor)].bytes); }

  bool fits(const Unit& unit, index_t offset) const {
    for (int member : unit.members) {
      for (int p : placed_) {
        const index_t other = offsets_[static_cast<std::size_t>(p)];
        if (offset < other + size(p) && other < offset + size(member) &&
            meet(tensors_[static_cast<std::size_t>(p)], tensors_[static_cast<std::size_t>(member)]))
          return false;
      }
      offset += size(member);
    }
    return true;
  }

  const std::vector<Lifetime>& tensors_;
  std::vector<index_t> offsets_;
  std::vector<int> placed_;
  index_t bytes_ = 0;
};

std::vector<Unit> make_units(const std::vector<Lifetime>& tensors) {
  std::vector<int> follower(tensors.size(), -1);
  for (std::size_t i = 0; i < tensors.size(); ++i)
    if (tensors[i].after >= 0) follower[static_cast<std::size_t>(tensors[i].after)] = static_cast<int>(i);
  std::vector<Unit> units;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (tensors[i].after >= 0) continue;
    Unit unit;
    int last = 0;
    unit.first = tensors[i].first;
    for (int member = static_cast<int>(i); member >= 0; member = follower[static_cast<std::size_t>(member)]) {
      const Lifetime& t = tensors[static_cast<std::size_t>(member)];
      unit.members.push_back(member);
      unit.bytes += aligned(t.bytes);
      unit.first = std::min(unit.first, t.first);
      last = std::max(last, t.last);
    }
    unit.steps = last - unit.first + 1;
    units.push_back(std::move(unit));
  }
  return units;
}

index_t lower_bound(const std::vector<Lifetime>& tensors) {
  index_t most = 0;
  for (const Lifetime& at : tensors) {  // the most live where one begins
    index_t live = 0;
    for (const Lifetime& t : tensors)
      if (t.first <= at.first && at.first <= t.last) live += aligned(t.bytes);
    most = std::max(most, live);
  }
  return most;
}

}  // namespace

MemoryPlan plan_memory(const std::vector<Lifetime>& tensors) {
  MemoryPlan best;
  best.lower_bound = lower_bound(tensors);
  best.bytes = std::numeric_limits<index_t>::max();
  std::vector<Unit> units = make_units(tensors);
  const auto attempt = [&] {
    Placement placement(tensors);
    for (const Unit& unit : units) placement.place(unit);
    if (placement.bytes() >= best.bytes) return;
    best.bytes = placement.bytes();
    best.offsets = std::move(placement).offsets();
  };
  const auto by = [&](const std::function<index_t(const Unit&)>& key) {
    std::stable_sort(units.begin(), units.end(), [&](const Unit& a, const Unit& b) { return key(a) > key(b); });
    attempt();
  };
  by([](const Unit& u) { return u.bytes * u.steps; });
  by([](const Unit& u) { return index_t{u.steps}; });
  by([](const Unit& u) { return -index_t{u.first}; });
  by([](const Unit& u) { return u.bytes; });
  std::mt19937 random(1);
  // Exchanges of two neighbours of the order by size, as long as the bound is not met.
  for (int i = 0; i < kShuffles && best.bytes > best.lower_bound && units.size() > 1; ++i) {
    const std::size_t at = random() % (units.size() - 1);
    std::swap(units[at], units[at + 1]);
    attempt();
  }
  return best;
}

}  // namespace oriel::nn
