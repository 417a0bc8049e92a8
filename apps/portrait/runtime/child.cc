#include "apps/portrait/runtime/child.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>

#include "oriel/types.h"
#include "quoted.h"

namespace oriel::portrait {

Ended run_child(std::vector<std::string> command) {
  int out[2];
  if (::pipe2(out, O_CLOEXEC) != 0) throw Error(fmt::format("no pipe: {}", std::strerror(errno)));
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, out[1], 2);
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 34)
  posix_spawn_file_actions_addclosefrom_np(&actions, 3);  // uploads and connections are none of the child's
#endif
  std::vector<char*> words;
  words.reserve(command.size() + 1);
  for (std::string& word : command) words.push_back(word.data());
  words.push_back(nullptr);
  pid_t child = -1;
  const int failed = ::posix_spawnp(&child, words[0], &actions, nullptr, words.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  ::close(out[1]);
  Ended ended;
  char part[4096];
  for (ssize_t got = failed == 0 ? 1 : 0; got != 0;) {
    got = ::read(out[0], part, sizeof part);
    if (got < 0 && errno != EINTR) break;
    if (got > 0 && ended.errors.size() < 1 << 16) ended.errors.append(part, static_cast<std::size_t>(got));
  }
  ::close(out[0]);
  if (failed != 0)
    throw Error(fmt::format("{}: cannot be started: {}", detail::quoted(words[0]), std::strerror(failed)));
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  if (WIFEXITED(status)) ended.code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) ended.signal = WTERMSIG(status);
  return ended;
}

}  // namespace oriel::portrait
