#include "cpu/states/joiner.h"

#include <bit>

namespace oriel::cpu {

Joiner::Joiner(std::span<const Group> groups, bool bounded) : bounded_(bounded), kernels_(join_rows()) {
  for (const Group& group : groups) {
    group_[groups_++] = {group.join, static_cast<int>(fields_)};
    for (int f = 0; f < fields_of(group.join); ++f) bytes_[fields_++] = bytes_of(group.join);
    state_bytes_ += fields_of(group.join) * bytes_of(group.join);
    scaled_ = scaled_ || group.join == Join::moments;
  }
}

const JoinScale& Joiner::scale(index_t na, index_t nb) {
  JoinScale& s = scales_[static_cast<std::size_t>((na * 7 + nb) % static_cast<index_t>(scales_.size()))];
  if (s.na != na || s.nb != nb) s = make_scale(na, nb, bounded_);
  return s;
}

void Joiner::join(const StateRow& a, index_t na, const StateRow& b, index_t nb, const StateRow& out, index_t n) {
  static constexpr JoinScale kNone{};
  const JoinScale& by = scaled_ ? scale(na, nb) : kNone;
  for (std::size_t g = 0; g < groups_; ++g) {
    const int first = group_[g].first;
    kernels_[static_cast<std::size_t>(group_[g].join)]({a, first}, {b, first}, {out, first}, n, by);
  }
}

void Joiner::copy(const StateRow& from, const StateRow& to, index_t n) const {
  for (std::size_t f = 0; f < fields_; ++f)
    if (from.at[f] != to.at[f]) std::memcpy(to.at[f], from.at[f], static_cast<std::size_t>(whole_steps(n) * bytes_[f]));
}

void Joiner::clear(const StateRow& row, index_t n) const {
  if (n <= 0) return;
  for (std::size_t g = 0; g < groups_; ++g) {
    const Fields fields(row, group_[g].first);
    switch (group_[g].join) {
      case Join::add_f32:
        std::fill_n(fields.as<float>(), n, -0.0F);
        break;
      case Join::add_f64:
        std::fill_n(fields.as<double>(), n, -0.0);
        break;
      case Join::multiply_f64:
        std::fill_n(fields.as<double>(), n, 1.0);
        break;
      case Join::multiply_u64:
        std::fill_n(fields.as<std::uint64_t>(), n, std::uint64_t{1});
        break;
      default:  // zeros are zero bits
        for (int f = 0; f < fields_of(group_[g].join); ++f)
          std::memset(fields.at[f], 0, static_cast<std::size_t>(n * bytes_of(group_[g].join)));
    }
  }
}

PartTree::PartTree(Joiner& joiner, index_t most, index_t width, Arena& arena) : joiner_(joiner) {
  const index_t rooms = static_cast<index_t>(std::bit_width(static_cast<std::uint64_t>(most))) + 3;
  rooms_ = arena.take_array<StateRow>(rooms);
  free_ = arena.take_array<int>(rooms);
  for (index_t i = 0; i < rooms; ++i) {
    rooms_[i] = joiner.take_row(width, arena);
    free_[free_count_++] = static_cast<int>(i);
  }
}

PartTree::Part PartTree::merge(const Part& a, const Part& b, index_t n) {
  if (a.n == 0) return b;
  if (b.n == 0) return a;
  Part to;
  to.n = a.n + b.n;
  to.room = a.room >= 0 ? a.room : b.room >= 0 ? b.room : take_room();
  to.row = rooms_[to.room];
  joiner_.join(a.row, a.n, b.row, b.n, to.row, n);
  if (a.room >= 0) give_room(b.room);
  return to;
}

void PartTree::add(index_t t, Part part, index_t n) {
  std::size_t level = 0;
  for (; (t >> level & 1) != 0; ++level) part = merge(waiting_[level], part, n);
  waiting_[level] = part;
}

index_t PartTree::finish(index_t width, index_t n, const StateRow& out) {
  Part sum;
  for (int level = 63 - std::countl_zero(static_cast<std::uint64_t>(width)); level >= 0; --level) {
    if ((width >> level & 1) == 0) continue;
    const Part& part = waiting_[static_cast<std::size_t>(level)];
    give_room(part.room);
    if (part.n == 0) continue;
    if (sum.n == 0) {
      sum = part;
    } else {
      joiner_.join(sum.row, sum.n, part.row, part.n, out, n);
      sum.row = out;
      sum.n += part.n;
    }
  }
  if (sum.n == 0)
    joiner_.clear(out, whole_steps(n));
  else
    joiner_.copy(sum.row, out, n);
  return sum.n;
}

}  // namespace oriel::cpu
