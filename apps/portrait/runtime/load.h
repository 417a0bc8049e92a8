// The optional part of the program, which runs networks of others, loaded when it is needed.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "apps/portrait/runtime/network.h"

namespace oriel::portrait {

/// True for names that end in `.onnx` or `.tflite`, whatever their case.
bool is_network_file(const std::string& file);

/// True if this build has the optional part; whether it can be loaded is seen when it is.
bool has_runtime();

/// The network in an ONNX or TensorFlow Lite file. Throws Error: without the optional part, with the line that installs
/// it; for a file that is not such a model, that keeps weights in other files, or has operations that are unknown.
std::unique_ptr<Network> open_network(const std::string& file);

/// Opens and runs the file in a process of its own first, by `oriel-portrait models check` with `options`: a file made
/// to crash its reader ends that process, not this one. Throws Error with what it reported.
void try_network(const std::string& file, const std::vector<std::string>& options);

/// Limits on memory and time for a process that tries a file.
void limit_trial(const std::string& file);

}  // namespace oriel::portrait
