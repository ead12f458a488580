// Files that appear as a whole, where other programs use the same folder.
// SPDX-License-Identifier: Apache-2.0
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <string>
#include <thread>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <strata/core/files/file_size_limit.hpp>
#include <strata/core/files/partial_file.hpp>

#include "core/child_process.hpp"

namespace {

using strata::detail::files::PartialFile;
using strata::detail::files::remove_abandoned_partials;

class PartialFiles : public child_testing::ChildProcess {
 protected:
  std::string content(const std::string& name) const { return child_testing::text_of(folder / name); }
  void write(const std::string& name, const std::string& text) const { std::ofstream(file(name)) << text; }
  std::size_t count() const {
    return static_cast<std::size_t>(
        std::distance(std::filesystem::directory_iterator(folder), std::filesystem::directory_iterator()));
  }
  // The one file in the folder that is partial.
  std::string partial() const {
    for (const auto& entry : std::filesystem::directory_iterator(folder))
      if (entry.path().extension() == ".partial") return entry.path().string();
    return "";
  }
};

bool is_locked(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  const bool locked = flock(file, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  close(file);
  return locked;
}

TEST_F(PartialFiles, TakeTheirPlaceWhenTheyAreWhole) {
  write("a", "old");
  PartialFile file;
  ASSERT_TRUE(file.create(this->file("a")));
  ASSERT_TRUE(file.write("new", 3, 0));
  EXPECT_EQ(content("a"), "old");

  ASSERT_TRUE(file.sync() && file.place() && file.sync());

  EXPECT_EQ(content("a"), "new");
  EXPECT_EQ(count(), 1u);
}

TEST_F(PartialFiles, AreLockedUntilTheyAreClosedAlsoAtTheirPlace) {
  PartialFile file;
  ASSERT_TRUE(file.create(this->file("a")));
  const std::string before = partial();
  EXPECT_TRUE(is_locked(before));

  ASSERT_TRUE(file.place());

  EXPECT_FALSE(std::filesystem::exists(before));
  EXPECT_TRUE(is_locked(this->file("a")));
  PartialFile other;
  EXPECT_FALSE(other.open(this->file("a")));
  EXPECT_EQ(errno, EWOULDBLOCK);
  file.close();
  EXPECT_FALSE(is_locked(this->file("a")));
  EXPECT_TRUE(other.open(this->file("a")));
}

TEST_F(PartialFiles, GoWithWhoDoesNotPlaceThem) {
  { EXPECT_TRUE(PartialFile().create(file("a"))); }
  EXPECT_EQ(count(), 0u);
  EXPECT_FALSE(PartialFile().create(file("none/a")));
  EXPECT_EQ(errno, ENOENT);
}

TEST_F(PartialFiles, OfOneProcessAndPlaceAreSeveral) {
  write("a.part", "keep");
  PartialFile one, two;
  ASSERT_TRUE(one.create(file("a")) && two.create(file("a")));
  EXPECT_EQ(count(), 3u);
  ASSERT_TRUE(one.write("1", 1, 0) && two.write("2", 1, 0));
  ASSERT_TRUE(one.place());
  EXPECT_EQ(content("a"), "1");
  ASSERT_TRUE(two.place());
  EXPECT_EQ(content("a"), "2");
  EXPECT_EQ(content("a.part"), "keep");
}

TEST_F(PartialFiles, GoWhereALinkLeadsAndStayThereWhenTheFolderIsRenamed) {
  std::filesystem::create_directory(folder / "far");
  write("far/a", "old");
  std::filesystem::create_symlink("far/a", folder / "link");
  PartialFile file;
  ASSERT_TRUE(file.create(this->file("link")));
  ASSERT_TRUE(file.write("new", 3, 0));
  std::filesystem::rename(folder / "far", folder / "further");
  std::filesystem::create_directory(folder / "far");

  ASSERT_TRUE(file.place());

  EXPECT_TRUE(std::filesystem::is_symlink(folder / "link"));
  EXPECT_EQ(content("further/a"), "new");
  EXPECT_TRUE(std::filesystem::is_empty(folder / "far"));
}

TEST_F(PartialFiles, GoWhereALinkWouldLeadIfThereWereSomething) {
  std::filesystem::create_directory(folder / "far");
  std::filesystem::create_symlink("far/a", folder / "link");
  std::filesystem::create_symlink(folder / "link", folder / "link to it");
  PartialFile file;
  EXPECT_TRUE(strata::detail::files::can_create_beside(this->file("link to it")));
  ASSERT_TRUE(file.create(this->file("link to it")));
  ASSERT_TRUE(file.write("new", 3, 0));

  ASSERT_TRUE(file.place());

  EXPECT_EQ(content("far/a"), "new");
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "link"));
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "link to it"));
}

TEST_F(PartialFiles, AreRefusedWhereLinksLeadToNoPlace) {
  std::filesystem::create_symlink("two", folder / "one");
  std::filesystem::create_symlink("one", folder / "two");
  std::filesystem::create_symlink("none/a", folder / "beyond");

  EXPECT_FALSE(PartialFile().create(file("one")));
  EXPECT_EQ(errno, ELOOP);
  EXPECT_FALSE(strata::detail::files::can_create_beside(file("two")));
  EXPECT_EQ(errno, ELOOP);
  EXPECT_FALSE(PartialFile().create(file("beyond")));
  EXPECT_EQ(errno, ENOENT);
  EXPECT_EQ(count(), 3u);
}

