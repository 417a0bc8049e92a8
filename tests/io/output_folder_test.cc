// Folders that appear whole or not at all.
#include "io/output_folder.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "io/scratch.h"
#include "io/temporary_name.h"

namespace oriel::io {
namespace {

namespace fs = std::filesystem;

bool has_mark(const std::string& path) { return fs::exists(path + "/mark"); }

void fill(const std::string& folder, const std::string& text) {
  fs::create_directories(folder + "/c/0");
  write_text(folder + "/mark", text);
  write_text(folder + "/c/0/1", text);
}

std::unique_ptr<OutputFolder> begin(const std::string& path) {
  return std::make_unique<OutputFolder>(path, "a marked folder", &has_mark);
}

TEST(OutputFolder, AppearsWhole) {
  const Scratch scratch;
  auto out = begin(scratch.path("new/"));
  fill(out->place(), "1");
  EXPECT_EQ(scratch.files().size(), 1U);
  EXPECT_FALSE(fs::exists(scratch.path("new")));
  out->commit();
  EXPECT_EQ(scratch.files(), std::vector<std::string>{"new"});
  EXPECT_EQ(read_text(scratch.path("new/c/0/1")), "1");
}

TEST(OutputFolder, LeavesNothingWithoutCommit) {
  const Scratch scratch;
  fill(scratch.path("old"), "old");
  for (const char* name : {"old", "new"}) {
    const auto out = begin(scratch.path(name));
    fill(out->place(), "1");
  }
  EXPECT_EQ(scratch.files(), std::vector<std::string>{"old"});
  EXPECT_EQ(read_text(scratch.path("old/mark")), "old");
}

TEST(OutputFolder, ReplacesOneOfItsFormat) {
  const Scratch scratch;
  fill(scratch.path("x"), "old");
  write_text(scratch.path("x/more"), "old");
  fs::create_directory_symlink("x", scratch.path("link"));
  fs::permissions(scratch.path("x"), fs::perms(0750));
  auto out = begin(scratch.path("link"));
  fill(out->place(), "new");
  EXPECT_EQ(read_text(scratch.path("x/mark")), "old");
  out->commit();
  EXPECT_EQ(scratch.files(), (std::vector<std::string>{"link", "x"}));
  EXPECT_EQ(read_text(scratch.path("x/mark")), "new");
  EXPECT_FALSE(fs::exists(scratch.path("x/more")));
  EXPECT_TRUE(fs::is_symlink(scratch.path("link")));
  EXPECT_EQ(fs::status(scratch.path("x")).permissions(), fs::perms(0750));
}

TEST(OutputFolder, ReplacesAnEmptyOne) {
  const Scratch scratch;
  fs::create_directory(scratch.path("x"));
  auto out = begin(scratch.path("x"));
  fill(out->place(), "new");
  out->commit();
  EXPECT_EQ(read_text(scratch.path("x/mark")), "new");
}

TEST(OutputFolder, BadTargets) {
  const Scratch scratch;
  write_text(scratch.path("file"), "");
  fs::create_directory(scratch.path("folder"));
  write_text(scratch.path("folder/letter"), "dear");
  EXPECT_EQ(error_of([&] { begin(scratch.path("file")); }),
            scratch.path("file") + ": a file; allowed: a new name, or a marked folder to replace");
  EXPECT_EQ(error_of([&] { begin(scratch.path("folder")); }),
            scratch.path("folder") +
                ": a folder that is not a marked folder; allowed: a new name, or a marked folder to replace");
  EXPECT_EQ(error_of([&] { begin(scratch.path("none/x")); }),
            scratch.path("none/x") + ": cannot write here: No such file or directory");
  EXPECT_EQ(read_text(scratch.path("folder/letter")), "dear");
}

// As a signal handler does.
TEST(OutputFolder, ASignalRemovesIt) {
  const Scratch scratch;
  const auto out = begin(scratch.path("x"));
  fill(out->place(), "1");
  for (int i = 0; i < 300; ++i) write_text(out->place() + "/c/" + std::string(40, 'n') + std::to_string(i), "1");
  fs::create_directory_symlink(scratch.path("kept"), out->place() + "/c/link");
  fs::create_directory(scratch.path("kept"));
  write_text(scratch.path("kept/file"), "1");
  remove_unfinished_outputs();
  EXPECT_EQ(scratch.files(), std::vector<std::string>{"kept"});
  EXPECT_TRUE(fs::exists(scratch.path("kept/file")));
}

TEST(OutputFolder, RemovesWhatAWriterLeftThatIsGone) {
  const Scratch scratch;
  std::string left = temporary_name(scratch.path("x"));
  // Of process 1 of the same place, which began at another time.
  const std::size_t end = left.rfind(".tmp"), random = left.rfind('.', end - 1), start = left.rfind('.', random - 1),
                    process = left.rfind('.', start - 1);
  left = left.substr(0, process) + ".1.1" + left.substr(random);
  fill(left, "left");
  fs::create_directory(left + "/more");
  const auto out = begin(scratch.path("x"));
  EXPECT_EQ(scratch.files().size(), 1U);
  EXPECT_FALSE(fs::exists(left));
}

}  // namespace
}  // namespace oriel::io
