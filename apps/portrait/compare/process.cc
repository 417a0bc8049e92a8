#include "apps/portrait/compare/process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>

#include "oriel/types.h"

extern char** environ;

namespace oriel::portrait {

Process::Process(const std::vector<std::string>& command) : name_(command.front()) {
  std::signal(SIGPIPE, SIG_IGN);  // a process that ended is an error of ask()
  int in[2], out[2];
  if (::pipe2(in, O_CLOEXEC) != 0) throw Error(fmt::format("{}: no pipe: {}", name_, std::strerror(errno)));
  if (::pipe2(out, O_CLOEXEC) != 0) {
    const int reason = errno;
    ::close(in[0]);
    ::close(in[1]);
    throw Error(fmt::format("{}: no pipe: {}", name_, std::strerror(reason)));
  }
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in[0], 0);
  posix_spawn_file_actions_adddup2(&actions, out[1], 1);
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  const int status = ::posix_spawnp(&pid_, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  ::close(in[0]);
  ::close(out[1]);
  to_ = ::fdopen(in[1], "w");
  from_ = ::fdopen(out[0], "r");
  if (status == 0) return;
  pid_ = -1;
  std::fclose(to_);
  std::fclose(from_);
  throw Error(fmt::format("{}: cannot start: {}", name_, std::strerror(status)));
}

Process::~Process() {
  std::fclose(to_);  // the end of its input is its end
  std::fclose(from_);
  ::waitpid(pid_, nullptr, 0);
}

std::string Process::ask(const std::string& line) {
  std::fprintf(to_, "%s\n", line.c_str());
  std::fflush(to_);
  std::string answer;
  for (int c = std::fgetc(from_); c != '\n'; c = std::fgetc(from_)) {
    if (c == EOF) throw Error(fmt::format("{}: ended without an answer to '{}'", name_, line.substr(0, 60)));
    answer += static_cast<char>(c);
  }
  if (answer.starts_with("error: ")) throw Error(fmt::format("{}: {}", name_, answer.substr(7)));
  return answer;
}

}  // namespace oriel::portrait
