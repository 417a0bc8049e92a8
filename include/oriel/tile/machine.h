// The limits of real machines, the checks of a program against them, and its report.
#pragma once

#include <string>
#include <vector>

#include "oriel/tile/ir.h"

namespace oriel::tile {

namespace nki {

/// A machine's limits; zero: none. Sources: NKI's architecture guides, and nkipy's HardwareConstants.h (for
/// `sbuf_bytes`, what a kernel may use of a partition).
struct machine {
  std::string_view name;
  index_t partitions = 0;       // most of a tile
  index_t sbuf_bytes = 0;       // usable bytes of a partition
  int free_axes = 0;            // most free axes of an access pattern
  index_t count_limit = 0;      // greatest count of an axis
  index_t stride_limit = 0;     // greatest stride, in elements
  double vector_ghz = 0;        // clock of the vector engine
  double dma_bytes_per_us = 0;  // of all DMA engines
};
inline constexpr machine trn1{"trn1", 128, 180224, 4, 65535, 32767, 1.12, 272e3};
inline constexpr machine trn2{"trn2", 128, 212984, 4, 65535, 32767, 0.96, 368e3};
inline constexpr machine trn3{"trn3", 128, 245752, 4, 65535, 32767, 1.2, 528e3};
/// No limits: any program that `verify` accepts runs.
inline constexpr machine native{"native"};
/// The machine with that name; throws Error that names the known ones.
ORIEL_API const machine& machine_named(std::string_view name);

}  // namespace nki

/// One thing that a check found.
struct Finding {
  std::string id;
  bool is_error = true;  // false: a warning
  std::string text;      // what is wrong, the numbers, and how to fix it
  Place where;
};

/// Errors on any machine: an index out of bounds (err_tensor_access_out_of_bound), a read of memory that is never
/// written (err_read_of_unwritten), a result that is not written everywhere (err_tensor_output_not_written_to), an
/// element of HBM that parallel iterations write twice (err_unexpected_output_dependencies), partition axes that are
/// not contiguous (PSTEP).
ORIEL_API std::vector<Finding> verify(const Program& program);

/// Violations of a machine's limits: partitions (err_num_partition_exceed_arch_limit), free axes of a pattern (AP5),
/// counts and strides (AP16), the first partition of a pattern (PSTART), one instruction's operands beyond SBUF
/// (SBUF1); as a warning the sum of all live tiles beyond it (SBUF2).
ORIEL_API std::vector<Finding> check(const Program& program, const nki::machine& machine);

/// Throws Failure for the first error.
ORIEL_API void require(const std::vector<Finding>& findings);

/// Facts about a program, and its costs in a model of the machine.
struct Report {
  index_t bytes_in = 0, bytes_out = 0;  // out of HBM, into HBM, all loops run
  index_t dma = 0, compute = 0;         // instructions that run
  index_t dma_in = 0, dma_out = 0;
  index_t lanes = 0;               // most partitions of one instruction
  index_t sbuf_peak = 0;           // bytes a partition
  std::string peak_at;             // the instruction at the peak, with its line
  std::vector<std::string> alive;  // tiles there
  // The model: AWS's cost formulas of SDK 2.26 and its DMA guide; no device has confirmed them.
  double vector_cycles = 0, vector_us = 0, dma_us = 0;
};
ORIEL_API Report report(const Program& program, const nki::machine& machine);
/// The report as text, facts apart from the model.
ORIEL_API std::string to_string(const Report& report, const Program& program, const nki::machine& machine);

/// A drawing of how an instruction reads its first operand: the axes of its pattern, from the longest step to the
/// shortest, and one partition's elements with a letter for the output that each contributes to.
ORIEL_API std::string draw(const Program& program, const Instruction& instruction);

}  // namespace oriel::tile
