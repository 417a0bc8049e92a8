// Programs that must fail, and how.
#pragma once

#include <gtest/gtest.h>

#include "tile/tutorial.h"

namespace oriel::tile::test {

// The call fails with that id, a text that holds all of `parts`, and a line of these tests.
template <class F>
inline void expect_failure(const F& call, const std::string& id, const std::vector<std::string>& parts,
                           const Where& where = Where::current()) {
  const Thrown t = thrown_by(call);
  EXPECT_EQ(t.id, id) << t.text << " (line " << where.line_number << ")";
  const bool has_line =
      t.text.find("errors_test.cc:") != std::string::npos || t.text.find("errors.h:") != std::string::npos;
  EXPECT_TRUE(has_line) << t.text;
  for (const std::string& part : parts)
    EXPECT_NE(t.text.find(part), std::string::npos)
        << part << " is not in: " << t.text << " (line " << where.line_number << ")";
}

inline nki::array floats(const Extents& shape) { return nki::array::arange(Dtype::f32, shape); }

// A kernel that returns a tensor of that shape and does what `body` says with the argument and it.
template <class F>
auto kernel_of(const Extents& shape, F body) {
  return nki::jit("failing", [=](nl::tensor x) {
    auto out = nl::ndarray(shape, {.buffer = nl::shared_hbm});
    body(x, out);
    return out;
  });
}

}  // namespace oriel::tile::test
