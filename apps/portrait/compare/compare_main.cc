// oriel-portrait-compare: the comparison as a program of its own.
#include <CLI/CLI.hpp>
#include <cstdio>

#include "apps/portrait/compare/compare.h"

int main(int argc, char** argv) try {
  oriel::portrait::CompareOptions options;
  CLI::App app("A U-Net's blocks and times beside PyTorch's, on the same weights and image.");
  std::string arithmetic = "fp32";
  oriel::index_t size = 512;
  bool json = false;
  app.add_option("--weights", options.weights, "file of weights; without it random ones of the source's network");
  app.add_option("--widths", options.widths, "channels by level of random weights")->capture_default_str();
  app.add_option("--seed", options.seed, "of random weights and of the image")->capture_default_str();
  app.add_option("--size", size, "height and width of the image")->capture_default_str();
  app.add_option("--threads", options.threads, "of every engine")->capture_default_str();
  app.add_option("--arithmetic", arithmetic, "fp32 or bf16")->capture_default_str();
  app.add_option("--runs", options.runs, "timed runs of each engine")->capture_default_str();
  app.add_option("--others", options.others, "engines to time too: onnxruntime, openvino");
  app.add_option("--python", options.python, "the interpreter that has torch")->capture_default_str();
  app.add_flag("--json", json, "print one JSON object");
  CLI11_PARSE(app, argc, argv);
  options.height = options.width = size;
  options.arithmetic = oriel::nn::parse_arithmetic(arithmetic);
  const oriel::portrait::Comparison result = oriel::portrait::compare(options);
  std::fputs((json ? json_of(result) : text_of(result)).c_str(), stdout);
  return 0;
} catch (const oriel::Error& e) {
  std::fprintf(stderr, "oriel-portrait-compare: %s\n", e.what());
  return 1;
}
