// A vector: a problem, the inputs that its line stands for, and the hash of its results. The head of vectors.txt says
// the same in words.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "oriel/pool.h"

namespace oriel::vectors {

/// What the floating inputs hold.
enum class Data { numbers, ties, specials };

/// A line's name, read: a problem name, then words that begin with @.
struct Vector {
  Problem problem;
  Data data = Data::numbers;
  IndexSpace space = IndexSpace::plane;  // window if the problem has codes
  Dtype index_dtype = Dtype::i64;        // u8 or i32 if the problem has codes
  bool unpool = false;                   // what is hashed is the result, put back where the indices say

  bool indexed() const { return problem.indices || problem.codes; }
  bool backward() const { return problem.direction == Direction::backward; }
};

/// Throws Error for a name that is none.
Vector parse_vector(std::string_view name);

/// Elements one after another in memory.
struct Elements {
  Dtype dtype = Dtype::f32;
  std::vector<std::byte> bytes;
};

/// Seeds of the two inputs.
inline constexpr std::uint32_t kSeedOfX = 1, kSeedOfDy = 2;

/// The first `count` elements of a seed.
Elements inputs(Dtype dtype, index_t count, Data data, std::uint32_t seed);

/// FNV-1a of 64 bits over elements, each as its little-endian bytes, any NaN as one.
class Hash {
 public:
  void add(const Elements& elements);
  std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = 0xcbf29ce484222325U;
};

}  // namespace oriel::vectors
