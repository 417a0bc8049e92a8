// Windows are monotone along an axis, so what a part needs is a range, whom it meets is a range of parts, and both are
// found axis by axis; boxes are products of them.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "oriel/distributed.h"

namespace oriel::distributed {
namespace {

// One direction: `made` is computed from the tensor that `travels`. A null axis is not pooled: one to one.
struct Forward {
  const Partition& travels;
  const Partition& made;
  static Range needed(const Axis* axis, Range made) { return axis == nullptr ? made : axis->needs(made); }
  static Range reached(const Axis* axis, Range owned) { return axis == nullptr ? owned : axis->feeds(owned); }
};

struct Backward {
  const Partition& travels;
  const Partition& made;
  static Range needed(const Axis* axis, Range made) { return axis == nullptr ? made : axis->feeds(made); }
  static Range reached(const Axis* axis, Range owned) { return axis == nullptr ? owned : axis->needs(owned); }
};

// Inputs that share a window with those of a part: what their gradients need beside the outputs they feed.
struct Neighbours {
  const Partition& travels;
  const Partition& made;
  static Range needed(const Axis* axis, Range made) { return axis == nullptr ? made : axis->needs(axis->feeds(made)); }
  static Range reached(const Axis* axis, Range owned) { return needed(axis, owned); }
};

// A part of the other grid along one axis, and what is common with it.
struct Meeting {
  index_t part;
  Range range;
};
using Meetings = std::vector<Meeting>;

// What a part that makes `made` needs of a part that owns `owned`. Empty where `owned` lies between windows, although
// the range that `made` needs goes over it.
template <class Side>
Range common(const Axis* axis, Range made, Range owned) {
  const Range both = intersect(Side::needed(axis, made), owned);
  return both.empty() || intersect(Side::reached(axis, both), made).empty() ? Range{} : both;
}

template <class Side>
Meetings sources(const Axis* axis, const Cuts& owners, Range made) {
  Meetings found;
  const Range parts = owners.owners(Side::needed(axis, made));
  for (index_t p = parts.begin; p < parts.end; ++p) {
    const Range both = common<Side>(axis, made, owners.part(p));
    if (!both.empty()) found.push_back({p, both});
  }
  return found;
}

template <class Side>
Meetings destinations(const Axis* axis, const Cuts& makers, Range owned) {
  Meetings found;
  const Range parts = makers.owners(Side::reached(axis, owned));
  for (index_t p = parts.begin; p < parts.end; ++p) {
    const Range both = common<Side>(axis, makers.part(p), owned);
    if (!both.empty()) found.push_back({p, both});
  }
  return found;
}

// All combinations of meetings, but that with oneself, in ascending order of ranks.
std::vector<Piece> pieces(const Partition& grid, const std::vector<Meetings>& along, index_t self) {
  std::vector<Piece> found;
  for (const Meetings& m : along) {
    if (m.empty()) return found;
  }
  std::vector<std::size_t> at(along.size(), 0);
  while (true) {
    Piece piece;
    Extents place;
    for (std::size_t a = 0; a < along.size(); ++a) {
      const Meeting& m = along[a][at[a]];
      place.push_back(m.part);
      piece.box.begin.push_back(m.range.begin);
      piece.box.end.push_back(m.range.end);
    }
    piece.rank = grid.rank_at(place);
    if (piece.rank != self) found.push_back(piece);
    std::size_t a = along.size();
    while (a > 0 && ++at[a - 1] == along[a - 1].size()) at[--a] = 0;
    if (a == 0) return found;
  }
}

// The elements of `made` whose needs lie in `owned`, or are none. Needs begin and end in ascending order.
template <class Side>
Range interior(const Axis* axis, Range made, Range owned) {
  const auto first = [&](Range in, auto holds) {  // the first of `in` for which it holds
    while (!in.empty()) {
      const index_t middle = in.begin + in.size() / 2;
      if (holds(Side::needed(axis, {middle, middle + 1})))
        in.end = middle;
      else
        in.begin = middle + 1;
    }
    return in.begin;
  };
  const index_t begin = first(made, [&](Range need) { return need.begin >= owned.begin; });
  const index_t end = first({begin, made.end}, [&](Range need) { return need.end > owned.end; });
  return {begin, end};
}

void add(Box& box, Range range) {
  box.begin.push_back(range.begin);
  box.end.push_back(range.end);
}

void check_shape(const char* what, const Partition& partition, const Extents& shape) {
  if (partition.shape() == shape) return;
  throw Error(fmt::format("halo plan: the partition of the {} must cover shape {}, but covers {}", what,
                          to_string(shape), to_string(partition.shape())));
}

// What a part's ranges are, seen from where they begin, and whom it meets, seen from where it stands.
template <class Side>
void describe(const Side& side, const Axis* axis, int d, index_t part, std::vector<index_t>& words) {
  const Range owned = side.travels.along(d).part(part), made = side.made.along(d).part(part);
  const Range needed = Side::needed(axis, made), inside = interior<Side>(axis, made, owned);
  const index_t from = owned.begin, to = made.begin;
  words.insert(words.end(),
               {owned.size(), made.size(), needed.begin - from, needed.size(), inside.begin - to, inside.size()});
  for (const Meetings& all :
       {sources<Side>(axis, side.travels.along(d), made), destinations<Side>(axis, side.made.along(d), owned)}) {
    words.push_back(static_cast<index_t>(all.size()));
    for (const Meeting& m : all) words.insert(words.end(), {m.part - part, m.range.size()});
  }
}

}  // namespace

HaloPlan::HaloPlan(const Problem& problem, Partition inputs, Partition outputs)
    : problem_(problem), inputs_(std::move(inputs)), outputs_(std::move(outputs)) {
  check_shape("input", inputs_, problem.shape);
  check_shape("output", outputs_, problem.output_shape);
  if (inputs_.ranks() != outputs_.ranks()) {
    throw Error(
        fmt::format("halo plan: inputs and outputs must be divided among as many ranks, but there are {} and {}",
                    inputs_.ranks(), outputs_.ranks()));
  }
  pooled_.assign(static_cast<std::size_t>(problem.shape.size()), -1);
  for (int a = 0; a < problem.pooled; ++a) {
    pooled_[static_cast<std::size_t>(problem.axes[static_cast<std::size_t>(a)])] = a;
  }
}

template <class Side>
Exchange HaloPlan::exchange(const Side& side, index_t rank) const {
  if (rank < 0 || rank >= ranks()) {
    throw Error(fmt::format("halo plan: the rank must be 0 to {}, but is {}", ranks() - 1, rank));
  }
  Exchange e;
  e.owned = side.travels.part(rank);
  e.made = side.made.part(rank);
  std::vector<Meetings> from, to;
  for (int d = 0; d < side.travels.rank(); ++d) {
    const Axis* axis = axis_of(d);
    const Range owned = e.owned.along(d), made = e.made.along(d);
    add(e.needed, Side::needed(axis, made));
    add(e.interior, interior<Side>(axis, made, owned));
    from.push_back(sources<Side>(axis, side.travels.along(d), made));
    to.push_back(destinations<Side>(axis, side.made.along(d), owned));
  }
  e.kept = intersect(e.needed, e.owned);
  e.receive = pieces(side.travels, from, rank);
  e.send = pieces(side.made, to, rank);
  return e;
}

Exchange HaloPlan::forward(index_t rank) const { return exchange(Forward{inputs_, outputs_}, rank); }
Exchange HaloPlan::backward(index_t rank) const { return exchange(Backward{outputs_, inputs_}, rank); }
Exchange HaloPlan::backward_inputs(index_t rank) const { return exchange(Neighbours{inputs_, inputs_}, rank); }

std::vector<HaloPlan::Kind> HaloPlan::kinds(const Extents& period) const {
  if (!period.empty() && period.size() != inputs_.rank()) {
    throw Error(fmt::format("halo plan: period must have one number for each axis, {}, but has {}", inputs_.rank(),
                            period.size()));
  }
  if (!(inputs_.grid() == outputs_.grid())) {
    throw Error(fmt::format("halo plan: kinds need one grid for inputs and outputs, but there are {} and {}",
                            to_string(inputs_.grid()), to_string(outputs_.grid())));
  }
  std::vector<Kind> all = {{0, 1}};
  for (int d = 0; d < inputs_.rank(); ++d) {
    const index_t every = period.empty() ? 1 : period[d];
    if (every < 1) throw Error(fmt::format("halo plan: period must be >= 1, but axis {} has {}", d, every));
    const Axis* axis = axis_of(d);
    std::map<std::vector<index_t>, Kind> along;  // by description: the first part, and how many are like it
    for (index_t part = 0; part < inputs_.along(d).parts(); ++part) {
      std::vector<index_t> words = {part % every};
      describe(Forward{inputs_, outputs_}, axis, d, part, words);
      describe(Backward{outputs_, inputs_}, axis, d, part, words);
      describe(Neighbours{inputs_, inputs_}, axis, d, part, words);
      ++along.try_emplace(std::move(words), Kind{part, 0}).first->second.count;
    }
    std::vector<Kind> products;
    for (const Kind& before : all) {
      for (const auto& [words, part] : along) {
        products.push_back({before.rank * inputs_.along(d).parts() + part.rank, before.count * part.count});
      }
    }
    all = std::move(products);
  }
  return all;
}

const Axis* HaloPlan::axis_of(int tensor_axis) const {
  const int a = pooled_[static_cast<std::size_t>(tensor_axis)];
  return a < 0 ? nullptr : &problem_.axis[static_cast<std::size_t>(a)];
}

Box HaloPlan::needs(const Box& outputs) const {
  Box box;
  for (int d = 0; d < inputs_.rank(); ++d) add(box, Forward::needed(axis_of(d), outputs.along(d)));
  return box;
}

Box HaloPlan::feeds(const Box& inputs) const {
  Box box;
  for (int d = 0; d < inputs_.rank(); ++d) add(box, Backward::needed(axis_of(d), inputs.along(d)));
  return box;
}

Box HaloPlan::fed_by(const Box& inputs, const Box& outputs) const {
  Box box;
  for (int d = 0; d < inputs_.rank(); ++d) {
    add(box, interior<Backward>(axis_of(d), inputs.along(d), outputs.along(d)));
  }
  return box;
}

Problem HaloPlan::part(const Box& outputs) const {
  Problem problem = problem_;
  problem.shape = needs(outputs).shape();
  problem.output_shape = outputs.shape();
  for (int a = 0; a < problem.pooled; ++a) {
    const std::size_t i = static_cast<std::size_t>(a);
    problem.axis[i] = problem_.axis[i].slice(outputs.along(problem_.axes[i]));
  }
  return problem;
}

}  // namespace oriel::distributed
