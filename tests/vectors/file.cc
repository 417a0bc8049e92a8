#include "vectors/file.h"

#include <cinttypes>
#include <cstdio>
#include <fstream>
#include <iostream>

#include "vectors/names.h"

namespace oriel::vectors {
namespace {

std::string name_of(const std::string& line) { return line.substr(0, line.find(' ')); }

}  // namespace

std::vector<std::string> read_lines(const std::string& path) {
  std::ifstream file;
  if (path != "-") file.open(path);
  if (path != "-" && !file.good()) throw Error("vectors: cannot read " + path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(path == "-" ? std::cin : file, line);)
    if (!line.empty() && line[0] != '#') lines.push_back(line);
  const std::vector<std::string>& names = all_names();
  bool same = lines.size() == names.size();
  for (std::size_t i = 0; same && i < lines.size(); ++i) same = name_of(lines[i]) == names[i];
  if (!same) throw Error("vectors: the names in " + path + " are not those of names.cc: --write makes the file anew");
  return lines;
}

std::string line_of(const std::string& name, std::uint64_t hash) {
  char digits[17];
  std::snprintf(digits, sizeof digits, "%016" PRIx64, hash);
  return name + " " + digits;
}

bool check_lines(const std::vector<std::string>& lines, const std::string& where,
                 const std::function<std::uint64_t(const Vector&)>& hash_of) {
  int wrong = 0;
  for (const std::string& line : lines) {
    const std::string name = name_of(line), got = line_of(name, hash_of(parse_vector(name)));
    if (got == line) continue;
    if (++wrong <= 20)
      std::printf("%s\n  is %s by %s\n", line.c_str(), got.substr(name.size() + 1).c_str(), where.c_str());
  }
  std::printf("%zu vectors by %s: %d differ\n", lines.size(), where.c_str(), wrong);
  return wrong == 0;
}

}  // namespace oriel::vectors
