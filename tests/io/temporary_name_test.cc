#include "io/temporary_name.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <sstream>
#include <vector>

#include "io/output_file.h"
#include "scratch.h"

namespace oriel::io {
namespace {

// A name as temporary_name makes it, with one of its words replaced. From the left: the name's own, PLACE, PID, START.
std::string with_word(const std::string& path, int from_the_right, const std::string& word) {
  std::vector<std::string> words;
  std::istringstream text(path);
  for (std::string part; std::getline(text, part, '.');) words.push_back(part);
  words[words.size() - 1 - static_cast<std::size_t>(from_the_right)] = word;
  return fmt::format("{}", fmt::join(words, "."));
}
constexpr int kRandom = 1, kStart = 2, kProcess = 3, kPlace = 4;

// The number of a process that has ended.
std::string ended_process() {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  ::waitpid(child, nullptr, 0);
  return fmt::format("{:x}", child);
}

class Leftovers : public testing::Test {
 protected:
  // Whether a run that writes `name` removes the file at `path`.
  bool removed_by_a_run(const std::string& path, const std::string& name = "y.npy") {
    write_text(path, "left");
    { OutputFile out(scratch_.path(name)); }
    return !std::filesystem::exists(path);
  }

  Scratch scratch_;
  std::string own_ = temporary_name(scratch_.path("y.npy"));
};

TEST_F(Leftovers, of_a_process_that_has_ended) {
  EXPECT_TRUE(removed_by_a_run(with_word(own_, kProcess, ended_process())));
}

TEST_F(Leftovers, of_a_process_whose_number_another_has_now) {
  EXPECT_TRUE(removed_by_a_run(with_word(own_, kStart, "1")));
}

TEST_F(Leftovers, a_living_writer_s_file_stays) { EXPECT_FALSE(removed_by_a_run(own_)); }

TEST_F(Leftovers, of_another_machine_stay) {
  const std::string ended = with_word(own_, kProcess, ended_process());
  EXPECT_FALSE(removed_by_a_run(with_word(ended, kPlace, "1234567890abcdef")));
}

TEST_F(Leftovers, of_an_unknown_machine_stay) {
  const std::string ended = with_word(own_, kProcess, ended_process());
  EXPECT_FALSE(removed_by_a_run(with_word(ended, kPlace, "0")));
}

TEST_F(Leftovers, of_other_files_stay) {
  EXPECT_FALSE(removed_by_a_run(with_word(own_, kProcess, ended_process()), "z.npy"));
}

TEST_F(Leftovers, files_of_other_names_stay) {
  for (const std::string& name :
       {std::string(".y.npy.tmp"), std::string(".y.npy.12345678.tmp"), std::string(".y.npy.1.2.3.x.tmp"),
        std::string("y.npy.1.2.3.4.tmp"), std::string(".y.npy.1.ffffffffff.3.4.tmp"), std::string(".y.npy.1.2.3..tmp")})
    write_text(scratch_.path(name), "mine");
  const std::size_t before = scratch_.files().size();
  { OutputFile out(scratch_.path("y.npy")); }
  EXPECT_EQ(scratch_.files().size(), before);
}

TEST_F(Leftovers, names_differ_and_are_short_enough) {
  EXPECT_NE(own_, temporary_name(scratch_.path("y.npy")));
  const std::string longest(255, 'n');
  EXPECT_LE(std::filesystem::path(temporary_name(scratch_.path(longest))).filename().string().size(), 255U);
  EXPECT_TRUE(with_word(own_, kRandom, "1").starts_with(scratch_.path(".y.npy.")));
}

}  // namespace
}  // namespace oriel::io
