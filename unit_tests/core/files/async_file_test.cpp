// AsyncFile: what is read and written at any offset, with many transfers in flight, by each engine; and what
// it says of failures.
// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <strata/core/error.hpp>
#include <strata/core/files/async_file.hpp>

#include "core/child_process.hpp"
#include "core/files/file_size_limit.hpp"
#include "core/files/small_disk.hpp"

namespace {

using strata::FileError;
using strata::index_t;
using strata::detail::files::AsyncFile;
using Mode = AsyncFile::Mode;

constexpr index_t page = 4096;
constexpr index_t mebi = index_t{1} << 20;

// Memory whose address has remainder `skew` modulo 4096.
class Buffer {
 public:
  explicit Buffer(index_t bytes, index_t skew = 0)
      : memory_(static_cast<char*>(
            std::aligned_alloc(page, static_cast<std::size_t>((bytes + skew) / page + 1) * page))),
        skew_(skew),
        bytes_(bytes) {
    std::memset(data(), 0x55, static_cast<std::size_t>(bytes));
  }
  char* data() const { return memory_.get() + skew_; }
  // Byte k is that of a sequence which begins with the seed.
  void fill(unsigned seed) const {
    char* const at = data();
    for (index_t k = 0; k < bytes_; ++k) at[k] = byte(seed, k);
  }
  // The first byte that is not as fill(seed) would have it; -1: none.
  index_t differs(unsigned seed) const {
    const char* const at = data();
    for (index_t k = 0; k < bytes_; ++k)
      if (at[k] != byte(seed, k)) return k;
    return -1;
  }
  static char byte(unsigned seed, index_t k) {
    return static_cast<char>((static_cast<unsigned>(k) * 2654435761U >> 24) + seed);
  }

