#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <tuple>

#include "apps/portrait/commands/camera/camera_options.h"
#include "apps/portrait/commands/models/model_options.h"
#include "apps/portrait/commands/options.h"
#include "apps/portrait/image/image_file.h"
#include "apps/portrait/server/http/host_rule.h"
#include "cli/command_line.h"
#include "oriel/pool.h"
#include "quoted.h"

namespace oriel::portrait {
namespace {

using cli::UsageError, cli::one_line;

constexpr const char* kExamples = R"(Examples:
  oriel-portrait image me.jpg me.png                              transparent background
  oriel-portrait image me.jpg blurred.jpg --background blur:25
  oriel-portrait image me.jpg away.jpg --background beach.jpg --fit cover
  oriel-portrait folder staff/ cut/ --background gradient:#fff,#9ab
  oriel-portrait video call.mp4 call.webm                         VP9 with alpha
  oriel-portrait camera /dev/video0 --to /dev/video9              a camera for calls, with a blurred background
  ffmpeg -i in.mp4 -f rawvideo -pix_fmt rgb24 - | oriel-portrait pipe --size 1280x720 --background blur |
    ffmpeg -f rawvideo -pix_fmt rgb24 -s 1280x720 -i - out.mp4

Exit codes: 0 done; 1 failure, or no person found; 2 bad command line.)";

// Options as typed, of whichever subcommand was chosen.
struct Typed {
  ImageCommand image;
  FolderCommand folder;
  PipeCommand pipe;
  VideoCommand video;
  CameraCommand camera;
  ServeCommand serve;
  CompareCommand compare;
  ModelsCommand models;
  index_t compare_size = 512;
  bool channels_last = false;
  Asked asked;
  SmoothOptions smooth;
  std::string background, key, fit = "cover", fill = "black", no_person, size, numbers = "fp32", completion_shell,
                               matte, trimap;
  std::string device = "cpu";
  TypedNetwork network;
  double most_megapixels = 200;
  int threads = 0;
  bool timing = false;
};

// The former name of an option, which works in this release: not in `--help`, and says the new one when it is used.
template <class T>
void add_former_name(CLI::App& app, const std::string& former, const std::string& name, T& value) {
  const auto take = [&app, former, name, &value](const T& given) {
    value = given;
    cli::complain("oriel-portrait " + app.get_name(),
                  former + " is now called " + name + "; the next release will not accept the old name", 0);
  };
  app.add_option_function<T>(former, take)->group("");
}

void add_former_flag(CLI::App& app, const std::string& former, const std::string& name, bool& value) {
  app.add_flag_callback(former,
                        [&app, former, name, &value] {
                          value = true;
                          cli::complain(
                              "oriel-portrait " + app.get_name(),
                              former + " is now called " + name + "; the next release will not accept the old name", 0);
                        })
      ->group("");
}

void add_look(CLI::App& app, Typed& t) {
  const char* const group = "Look";
  Look& look = t.asked.look;
  app.add_option("-b,--background", t.background,
                 "transparent (default; camera: blur), a colour, blur, blur:RADIUS, gradient:COLOUR,COLOUR[,DEGREES], "
                 "or an image file")
      ->type_name("WHAT")
      ->group(group);
  app.add_option("--fit", t.fit, "how a background image fills the frame")
      ->check(CLI::IsMember({"cover", "contain"}))
      ->group(group)
      ->capture_default_str();
  app.add_option("--fill", t.fill, "colour around a background image that does not fill the frame (--fit contain)")
      ->type_name("COLOUR")
      ->group(group)
      ->capture_default_str();
  app.add_flag("--only-mask", look.only_mask, "write the mask as a grey image, in which white is the person")
      ->group(group);
  app.add_flag("--linear-light", look.blend.linear_light, "blend edges in linear light instead of sRGB values")
      ->group(group);
  app.add_option("--light-wrap", look.blend.light_wrap,
                 "share of the new background's light on the person's edge, 0 to 1")
      ->group(group)
      ->capture_default_str();
  app.add_option("--no-person", t.no_person,
                 "what to do if no person is found: fail (default; videos: background), background or keep")
      ->check(CLI::IsMember({"fail", "background", "keep"}))
      ->group(group);
}

void add_edges(CLI::App& app, Typed& t) {
  const char* const group = "Edges";
  MaskOptions& mask = t.asked.look.chain.mask;
  EdgeOptions& edge = t.asked.look.chain.edge;
  app.add_option("--matte", t.matte, "how edges are found: fast, or fine, for hair (default: fine; videos: fast)")
      ->check(CLI::IsMember({"fast", "fine"}))
      ->group(group);
  app.add_option("--feather", edge.feather, "width over which edges are softened, in pixels")
      ->group(group)
      ->type_name("PX");
  app.add_option("--low", mask.low, "mask values up to this one are background, 0 to 1")
      ->group(group)
      ->capture_default_str();
  app.add_option("--high", mask.high, "mask values from this one on are the person, 0 to 1")
      ->group(group)
      ->capture_default_str();
  app.add_option("--keep-parts", mask.keep_parts, "remove parts smaller than this share of the largest part")
      ->group(group)
      ->capture_default_str();
  app.add_option("--fill-holes", mask.fill_holes, "fill holes smaller than this share of the person")
      ->group(group)
      ->capture_default_str();
  app.add_option("--open", mask.open, "remove what is thinner than this radius, in pixels of the mask")
      ->group(group)
      ->capture_default_str();
  app.add_option("--close", mask.close, "close gaps up to this radius, in pixels of the mask")
      ->group(group)
      ->capture_default_str();
  app.add_option("--radius", edge.radius, "radius of the guided filter, in pixels (default: from the mask)")
      ->group(group);
  app.add_option("--epsilon", edge.epsilon, "regularization of the guided filter")->group(group)->capture_default_str();
  app.add_flag("!--keep-colours", edge.decontaminate, "keep the old background's colour in mixed pixels")->group(group);
  app.add_option("--min-area", mask.least_area, "smallest share of the image that counts as a person")
      ->group(group)
      ->capture_default_str();
  app.add_option("--min-confidence", mask.least_confidence, "smallest mean mask value that counts as a person")
      ->group(group)
      ->capture_default_str();
  add_former_name(app, "--least-area", "--min-area", mask.least_area);
  add_former_name(app, "--least-confidence", "--min-confidence", mask.least_confidence);
}

CLI::Option* add_device(CLI::App& app, Typed& t) {
  return app.add_option("--device", t.device, "device that the network runs on: cpu or cuda")
      ->check(CLI::IsMember({"cpu", "cuda"}))
      ->capture_default_str();
}

void add_source(CLI::App& app, Typed& t) {
  const char* const group = "Mask";
  CLI::Option* const model =
      app.add_option("-m,--model", t.asked.source.model,
                     "network: .onnx, .tflite, weights of a U-Net as .safetensors or .pth, or a name of "
                     "`oriel-portrait models` (default: selfie if it is installed, else drawn)");
  model->type_name("MODEL")->group(group);
  CLI::Option* const mask = app.add_option("--mask", t.asked.source.mask,
                                           "mask to use instead of a network's, white or opaque where the person is");
  mask->type_name("FILE")->group(group);
  CLI::Option* const key =
      app.add_option("--key", t.key, "colour of a screen behind the person, to cut by instead of a network's mask");
  key->type_name("COLOUR")->group(group);
  CLI::Option* const trimap = app.add_option(
      "--trimap", t.trimap, "trimap to use instead of a mask: white is the person, black the background, grey unknown");
  trimap->type_name("FILE")->group(group);
  model->excludes(mask)->excludes(key)->excludes(trimap);
  mask->excludes(key)->excludes(trimap);
  key->excludes(trimap);
  add_network_source(app, t.asked.source, t.network);
  app.add_option("--precision", t.numbers, "number format of the network: fp32 or bf16")
      ->check(CLI::IsMember({"fp32", "bf16"}))
      ->group(group)
      ->capture_default_str();
  add_former_name(app, "--numbers", "--precision", t.numbers);
  add_device(app, t)->group(group);
  app.add_flag(
         "--reproducible", t.asked.source.reproducible,
         "give the same bytes in every run on this machine: choose the network's algorithms by rule, not by timing")
      ->group(group);
}

void add_rest(CLI::App& app, Typed& t) {
  app.add_option("-t,--threads", t.threads, "largest number of threads (default: all processors)")
      ->check(CLI::Range(1, 4096))
      ->type_name("N");
  app.add_option("--max-megapixels", t.most_megapixels, "largest image that is accepted")
      ->check(CLI::Range(0.001, 100000.0))
      ->capture_default_str();
  app.add_flag("--json", t.asked.json, "print a report as JSON on standard output");
  app.add_flag("-q,--quiet", t.asked.quiet, "print nothing but errors");
}

void add_replace_input(CLI::App& app, Typed& t) {
  app.add_flag("--replace-input", t.asked.replace_input, "allow OUT to be IN, which is then lost");
}

void add_smoothing(CLI::App& app, Typed& t) {
  const char* const group = "Video";
  app.add_option("--smooth", t.smooth.keep, "share of the previous mask that is kept if nothing moves, 0 to 1")
      ->group(group)
      ->capture_default_str();
  app.add_option("--scene-cut", t.smooth.cut, "mean change of brightness that counts as a new scene")
      ->group(group)
      ->capture_default_str();
  app.add_flag("--timing", t.timing, "print the time of each step on standard error")->group(group);
}

CLI::App* add_command(CLI::App& app, Typed& t, const char* name, const char* text) {
  CLI::App* const command = app.add_subcommand(name, text);
  add_look(*command, t);
  add_edges(*command, t);
  add_source(*command, t);
  add_rest(*command, t);
  return command;
}

void add_compare(CLI::App& app, Typed& t) {
  CLI::App& compare = *app.add_subcommand(
      "compare", "Compare a network's intermediate values and times with PyTorch's, for the same weights and image");
  CompareOptions& c = t.compare.options;
  compare.add_option("--weights", c.weights, "file of weights (default: random weights of the original network)")
      ->type_name("FILE");
  compare.add_option("--widths", c.widths, "channels of each level for random weights")->capture_default_str();
  compare.add_option("--seed", c.seed, "seed of the random weights and image")->capture_default_str();
  compare.add_option("--size", t.compare_size, "height and width of the image")
      ->check(CLI::Range(1, 16384))
      ->capture_default_str();
  compare.add_option("-t,--threads", c.threads, "number of threads of every engine")
      ->check(CLI::Range(1, 4096))
      ->capture_default_str();
  compare.add_option("--precision", t.numbers, "number format of the network: fp32 or bf16")
      ->check(CLI::IsMember({"fp32", "bf16"}))
      ->capture_default_str();
  add_former_name(compare, "--arithmetic", "--precision", t.numbers);
  add_former_name(compare, "--numbers", "--precision", t.numbers);
  add_device(compare, t);
  compare.add_flag("--channels-last", t.channels_last, "store activations with channels last, which AMX needs");
  compare.add_option("--runs", c.runs, "number of timed runs of each engine")
      ->check(CLI::Range(0, 1000))
      ->capture_default_str();
  compare.add_option("--engines", c.others, "further engines to time: onnxruntime, openvino");
  add_former_name(compare, "--others", "--engines", c.others);
  compare.add_option("--python", c.python, "Python interpreter with PyTorch")->capture_default_str();
  compare.add_flag("--json", t.compare.json, "print one JSON object");
}

void add_images(CLI::App& app, Typed& t) {
  const CLI::IsMember formats({"png", "jpg", "webp", "tif"});

  CLI::App& image = *add_command(app, t, "image", "Replace the background of an image");
  image
      .add_option("IN", t.image.in, "PNG, JPEG, TIFF or WebP file; FILE.tif:2 is its second image, - is standard input")
      ->type_name("")
      ->required();
  image.add_option("OUT", t.image.out, "output file, written whole or not at all; - is standard output")
      ->type_name("")
      ->required();
  image.add_option("--format", t.image.format, "format of OUT if its extension is unknown")->check(formats);
  add_replace_input(image, t);

  CLI::App& folder =
      *add_command(app, t, "folder", "Replace the background of every image in a folder that has no result yet");
  folder.add_option("IN", t.folder.in, "folder of images")->type_name("")->required();
  folder.add_option("OUT", t.folder.out, "folder for the results; created if it is missing")->type_name("")->required();
  folder.add_option("--format", t.folder.format, "format of the results")->check(formats)->capture_default_str();
  folder.add_flag("--overwrite", t.folder.again, "replace results that exist");
  add_former_flag(folder, "--again", "--overwrite", t.folder.again);
}

void add_videos(CLI::App& app, Typed& t) {
  CLI::App& pipe =
      *add_command(app, t, "pipe",
                   "Replace the background of raw RGB24 frames from standard input, and write them to standard output");
  pipe.add_option("--size", t.size, "size of the frames (output is RGBA if the background is transparent, else RGB24)")
      ->type_name("WxH")
      ->required();
  add_smoothing(pipe, t);

  CLI::App& video = *add_command(app, t, "video", "Replace the background of a video; its sound is kept");
  video.add_option("IN", t.video.in, "video file, in any format that FFmpeg reads")->type_name("")->required();
  video
      .add_option(
          "OUT", t.video.out,
          "output file: .mp4, .mov or .mkv (H.264), or .webm (VP9, with alpha if the background is transparent)")
      ->type_name("")
      ->required();
  video
      .add_option("--quality", t.video.quality,
                  "quality as the encoder's crf, a lower number is better (default: 20, VP9: 30)")
      ->check(CLI::Range(1, 63));
  add_replace_input(video, t);
  add_smoothing(video, t);

  CLI::App& camera = *add_command(app, t, "camera", kCameraHelp);
  add_camera_options(camera, t.camera, t.size);
  add_smoothing(camera, t);
}

void add_serve(CLI::App& app, Typed& t) {
  CLI::App& serve = *add_command(app, t, "serve", "Serve a web page and an HTTP interface on this machine");
  serve.add_option("--host", t.serve.host, "address to listen on; 0.0.0.0 listens on all addresses")
      ->capture_default_str();
  serve.add_option("--port", t.serve.port, "port to listen on; 0 chooses a free one")
      ->check(CLI::Range(0, 65535))
      ->capture_default_str();
  serve.add_option("--max-megabytes", t.serve.most_megabytes, "largest upload that is accepted")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  serve
      .add_option("--timeout", t.serve.seconds,
                  "longest time for a client's headers, and for an upload that makes no progress")
      ->check(CLI::Range(0.1, 3600.0))
      ->type_name("SECONDS")
      ->capture_default_str();
  serve
      .add_option("--allow-host", t.serve.more_hosts,
                  "further host name to answer to; requests for other names are refused")
      ->type_name("NAME")
      ->allow_extra_args(false)
      ->take_all();
}

void add_commands(CLI::App& app, Typed& t) {
  app.name("oriel-portrait");
  app.description("Cuts people out of images and videos and replaces the background.");
  app.footer(kExamples);
  app.set_version_flag("-V,--version", version(), "Print the version");
  app.require_subcommand(1);
  add_images(app, t);
  add_videos(app, t);
  add_serve(app, t);
  add_compare(app, t);
  add_models(app, t.models, t.asked.source, t.network);
  cli::add_completion(app, t.completion_shell);
}

Device device_of(const Typed& t) { return t.device == "cuda" ? Device::cuda : Device::cpu; }

CompareCommand finish_compare(Typed& t) {
  CompareOptions& c = t.compare.options;
  c.height = c.width = t.compare_size;
  c.arithmetic = t.numbers == "bf16" ? nn::Arithmetic::bf16 : nn::Arithmetic::fp32;
  if (t.channels_last) c.layout = nn::UNetLayout::channels_last;
  c.device = device_of(t);
  return t.compare;
}

Asked finish_asked(Typed& t, bool video) {
  Asked a = t.asked;
  finish_network(t.network, a.source);
  a.look.background = parse_background("--background", t.background.empty() ? "transparent" : t.background);
  if (a.look.background.kind == Background::Kind::picture) {
    a.background_file = t.background;
    a.look.background.first = parse_colour("--fill", t.fill);
    a.look.background.fit = t.fit == "contain" ? Background::Fit::contain : Background::Fit::cover;
  }
  if (!t.trimap.empty()) {
    a.source.mask = t.trimap;
    a.look.chain.edge.mask_is_trimap = true;
  }
  if (!t.key.empty()) a.source.key = parse_colour("--key", t.key);
  a.source.fast = t.numbers == "bf16";
  a.source.device = device_of(t);
  a.source.threads = video ? 1 : t.threads;
  a.most_pixels = static_cast<index_t>(t.most_megapixels * 1e6);
  a.look.chain.threads = t.threads;
  a.look.no_person = t.no_person == "background" || (t.no_person.empty() && video) ? NoPerson::background
                     : t.no_person == "keep"                                       ? NoPerson::keep
                                                                                   : NoPerson::fail;
  if (!t.trimap.empty() && t.matte == "fast")
    throw Error("--trimap: cannot be combined with --matte fast; allowed: --matte fine");
  a.look.chain.edge.matte = t.matte == "fine" || (t.matte.empty() && !video) ? Matte::fine : Matte::fast;
  check(a.look.chain.mask);
  check(a.look.chain.edge);
  check(a.look.blend);
  check(t.smooth);
  return a;
}

void check_host(const std::string& option, const std::string& name) {
  const bool address = name.find(':') != std::string::npos && !name.starts_with('[');  // or there is a port
  if (!http::plain_host(address ? "[" + name + "]" : name) || name.find("]:") != std::string::npos)
    throw Error(
        fmt::format("{}: {} is neither a name nor an address; allowed: for example studio.example, without a port",
                    option, detail::quoted(name)));
}

Command finish(const CLI::App& app, const std::string& command, Typed& t) {
  const auto no_words = [](const std::string&) { return std::string(); };  // CLI11 checks all of them here
  if (command == "completion") return TextCommand{cli::completion_script(app, t.completion_shell, no_words)};
  if (command == "image") {
    t.image.asked = finish_asked(t, false);
    image_ending(t.image.out, t.image.format, t.image.asked.look.channels());
    return t.image;
  }
  if (command == "folder") {
    t.folder.asked = finish_asked(t, true);
    if (t.no_person.empty()) t.folder.asked.look.no_person = NoPerson::fail;
    if (t.matte.empty()) t.folder.asked.look.chain.edge.matte = Matte::fine;
    image_ending(t.folder.out, t.folder.format, t.folder.asked.look.channels());
    return t.folder;
  }
  if (command == "pipe") {
    std::tie(t.pipe.width, t.pipe.height) = parse_size("--size", t.size, 32768);
    t.pipe.asked = finish_asked(t, true);
    t.pipe.asked.source.video = true;
    t.pipe.smooth = t.smooth;
    t.pipe.timing = t.timing;
    return t.pipe;
  }
  if (command == "serve") {
    t.serve.asked = finish_asked(t, true);
    if (t.no_person.empty()) t.serve.asked.look.no_person = NoPerson::fail;
    if (t.matte.empty()) t.serve.asked.look.chain.edge.matte = Matte::fine;
    if (!t.serve.asked.background_file.empty())
      throw Error(
          "--background: an image is sent with each request; allowed here: transparent, a colour, blur, a gradient");
    for (const std::string& name : t.serve.more_hosts) check_host("--allow-host", name);
    return t.serve;
  }
  if (command == "compare") return finish_compare(t);
  if (command == "camera") {
    if (!t.size.empty()) std::tie(t.camera.width, t.camera.height) = parse_size("--size", t.size, 32768);
    if (t.background.empty()) t.background = "blur";
    t.camera.asked = finish_asked(t, true);
    t.camera.asked.source.threads = t.threads;  // frames come one at a time
    t.camera.asked.source.video = true;
    t.camera.smooth = t.smooth;
    t.camera.timing = t.timing;
    check_camera(t.camera);
    return t.camera;
  }
  if (command == "models") {
    t.models.source = t.asked.source;
    finish_network(t.network, t.models.source);
    return t.models;
  }
  t.video.asked = finish_asked(t, true);
  t.video.asked.source.video = true;
  t.video.smooth = t.smooth;
  t.video.timing = t.timing;
  return t.video;
}

}  // namespace

