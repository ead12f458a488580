// Coherent arrays in files: what is refused, and files that several processes use.
// SPDX-License-Identifier: Apache-2.0
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/files/file_size_limit.hpp"
#include "core/files/small_disk.hpp"
#include "core/random.hpp"
#include "views/coherent/file_array_fixture.hpp"

namespace {

using namespace coherent_testing;

// ---- what is refused

TEST_F(FileArrays, ReplaceAFileWhateverOthersOfTheSameProcessNumberLeftBesideIt) {
  make(10);
  const std::string left = path + ".new-" + std::to_string(getpid());
  std::ofstream(left) << "left";

  static_cast<void>(file_array<int, rank<1>>(path, 5, overwrite));

  EXPECT_EQ(std::filesystem::file_size(left), 4u);
}

TEST_F(FileArrays, DoNotReplaceAFileUnlessAsked) {
  make(10);
  EXPECT_TRUE(
      has(message_of<FileError>([&] { static_cast<void>(file_array<int, rank<1>>(path, 5)); }), "overwrite"));
  EXPECT_TRUE(is_complete());
  const Longs old = open_file_array<std::int64_t, rank<1>>(path, for_reading);
  static_cast<void>(file_array<int, rank<1>>(path, 5, overwrite));
  EXPECT_EQ((open_file_array<int, rank<1>>(path).extent(0)), 5);
  EXPECT_EQ(old(9), 109) << "who has the old one open keeps it";
  // What cannot be made replaces nothing.
  EXPECT_THROW((file_array<int, rank<1>>(path, index_t{1} << 58, overwrite)), FileError);
  EXPECT_EQ((open_file_array<int, rank<1>>(path, for_reading).extent(0)), 5);
  const auto written = open_file_array<int, rank<1>>(path);
  EXPECT_TRUE(
      has(message_of<FileError>([&] { static_cast<void>(file_array<int, rank<1>>(path, 6, overwrite)); }),
          "open for writing"));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 1) << "nothing is left beside it";
  EXPECT_TRUE(
      has(message_of<FileError>([&] { static_cast<void>(file_array<int, rank<1>>(folder, 5, overwrite)); }),
          "not a regular file"));
}

TEST_F(FileArrays, RefuseWhatIsNotTheArrayThatWasAsked) {
  make(10);
  const auto refused = [&](const auto& open) { return message_of<FileError>(open); };
  EXPECT_TRUE(has(refused([&] { static_cast<void>(open_file_array<double, rank<1>>(path)); }),
                  "element type is int64, asked was double"));
  EXPECT_TRUE(has(refused([&] { static_cast<void>(open_file_array<std::int32_t, rank<1>>(path)); }),
                  "asked was int32"));
  EXPECT_TRUE(has(refused([&] { static_cast<void>(open_file_array<Particle, rank<1>>(path)); }),
                  "Particle of 24 bytes"));
  EXPECT_TRUE(has(refused([&] { static_cast<void>(open_file_array<std::int64_t, rank<2>>(path)); }),
                  "rank is 1, asked was 2"));
  EXPECT_TRUE(
      has(refused([&] { static_cast<void>(open_file_array<std::int64_t, rank<1>, LayoutTiled<8>>(path)); }),
          "layout is right, asked was tiled<8>"));
  EXPECT_TRUE(has(refused([&] { static_cast<void>(open_file_array<std::int64_t, rank<1>>(path, 11)); }),
                  "shape is (10), asked was (11)"));
  EXPECT_THROW(static_cast<void>(file_array<std::int64_t, rank<1>>(folder + "/n", -1)), ExtentError);
  EXPECT_FALSE(std::filesystem::exists(folder + "/n"));
  EXPECT_TRUE(is_complete()) << "what was refused was not touched";
}

