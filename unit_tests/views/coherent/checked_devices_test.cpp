// What checked builds find of coherent arrays on every device: reads and writes beside what a launch
// declares.
// SPDX-License-Identifier: Apache-2.0
#if defined(STRATA_CHECKED) && STRATA_CHECKED

#include <cstdio>
#include <string>

#include <strata/algorithms/streaming/streamed_iterate.hpp>
#include <strata/core/error.hpp>

#include "messages.hpp"
#include "views/coherent/coherent_devices.hpp"

namespace {

using namespace coherent_devices;

template <class D>
class CheckedCoherentDevices : public CoherentDevices<D> {};
TYPED_TEST_SUITE(CheckedCoherentDevices, strata_tests::TestDevices, strata_tests::DeviceName);

// Of a kernel that reads its neighbours: the halo is that of the index which is named, beyond the rows.
void expect_halo_that_lacks(const std::string& told) {
  const auto numbers_after = [&](const char* text, const char* format, long& first, long& second) {
    const std::size_t place = told.find(text);
    return place == std::string::npos ? 0 : std::sscanf(told.c_str() + place, format, &first, &second);
  };
  long index = 0, none = 0, begin = 0, end = 0, before = 0, after = 0;
  ASSERT_EQ(numbers_after("index (", "index (%ld)", index, none), 1) << told;
  ASSERT_EQ(numbers_after("rows [", "rows [%ld, %ld)", begin, end), 2) << told;
  ASSERT_EQ(numbers_after("declare halo(", "declare halo(%ld, %ld)", before, after), 2) << told;
  EXPECT_EQ(before, index == begin - 1 ? 1 : 0) << told;
  EXPECT_EQ(after, index == end ? 1 : 0) << told;
  EXPECT_EQ(before + after, 1) << told;
}

TYPED_TEST(CheckedCoherentDevices, WhatWasNotDeclaredIsFound) {
  const auto check = [](const auto& where) {
    const index_t n = 100;
    CoherentArray<double, rank<1>> x("the array", n), y("y", n);
    try {
      launch(where.named("forgot the halo"), range(1, n - 1), ThreePoints{}, in(x), out(y));
      y.flush();
      FAIL() << "nothing was found";
    } catch (const OutOfBounds& error) {
      for (const char* part : {"the array", "forgot the halo", "outside of rows ["})
        EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
      expect_halo_that_lacks(error.what());
    }
    // Of several devices each may have something to say, and what is lost is told as well.
    for (int device = 0; device < 6; ++device) try {
        y.write();
        break;
      } catch (const Error&) {
      }
    launch(where, range(1, n - 1), ThreePoints{}, in(x, halo(1, 1)), inout(y));
    EXPECT_EQ(double(y(50)), 0);
  };
  check(on(TypeParam{}));
  check(across(all_of<TypeParam>()));
}
TYPED_TEST(CheckedCoherentDevices, WhatNobodyWroteIsNotRead) {
  everywhere<TypeParam>([](const auto& where) {
    const index_t n = 100;
    CoherentArray<double, rank<1>> u("u", n, uninitialized), y("y", n);
    EXPECT_THROW(launch(where, n, Axpy{1}, in(u), inout(y)), NeverWritten);
    EXPECT_THROW(static_cast<void>(u.read()), NeverWritten);
  });
}
struct EveryOther {
  STRATA_FUNCTION void operator()(auto i, auto x) const {
    if (index_t(i) % 2 == 0) x(i) = 1;
  }
};
struct EveryOtherSum {
  STRATA_FUNCTION void operator()(auto i, auto x, auto y, double& sum) const {
    if (index_t(i) % 2 == 0) y(i) = 1;
    sum += x(i);
  }
};
struct EveryOtherPrefix {
  STRATA_FUNCTION void operator()(auto i, auto x, auto y, double& sum, bool final) const {
    sum += x(i);
    if (final && index_t(i) % 2 == 0) y(i) = sum;
  }
};
struct AllButOne {
  index_t row, column;
  STRATA_FUNCTION void operator()(index_t i, index_t j, auto a) const {
    if (i != row || j != column) a(i, j) = 1;
  }
};
// What was found is an error of the launch: thrown there by hosts, elsewhere by what waits for it next. Of
// several devices each may have something to say, and what is lost is told as well.
template <class D, class F>
std::string told_by(const F& launch_and_look) {
  std::string text;
  for (int errors = 0; errors < 6; ++errors) try {
      launch_and_look(errors == 0);
      break;
    } catch (const Error& error) {
      text += std::string(error.what()) + "\n";
    }
  for (const D& device : all_of<D>()) try {
      wait(device);
    } catch (const Error& error) {
      text += std::string(error.what()) + "\n";
    }
  // Nothing is left to be told to others.
  for (int errors = 0; errors < 6; ++errors) try {
      const CoherentArray<double, rank<1>> probe("probe", 10);
      launch(on(D{}), 10, Count{0}, out(probe));
      probe.read();
      break;
    } catch (const Error& error) {
      text += std::string(error.what()) + "\n";
    }
  return text;
}
TYPED_TEST(CheckedCoherentDevices, WhatIsDeclaredOutAndNotWrittenIsFound) {
  everywhere<TypeParam>([](const auto& where) {
    const CoherentArray<double, rank<1>> x("an array", 100);
    strata_tests::expect_parts(
        told_by<TypeParam>([&](bool first) {
          if (first) launch(where.named("every other"), 100, EveryOther{}, out(x));
          static_cast<void>(x.read());
        }),
        {"every other", "\"an array\"", "declared out and nobody wrote it", "element ("});
    const CoherentArray<float, rank<2>> grid("a grid", 9, 5);
    strata_tests::expect_parts(
        told_by<TypeParam>([&](bool first) {
          if (first) launch(where.named("a hole"), mdrange({3, 0}, {9, 5}), AllButOne{7, 2}, out(grid));
          static_cast<void>(grid.read());
        }),
        {"a hole", "\"a grid\"", "element (7, 2)"});
    const CoherentArray<unsigned char, rank<2>> bytes("bytes", 9, 5);
    strata_tests::expect_parts(
        told_by<TypeParam>([&](bool first) {
          if (first) launch(where.named("a hole"), mdrange({3, 0}, {9, 5}), AllButOne{7, 2}, out(bytes));
          static_cast<void>(bytes.read());
        }),
        {"a hole", "\"bytes\"", "element (7, 2)"});
    // inout keeps what is left out.
    const CoherentArray<double, rank<1>> kept("kept", 100);
    launch(where, 100, EveryOther{}, inout(kept));
    EXPECT_EQ(double(kept(51)), 0);
  });
}
// Of one byte every value is one that a kernel may write, as is that by which checked builds see that nobody
// did.
struct AnyByte {
  STRATA_FUNCTION void operator()(auto i, auto x) const { x(i) = static_cast<unsigned char>(index_t(i)); }
};
struct AnyByteByAddress {  // past the view
  STRATA_FUNCTION void operator()(auto i, auto x) const {
    unsigned char* const row = &x(i, 0);
    for (index_t j = 0; j < x.extent(1); ++j) row[j] = static_cast<unsigned char>(index_t(i) + j);
  }
};
TYPED_TEST(CheckedCoherentDevices, AnyByteMayBeWritten) {
  everywhere<TypeParam>([](const auto& where) {
    const CoherentArray<unsigned char, rank<1>> x("x", 1000);
    const CoherentArray<unsigned char, rank<2>, LayoutRight> y("y", 300, 7);
    launch(where, 1000, AnyByte{}, out(x));
    launch(where, 300, AnyByteByAddress{}, out(y));
    const auto all_x = x.read();
    const auto all_y = y.read();
    for (index_t i = 0; i < 1000; ++i) ASSERT_EQ(all_x(i), i % 256);
    for (index_t i = 0; i < 300; ++i) ASSERT_EQ(all_y(i, 6), (i + 6) % 256);
  });
}
TYPED_TEST(CheckedCoherentDevices, WhatAScanAndAReductionLeaveOutIsFound) {
  everywhere<TypeParam>([](const auto& where) {
    const CoherentArray<double, rank<1>> x("x", 100), y("y", 100);
    double sum = 0;
    const auto expect_found = [&](const char* label, const auto& launch_it) {
      strata_tests::expect_parts(told_by<TypeParam>([&](bool first) {
                                   if (first) launch_it(label);
                                   static_cast<void>(y.read());
                                 }),
                                 {label, "\"y\"", "declared out and nobody wrote it", "element ("});
    };
    expect_found("a sum", [&](const char* label) {
      launch_reduce(where.named(label), 100, EveryOtherSum{}, Sum(sum), in(x), out(y));
    });
    expect_found("a scan", [&](const char* label) {
      launch_scan(where.named(label), 100, EveryOtherPrefix{}, Sum(sum), in(x), out(y));
    });
  });
}
struct StepAllButOne {
  index_t row;
  STRATA_FUNCTION void operator()(auto i, const auto& old, const auto& next) const {
    if (index_t(i) != row) next(i) = old(i) + 1;
  }
};
TYPED_TEST(CheckedCoherentDevices, StreamedStepsThatDoNotWriteAllAsDeclaredAreErrors) {
  using S = StreamScheduler;
  const CoherentArray<double, rank<1>> u("u", 900);
  for (const S scheduler : {S::Naive, S::Overlap, S::EvenOdd, S::Carry, S::Automatic})
    strata_tests::expect_parts(strata_tests::message_of<Error>([&] {
                                 streamed_iterate(streamed(TypeParam{}, 1 << 20).scheduler(scheduler),
                                                  range(1, 899), 2, StepAllButOne{700},
                                                  state(u, halo(1, 1)).writes_all());
                               }),
                               {"index (700) of \"u\" on ", "though the access declares writes_all()"});
}

}  // namespace

#endif
