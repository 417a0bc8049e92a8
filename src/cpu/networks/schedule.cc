#include "cpu/networks/schedule.h"

#include <algorithm>

namespace oriel::cpu {
namespace {

constexpr std::uint32_t kNone = ~std::uint32_t{0};
constexpr std::size_t kWires = 4;

// Exchanges that are one step: wire w of it is read from `in[w]`, and is the value `out[w]` afterwards.
struct Step {
  std::array<std::uint32_t, 3> members{kNone, kNone, kNone};
  std::array<Ref, kWires> in{};
  std::array<std::uint32_t, kWires> out{};
  std::uint32_t shape = 0;
  std::uint32_t place = 0;  // among the exchanges: where all that it reads is there

  bool has(std::uint32_t e) const { return std::find(members.begin(), members.end(), e) != members.end(); }
  std::size_t wires() const { return static_cast<std::size_t>(kExchangeShapes[shape].wires); }
};

class Scheduler {
 public:
  Scheduler(std::uint32_t inputs, std::span<const Pair> pairs, std::span<const Ref> results)
      : inputs_(inputs), pairs_(pairs), results_(results), uses_(inputs + 2 * pairs.size()) {
    find_uses();
  }

  Selection run() {
    step_of_.assign(pairs_.size(), false);
    for (std::uint32_t e = 0; e < pairs_.size(); ++e) join_two(e);
    for (std::uint32_t e = 0; e < pairs_.size(); ++e) join_chain(e);
    for (std::uint32_t e = 0; e < pairs_.size(); ++e)
      if (is_free(e)) keep(single(e));
    std::sort(steps_.begin(), steps_.end(), [](const Step& a, const Step& b) { return a.place < b.place; });
    return place_rows();
  }

 private:
  struct Uses {
    std::vector<std::uint32_t> readers;  // exchanges
    bool result = false;

    bool any() const { return result || !readers.empty(); }
  };

  std::uint32_t low(std::uint32_t e) const { return inputs_ + 2 * e; }
  // The exchange that makes a value, kNone for an input.
  std::uint32_t maker(Ref r) const { return r.node < inputs_ ? kNone : (r.node - inputs_) / 2; }
  bool is_live(std::uint32_t e) const { return uses_[low(e)].any() || uses_[low(e) + 1].any(); }
  bool is_free(std::uint32_t e) const { return e != kNone && !step_of_[e] && is_live(e); }
  // Whether a value is there for one reader alone, which reads it where it is made.
  bool is_handed_on(Ref r) const {
    return r.shift == 0 && r.node >= inputs_ && !uses_[r.node].result && uses_[r.node].readers.size() == 1;
  }

  void find_uses() {
    for (const Ref& r : results_) uses_[r.node].result = true;
    for (std::size_t i = pairs_.size(); i-- > 0;) {
      const auto e = static_cast<std::uint32_t>(i);
      if (!is_live(e)) continue;
      uses_[pairs_[e].a.node].readers.push_back(e);
      uses_[pairs_[e].b.node].readers.push_back(e);
    }
  }

  Step single(std::uint32_t e) const {
    Step step{.members = {e, kNone, kNone}, .in = {pairs_[e].a, pairs_[e].b}, .place = e};
    step.out = {low(e), low(e) + 1, 0, 0};
    return step;
  }

  // Adds exchange e of the wires i and j.
  void add(Step& step, std::uint32_t e, std::size_t i, std::size_t j) const {
    *std::find(step.members.begin(), step.members.end(), kNone) = e;
    step.out[i] = low(e);
    step.out[j] = low(e) + 1;
  }

  std::size_t wire_of(const Step& step, std::uint32_t node) const {
    return static_cast<std::size_t>(std::find(step.out.begin(), step.out.end(), node) - step.out.begin());
  }

  static std::uint32_t shape_of(int wires, std::array<std::int8_t, 4> then) {
    const auto found = std::find_if(kExchangeShapes.begin(), kExchangeShapes.end(),
                                    [&](const ExchangeShape& s) { return s.wires == wires && s.then == then; });
    return static_cast<std::uint32_t>(found - kExchangeShapes.begin());
  }

  // Whether nobody reads what the step makes before it is made.
  bool is_in_time(const Step& step) const {
    for (const std::uint32_t e : step.members) {
      if (e == kNone) continue;
      for (const std::uint32_t node : {low(e), low(e) + 1}) {
        for (const std::uint32_t reader : uses_[node].readers)
          if (!step.has(reader) && reader <= step.place) return false;
      }
    }
    return true;
  }

  void keep(const Step& step) {
    for (const std::uint32_t e : step.members)
      if (e != kNone) step_of_[e] = true;
    steps_.push_back(step);
  }

