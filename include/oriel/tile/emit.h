// Code generators: programs as NKI's Python and as CUDA C++.
#pragma once

#include <string>

#include "oriel/tile/ir.h"

namespace oriel::tile {

namespace nki {
/// The language's generations: 0.1 (SDK 2.20 to 2.26, `neuronxcc.nki`: mgrid, load, store) and 0.6 (SDK 2.32, `nki`:
/// nki.isa instructions on access patterns).
enum class nki_version : std::uint8_t { v0_1, v0_6 };
}  // namespace nki

/// The program with the instructions of a generation: 0.6 has no division, so x / y becomes x * (1 / y), both steps in
/// f32; if y is a power of two the result is the same, otherwise its last bit may differ.
ORIEL_API Program for_version(const Program& program, nki::nki_version version);

/// The program, after for_version, as a Python module with one kernel. It follows the published documentation; no
/// device has run it.
ORIEL_API std::string emit_nki(const Program& program, nki::nki_version version = nki::nki_version::v0_6);

/// A program as CUDA C++, and how to launch it.
struct CudaText {
  /// Headers, one `extern "C" __global__` function, and, if nvcc compiles it, launch_NAME(…, stream).
  std::string text;
  /// The function's name. Its parameters are the program's, its results, and scratch memory if there is any.
  std::string kernel;
  index_t blocks = 1;         // of a grid of one dimension
  int threads = 32;           // of a block; any smaller number gives the same bits
  index_t scratch_bytes = 0;  // of device memory, aligned as cudaMalloc does
};
/// The program as a CUDA kernel. If partitions are independent, each has a block (else iterations of the outermost
/// parallel loop, or programs of the grid, have one). A block's threads share the elements of each instruction, with a
/// barrier after it. Tiles are in shared memory if they fit into 48 KiB, else in scratch memory; tiles that are loaded
/// once are read directly from the tensor. Results are bit-identical to the interpreter's: sums in order, no fused
/// multiply-add. Tensors are dense device memory that does not overlap. Throws Failure for a program that `verify`
/// refuses.
ORIEL_API CudaText emit_cuda(const Program& program);

}  // namespace oriel::tile
