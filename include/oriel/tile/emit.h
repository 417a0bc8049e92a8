// Floor 2: programs as NKI's Python.
#pragma once

#include <string>

#include "oriel/tile/ir.h"

namespace oriel::tile {

namespace nki {
/// The language's generations: 0.1 (SDK 2.20 to 2.26, `neuronxcc.nki`: mgrid, load, store) and 0.6 (SDK 2.32, `nki`:
/// nki.isa instructions on access patterns).
enum class nki_version : std::uint8_t { v0_1, v0_6 };
}  // namespace nki

/// The program in the instructions that a generation has: 0.6 has no division, so x / y becomes x * (1 / y), both steps
/// in f32; with powers of two the result is the same, else the last bit may differ.
ORIEL_API Program for_version(const Program& program, nki::nki_version version);

/// The program, after for_version, as a Python module with one kernel. It follows the published documentation; no
/// device has run it.
ORIEL_API std::string emit_nki(const Program& program, nki::nki_version version = nki::nki_version::v0_6);

}  // namespace oriel::tile