TEST_F(FileArrays, RefuseFilesThatAreNotSound) {
  EXPECT_TRUE(has(refusal(), "No such file"));
  EXPECT_TRUE(
      has(message_of<FileError>([&] { static_cast<void>(file_array<int, rank<1>>(folder + "/no/x", 5)); }),
          "make the folder"));
  std::ofstream(path) << "some text";
  EXPECT_TRUE(has(refusal(), "is not a file of an array of Strata"));
  make(1000);
  change_header([](FileHeader& h) { h.version = 2; });
  EXPECT_TRUE(has(refusal(), "version 2"));
  make(1000);
  change_header([](FileHeader& h) { h.byte_order = 0x04030201; });
  EXPECT_TRUE(has(refusal(), "byte order"));
  make(1000);
  change_header([](FileHeader& h) { h.extents[0] = 999; }, false);
  EXPECT_TRUE(has(refusal(), "header is damaged"));
  make(1000);
  change_header([](FileHeader& h) { h.extents[0] = 999; });
  EXPECT_TRUE(has(refusal(), "its header is wrong"));
  for (const index_t extent : {index_t{-1}, std::numeric_limits<index_t>::min()}) {
    make(1000);
    change_header([&](FileHeader& h) { h.extents[0] = extent; });
    EXPECT_TRUE(has(refusal(), "its header is wrong"));
    EXPECT_TRUE(has(refusal(), path));
  }
  const auto refusal_2d = [&] {
    return message_of<FileError>(
        [&] { static_cast<void>(open_file_array<double, rank<2>, LayoutTiled<8>>(path)); });
  };
  for (const index_t extent : {index_t{1} << 32, index_t{1} << 60, std::numeric_limits<index_t>::max()}) {
    static_cast<void>(file_array<double, rank<2>, LayoutTiled<8>>(path, 8, 4, overwrite));
    change_header([&](FileHeader& h) { h.extents[0] = h.extents[1] = extent; });
    EXPECT_TRUE(has(refusal_2d(), "its header is wrong"));
    EXPECT_TRUE(has(refusal_2d(), path));
  }
  make(1000);
  ASSERT_EQ(truncate(path.c_str(), 5000), 0);
  EXPECT_TRUE(has(refusal(), "ends at byte 5000 of 12096: it was truncated"));
  ASSERT_EQ(truncate(path.c_str(), 100), 0);
  EXPECT_TRUE(has(refusal(), "in its header: it was truncated"));
  make(1000);
  ASSERT_EQ(truncate(path.c_str(), 20000), 0);
  EXPECT_TRUE(has(refusal(), "has 20000 bytes, its header says 12096"));
}

TEST_F(FileArrays, NeedPermission) {
  if (geteuid() == 0) GTEST_SKIP() << "root may do everything";
  make(10);
  ASSERT_EQ(chmod(path.c_str(), 0444), 0);
  EXPECT_TRUE(has(refusal(), "for_reading"));
  EXPECT_EQ((open_file_array<std::int64_t, rank<1>>(path, for_reading)(0)), 100);
}

TEST_F(FileArrays, TellAtCreationThatTheDiskIsFull) {
  const strata_tests::SmallDisk disk(folder);
  if (!disk.is_there) GTEST_SKIP() << "no right to mount";
  const std::string what =
      message_of<FileError>([&] { static_cast<void>(file_array<double, rank<1>>(path, 1000000)); });
  EXPECT_TRUE(has(what, std::strerror(ENOSPC)));
  EXPECT_TRUE(has(what, "were needed, "));
  EXPECT_FALSE(std::filesystem::exists(path));
  {
    const auto fits = file_array<double, rank<1>>(path, 100000);
    fits(99999) = 1;
    save(fits);
  }
}

