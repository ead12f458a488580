// Coherent arrays in files: what is in the file, when it is complete, and that launches, host views and
// direct I/O see the same values.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <unistd.h>

#include "views/coherent/file_array_fixture.hpp"

namespace {

using namespace coherent_testing;
using strata::detail::file_storage_of;
using strata::detail::files::AsyncFile;

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
