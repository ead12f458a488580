// Coherent arrays in files: what is in the file, when it is complete, what is refused, and that launches,
// host views and direct I/O see the same values.
// SPDX-License-Identifier: Apache-2.0
#include <csignal>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>
#include <vector>

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <strata/views/coherent/file_array.hpp>
#include <strata/views/coherent/file_storage.hpp>

#include "core/random.hpp"
#include "views/coherent/executor_fixture.hpp"

namespace {

using namespace coherent_testing;
using strata::detail::file_storage_of;
using strata::detail::FileHeader;
using strata::detail::files::AsyncFile;
using Longs = CoherentArray<std::int64_t, rank<1>>;

struct Particle {
  double x, y;
  int cell;
};

// A file system of 1 MiB at `folder`, where the system lets us make one.
class SmallDisk {
 public:
  explicit SmallDisk(const std::string& folder)
      : is_there(mount("tmpfs", folder.c_str(), "tmpfs", 0, "size=1m") == 0), folder_(folder) {}
  ~SmallDisk() {
    if (is_there) umount2(folder_.c_str(), MNT_DETACH);
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;

  const bool is_there;

 private:
  const std::string folder_;
};

class FileArrays : public CoherentTest {
 protected:
  void SetUp() override {
    CoherentTest::SetUp();
    std::string pattern = (std::filesystem::temp_directory_path() / "strata-test-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder = pattern;
    path = folder + "/x.strata";
  }
  void TearDown() override {
    std::filesystem::remove_all(folder);
    CoherentTest::TearDown();
  }

  FileHeader header() const {
    FileHeader found{};
    std::ifstream file(path, std::ios::binary);
    file.read(reinterpret_cast<char*>(&found), sizeof found);
    return found;
  }
  bool is_complete() const { return header().state == FileHeader::State::Complete; }
  // Changes the header, with a right checksum.
  template <class F>
  void change_header(const F& change, bool sums = true) const {
    FileHeader found = header();
    change(found);
    if (sums) found.checksum = strata::detail::checksum_of(found);
    std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
    file.write(reinterpret_cast<const char*>(&found), sizeof found);
  }
  std::string refusal() const {
    return message_of<FileError>([&] { static_cast<void>(open_file_array<std::int64_t, rank<1>>(path)); });
  }
  void make(index_t n) const {
    const Longs x = file_array<std::int64_t, rank<1>>(path, n, overwrite);
    launch(on(Serial{}), n, Iota{100}, out(x));
  }

  // What a child's `body` returns; it ends there and then, as in a crash.
  template <class F>
  static int in_child(const F& body) {
    const pid_t child = fork();
    if (child == 0) {
      int result = 99;
      try {
        result = body();
      } catch (const std::exception&) {
        result = 98;
      }
      _exit(result);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }

  std::string folder, path;
};

// ---- what is in the file

template <class T>
T value_at(index_t k) {
  if constexpr (std::is_same_v<T, Particle>) return {double(k), -double(k), int(k)};
  else return static_cast<T>(k % 100 + 1);
}
bool equal(const Particle& a, const Particle& b) { return a.x == b.x && a.y == b.y && a.cell == b.cell; }
template <class T>
bool equal(const T& a, const T& b) {
  return a == b;
}

// Calls f(view's element, number) for all elements.
template <class V, class F>
void for_elements(const V& view, const Box& box, const F& f) {
  index_t k = 0;
  if constexpr (V::view_type::extents_type::max_rank_value == 0) f(*view, k);
  else if constexpr (V::view_type::extents_type::max_rank_value == 1)
    for (index_t i = 0; i < box.upper(0); ++i) f(view(i), k++);
  else if constexpr (V::view_type::extents_type::max_rank_value == 2)
    for (index_t i = 0; i < box.upper(0); ++i)
      for (index_t j = 0; j < box.upper(1); ++j) f(view(i, j), k++);
  else
    for (index_t i = 0; i < box.upper(0); ++i)
      for (index_t j = 0; j < box.upper(1); ++j)
        for (index_t l = 0; l < box.upper(2); ++l) f(view(i, j, l), k++);
}

template <class T, int Rank, class LayoutType, class... N>
void expect_round_trip(const std::string& path, const char* layout, N... n) {
  SCOPED_TRACE(std::string(layout) + " " + std::to_string(Rank));
  {
    const auto x = file_array<T, rank<Rank>, LayoutType>(path, n..., overwrite);
    EXPECT_EQ(x.size(), (index_t{1} * ... * n));
    const auto view = x.read_write();
    for_elements(view, x.domain(), [](T& element, index_t k) {
      EXPECT_TRUE(equal(element, T{})) << "zero at first";
      element = value_at<T>(k);
    });
  }
  for (const bool reads : {true, false}) {
    const auto x = reads ? open_file_array<T, rank<Rank>, LayoutType>(path, for_reading)
                         : open_file_array<T, rank<Rank>, LayoutType>(path, n...);
    EXPECT_EQ(x.size(), (index_t{1} * ... * n));
    const index_t extents[] = {index_t{n}..., 0};
    for (int r = 0; r < Rank; ++r) EXPECT_EQ(x.extent(r), extents[r]);
    const auto view = x.read();
    for_elements(view, x.domain(),
                 [](const T& element, index_t k) { ASSERT_TRUE(equal(element, value_at<T>(k))); });
  }
  FileHeader header{};
  std::ifstream(path, std::ios::binary).read(reinterpret_cast<char*>(&header), sizeof header);
  EXPECT_STREQ(header.layout_name, layout);
  EXPECT_EQ(header.rank, Rank);
  EXPECT_EQ(static_cast<index_t>(std::filesystem::file_size(path)), header.data_offset + header.data_bytes);
}

TEST_F(FileArrays, ComeBackInEveryRankAndLayout) {
  expect_round_trip<double, 0, LayoutRight>(path, "right");
  expect_round_trip<int, 1, LayoutRight>(path, "right", 1);
  expect_round_trip<double, 1, LayoutRight>(path, "right", 12345);
  expect_round_trip<std::uint8_t, 1, LayoutTiled<8>>(path, "tiled<8>", 1003);
  expect_round_trip<float, 2, LayoutRight>(path, "right", 101, 7);
  expect_round_trip<float, 2, LayoutTiled<8>>(path, "tiled<8>", 101, 7);
  expect_round_trip<float, 2, LayoutLeft>(path, "left", 101, 7);
  expect_round_trip<complex<double>, 3, LayoutRight>(path, "right", 13, 5, 9);
  expect_round_trip<std::int16_t, 3, LayoutTiled<16>>(path, "tiled<16>", 13, 5, 9);
  expect_round_trip<Particle, 3, LayoutTiled<8>>(path, "tiled<8>", 3, 4, 5);
  expect_round_trip<bool, 1, LayoutRight>(path, "right", 10);
  expect_round_trip<double, 2, LayoutRight>(path, "right", 0, 7);
}

TEST_F(FileArrays, LieBehindTheHeaderInTheirLayout) {
  make(1000);
  std::ifstream file(path, std::ios::binary);
  file.seekg(FileHeader::size);
  std::vector<std::int64_t> there(1000);
  file.read(reinterpret_cast<char*>(there.data()), 8000);
  for (std::size_t k = 0; k < 1000; ++k) ASSERT_EQ(there[k], 100 + static_cast<std::int64_t>(k));
}

TEST_F(FileArrays, AreCoherentOnEveryDevice) {
  const Longs x = file_array<std::int64_t, rank<1>>(path, 1000),
              y = file_array<std::int64_t, rank<1>>(folder + "/y", 1000);
  launch(on(Serial{}), 1000, Iota{1}, out(x));
  launch(across(emulated_devices(2)), 1000, Copy{}, in(x), out(y));
  launch(on(Emulated{0}), range(1, 999), SumOfThree{}, in(x, halo(1, 1)), out(y));
  y.write(line(5, 6))(5) = -1;
  y(6) = -2;
  launch(on(Threads{}), 1000, AddTo{1}, inout(y));
  EXPECT_EQ(y(0), 2);
  for (index_t i = 1; i < 999; ++i) ASSERT_EQ(y(i), i == 5 ? 0 : i == 6 ? -1 : 3 * (i + 1) + 1);
}

TEST_F(FileArrays, TakeWhatADeviceAloneHasWithThemAtTheirEnd) {
  {
    const Longs x = file_array<std::int64_t, rank<1>>(path, 1000);
    launch(on(Emulated{1}), 1000, Iota{7}, out(x));
  }
  EXPECT_TRUE(is_complete());
  const Longs x = open_file_array<std::int64_t, rank<1>>(path, for_reading);
  for (index_t i = 0; i < 1000; ++i) ASSERT_EQ(x(i), 7 + i);
}

TEST_F(FileArrays, MakeRoomOnDevicesAsOthersDo) {
  coherent::set_budget(Emulated{0}, 12000);
  const Longs x = file_array<std::int64_t, rank<1>>(path, 1000),
              y = file_array<std::int64_t, rank<1>>(folder + "/y", 1000);
  launch(on(Emulated{0}), 1000, Iota{1}, out(x));
  launch(on(Emulated{0}), 1000, Iota{2}, out(y));
  EXPECT_EQ(x.counters().device_to_host.bytes, 8000U);
  EXPECT_EQ(x(10), 11);
  EXPECT_EQ(y(10), 12);
}

TEST_F(FileArrays, MayBeUninitialized) {
  const Longs x = file_array<std::int64_t, rank<1>>(path, 100, uninitialized);
  EXPECT_TRUE(x.where(x.domain())[0].memories.empty());
  launch(on(Emulated{0}), 100, Iota{1}, out(x));
  EXPECT_EQ(x.counters().host_to_device.count, 0U);
  EXPECT_EQ(x(99), 100);
}

// ---- when it is complete

TEST_F(FileArrays, AreCompleteAfterSaveUntilTheNextChange) {
  const Longs x = file_array<std::int64_t, rank<1>>(path, 100);
  EXPECT_FALSE(is_complete());
  launch(on(Emulated{0}), 100, Iota{1}, out(x));
  save(x);
  EXPECT_TRUE(is_complete());
  EXPECT_EQ(x.read()(5), 6);
  EXPECT_EQ(x(6), 7);
  EXPECT_TRUE(is_complete()) << "nothing was changed";
  x(5) = 1;
  EXPECT_FALSE(is_complete());
  save(x);
  x.write(line(0, 1))(0) = 3;
  EXPECT_FALSE(is_complete());
  save(x);
  launch(on(Serial{}), 100, AddTo{1}, inout(x));
  EXPECT_FALSE(is_complete());
  save(x);
  launch(on(Emulated{1}), 100, AddTo{1}, inout(x));
  EXPECT_FALSE(is_complete());
}

TEST_F(FileArrays, AreCompleteAfterTheirLastHandle) {
  Longs same;
  {
    const Longs x = file_array<std::int64_t, rank<1>>(path, 100);
    same = x;
  }
  EXPECT_FALSE(is_complete());
  same = {};
  EXPECT_TRUE(is_complete());
}

TEST_F(FileArrays, StayIncompleteWhenTheProgramCrashes) {
  const auto crash = [&](int when) {
    return in_child([&] {
      const Longs x = when < 5 ? file_array<std::int64_t, rank<1>>(path, 1000, overwrite)
                               : open_file_array<std::int64_t, rank<1>>(path);
      if (when == 0 || when == 5) _exit(7);
      launch(on(Serial{}), 1000, Iota{1}, out(x));
      if (when == 1 || when == 6) _exit(7);
      save(x);
      if (when == 2) launch(on(Serial{}), 1000, AddTo{1}, inout(x));
      if (when == 3) x(3) = 4;
      _exit(7);
      return 0;
    });
  };
  for (const int when : {0, 1, 2, 3}) {
    SCOPED_TRACE(when);
    ASSERT_EQ(crash(when), 7);
    EXPECT_TRUE(has(refusal(), "incomplete"));
    EXPECT_EQ((open_file_array<std::int64_t, rank<1>>(path, allow_incomplete, for_reading).extent(0)), 1000);
  }
  ASSERT_EQ(crash(4), 7);  // after save, and nothing else
  EXPECT_EQ((open_file_array<std::int64_t, rank<1>>(path, for_reading)(999)), 1000);
  ASSERT_EQ(crash(5), 7);  // opened, and nothing else
  EXPECT_TRUE(is_complete());
  ASSERT_EQ(crash(6), 7);  // as soon as it is changed
  EXPECT_TRUE(has(refusal(), "incomplete"));
  static_cast<void>(
      open_file_array<std::int64_t, rank<1>>(path, allow_incomplete));  // looked at, and found good
  EXPECT_TRUE(is_complete());
}

TEST_F(FileArrays, ThatNobodyChangedStayCompleteWhenAnExceptionEndsThem) {
  make(100);
  try {
    const Longs x = open_file_array<std::int64_t, rank<1>>(path);
    EXPECT_EQ(x.read()(3), 103);
    throw 1;
  } catch (int) {
  }
  EXPECT_TRUE(is_complete());
}
TEST_F(FileArrays, StayIncompleteWhenAnExceptionEndsThem) {
  try {
    const Longs x = file_array<std::int64_t, rank<1>>(path, 100);
    throw 1;
  } catch (int) {
  }
  EXPECT_TRUE(has(refusal(), "incomplete"));
}

TEST_F(FileArrays, SayOnStderrWhatFailedAtTheirEnd) {
  ::testing::internal::CaptureStderr();
  {
    const Longs x = file_array<std::int64_t, rank<1>>(path, 10000);
    launch(on(Serial{}), 10000, Iota{1}, out(x));
    ASSERT_EQ(truncate(path.c_str(), 5000), 0);
  }
  const std::string text = ::testing::internal::GetCapturedStderr();
  EXPECT_TRUE(has(text, "strata: error: the array in \"" + path + "\" is incomplete"));
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1);
  EXPECT_FALSE(is_complete());
}

TEST_F(FileArrays, AreIncompleteWhereLostWorkIsNotWrittenAnew) {
  ::testing::internal::CaptureStderr();
  {
    const Longs x = file_array<std::int64_t, rank<1>>(path, 100);
    emulated::fail(emulated::Fault::Kernel, 1);
    launch(on(Emulated{0}), 100, AddTo{1}, inout(x));
  }
  EXPECT_TRUE(has(::testing::internal::GetCapturedStderr(), "is incomplete"));
  EXPECT_FALSE(is_complete());
}

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
  const SmallDisk disk(folder);
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

TEST_F(FileArrays, TellAtCreationThatTheFileIsTooLarge) {
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const rlimit limit{100000, before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &limit);
  const std::string what =
      message_of<FileError>([&] { static_cast<void>(file_array<double, rank<1>>(path, 1000000)); });
  setrlimit(RLIMIT_FSIZE, &before);
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

// ---- past the mapping

TEST_F(FileArrays, AndDirectTransfersSeeEachOther) {
  constexpr index_t n = 300000;
  const Longs x = file_array<std::int64_t, rank<1>>(path, n);
  strata::detail::FileStorage& storage = *file_storage_of(*x.state());
  EXPECT_EQ(storage.first_byte() % 4096, 0);
  EXPECT_EQ(storage.data_bytes(), 8 * n);
  AsyncFile& file = storage.file();
  std::vector<std::int64_t> buffer(n);
  for (const index_t begin : {index_t{0}, index_t{512}, index_t{777}}) {
    const index_t count = n - begin - 5, first = storage.first_byte() + 8 * begin;
    launch(on(Serial{}), n, Iota{begin}, out(x));
    storage.before_direct_read(first, 8 * count);
    file.wait(file.read(buffer.data(), 8 * count, first));
    for (index_t k = 0; k < count; ++k) ASSERT_EQ(buffer[static_cast<std::size_t>(k)], 2 * begin + k);
    for (auto& value : buffer) value = -value;
    storage.before_direct_write(first, 8 * count);
    file.wait(file.write(buffer.data(), 8 * count, first));
    storage.after_direct_write(first, 8 * count);
    const auto view = x.read();
    for (index_t k = 0; k < count; ++k) ASSERT_EQ(view(begin + k), -2 * begin - k);
    if (begin > 0) {
      ASSERT_EQ(view(begin - 1), 2 * begin - 1);
    }
    ASSERT_EQ(view(n - 5), begin + n - 5);
  }
}

TEST_F(FileArrays, AreIncompleteBeforeADirectWrite) {
  const Longs x = file_array<std::int64_t, rank<1>>(path, 10);
  strata::detail::FileStorage& storage = *file_storage_of(*x.state());
  save(x);
  ASSERT_TRUE(is_complete());
  storage.before_direct_write(4096, 80);
  EXPECT_FALSE(is_complete());
}

TEST_F(FileArrays, SayWhatATransferOfThemFailedAt) {
  const Longs x = file_array<std::int64_t, rank<1>>(path, 10000);
  AsyncFile& file = file_storage_of(*x.state())->file();
  std::vector<std::int64_t> buffer(10000);
  file.inject({.request = 0, .error = ENOSPC});
  const auto ticket = file.write(buffer.data(), 80000, 4096);
  EXPECT_TRUE(has(message_of<FileError>([&] { file.wait(ticket); }), path));
}

}  // namespace
