// Networks known while compiling, as lists of compared places: exchange (a, b) puts the lesser at a.
#pragma once

#include <array>
#include <cstdint>
#include <utility>

namespace oriel::cpu {

struct Places {
  std::uint8_t a = 0, b = 0;
};

template <int kMost>
struct PlaceList {
  std::array<Places, kMost> at{};
  int size = 0;

  constexpr void add(int a, int b) {
    at[static_cast<std::size_t>(size++)] = {static_cast<std::uint8_t>(a), static_cast<std::uint8_t>(b)};
  }
};

/// Batcher's odd-even merge of two sorted lists, places 0 ... m - 1 and m ... m + n - 1. Afterwards the element of rank
/// r is at place `order[r]`.
template <int m, int n>
struct Merge {
  static constexpr int kMost = 4 * (m + n);
  PlaceList<kMost> list{};
  std::array<std::uint8_t, static_cast<std::size_t>(m + n)> order{};

  constexpr Merge() {
    std::array<int, m + n> a{}, b{}, out{};
    for (int i = 0; i < m; ++i) a[static_cast<std::size_t>(i)] = i;
    for (int i = 0; i < n; ++i) b[static_cast<std::size_t>(i)] = m + i;
    merge(a, m, b, n, out);
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::uint8_t>(out[i]);
  }

 private:
  using Some = std::array<int, static_cast<std::size_t>(m + n)>;

  static constexpr int every_other(const Some& all, int size, int first, Some& some) {
    int count = 0;
    for (int i = first; i < size; i += 2) some[static_cast<std::size_t>(count++)] = all[static_cast<std::size_t>(i)];
    return count;
  }

  constexpr void merge(const Some& a, int na, const Some& b, int nb, Some& out) {
    if (na == 0 || nb == 0) {
      out = na == 0 ? b : a;
      return;
    }
    if (na == 1 && nb == 1) {
      list.add(a[0], b[0]);
      out[0] = a[0];
      out[1] = b[0];
      return;
    }
    Some even_a{}, even_b{}, odd_a{}, odd_b{}, even{}, odd{};
    const int ea = every_other(a, na, 0, even_a), eb = every_other(b, nb, 0, even_b);
    const int oa = every_other(a, na, 1, odd_a), ob = every_other(b, nb, 1, odd_b);
    merge(even_a, ea, even_b, eb, even);
    merge(odd_a, oa, odd_b, ob, odd);
    std::size_t k = 0;
    out[k++] = even[0];
    const auto evens = static_cast<std::size_t>(ea + eb), odds = static_cast<std::size_t>(oa + ob);
    for (std::size_t i = 0; i < odds; ++i) {
      if (i + 1 < evens) list.add(odd[i], even[i + 1]);
      out[k++] = odd[i];
      if (i + 1 < evens) out[k++] = even[i + 1];
    }
    if (evens == odds + 2) out[k++] = even[evens - 1];
  }
};

inline constexpr std::array<Places, 5> kSortFour{{{0, 1}, {2, 3}, {0, 2}, {1, 3}, {1, 2}}};
inline constexpr std::array<Places, 9> kSortFive{
    {{0, 1}, {3, 4}, {2, 4}, {2, 3}, {1, 4}, {0, 3}, {0, 2}, {1, 3}, {1, 2}}};

}  // namespace oriel::cpu