 private:
  struct Free {
    void operator()(char* memory) const { std::free(memory); }
  };
  std::unique_ptr<char, Free> memory_;
  index_t skew_, bytes_;
};

// By each engine, with direct I/O and without.
struct Way {
  AsyncFile::Engine engine;
  bool direct;
};

class AsyncFiles : public child_testing::ChildProcess, public ::testing::WithParamInterface<Way> {
 protected:
  void SetUp() override {
    ChildProcess::SetUp();
    const AsyncFile probe(file("probe"), Mode::Create, options());
    if (probe.engine() != GetParam().engine) GTEST_SKIP() << "no io_uring here";
    if (GetParam().direct && !probe.is_direct()) GTEST_SKIP() << "no direct I/O here";
  }
  static AsyncFile::Options options(index_t request_bytes = 2 * mebi, int in_flight = 32) {
    return {GetParam().direct, GetParam().engine, request_bytes, in_flight};
  }
  // What wait() says.
  static std::string failure_of(const AsyncFile& file, const AsyncFile::Ticket& ticket) {
    try {
      file.wait(ticket);
    } catch (const FileError& error) {
      return error.what();
    }
    ADD_FAILURE() << "nothing was thrown";
    return "";
  }
};

::testing::AssertionResult has(const std::string& text, const std::string& part) {
  if (text.find(part) != std::string::npos) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << "no \"" << part << "\" in: " << text;
}

TEST_P(AsyncFiles, GiveBackWhatWasWrittenAtAnyOffsetOfAnySizeFromAnyMemory) {
  AsyncFile file(this->file("data"), Mode::Create, options(2 * page));
  unsigned seed = 1;
  for (const index_t offset : {index_t{0}, index_t{1}, page - 1, page, page + 512, 10 * page - 3})
    for (const index_t bytes : {index_t{1}, index_t{100}, page - 1, page, page + 1, 7 * page + 13, 64 * page})
      for (const index_t skew : {index_t{0}, offset % page, index_t{8}, index_t{3}}) {
        SCOPED_TRACE(std::to_string(offset) + " " + std::to_string(bytes) + " " + std::to_string(skew));
        const Buffer out(bytes, skew), in(bytes, (skew + 1) % page), same(bytes, skew);
        out.fill(++seed);
        file.wait(file.write(out.data(), bytes, offset));
        file.wait(file.read(same.data(), bytes, offset));
        file.wait(file.read(in.data(), bytes, offset));
        ASSERT_EQ(same.differs(seed), -1);
        ASSERT_EQ(in.differs(seed), -1);
      }
}

TEST_P(AsyncFiles, LeaveTheBytesBesideWhatTheyWrite) {
  AsyncFile file(this->file("data"), Mode::Create, options());
  const Buffer old(10 * page), now(3 * page, 100), all(10 * page);
  old.fill(1);
  now.fill(2);
  file.wait(file.write(old.data(), 10 * page, 0));
  file.wait(file.write(now.data(), 3 * page, page + 100));
  file.wait(file.read(all.data(), 10 * page, 0));
  for (index_t k = 0; k < 10 * page; ++k) {
    const bool inside = k >= page + 100 && k < 4 * page + 100;
    ASSERT_EQ(all.data()[k], inside ? Buffer::byte(2, k - page - 100) : Buffer::byte(1, k)) << k;
  }
}

TEST_P(AsyncFiles, GoPastThePageCacheInTheMiddleOnly) {
  AsyncFile file(this->file("data"), Mode::Create, options(4 * page));
  const Buffer out(10 * page, 100);
  out.fill(1);
  file.wait(file.write(out.data(), 10 * page, 100));  // 9 whole pages, in 3 requests, and two ends
  EXPECT_EQ(file.requests().direct, GetParam().direct ? 3 : 0);
  EXPECT_EQ(file.requests().buffered, GetParam().direct ? 2 : 3);
  file.wait(file.write(out.data() + 1, 8 * page, 100));  // no page of the file begins on an aligned address
  EXPECT_EQ(file.requests().direct, GetParam().direct ? 3 : 0);
}

TEST_P(AsyncFiles, HaveManyTransfersInFlight) {
  constexpr int count = 200;
  AsyncFile file(this->file("data"), Mode::Create, options(page, 8));
  std::vector<Buffer> out, in;
  std::vector<AsyncFile::Ticket> tickets;
  std::minstd_rand random(7);
  std::vector<index_t> bytes, offsets;
  index_t end = 0;
  for (int k = 0; k < count; ++k) {
    bytes.push_back(1 + static_cast<index_t>(random() % (6 * page)));
    offsets.push_back(end);  // neighbours share pages
    end += bytes.back();
    out.emplace_back(bytes.back(), offsets.back() % page);
    out.back().fill(static_cast<unsigned>(k));
  }
  for (std::size_t k = 0; k < count; ++k) tickets.push_back(file.write(out[k].data(), bytes[k], offsets[k]));
  for (std::size_t k = count; k-- > 0;) file.wait(tickets[k]);
  tickets.clear();
  for (std::size_t k = 0; k < count; ++k) {
    in.emplace_back(bytes[k], k % 2 == 0 ? offsets[k] % page : 5);
    tickets.push_back(file.read(in.back().data(), bytes[k], offsets[k]));
  }
  for (std::size_t k = 0; k < count; ++k) {
    file.wait(tickets[k]);
    EXPECT_TRUE(file.is_done(tickets[k]));
    ASSERT_EQ(in[k].differs(static_cast<unsigned>(k)), -1) << k;
  }
  EXPECT_EQ(file.size(), end);
}

TEST_P(AsyncFiles, AreUsedByManyThreads) {
  AsyncFile file(this->file("data"), Mode::Create, options(page, 4));
  std::vector<std::thread> threads;
  std::vector<index_t> wrong(4, 0);
  for (unsigned t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      const Buffer out(5 * page), in(5 * page);
      for (unsigned round = 0; round < 50; ++round) {
        out.fill(t + round);
        file.wait(file.write(out.data(), 5 * page, 5 * page * t));
        file.wait(file.read(in.data(), 5 * page, 5 * page * t));
        if (in.differs(t + round) != -1) ++wrong[t];
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, std::vector<index_t>(4, 0));
}

TEST_P(AsyncFiles, WaitForWhatIsInFlightAtTheirEnd) {
  const Buffer out(8 * mebi), in(8 * mebi);
  out.fill(3);
  {
    AsyncFile file(this->file("data"), Mode::Create, options(mebi, 2));
    static_cast<void>(file.write(out.data(), 8 * mebi, 0));
  }
  AsyncFile file(this->file("data"), Mode::Read, options());
  file.wait(file.read(in.data(), 8 * mebi, 0));
  EXPECT_EQ(in.differs(3), -1);
}

TEST_P(AsyncFiles, CarryOnAfterShortTransfersAndInterrupts) {
  // One in flight, so that requests have the same numbers each time.
  AsyncFile file(this->file("data"), Mode::Create, options(4 * page, 1));
  const Buffer out(12 * page), in(12 * page);
  out.fill(9);
  file.inject({.request = 0, .at_most = 1000});
  file.inject({.request = 1, .at_most = page});
  file.inject({.request = 3, .error = EINTR});
  file.wait(file.write(out.data(), 12 * page, 0));
  file.inject({.request = 0, .at_most = 2 * page});
  file.inject({.request = 2, .at_most = 1});
  file.inject({.request = 4, .error = EINVAL});  // a file system that wants larger blocks
  if (!GetParam().direct) file.inject({.request = 5, .error = EINTR});
  const AsyncFile::Ticket ticket = file.read(in.data(), 12 * page, 0);
  if (GetParam().direct) {
    file.wait(ticket);
    EXPECT_EQ(in.differs(9), -1);
  } else {
    EXPECT_TRUE(has(failure_of(file, ticket), "Invalid argument"));
  }
}

TEST_P(AsyncFiles, NamePathOffsetAndBytesOfWhatFailed) {
  AsyncFile file(this->file("data"), Mode::Create, options(2 * page));
  const Buffer buffer(8 * page);
  file.wait(file.write(buffer.data(), 8 * page, 0));
  file.inject({.request = 2, .error = EIO});
  const AsyncFile::Ticket ticket = file.read(buffer.data(), 8 * page, 0);
  const std::string what = failure_of(file, ticket);
  EXPECT_TRUE(has(what, "read 32768 bytes at offset 0"));
  EXPECT_TRUE(has(what, this->file("data")));
  EXPECT_TRUE(has(what, "from byte 16384"));
  EXPECT_TRUE(has(what, std::strerror(EIO)));
  EXPECT_TRUE(has(what, "the disk"));
  EXPECT_EQ(failure_of(file, ticket), what) << "each wait says so";
  file.wait(file.read(buffer.data(), 8 * page, 0));
}

TEST_P(AsyncFiles, SayHowMuchAFullDiskLacks) {
  AsyncFile file(this->file("data"), Mode::Create, options(2 * page));
  const Buffer buffer(8 * page);
  file.inject({.request = 1, .error = ENOSPC});
  const std::string what = failure_of(file, file.write(buffer.data(), 8 * page, 0));
  EXPECT_TRUE(has(what, std::strerror(ENOSPC)));
  EXPECT_TRUE(has(what, "24 KiB were needed"));
  EXPECT_TRUE(has(what, "are free"));
}

TEST_P(AsyncFiles, SayWhereATruncatedFileEnds) {
  AsyncFile file(this->file("data"), Mode::Create, options(2 * page));
  const Buffer buffer(8 * page);
  file.wait(file.write(buffer.data(), 8 * page, 0));
  ASSERT_EQ(truncate(this->file("data").c_str(), 3 * page + 10), 0);
  const std::string what = failure_of(file, file.read(buffer.data(), 8 * page, 0));
  EXPECT_TRUE(has(what, "the file ends at byte " + std::to_string(3 * page + 10) + ": it was truncated"));
  EXPECT_TRUE(has(what, std::to_string(5 * page - 10) + " bytes are missing"));
  file.wait(file.read(buffer.data(), 3 * page + 10, 0));
}

TEST_P(AsyncFiles, AreStoppedByTheLimitOfFileSizes) {
  AsyncFile file(this->file("data"), Mode::Create, options(2 * page));
  const Buffer buffer(8 * page);
  auto* const handler = std::signal(SIGXFSZ, SIG_IGN);
  {
    const file_testing::FileSizeLimit limit(4 * page);
    const AsyncFile::Ticket ticket = file.write(buffer.data(), 8 * page, 0);
    EXPECT_TRUE(has(failure_of(file, ticket), "ulimit -f"));
  }
  std::signal(SIGXFSZ, handler);
}

TEST_P(AsyncFiles, AndMappingsSeeEachOther) {
  constexpr index_t bytes = 2 * mebi;
  AsyncFile file(this->file("data"), Mode::Create, options());
  const Buffer buffer(bytes);
  buffer.fill(1);
  file.wait(file.write(buffer.data(), bytes, 0));
  auto* const map = static_cast<char*>(mmap(nullptr, static_cast<std::size_t>(bytes), PROT_READ | PROT_WRITE,
                                            MAP_SHARED, file.descriptor(), 0));
  ASSERT_NE(static_cast<void*>(map), MAP_FAILED);
  EXPECT_EQ(map[5 * page + 3], Buffer::byte(1, 5 * page + 3));
  map[5 * page + 3] = 77;
  file.wait(file.read(buffer.data(), bytes, 0));
  EXPECT_EQ(buffer.data()[5 * page + 3], 77);
  buffer.fill(2);
  file.wait(file.write(buffer.data(), bytes, 0));
  EXPECT_EQ(std::memcmp(map, buffer.data(), static_cast<std::size_t>(bytes)), 0);
  munmap(map, static_cast<std::size_t>(bytes));
}

// Large pages of the cache may hold both what is written past it and what the host changes meanwhile; some of
// these are found to be there after the write.
TEST_P(AsyncFiles, KeepWhatIsWrittenBesideAMappingThatChangesAllTheTime) {
  constexpr index_t bytes = 4 * mebi, mine = mebi + 3 * page;
  AsyncFile file(this->file("data"), Mode::Create, options(mebi));
  const Buffer all(bytes);
  all.fill(1);
  file.wait(file.write(all.data(), bytes, 0));
  auto* const map = static_cast<char*>(mmap(nullptr, static_cast<std::size_t>(bytes), PROT_READ | PROT_WRITE,
                                            MAP_SHARED, file.descriptor(), 0));
  ASSERT_NE(static_cast<void*>(map), MAP_FAILED);
  std::atomic<bool> stop = false;
  std::thread host([&] {
    for (unsigned char value = 0; !stop; ++value) {
      for (index_t k = 0; k < mine; k += 64) map[k] = static_cast<char>(value);
      for (index_t k = mine + 2 * mebi; k < bytes; k += 64) map[k] = static_cast<char>(value);
    }
  });
  std::thread reader([&] {  // brings large pages into the cache
    const int plain = open(this->file("data").c_str(), O_RDONLY);
    const Buffer there(bytes);
    while (!stop) static_cast<void>(!pread(plain, there.data(), static_cast<std::size_t>(bytes), 0));
    close(plain);
  });
  const Buffer out(2 * mebi), in(2 * mebi);
  for (unsigned round = 0; round < 4; ++round) {
    out.fill(round);
    file.wait(file.write(out.data(), 2 * mebi, mine));
    file.wait(file.read(in.data(), 2 * mebi, mine));
    ASSERT_EQ(in.differs(round), -1) << round;
    ASSERT_EQ(std::memcmp(map + mine, out.data(), 2 * mebi), 0) << round;
  }
  stop = true;
  host.join();
  reader.join();
  munmap(map, static_cast<std::size_t>(bytes));
}

TEST_P(AsyncFiles, RefuseWhatCannotBe) {
  const Buffer buffer(page);
  {
    AsyncFile file(this->file("data"), Mode::Create, options());
    EXPECT_THROW(static_cast<void>(file.read(buffer.data(), -1, 0)), FileError);
    EXPECT_THROW(static_cast<void>(file.read(buffer.data(), 1, -1)), FileError);
    file.wait(file.read(buffer.data(), 0, 0));
    EXPECT_TRUE(file.is_done(AsyncFile::Ticket()));
  }
  AsyncFile file(this->file("data"), Mode::Read, options());
  EXPECT_THROW(static_cast<void>(file.write(buffer.data(), page, 0)), FileError);
  EXPECT_THROW(AsyncFile(this->file("data"), Mode::Read, options(1000)), FileError);
  EXPECT_THROW(AsyncFile(this->file("data"), Mode::Read, options(page, 0)), FileError);
}

TEST_P(AsyncFiles, AreNotForChildren) {
  AsyncFile file(this->file("data"), Mode::Create, options());
  const Buffer buffer(page);
  file.wait(file.write(buffer.data(), page, 0));
  const pid_t child = fork();
  if (child == 0) {
    try {
      static_cast<void>(file.read(buffer.data(), page, 0));
    } catch (const FileError&) {
      _exit(3);
    }
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 3);
}

INSTANTIATE_TEST_SUITE_P(
    Ways, AsyncFiles,
    ::testing::Values(Way{AsyncFile::Engine::Threads, true}, Way{AsyncFile::Engine::Threads, false},
                      Way{AsyncFile::Engine::Uring, true}, Way{AsyncFile::Engine::Uring, false}),
    [](const auto& way) {
      return std::string(way.param.engine == AsyncFile::Engine::Uring ? "Uring" : "Threads") +
             (way.param.direct ? "Direct" : "Buffered");
    });

class AsyncFileOpening : public child_testing::ChildProcess {
 protected:
  std::string refusal(const std::string& path, Mode mode) {
    try {
      const AsyncFile file(path, mode);
    } catch (const FileError& error) {
      EXPECT_TRUE(has(error.what(), path));
      return error.what();
    }
    ADD_FAILURE() << "nothing was thrown";
    return "";
  }
};

TEST_F(AsyncFileOpening, SaysWhatTheSystemSaidAndWhatToDo) {
  EXPECT_TRUE(has(refusal(file("none"), Mode::Read), "No such file"));
  EXPECT_TRUE(has(refusal(file("no/folder"), Mode::Create), "make the folder \"" + file("no") + "\""));
  EXPECT_TRUE(has(refusal(folder.string(), Mode::Read), "not a regular file"));
  const AsyncFile there(file("there"), Mode::Create);
  EXPECT_TRUE(has(refusal(file("there"), Mode::Create), "overwrite"));
  if (geteuid() != 0) {  // root may do everything
    ASSERT_EQ(chmod(file("there").c_str(), 0444), 0);
    EXPECT_TRUE(has(refusal(file("there"), Mode::ReadWrite), "Permission denied"));
  }
}

TEST_F(AsyncFileOpening, DoesWithoutDirectReadsWhereTheFileSystemHasNone) {
  const std::string path = "/proc/self/stat";  // a file without direct I/O
  AsyncFile file(path, Mode::Read);
  EXPECT_FALSE(file.is_direct());
  char text[8] = {};
  file.wait(file.read(text, 4, 0));
  EXPECT_EQ(std::string(text, 4), std::to_string(getpid()).append("    ").substr(0, 4));
}

// The real thing, where a file system may be made.
TEST_F(AsyncFileOpening, IsToldOfADiskThatIsFull) {
  const strata_tests::SmallDisk disk(folder);
  if (!disk.is_there) GTEST_SKIP() << "no right to mount";
  const Buffer buffer(2 * mebi);
  {
    AsyncFile file(this->file("data"), Mode::Create);
    try {
      file.wait(file.write(buffer.data(), 2 * mebi, 0));
      ADD_FAILURE() << "nothing was thrown";
    } catch (const FileError& error) {
      EXPECT_TRUE(has(error.what(), std::strerror(ENOSPC)));
      EXPECT_TRUE(has(error.what(), "make room"));
    }
  }
}

}  // namespace
