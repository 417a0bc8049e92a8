#include "apps/portrait/commands/output_check.h"

#include <fmt/format.h>

#include "io/file_identity.h"
#include "io/files.h"
#include "quoted.h"

namespace oriel::portrait {
namespace {

bool is_file_of(const std::string& read, const std::string& out) {
  return !read.empty() && io::is_same_file(read == "-" ? read : io::split_input_path(read).file, out);
}

// Names as the subcommand has them.
struct Words {
  const char *out, *in, *replace;
};

void check(const std::string& command, const std::string& in, const std::string& out, const Asked& asked,
           const Words& words) {
  if (out == "-") return;
  const auto refuse = [&](const char* what, const char* more) {
    throw cli::UsageError(command, fmt::format("{}: '{}' is {} too; allowed: another file{}", words.out,
                                               detail::printable(out), what, more));
  };
  if (!asked.replace_input && is_file_of(in, out)) refuse(words.in, words.replace);
  if (is_file_of(asked.background_file, out)) refuse("the --background", "");
  if (is_file_of(asked.source.mask, out))
    refuse(asked.look.chain.edge.mask_is_trimap ? "the --trimap" : "the --mask", "");
  if (is_file_of(asked.source.model, out)) refuse("the --model", "");
}

}  // namespace

void check_output(const std::string& command, const std::string& in, const std::string& out, const Asked& asked) {
  check(command, in, out, asked, {"OUT", "IN", ", or --replace-input if IN is no longer wanted"});
}

void check_camera_output(const std::string& command, const std::string& device, const std::string& to,
                         const Asked& asked) {
  check(command, device, to, asked, {"--to", "the camera", " or device"});
}

}  // namespace oriel::portrait