Command parse_command(const std::vector<std::string>& arguments) {
  Typed typed;
  CLI::App app;
  add_commands(app, typed);
  std::string command = "oriel-portrait";
  try {
    if (arguments.empty()) return TextCommand{app.help()};
    cli::check_subcommand(app, arguments[0]);
    app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));  // CLI11 takes them from the back
    const std::string chosen = app.get_subcommands().at(0)->get_name();
    command += " " + chosen;
    return finish(app, chosen, typed);
  } catch (const CLI::CallForVersion&) {
    return TextCommand{fmt::format("oriel-portrait {}\n", version())};
  } catch (const CLI::CallForHelp&) {
    return TextCommand{app.help()};
  } catch (const CLI::Error& e) {
    const auto chosen = app.get_subcommands();
    if (!chosen.empty()) command = "oriel-portrait " + chosen[0]->get_name();
    throw UsageError(command, fmt::format("{} (see {} --help)", one_line(e.what()), command));
  } catch (const Error& e) {
    throw UsageError(command, one_line(e.what()));
  }
}

void load_background(Asked& asked) {
  if (asked.background_file.empty() || asked.look.only_mask) return;
  ImageFile file = [&] {
    try {
      return read_image_file(asked.background_file, asked.most_pixels);
    } catch (const Error& e) {
      throw Error(fmt::format("--background: {}", e.what()));
    }
  }();
  if (file.first_of_several) asked.notes.push_back("--background: " + file.notes.back());
  asked.look.background.picture = std::make_shared<const Image>(std::move(file.image));
}

}  // namespace oriel::portrait