// Names are random: nobody can have put a link or a file there before. This does, for the names that come
// first.
TEST_F(PartialFiles, FollowNoLinkAndReplaceNothing) {
  write("a.0.partial", "keep");
  write("other", "keep");
  std::filesystem::create_symlink("other", folder / "a.1.partial");
  std::filesystem::create_symlink("nothing", folder / "a.2.partial");
  std::filesystem::create_directory(folder / "a.3.partial");
  static int asked;
  asked = 0;
  PartialFile file;

  ASSERT_TRUE(file.create(this->file("a"), [](const std::string& path) {
    return path + "." + std::to_string(asked++) + ".partial";
  }));

  EXPECT_EQ(asked, 5);
  ASSERT_TRUE(file.write("new", 3, 0) && file.place());
  EXPECT_EQ(content("a"), "new");
  EXPECT_EQ(content("a.0.partial"), "keep");
  EXPECT_EQ(content("other"), "keep");
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "a.1.partial"));
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "a.2.partial"));
  EXPECT_FALSE(std::filesystem::exists(folder / "nothing"));
  EXPECT_TRUE(std::filesystem::is_directory(folder / "a.3.partial"));
}

TEST_F(PartialFiles, ThoseOfKilledProgramsAreRemovedOthersAreNot) {
  for (const char* name :
       {"a.pvd.x.partial", "a.pvd.12345678x.partial", "a.pvd.ABCDEFGH.partial", "a.pvd.partial",
        "as_0001.vtu.abcdefgh.partial", "a_x.vtu.abcdefgh.partial", ".abcdefgh.partial"})
    write(name, "");
  const std::size_t others = count();
  write("a.pvd.abcdefgh.partial", "cut short");
  write("a_0007.vtu.ab01gh23.partial", "cut short");
  PartialFile own;
  ASSERT_TRUE(own.create(file("a.pvd")));

  remove_abandoned_partials(file("a.pvd"));

  EXPECT_EQ(count(), others + 1);
  EXPECT_TRUE(own.place());
  write("a_0007.vtu.ab01gh23.partial", "cut short");
  remove_abandoned_partials(file("a.vtu"));
  EXPECT_EQ(count(), others + 2);  // of a .pvd file only
}

TEST_F(PartialFiles, ThoseOfAProgramStayForAsLongAsItLives) {
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t other = fork();
  if (other == 0) {
    PartialFile partial;
    const char byte = partial.create(file("a")) ? 'x' : '!';
    if (::write(ready[1], &byte, 1) == 1) pause();
    _exit(0);
  }
  char byte = 0;
  ASSERT_EQ(read(ready[0], &byte, 1), 1);

  remove_abandoned_partials(file("a"));
  EXPECT_EQ(byte, 'x');
  EXPECT_EQ(count(), 1u);

  kill(other, SIGKILL);
  waitpid(other, nullptr, 0);
  EXPECT_EQ(count(), 1u);
  remove_abandoned_partials(file("a"));
  EXPECT_EQ(count(), 0u);
  close(ready[0]);
  close(ready[1]);
}

TEST_F(PartialFiles, TakeTheirPlaceWhileAnotherProgramRemovesAbandonedOnes) {
  const pid_t other = fork();
  if (other == 0)
    for (;;) remove_abandoned_partials(file("a"));
  for (int k = 0; k < 100 && !HasFailure(); ++k) {
    PartialFile partial;
    EXPECT_TRUE(partial.create(file("a")) && partial.write("whole", 5, 0) && partial.place())
        << k << ": " << std::strerror(errno);
  }
  kill(other, SIGKILL);
  waitpid(other, nullptr, 0);
  EXPECT_EQ(content("a"), "whole");
}

TEST_F(PartialFiles, ALookWhetherOneCouldBeMadeMakesNone) {
  const int temporary = open(folder.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
  if (temporary < 0) GTEST_SKIP() << "this file system has no files without a name";
  close(temporary);
  const int events = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
  ASSERT_GE(inotify_add_watch(events, folder.c_str(), IN_CREATE | IN_MOVED_TO), 0);

  EXPECT_TRUE(strata::detail::files::can_create_beside(file("a")));

  char buffer[4096];
  EXPECT_EQ(read(events, buffer, sizeof buffer), -1);
  EXPECT_EQ(errno, EAGAIN);
  close(events);
  EXPECT_FALSE(strata::detail::files::can_create_beside(file("none/a")));
  EXPECT_EQ(errno, ENOENT);
}

TEST_F(PartialFiles, BeyondTheLimitOfFileSizesAreErrorsThatNameIt) {
  const pid_t child = fork();
  if (child == 0) {  // with the signal's default, which ends the program
    std::signal(SIGXFSZ, SIG_DFL);
    const rlimit limit{100, 100};
    PartialFile partial;
    const std::string text(200, 'x');
    const bool good = setrlimit(RLIMIT_FSIZE, &limit) == 0 && partial.create(file("a")) &&
                      !partial.write(text.data(), text.size(), 0) && errno == EFBIG &&
                      strata::detail::files::file_error_text(EFBIG).find(
                          "100 bytes (100 B) here; raise this limit "
                          "(ulimit -f)") != std::string::npos;
    partial.close();
    _exit(good ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status)) << "ended by signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_EQ(count(), 0u);
}

TEST(FileSizeErrors, LeaveTheSignalsOfTheThreadAsTheyWere) {
  sigset_t before, after;
  pthread_sigmask(SIG_BLOCK, nullptr, &before);
  { const strata::detail::files::FileSizeErrors errors; }
  pthread_sigmask(SIG_BLOCK, nullptr, &after);
  for (const int signal : {SIGXFSZ, SIGINT, SIGUSR1})
    EXPECT_EQ(sigismember(&before, signal), sigismember(&after, signal));
}

}  // namespace
