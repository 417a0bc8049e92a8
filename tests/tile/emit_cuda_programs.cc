// Writes the CUDA texts of all cases, each with its launch, into files PREFIX0.cu, PREFIX1.cu, …
//   tile_emit_cuda_programs PREFIX FILES
#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "tile/cuda_cases.h"

int main(int argc, char** argv) {
  using namespace oriel::tile;
  if (argc != 3) return 2;
  const std::size_t files = static_cast<std::size_t>(std::atoi(argv[2]));
  const std::vector<test::CudaCase> cases = test::cuda_cases();
  std::string table;
  for (std::size_t f = 0; f < files; ++f) {
    std::ofstream out(argv[1] + std::to_string(f) + ".cu");
    if (f == 0) out << "#define ORIEL_TILE_CUDA_MEMORY\n";
    out << "#include \"tile/cuda_run.h\"\n";
    for (std::size_t c = f; c < cases.size(); c += files) {
      const Program& program = cases[c].program;
      const CudaText text = emit_cuda(program);
      std::string arguments;
      for (std::size_t i = 0; i < program.parameters.size() + program.outputs.size(); ++i)
        arguments += (i == 0 ? "" : ", ") + std::string("CudaMemory{memory[") + std::to_string(i) + "]}";
      if (text.scratch_bytes > 0) arguments += ", CudaMemory{scratch}";
      const std::string head =
          "void run_" + text.kernel + "(void* const* memory, void* scratch, const CudaOrder& order)";
      out << text.text << "\nnamespace oriel::tile::test {\n"
          << head << " {\n  (void)scratch;\n  ORIEL_TILE_LAUNCH(" << text.kernel << ", " << text.blocks << ", "
          << text.threads << ", order, " << arguments << ");\n}\n}\n";
      if (f > 0) table += head + ";\n";
    }
    if (f + 1 < files) continue;
  }
  std::ofstream out(argv[1] + std::string("0.cu"), std::ios::app);
  out << "namespace oriel::tile::test {\n" << table << "const CudaEntry cuda_entries[] = {\n";
  for (const test::CudaCase& c : cases) {
    const CudaText text = emit_cuda(c.program);
    out << "    {\"" << c.program.name << "\", run_" << text.kernel << ", " << text.scratch_bytes << "},\n";
  }
  out << "};\nconst int cuda_entry_count = " << cases.size() << ";\n}\n";
  out.flush();
  return out.good() ? 0 : 1;
}
