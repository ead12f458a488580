// Kernels that declare to write all of their state (writes_all), or of an array (out): what they write
// arrives whatever it is, and checked builds find what they leave out.
// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <vector>

#include <strata/algorithms/streaming/fused_steps.hpp>
#include <strata/algorithms/streaming/streamed_iterate.hpp>
#include <strata/algorithms/streaming/streamed_reduce.hpp>
#include <strata/core/error.hpp>

#include "core/random.hpp"
#include "four_devices.hpp"
#include "stream_draw.hpp"

namespace {

using namespace stream_test;

class Unwritten : public FourDevices {};

// ---- states

TEST_F(Unwritten, KernelsThatWriteAllMaySaySo) {
  const index_t n = 500;
  CoherentArray<double, rank<1>> a("a", n), b("b", n);
  fill(a);
  in_core(Serial{}, range(30, 400), 9, Leave1{{0}}, a, b, halo(1, 1));
  for (const StreamScheduler scheduler : all_schedulers) {
    const auto u = filled<CoherentArray<double, rank<1>>>("u", n);
    streamed_iterate(streamed(Emulated{0}, 1 << 13).scheduler(scheduler), range(30, 400), 9, Leave1{{0}},
                     state(u, halo(1, 1)).writes_all());
    EXPECT_EQ(values(u), values(a)) << name_of(scheduler);
  }
}
// Whatever is written: also the marks by which checked builds see that nothing was.
struct AllBytes {
  STRATA_FUNCTION void operator()(index_t i, index_t j, const auto& old, const auto& next) const {
    next(i, j) = static_cast<unsigned char>(old(i, j) + 1);
  }
};
TEST_F(Unwritten, EveryValueMayBeWritten) {
  const CoherentArray<unsigned char, rank<2>, LayoutRight> u("u", 64, 16);
  {
    const auto all = u.write();
    for (index_t k = 0; k < 1024; ++k) all(k / 16, k % 16) = static_cast<unsigned char>(k);
  }
  streamed_iterate(streamed(Emulated{0}, 1 << 13), mdrange({64, 16}), 300, AllBytes{},
                   state(u, halo(0, 0)).writes_all());
  const auto all = u.read();
  for (index_t k = 0; k < 1024; ++k) ASSERT_EQ(all(k / 16, k % 16), static_cast<unsigned char>(k + 300)) << k;
}

// A kernel that is called again, as what it wrote looks like a mark, adds once to what is not declared so.
struct BytesAndSums {
  STRATA_FUNCTION void operator()(index_t i, const auto& old, const auto& next, const auto&,
                                  const auto& sum) const {
    next(i) = static_cast<unsigned char>(old(i) + 1);
    sum(i) += 2;
  }
};
TEST_F(Unwritten, ValuesThatLookLikeMarksLeaveOtherStatesRight) {
  const CoherentArray<unsigned char, rank<1>> u("u", 600);
  const CoherentArray<double, rank<1>> sum("sum", 600);
  u.write(), sum.write();

  streamed_iterate(streamed(Emulated{0}, 1 << 13), 600, 300, BytesAndSums{},
                   state(u, halo(0, 0)).writes_all(), state(sum, halo(0, 0)));

  const auto bytes = u.read();
  const auto sums = sum.read();
  for (index_t i = 0; i < 600; ++i) {
    ASSERT_EQ(bytes(i), static_cast<unsigned char>(300)) << i;
    ASSERT_EQ(sums(i), 600) << i;
  }
}

#if defined(STRATA_CHECKED) && STRATA_CHECKED
template <class Array, class R, class K>
std::string told(const Array& u, const R& work, const K& kernel, int at_once = 1) {
  return message_of<Error>([&] {
    if (at_once == 1)
      streamed_iterate(streamed(Emulated{0}, 1 << 16).named("mine"), work, 4, kernel,
                       state(u, halo(1, 1)).writes_all());
    if constexpr (requires { K::reach; })
      if (at_once > 1)
        streamed_iterate(streamed(Emulated{0}, 1 << 16).steps_per_launch(at_once).named("mine"), work, 4,
                         kernel, state(u, halo(1, 1)).writes_all());
  });
}
void expect_named(const std::string& message, const std::string& index) {
  EXPECT_NE(message.find("index (" + index + ") of \"u\" on "), std::string::npos) << message;
  EXPECT_NE(message.find("was not written by its work item, though the access declares writes_all()"),
            std::string::npos)
      << message;
}
TEST_F(Unwritten, AKernelThatBreaksItsDeclarationIsAnError) {
  const auto line = filled<CoherentArray<double, rank<1>>>("u", 40);
  const auto plane = filled<CoherentArray<double, rank<2>, LayoutRight>>("u", 40, 9);
  // The first item that leaves out is the only one.
  expect_named(told(line, range(7, 9), Leave1{{1}}), "7");
  expect_named(told(line, range(7, 9), Leave1{{1}}, 4), "7");
  const auto longer = filled<CoherentArray<double, rank<1>>>("u", 20'000);  // in several slices
  expect_named(told(longer, range(15'001, 15'003), Leave1{{1}}), "15001");
  expect_named(told(plane, mdrange({5, 1}, {6, 3}), Leave2{{1}}), "5, 1");
  expect_named(told(plane, mdrange({5, 1}, {6, 3}), Leave2{{1}}, 4), "5, 1");
  expect_named(told(plane, range(5, 6), LeaveRow{{0}}), "5, 0");
}
#endif

// Any range, scheduler and place; in checked builds some kernels do not do what they say.
void check_declaration(unsigned seed) {
  using S = StreamScheduler;
  using Line = CoherentArray<double, rank<1>>;
  Draw draw(seed);
  const index_t n = draw(6, 2000);
  const int steps = static_cast<int>(draw(1, 9));
  Range work = draw.part(n, 1);
  const bool is_broken = checked_build && draw(0, 1) == 0;
  if (is_broken && work.size() < 3) work = range(1, n - 1);
  const Leave1 kernel{{is_broken ? 1 : 0}};
  Line a = filled<Line>("a", n), b = filled<Line>("b", n);
  const Line u = filled<Line>("u", n);
  const index_t budget = draw(0, 1) == 0 ? 1 << 18 : 1 << 15;
  const auto u_all = state(u, halo(1, 1)).writes_all();
  const index_t place = draw(0, 2);
  std::string told;
  try {
    if (place == 0)
      streamed_iterate(with_options(streamed(Emulated{0}, budget), draw,
                                    {S::Automatic, S::Naive, S::Overlap, S::EvenOdd, S::Carry}),
                       work, steps, kernel, u_all);
    else if (place == 1)
      streamed_iterate(with_options(streamed(across(devices(3)), budget), draw,
                                    {S::Automatic, S::Naive, S::Overlap, S::Carry}),
                       work, steps, kernel, u_all);
    else streamed_iterate(streamed(Emulated{0}, budget).steps_per_launch(4), work, steps, kernel, u_all);
  } catch (const OutOfMemory&) {
    throw;
  } catch (const Error& error) {
    told = error.what();
  }
  if (is_broken) {
    EXPECT_NE(told.find("of \"u\" on "), std::string::npos) << told;
    EXPECT_NE(told.find("though the access declares writes_all()"), std::string::npos) << told;
    return;
  }
  ASSERT_EQ(told, "");
  in_core(Serial{}, work, steps, kernel, a, b, halo(1, 1));
  ASSERT_EQ(values(u), values(a));
}
// Calls check(seed) often; few problems are refused for chunks that were asked for and do not fit.
template <class F>
void check_many(int trials, const F& check) {
  int refused = 0;
  for (int seed = 0; seed < trials && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    try {
      check(static_cast<unsigned>(seed));
    } catch (const OutOfMemory&) {
      ++refused;
    }
  }
  EXPECT_LE(refused, trials / 8);
}
TEST_F(Unwritten, DeclarationsHoldOrAreErrorsWhereverTheyAre) {
  check_many(strata_tests::trials(200), check_declaration);
}

// ---- arrays

// Every value of a small element; but for one element.
struct AllBut {
  index_t row, column;
  STRATA_FUNCTION void operator()(index_t i, index_t j, const auto& y) const {
    using T = typename std::remove_cvref_t<decltype(y)>::value_type;
    if (i != row || j != column) y(i, j) = static_cast<T>(7 * i + j);
  }
};
struct SameRows {
  ResidentRows operator()(ResidentRows work) const { return work; }
};
template <class T>
void check_hole(Draw& draw) {
  using Plane = CoherentArray<T, rank<2>, LayoutRight>;
  const index_t n = draw(1, 300), m = draw(1, 9), row = draw(0, n - 1), column = draw(0, m - 1);
  const bool has_hole = checked_build && draw(0, 2) > 0;
  const Plane y("y", n, m);
  const AllBut kernel{has_hole ? row : -1, column};
  const auto work = mdrange({n, m});
  const auto one = streamed(Emulated{0}, 1 << 12), in_slices = one.chunk(draw(1, 40));
  const auto launch_it = [&](index_t place) {
    if (place == 0) return static_cast<void>(launch(one, work, kernel, out(y)));
    if constexpr (sizeof(T) < 8) {
      if (place == 1) return launch(on(Emulated{0}), work, kernel, out(y));
      if (place == 2) return static_cast<void>(launch(in_slices, work, kernel, out(y, rows(SameRows{}))));
    }
    if constexpr (sizeof(T) == 1) {
      if (place == 3) return launch(across(devices(3)), work, kernel, out(y, own));
      if (place == 4) return launch(on(Serial{}), work, kernel, out(y));
      if (place == 5)
        return static_cast<void>(launch(streamed(across(devices(2)), 1 << 12), work, kernel, out(y)));
    }
    static_cast<void>(launch(in_slices, work, kernel, out(y, everything)));
  };
  std::string told;
  const auto goes_well = [&](const auto& action) {
    try {
      action();
      return true;
    } catch (const OutOfMemory&) {
      throw;
    } catch (const Error& error) {
      told += std::string(error.what()) + "\n";
      return false;
    }
  };
  goes_well([&] { launch_it(draw(0, 6)); });
  // Each device may have something to say, and what is lost is told as well.
  for (int errors = 0; errors < 10; ++errors)
    if (goes_well([&] { y.flush(); })) break;
  for (const Emulated& device : devices(4)) goes_well([&] { wait(device); });
  if (!has_hole) {
    ASSERT_EQ(told, "");
    const auto all = values(y);
    for (index_t i = 0; i < n; ++i)
      for (index_t j = 0; j < m; ++j)
        ASSERT_EQ(all[static_cast<std::size_t>(i * m + j)], static_cast<T>(7 * i + j)) << i << ", " << j;
    return;
  }
  EXPECT_NE(told.find("element (" + std::to_string(row) + ", " + std::to_string(column) +
                      ") of \"y\" was declared out and nobody wrote it"),
            std::string::npos)
      << told;
}
TEST_F(Unwritten, ElementsOfAnySizeAreFoundWhereverTheyAre) {
  check_many(strata_tests::trials(300), [](unsigned seed) {
    Draw draw(seed);
    const index_t size = draw(0, 3);
    if (size == 0) check_hole<double>(draw);
    else if (size == 1) check_hole<short>(draw);
    else check_hole<unsigned char>(draw);
  });
}

}  // namespace