  // Two exchanges, and e of one value of each.
  void join_two(std::uint32_t e) {
    const Ref a = pairs_[e].a, b = pairs_[e].b;
    const std::uint32_t first = maker(a), second = maker(b);
    if (!is_free(e) || !is_free(first) || !is_free(second) || first == second) return;
    if (!is_handed_on(a) || !is_handed_on(b)) return;
    Step step = single(first);
    step.members[1] = second;
    step.in[2] = pairs_[second].a;
    step.in[3] = pairs_[second].b;
    step.out[2] = low(second);
    step.out[3] = low(second) + 1;
    step.place = std::max(first, second);
    if (std::any_of(step.in.begin(), step.in.end(), [&](Ref r) { return maker(r) == first || maker(r) == second; }))
      return;
    const std::size_t i = wire_of(step, a.node), j = wire_of(step, b.node);
    step.shape = shape_of(4, {2, 3, static_cast<std::int8_t>(i), static_cast<std::int8_t>(j)});
    add(step, e, i, j);
    if (is_in_time(step)) keep(step);
  }

  // The step and exchange e, of one of the step's values and another one.
  bool grow(Step& step, std::uint32_t e) const {
    if (!is_free(e) || step.has(e)) return false;
    const Pair& pair = pairs_[e];
    for (const auto& [own, other] : {std::pair(pair.a, pair.b), std::pair(pair.b, pair.a)}) {
      const std::uint32_t from = maker(own);
      if (from == kNone || !step.has(from) || !is_handed_on(own)) continue;
      if (maker(other) != kNone && step.has(maker(other))) continue;
      Step grown = step;
      const std::size_t i = wire_of(step, own.node), j = step.wires();
      const auto a = static_cast<std::int8_t>(i), b = static_cast<std::int8_t>(j);
      const auto then = kExchangeShapes[step.shape].then;
      grown.shape = j == 2 ? shape_of(3, {a, b, 0, 0}) : shape_of(4, {then[0], then[1], a, b});
      grown.in[j] = other;
      grown.place = std::max(step.place, e);
      add(grown, e, i, j);
      if (!is_in_time(grown)) continue;
      step = grown;
      return true;
    }
    return false;
  }

  void join_chain(std::uint32_t e) {
    if (!is_free(e)) return;
    Step step = single(e);
    for (int more = 0; more < 2; ++more) {
      std::vector<std::uint32_t> next;
      for (std::size_t w = 0; w < step.wires(); ++w) {
        if (is_handed_on({step.out[w], 0})) next.push_back(uses_[step.out[w]].readers[0]);
      }
      std::sort(next.begin(), next.end());
      if (std::none_of(next.begin(), next.end(), [&](std::uint32_t reader) { return grow(step, reader); })) break;
    }
    if (step.members[1] != kNone) keep(step);
  }

  // A row whose last reader is past is used again.
  Selection place_rows() const {
    const std::size_t nodes = uses_.size();
    std::vector<std::int64_t> reach(nodes, -1);  // lanes that readers need beyond those of a call; -1: no reader
    std::vector<std::size_t> last(nodes, 0);
    const auto need = [&](Ref r, std::int64_t lanes, std::size_t reader) {
      if (reach[r.node] < 0) last[r.node] = reader;
      reach[r.node] = std::max(reach[r.node], lanes + r.shift);
    };
    std::vector<std::int64_t> lanes(steps_.size(), 0);
    for (const Ref& r : results_) need(r, 0, steps_.size());
    for (std::size_t s = steps_.size(); s-- > 0;) {
      const Step& step = steps_[s];
      for (std::size_t w = 0; w < step.wires(); ++w) lanes[s] = std::max(lanes[s], reach[step.out[w]]);
      for (std::size_t w = 0; w < step.wires(); ++w) need(step.in[w], lanes[s], s);
    }
    Selection all;
    all.inputs = inputs_;
    std::vector<std::uint32_t> row(nodes, kNoRow), unused;
    for (std::uint32_t i = 0; i < inputs_; ++i) {
      row[i] = i;
      all.reach = std::max(all.reach, static_cast<std::uint32_t>(std::max<std::int64_t>(0, reach[i])));
    }
    for (std::size_t s = 0; s < steps_.size(); ++s) {
      const Step& step = steps_[s];
      Exchange to{.shape = step.shape, .extra = static_cast<std::uint32_t>(lanes[s])};
      for (std::size_t w = 0; w < step.wires(); ++w) {
        const Ref in = step.in[w];
        to.in[w] = row[in.node];
        to.shift[w] = in.shift;
        if (in.node < inputs_ || last[in.node] != s) continue;
        unused.push_back(row[in.node]);
        last[in.node] = nodes + steps_.size();  // if it is another wire's, too
      }
      for (std::size_t w = 0; w < step.wires(); ++w) {
        if (reach[step.out[w]] < 0) continue;
        if (unused.empty()) unused.push_back(inputs_ + all.scratch++);
        to.out[w] = row[step.out[w]] = unused.back();
        unused.pop_back();
      }
      all.steps.push_back(to);
    }
    for (const Ref& r : results_) all.results.push_back({row[r.node], r.shift});
    return all;
  }

  const std::uint32_t inputs_;
  const std::span<const Pair> pairs_;
  const std::span<const Ref> results_;
  std::vector<Uses> uses_;
  std::vector<bool> step_of_;  // whether an exchange is part of a step
  std::vector<Step> steps_;
};

}  // namespace

Selection schedule(std::uint32_t inputs, std::span<const Pair> pairs, std::span<const Ref> results) {
  return Scheduler(inputs, pairs, results).run();
}

}  // namespace oriel::cpu
