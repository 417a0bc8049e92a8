#include "apps/portrait/commands/models/model_options.h"

#include <fmt/format.h>

#include <cstdio>
#include <tuple>

#include "quoted.h"

namespace oriel::portrait {
namespace {

// What a network of others needs to be known, if it is none of the known families.
void add_network(CLI::App& app, MaskSource& source, TypedNetwork& typed, const char* size, const char* group) {
  app.add_option(size, typed.size, "size of the input of an .onnx or .tflite model that has no fixed one")
      ->type_name("WxH")
      ->group(group);
  app.add_option("--mean", typed.mean, "colours, 0 to 1, become (value - mean) / scale for an .onnx or .tflite model")
      ->type_name("R,G,B")
      ->group(group);
  app.add_option("--scale", typed.scale, "what colours less their mean are divided by for an .onnx or .tflite model")
      ->type_name("R,G,B")
      ->group(group);
  app.add_option("--output", source.network.output, "output of an .onnx or .tflite model that is the mask")
      ->type_name("NAME")
      ->group(group);
}

}  // namespace

void add_network_source(CLI::App& app, MaskSource& source, TypedNetwork& typed) {
  const char* const group = "Mask";
  const bool has_frames = app.get_name() == "pipe" || app.get_name() == "camera";  // whose size is --size
  add_network(app, source, typed, has_frames ? "--input-size" : "--size,--input-size", group);
  app.add_flag("--trust-model", source.trusted,
               "load an .onnx or .tflite model without trying it in a separate process first")
      ->group(group);
  app.add_option("--min-agreement", source.least_agreement,
                 "smallest agreement of the masks of four parts of the image with the whole's that counts as a person; "
                 "0 looks once (default: 0.75 for the selfie models, else 0)")
      ->group(group)
      ->type_name("SHARE");
}

void add_models(CLI::App& app, ModelsCommand& command, MaskSource& source, TypedNetwork& typed) {
  using What = ModelsCommand::What;
  CLI::App& models =
      *app.add_subcommand("models", "List the models that are there, install one, or try a model's file");
  models.add_flag("--json", command.json, "print JSON");
  CLI::App& get = *models.add_subcommand("get", "Install MediaPipe's selfie models from PyPI into your data folder");
  get.add_option("NAME", command.name, "selfie")->type_name("")->required()->check(CLI::IsMember({"selfie"}));
  get.add_option("--python", command.python, "Python interpreter with pip")->capture_default_str();
  get.callback([&command] { command.what = What::get; });
  CLI::App& check = *models.add_subcommand("check", "Print how an .onnx or .tflite file would be run, and run it once");
  check.add_option("FILE", source.model, "model file, or the name of an installed model")->type_name("")->required();
  add_network(check, source, typed, "--size,--input-size", "Mask");
  check.add_flag("--once", command.once)->group("");
  check.callback([&command] { command.what = What::check; });
  models.require_subcommand(0, 1);
}

// WIDTHxHEIGHT, sides from 1 to `most`.
std::pair<index_t, index_t> parse_size(const std::string& option, const std::string& text, index_t most) {
  int used = 0;
  long long width = 0, height = 0;
  const bool read = std::sscanf(text.c_str(), "%lldx%lld%n", &width, &height, &used) == 2;
  if (!read || static_cast<std::size_t>(used) != text.size() || width < 1 || height < 1 || width > most ||
      height > most)
    throw Error(fmt::format("{}: {} is not a size; allowed: WIDTHxHEIGHT such as 1280x720, sides from 1 to {}", option,
                            detail::quoted(text), most));
  return {width, height};
}

void finish_network(const TypedNetwork& t, MaskSource& source) {
  NetworkSettings& n = source.network;
  if (!t.size.empty()) std::tie(n.width, n.height) = parse_size("--input-size", t.size, 4096);
  if (!t.mean.empty()) n.mean = parse_triple("--mean", t.mean);
  if (!t.scale.empty()) n.scale = parse_triple("--scale", t.scale);
  if (const auto least = source.least_agreement; least && !(*least >= 0 && *least <= 1))
    throw Error(fmt::format("--min-agreement: {} is out of range; allowed: from 0 to 1", *least));
}

}  // namespace oriel::portrait