// A copy that leaves out zeros has holes. To write to one would end the program.
TEST_F(FileArrays, TellWhenOpenedThatTheDiskHasNoRoomForTheirHoles) {
  const strata_tests::SmallDisk disk(folder);
  if (!disk.is_there) GTEST_SKIP() << "no right to mount";
  constexpr index_t n = 100000;
  save(file_array<double, rank<1>>(path, n));
  {
    const strata::detail::files::AsyncFile file(path, strata::detail::files::AsyncFile::Mode::ReadWrite);
    ASSERT_EQ(fallocate(file.descriptor(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 4096, 8 * n), 0);
  }
  const std::string other = folder + "/other";
  std::ofstream(other) << std::string(900000, 'x');

  const std::string what =
      message_of<FileError>([&] { static_cast<void>(open_file_array<double, rank<1>>(path)); });

  EXPECT_TRUE(has(what, std::strerror(ENOSPC)) && has(what, path)) << what;
  EXPECT_TRUE(has(what, "were needed, ")) << what;
  EXPECT_EQ((open_file_array<double, rank<1>>(path, for_reading)(n - 1)), 0);
  std::filesystem::remove(other);
  const auto fits = open_file_array<double, rank<1>>(path);
  const auto view = fits.write();
  for (index_t i = 0; i < n; ++i) view(i) = 1;
}

TEST_F(FileArrays, TellAtCreationThatTheFileIsTooLarge) {
  const std::string what = message_of<FileError>([&] {
    const file_testing::FileSizeLimit limit(100000);
    static_cast<void>(file_array<double, rank<1>>(path, 1000000));
  });
  EXPECT_TRUE(has(what, "ulimit -f"));
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST_F(FileArrays, AreNotUsedWhenSomebodyTruncatedThem) {
  make(10000);
  const Longs x = open_file_array<std::int64_t, rank<1>>(path, for_reading);
  EXPECT_EQ(x(9999), 10099);
  ASSERT_EQ(truncate(path.c_str(), 5000), 0);
  EXPECT_TRUE(
      has(message_of<FileError>([&] { static_cast<void>(x.read()); }), "truncated while it was open"));
  EXPECT_THROW(static_cast<void>(static_cast<std::int64_t>(x(9999))), FileError);
}

TEST_F(FileArrays, TruncatedAnywhereAreRefusedOrNotUsed) {
  strata_tests::Random random;
  for (int trial = 0; trial < strata_tests::trials(60) && !HasFailure(); ++trial) {
    const index_t n = random(1, 3000);
    make(n);
    const index_t bytes = static_cast<index_t>(std::filesystem::file_size(path));
    const index_t kept =
        random(0, 2) == 0 ? random(0, std::min(bytes - 1, index_t{5000})) : random(0, bytes - 1);
    SCOPED_TRACE(std::to_string(n) + " elements, cut from " + std::to_string(bytes) + " bytes to " +
                 std::to_string(kept));
    const auto cut = [&] { ASSERT_EQ(truncate(path.c_str(), kept), 0); };
    if (random(0, 1) == 0) {
      cut();
      // A few bytes do not say what the file was.
      const std::string text = refusal();
      EXPECT_TRUE(has(text, "truncated") || (kept < 8 && has(text, "not a file of an array"))) << text;
      continue;
    }
    const bool for_reading_only = random(0, 1) == 0, on_device = !for_reading_only && random(0, 1) == 0;
    testing::internal::CaptureStderr();
    {
      const Longs x = for_reading_only ? open_file_array<std::int64_t, rank<1>>(path, for_reading)
                                       : open_file_array<std::int64_t, rank<1>>(path);
      if (on_device) {
        launch(on(Emulated{0}), n, AddTo{1}, inout(x));
        wait(Emulated{0});
      } else if (random(0, 1) == 0) {
        x.read();
      }
      cut();
      EXPECT_TRUE(
          has(message_of<FileError>([&] { static_cast<void>(x.read()); }), "truncated while it was open"));
      EXPECT_THROW(static_cast<void>(static_cast<std::int64_t>(x(random(0, n - 1)))), FileError);
    }
    const std::string text = testing::internal::GetCapturedStderr();
    if (on_device) {
      EXPECT_TRUE(has(text, "truncated while it was open"));
    }
  }
}

TEST_F(FileArrays, OnDevicesThatSomebodyTruncatedEndWithAWord) {
  make(10000);
  testing::internal::CaptureStderr();
  {
    const Longs x = open_file_array<std::int64_t, rank<1>>(path);
    launch(on(Emulated{0}), 10000, AddTo{1}, inout(x));
    wait(Emulated{0});
    ASSERT_EQ(truncate(path.c_str(), 5000), 0);
    EXPECT_THROW(static_cast<void>(x.read()), FileError);
  }

  const std::string text = testing::internal::GetCapturedStderr();
  EXPECT_TRUE(has(text, "truncated while it was open")) << text;
  EXPECT_TRUE(has(text, path));
}

TEST_F(FileArrays, ForReadingAreNotChanged) {
  make(10);
  {
    const Longs x = open_file_array<std::int64_t, rank<1>>(path, for_reading);
    EXPECT_TRUE(has(message_of<FileError>([&] { static_cast<void>(x.write()); }), "for_reading"));
    EXPECT_THROW(x(0) = 1, FileError);
    EXPECT_THROW(save(x), FileError);
    EXPECT_THROW(launch(on(Serial{}), 10, AddTo{1}, inout(x)), FileError);
    EXPECT_THROW(launch(on(Emulated{0}), 10, AddTo{1}, inout(x)), FileError);
    EXPECT_EQ(x(3), 103);
    EXPECT_THROW(file_storage_of(*x.state())->before_direct_write(4096, 8), FileError);
  }
  EXPECT_TRUE(is_complete());
  EXPECT_EQ((open_file_array<std::int64_t, rank<1>>(path)(3)), 103);
}

TEST_F(FileArrays, InMemoryAreNotSaved) {
  EXPECT_TRUE(has(message_of<FileError>([] { save(Longs("mine", 5)); }), "\"mine\": it is in memory"));
  EXPECT_EQ(file_storage_of(*Longs("mine", 5).state()), nullptr);
}

// ---- two processes

TEST_F(FileArrays, GoFromOneProcessToAnother) {
  ASSERT_EQ(in_child([&] {
              make(5000);
              return 0;
            }),
            0);
  const Longs x = open_file_array<std::int64_t, rank<1>>(path, for_reading);
  EXPECT_EQ(x(4999), 5099);
  EXPECT_EQ(in_child([&] {
              return open_file_array<std::int64_t, rank<1>>(path, for_reading)(4999) == 5099 ? 3 : 0;
            }),
            3);
}

TEST_F(FileArrays, AreWrittenByOneProcessOnly) {
  make(100);
  const Longs x = open_file_array<std::int64_t, rank<1>>(path);
  x(5) = -5;
  EXPECT_TRUE(has(refusal(), "incomplete")) << "this process counts, too";
  EXPECT_TRUE(has(message_of<FileError>([&] {
                    static_cast<void>(open_file_array<std::int64_t, rank<1>>(path, allow_incomplete));
                  }),
                  "open elsewhere"));
  EXPECT_EQ(in_child([&] {  // who wants to look, may
              const Longs there = open_file_array<std::int64_t, rank<1>>(path, for_reading, allow_incomplete);
              return there(5) == -5 ? 3 : 0;
            }),
            3);
  save(x);
  EXPECT_TRUE(has(refusal(), "open elsewhere"));
}

TEST_F(FileArrays, AreOpenedAgainAsSoonAsTheirLastHandleEnded) {
  make(200000);
  for (int k = 0; k < 20; ++k) {
    {
      const Longs x = open_file_array<std::int64_t, rank<1>>(path);
      launch(on(Emulated{0}), 200000, ReadOnly{}, in(x));  // its copy to the device may be under way
    }
    const Longs x = open_file_array<std::int64_t, rank<1>>(path, for_reading);
    launch(on(Emulated{0}), 200000, ReadOnly{}, in(x));
  }
  EXPECT_EQ((open_file_array<std::int64_t, rank<1>>(path)(5)), 105);
}

}  // namespace
