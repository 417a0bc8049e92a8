#include "io/output_file.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>

#include "scratch.h"

namespace oriel::io {
namespace {

TEST(OutputFile, appears_only_with_commit) {
  Scratch scratch;
  OutputFile out(scratch.path("a.bin"));
  out.write("hello", 5);
  EXPECT_FALSE(std::filesystem::exists(scratch.path("a.bin")));
  EXPECT_EQ(scratch.files().size(), 1U);  // the temporary file
  out.commit();
  EXPECT_EQ(read_text(scratch.path("a.bin")), "hello");
  EXPECT_EQ(scratch.files(), (std::vector<std::string>{"a.bin"}));
}

TEST(OutputFile, without_commit_nothing_changes) {
  Scratch scratch;
  write_text(scratch.path("a.bin"), "before");
  { OutputFile(scratch.path("a.bin")).write("after", 5); }
  EXPECT_EQ(read_text(scratch.path("a.bin")), "before");
  EXPECT_EQ(scratch.files().size(), 1U);
}

TEST(OutputFile, a_replaced_file_keeps_its_permissions) {
  Scratch scratch;
  write_text(scratch.path("a.bin"), "before");
  ::chmod(scratch.path("a.bin").c_str(), 0640);
  OutputFile out(scratch.path("a.bin"));
  out.commit();
  struct stat info {};
  ASSERT_EQ(::stat(scratch.path("a.bin").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0640U);
}

TEST(OutputFile, symbolic_links_stay) {
  Scratch scratch;
  write_text(scratch.path("target"), "before");
  std::filesystem::create_symlink("target", scratch.path("link"));
  OutputFile out(scratch.path("link"));
  out.write("after", 5);
  out.commit();
  EXPECT_TRUE(std::filesystem::is_symlink(scratch.path("link")));
  EXPECT_EQ(read_text(scratch.path("target")), "after");
}

TEST(OutputFile, a_signal_leaves_nothing) {
  Scratch scratch;
  OutputFile out(scratch.path("a.bin"));
  remove_unfinished_outputs();
  EXPECT_TRUE(scratch.files().empty());
}

TEST(BadOutputFile, a_full_disk) {
  OutputFile out("/dev/full");
  const std::string text = error_of([&] { out.write("x", 1); });
  EXPECT_EQ(text, "/dev/full: cannot write: No space left on device");
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/full"));  // a device is never replaced
}

TEST(BadOutputFile, a_file_beyond_the_limit) {
  Scratch scratch;
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit small{.rlim_cur = 100, .rlim_max = before.rlim_max};
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  std::string text;
  {
    OutputFile out(scratch.path("a.bin"));
    text = error_of([&] { out.write(std::string(1000, 'x').data(), 1000); });
  }
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  EXPECT_NE(text.find("a.bin: cannot write: File too large"), std::string::npos) << text;
  EXPECT_TRUE(scratch.files().empty());
}

TEST(BadOutputFile, folders) {
  Scratch scratch;
  EXPECT_NE(
      error_of([&] { OutputFile(scratch.path("none/a.bin")); }).find("none/a.bin: cannot write here: No such file"),
      std::string::npos);
  EXPECT_NE(error_of([&] { OutputFile(scratch.path("")); }).find("a folder; allowed: a file"), std::string::npos);
  EXPECT_NE(error_of([&] { OutputFile("/proc/a.bin"); }).find("/proc/a.bin: cannot write here: "), std::string::npos);
}

}  // namespace
}  // namespace oriel::io
