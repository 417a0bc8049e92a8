// Several writers of one file, and which file is which.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>
#include <vector>

#include "io/file_identity.h"
#include "io/files.h"
#include "io/npz.h"
#include "io/npz_output.h"
#include "io/writer_lock.h"
#include "scratch.h"

namespace oriel::io {
namespace {

using namespace std::chrono_literals;

TEST(Identity, one_file_under_several_names) {
  Scratch scratch;
  const auto p = [&](const char* name) { return scratch.path(name); };
  write_text(p("a"), "1");
  write_text(p("b"), "1");
  std::filesystem::create_hard_link(p("a"), p("hard"));
  std::filesystem::create_symlink("a", p("soft"));
  std::filesystem::create_symlink(".", p("here"));
  std::filesystem::create_symlink("new", p("to_new"));
  for (const char* name : {"a", "hard", "soft", "./a", "here/a", "here/here/soft"})
    EXPECT_TRUE(is_same_file(p("a"), p(name))) << name;
  for (const char* name : {"new", "./new", "here/new", "to_new", "here/to_new"})
    EXPECT_TRUE(is_same_file(p("new"), p(name))) << name;
  for (const char* name : {"b", "new", "none/a", "here"}) EXPECT_FALSE(is_same_file(p("a"), p(name))) << name;
  EXPECT_FALSE(is_same_file(p("none/a"), p("none/a")));  // a folder that is not there says no more than that
  EXPECT_FALSE(is_same_file("/dev/null", "/dev/null"));  // may be written twice
}

TEST(Identity, a_state_changes_with_the_file) {
  Scratch scratch;
  const std::string path = scratch.path("a");
  const FileState none = state_of(path);
  EXPECT_FALSE(none.there());
  write_text(path, "1");
  const FileState first = state_of(path);
  EXPECT_TRUE(first.there());
  EXPECT_EQ(first, state_of(path));
  write_text(scratch.path("b"), "1");
  std::filesystem::rename(scratch.path("b"), path);
  EXPECT_NE(first, state_of(path));
}

TEST(BadIdentity, links_in_a_circle) {
  Scratch scratch;
  std::filesystem::create_symlink("b", scratch.path("a"));
  std::filesystem::create_symlink("a", scratch.path("b"));
  EXPECT_EQ(error_of([&] { OutputFile(scratch.path("a")); }),
            scratch.path("a") + ": cannot write here: Too many levels of symbolic links");
}

TEST(WriterLock, one_at_a_time_and_nothing_is_left) {
  Scratch scratch;
  const std::string path = scratch.path("a.npz");
  std::atomic<int> inside = 0, most = 0, done = 0;
  std::vector<std::thread> writers;
  for (int i = 0; i < 8; ++i)
    writers.emplace_back([&] {
      for (int round = 0; round < 20; ++round) {
        const WriterLock lock(path, "a.npz");
        const int now = ++inside;
        if (now > most) most = now;
        std::this_thread::yield();
        --inside;
        ++done;
      }
    });
  for (std::thread& writer : writers) writer.join();
  EXPECT_EQ(most, 1);
  EXPECT_EQ(done, 160);
  EXPECT_TRUE(scratch.files().empty());
}

TEST(WriterLock, a_process_that_dies_lets_go) {
  Scratch scratch;
  const std::string path = scratch.path("a.npz");
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const WriterLock lock(path, "a.npz");
    (void)!::write(ready[1], "x", 1);
    ::pause();
    ::_exit(0);
  }
  char byte = 0;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  EXPECT_EQ(scratch.files(), std::vector<std::string>{".a.npz.lock"});
  EXPECT_EQ(error_of([&] { WriterLock(path, "a.npz", 30ms); }),
            "a.npz: another process has been writing to it for too long (it holds " + scratch.path(".a.npz.lock") +
                "); it was not changed");
  ::kill(child, SIGKILL);
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  EXPECT_EQ(scratch.files(), std::vector<std::string>{".a.npz.lock"});
  { const WriterLock lock(path, "a.npz"); }
  EXPECT_TRUE(scratch.files().empty());
}

TEST(NoWriters, waits_for_programs_that_lock_what_they_write) {
  Scratch scratch;
  const std::string path = scratch.path("a.h5");
  { const NoWriters none(path, "a.h5", 0ms); }  // nothing there, nobody writes
  write_text(path, "1");
  const int other = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  ASSERT_EQ(::flock(other, LOCK_SH), 0);
  { const NoWriters readers_do_not_matter(path, "a.h5", 0ms); }
  ASSERT_EQ(::flock(other, LOCK_EX), 0);
  EXPECT_EQ(error_of([&] { NoWriters(path, "a.h5", 30ms); }),
            "a.h5: another program has had it open for writing for too long; it was not changed");
  EXPECT_EQ(error_of([&] { NoWriters(path, "a.h5", 0ms); }),
            "a.h5: another program has it open for writing; allowed: once that has closed it");
  ::close(other);
  const NoWriters now(path, "a.h5", 0ms);
}

TEST(BadWriterLock, a_folder_that_is_not_there) {
  EXPECT_EQ(error_of([] { WriterLock("/none/a.npz", "a.npz"); }),
            "a.npz: cannot lock it by /none/.a.npz.lock: No such file or directory");
}

std::string value_of(const std::string& path, const char* name) {
  const std::string bytes = read_text(path);
  return elements(read_npz({reinterpret_cast<const std::byte*>(bytes.data()), bytes.size()}, name, "a.npz").view);
}

TEST(NpzOutput, writers_beside_each_other_lose_nothing) {
  Scratch scratch;
  const std::string path = scratch.path("a.npz");
  const Buffer values = counting(Dtype::i32, {500});
  std::vector<std::thread> writers;
  for (int i = 0; i < 6; ++i)
    writers.emplace_back([&, i] {
      for (int round = 0; round < 5; ++round) {
        NpzOutput out(path);
        out.add("w" + std::to_string(i) + "_" + std::to_string(round), values.view);
        out.prepare();
        out.commit();
      }
    });
  for (std::thread& writer : writers) writer.join();
  for (int i = 0; i < 6; ++i)
    for (int round = 0; round < 5; ++round)
      EXPECT_EQ(value_of(path, ("w" + std::to_string(i) + "_" + std::to_string(round)).c_str()), elements(values.view));
  EXPECT_EQ(scratch.files(), std::vector<std::string>{"a.npz"});
}

TEST(NpzOutput, without_commit_nothing_changes) {
  Scratch scratch;
  const std::string path = scratch.path("a.npz");
  const Buffer values = counting(Dtype::u8, {3});
  for (const bool there : {false, true}) {
    const std::string before = there ? read_text(path) : "";
    {
      NpzOutput out(path);
      out.add("y", values.view);
      out.prepare();
    }
    EXPECT_EQ(there ? read_text(path) : "", before);
    EXPECT_EQ(scratch.files().size(), there ? 1U : 0U);
    NpzOutput out(path);
    out.add("x", values.view);
    out.prepare();
    out.commit();
  }
}

TEST(BadNpzOutput, what_is_no_archive) {
  Scratch scratch;
  write_text(scratch.path("a.npz"), "a thesis");
  EXPECT_EQ(error_of([&] { NpzOutput(scratch.path("a.npz")); }),
            scratch.path("a.npz") + ": not an .npz archive that can be read: Not a zip archive");
  EXPECT_EQ(scratch.files(), std::vector<std::string>{"a.npz"});
}

TEST(BadNpzOutput, an_archive_that_was_damaged_meanwhile) {
  Scratch scratch;
  const std::string path = scratch.path("a.npz");
  const Buffer values = counting(Dtype::u8, {3});
  NpzOutput out(path);
  out.add("y", values.view);
  write_text(path, "a thesis");
  EXPECT_NE(error_of([&] { out.prepare(); }).find("a.npz: not an .npz archive that can be read"), std::string::npos);
  EXPECT_EQ(read_text(path), "a thesis");
}

TEST(InputPath, parts) {
  Scratch scratch;
  const auto page_of = [](const char* path) { return split_input_path(path).page.value_or(0); };
  EXPECT_EQ(page_of("a.tif:3"), 3);
  EXPECT_EQ(split_input_path("a.TIFF:3").file, "a.TIFF");
  EXPECT_EQ(page_of("a.tif"), 0);
  EXPECT_EQ(split_input_path("a.npz:3").array, "3");
  EXPECT_EQ(split_input_path("a:3/b.png").file, "a:3/b.png");
  EXPECT_EQ(error_of([] { split_input_path("a.tif:1.5"); }),
            "a.tif:1.5: '1.5' is not a page; allowed: numbers from 1 to 2147483647");
  for (const char* name : {"a.tif:3", "b.npz:x"}) {
    write_text(scratch.path(name), "there");
    EXPECT_EQ(split_input_path(scratch.path(name)).file, scratch.path(name));
  }
}

}  // namespace
}  // namespace oriel::io
