// The intermediate representation of tile programs. A program is a flat list of about a dozen kinds of
// instructions over tensors in HBM and tiles in SBUF; every operand is an affine function of the instruction's
// iteration axes and of the counters of the loops around it.
#pragma once

#include <span>
#include <vector>

#include "oriel/tile/error.h"
#include "oriel/types.h"

namespace oriel::tile {

using Values = std::vector<index_t>;

/// factor * the counter of a loop or of a grid's axis.
struct Term {
  int variable = 0;
  index_t factor = 0;
  friend bool operator==(const Term&, const Term&) = default;
};

/// A constant plus terms, ascending by variable and without zero factors.
struct Affine {
  index_t constant = 0;
  std::vector<Term> terms;

  Affine() = default;
  Affine(index_t value) : constant(value) {}
  /// Its value if variable v has the value counters[v].
  ORIEL_API index_t at(std::span<const index_t> counters) const;
  friend bool operator==(const Affine&, const Affine&) = default;
};
ORIEL_API Affine operator+(const Affine& a, const Affine& b);
ORIEL_API Affine operator*(index_t factor, const Affine& a);

/// The memory of a tensor: HBM of the caller or of the kernel, or the on-chip SBUF of 128 partitions.
enum class Space : std::uint8_t { hbm, shared_hbm, sbuf };

struct TensorInfo {
  std::string name;
  Dtype dtype = Dtype::f32;
  Extents shape;  // dimension 0 of a tile is the partition axis
  Space space = Space::sbuf;
  int parameter = -1;  // which argument; -1: none
  int output = -1;     // which result; -1: none
  int depth = 0;       // number of loops around its definition
  Place where;

  bool on_chip() const { return space == Space::sbuf; }
};

/// The index along one dimension of a tensor: start + sum over the axes of step[axis] * i[axis].
struct Along {
  Affine start;
  Values step;  // one per iteration axis; for the destination of a reduction one per axis that is kept
  friend bool operator==(const Along&, const Along&) = default;
};

/// An operand; every tensor has at least one dimension. An iota's source has no tensor (-1) and one Along, its value.
struct Access {
  int tensor = -1;
  std::vector<Along> along;  // one per dimension of the tensor
};

/// Keeps the indices i of `axis` for which factor * i + rest >= 0; axis -1: all or nothing.
struct Condition {
  int axis = -1;
  index_t factor = 0;
  Affine rest;
};

enum class Opcode : std::uint8_t {
  dma_copy,
  memset,
  iota,
  tensor_copy,
  tensor_reduce,
  tensor_scalar,
  tensor_tensor,
  select,
  activation,
  tensor_tensor_scan,
  max8,
  device_print,
  loop,
  end,
};
/// Arithmetic of reductions, of two operands, and of one (from `absolute` on). All of it is done in f32.
enum class Alu : std::uint8_t {
  add,
  subtract,
  multiply,
  divide,
  max,
  min,
  equal,
  not_equal,
  less,
  less_equal,
  greater,
  greater_equal,
  absolute,
  square,
  sqrt,
  reciprocal,
};
ORIEL_API std::string_view name(Opcode opcode);
ORIEL_API std::string_view name(Alu alu);

/// The counter of a loop or of an axis of the grid: begin, begin + step, …, `trips` values.
struct Counter {
  std::string name;
  index_t begin = 0, step = 1, trips = 0;
  bool ordered = false;  // sequential_range; otherwise iterations may run in any order
  bool grid = false;     // a program_id

  index_t last() const { return begin + step * (trips - 1); }
};

/// One instruction. Its iteration axes are `counts`; the last `reduced` of them are folded, in row-major order. A max8
/// folds all free axes; its eight results are stored from `dst` on.
struct Instruction {
  Opcode opcode = Opcode::end;
  Alu alu = Alu::add, alu1 = Alu::add;  // alu1: the second of a scan
  Access dst;
  std::vector<Access> src;  // select: condition, then, else; scan: two tiles, and the initial one if it is a tile
  Values counts;
  int reduced = 0;
  std::vector<Condition> mask;
  double scalar = 0;          // memset, tensor_scalar, a scan's initial number
  bool scalar_first = false;  // scalar - x instead of x - scalar
  int counter = -1;           // loop, end: which
  std::string text;           // device_print
  Place where;
};

/// A kernel specialised for shapes, dtypes and constants.
struct Program {
  std::string name;
  std::string constants;  // of the call, as text to read
  std::vector<TensorInfo> tensors;
  std::vector<Counter> counters;
  std::vector<int> grid;  // counters of the grid's axes
  std::vector<Instruction> instructions;
  std::vector<int> parameters, outputs;  // tensors

  const TensorInfo& tensor(int id) const { return tensors[static_cast<std::size_t>(id)]; }
};

/// [stride, count] of one axis of an access pattern, in elements.
struct Step {
  index_t stride = 0;
  index_t count = 0;
  friend bool operator==(const Step&, const Step&) = default;
};
/// What the hardware needs for an operand: its offset and its axes, the partition axis first.
struct Pattern {
  Affine offset;
  std::vector<Step> steps;
};
/// The access pattern of an operand of `instruction`: its affine indices composed with the tensor's dense layout.
/// Source: NKI's access patterns (nki-aps, SDK 2.30), tensor.ap().
ORIEL_API Pattern lower(const Program& program, const Instruction& instruction, const Access& access);
/// The same without axes of one element, and with neighbouring axes joined if one stride continues the other; the first
/// axis is kept, and axes that are folded are not joined with others.
ORIEL_API Pattern merged(const Program& program, const Instruction& instruction, const Access& access);
/// `[[36,2],[12,3],[2,3],[6,2],[1,2]]`.
ORIEL_API std::string to_string(const Pattern& pattern, const Program& program);
ORIEL_API std::string to_string(const Affine& affine, const Program& program);
/// The program's listing, one instruction a line.
ORIEL_API std::string to_string(const Program& program);
ORIEL_API std::string to_string(const Program& program, const Instruction& instruction);

/// The part [begin, end) of each iteration axis that a mask keeps, for given counters; empty parts are {0, 0}.
struct Trimmed {
  Values begin, end;
  bool empty = false;
};
ORIEL_API Trimmed trim(const Instruction& instruction, std::span<const index_t> counters);

}  // namespace oriel::tile
