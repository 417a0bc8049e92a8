#pragma once

namespace oriel::cli {

/// From now on a signal that ends the program leaves no half-written file behind.
void handle_signals();

}  // namespace oriel::cli
