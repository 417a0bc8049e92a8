#include <fmt/format.h>

#include "cli/options.h"
#include "cli/progress.h"
#include "oriel/tile/kernels.h"
#include "quoted.h"

namespace oriel::cli {
namespace {

std::string kernel_list() {
  std::string text;
  for (const tile::ShippedKernel& k : tile::shipped_kernels())
    text += fmt::format("{:<22} {}\n{:<22} --set {}\n", k.name, k.sentence, "", k.parameters);
  return text;
}

const tile::ShippedKernel& kernel_named(const std::string& name) {
  std::string names;
  for (const tile::ShippedKernel& k : tile::shipped_kernels()) {
    if (k.name == name) return k;
    names += fmt::format("{}{}", names.empty() ? "" : ", ", k.name);
  }
  throw UsageError("oriel tile", fmt::format("KERNEL must be one of {}, list, but is {}", names, detail::quoted(name)));
}

std::string findings_text(const std::vector<tile::Finding>& findings, std::string_view machine) {
  std::string text;
  for (const tile::Finding& f : findings)
    text += fmt::format("{} {}: {} [{}]\n", f.is_error ? "error" : "warning", f.id, f.text, to_string(f.where));
  return text.empty() ? fmt::format("{}: no issues found\n", machine) : text;
}

std::string pictures(const tile::Program& program) {
  std::string text;
  for (const tile::Instruction& i : program.instructions)
    if (i.opcode == tile::Opcode::tensor_reduce && text.empty()) text = draw(program, i);
  return text;
}

}  // namespace

int run_tile(const TileCommand& command) {
  if (command.kernel == "list") {
    print(kernel_list());
    return kExitDone;
  }
  const tile::ShippedKernel& kernel = kernel_named(command.kernel);
  if (command.shape.size() != kernel.rank)
    throw UsageError("oriel tile",
                     fmt::format("--shape: must have {} extents, but has {}", kernel.rank, command.shape.size()));
  const tile::Program program = kernel.trace({command.dtype, command.shape}, command.values);
  const tile::nki::machine& machine = tile::nki::machine_named(command.machine);
  std::vector<tile::Finding> findings = verify(program);
  const bool meaningless = !findings.empty();
  bool failed = meaningless;
  for (tile::Finding& f : check(program, machine)) {
    failed = failed || f.is_error;
    findings.push_back(std::move(f));
  }
  const auto part = [&](const char* name, const auto& text) {
    if (command.only.empty())
      print(fmt::format("== {}\n{}\n", name, text()));
    else if (command.only == name)
      print(text());
  };
  part("ir", [&] { return to_string(program); });
  part("picture", [&] { return pictures(program); });
  part("checks", [&] { return findings_text(findings, machine.name); });
  part("report", [&] { return to_string(report(program, machine), program, machine); });
  const auto version = command.nki == "0.1" ? tile::nki::nki_version::v0_1 : tile::nki::nki_version::v0_6;
  part("nki", [&] { return emit_nki(program, version); });
  part("cuda", [&] { return meaningless ? std::string("// not written: see the checks\n") : emit_cuda(program).text; });
  return failed ? kExitFailure : kExitDone;
}

}  // namespace oriel::cli
