// The reference interpreter and the vectorised way, on dense memory of each tensor.
#pragma once

#include "oriel/tile/jit.h"

namespace oriel::tile {

/// `memory[t]` is dense memory of tensor t, for parameters and results; on-chip tiles the interpreter makes itself.
void interpret(const Program& program, const std::vector<void*>& memory, const Sink& print);
void run_cpu(const Program& program, const std::vector<void*>& memory, const Sink& print);

/// A tile's values as device_print gives them, through read(index of the element along each axis).
std::string printed(const std::string& text, const Values& counts, const std::function<float(const Values&)>& read);

}  // namespace oriel::tile
