// `oriel-portrait models`: the models that are there; `get` installs one, `check` tries a file.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "apps/portrait/commands/options.h"
#include "apps/portrait/runtime/child.h"
#include "apps/portrait/runtime/load.h"
#include "apps/portrait/segment/installed.h"
#include "cli/json.h"
#include "cli/progress.h"
#include "cli/quantities.h"
#include "quoted.h"

namespace oriel::portrait {

extern const char* const kGetSelfie;  // model/get_selfie.py, made part of the program by CMake

namespace {

void list(bool json) {
  const std::vector<InstalledModel> models = installed_models();
  const std::string by_default = model_path("");
  if (json) {
    nlohmann::ordered_json all = nlohmann::ordered_json::array();
    for (const InstalledModel& m : models)
      all.push_back({{"name", m.name},
                     {"installed", m.bytes > 0},
                     {"default", m.path == by_default},
                     {"bytes", m.bytes},
                     {"path", m.path},
                     {"about", m.about},
                     {"licence", m.licence},
                     {"source", m.source}});
    return cli::print(
        cli::json_line({{"models", all}, {"folder", models_folder()}, {"runs_onnx_and_tflite", has_runtime()}}));
  }
  std::string text;
  for (const InstalledModel& m : models)
    text += fmt::format("{} {:<17} {:>13}  {:<11} {}\n{:21}{}\n", m.path == by_default ? '*' : ' ',
                        detail::printable(m.name),
                        m.bytes > 0 ? cli::show_bytes(static_cast<double>(m.bytes)) : "not installed", m.licence,
                        m.source, "", m.about);
  text +=
      fmt::format("* is used by default. Your own .onnx and .tflite files: {}\n", detail::printable(models_folder()));
  if (models[0].bytes == 0) text += "`oriel-portrait models get selfie` installs the selfie models.\n";
  if (!has_runtime())
    text +=
        "This build has no part that runs .onnx and .tflite files; `make portrait-models` in Oriel's source folder "
        "installs it.\n";
  cli::print(text);
}

void get(const ModelsCommand& c) {
  cli::Progress progress("oriel-portrait models");
  progress.set("downloading mediapipe 0.10.14, 36 MB");
  const Ended ended = [&] {
    try {
      return run_child({c.python, "-c", kGetSelfie, models_folder()});
    } catch (const Error& e) {
      throw Error(fmt::format("--python: {}; allowed: a Python with pip", e.what()));
    }
  }();
  std::string text = ended.errors;
  while (text.ends_with('\n')) text.pop_back();
  if (const std::size_t line = text.rfind('\n'); line != std::string::npos) text.erase(0, line + 1);
  if (ended.code != 0)
    throw Error(fmt::format("get {}: {}", c.name,
                            text.empty() ? c.python + " ended without a message" : detail::printable(text)));
  progress.say(fmt::format("selfie, selfie-landscape: {}\n", detail::printable(models_folder())));
}

}  // namespace

int run_models(ModelsCommand c) {
  using What = ModelsCommand::What;
  if (c.what == What::list) {
    list(c.json);
    return cli::kExitDone;
  }
  if (c.what == What::get) {
    get(c);
    return cli::kExitDone;
  }
  c.source.model = model_path(c.source.model);
  if (!is_network_file(c.source.model)) throw Error(fmt::format("{}: not an .onnx or .tflite file", c.source.model));
  if (c.once) limit_trial(c.source.model);
  c.source.trusted = c.once;
  const std::string text = describe_network(c.source);
  if (!c.once) cli::print(text);
  return cli::kExitDone;
}

}  // namespace oriel::portrait
