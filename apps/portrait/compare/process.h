// Another program that answers lines with lines.
#pragma once

#include <cstdio>
#include <string>
#include <vector>

namespace oriel::portrait {

/// Runs until destroyed. Its errors go where ours go.
class Process {
 public:
  /// `command[0]` is looked for along PATH. Throws Error when it cannot be started.
  explicit Process(const std::vector<std::string>& command);
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  ~Process();

  /// Writes a line and waits for one. Throws Error for an answer `error: …`, with its text, and when the process ends.
  std::string ask(const std::string& line);

 private:
  std::string name_;
  int pid_ = -1;
  std::FILE* to_ = nullptr;
  std::FILE* from_ = nullptr;
};

}  // namespace oriel::portrait
