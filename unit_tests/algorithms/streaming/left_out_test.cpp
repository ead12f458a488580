// Elements that steps leave out keep their values: random kernels, ranges that begin anywhere, all schedulers
// and places against the same steps in core.
// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <vector>

#include <strata/algorithms/streaming/fused_steps.hpp>
#include <strata/algorithms/streaming/streamed_iterate.hpp>
#include <strata/algorithms/streaming/streamed_iterate_reduce.hpp>
#include <strata/algorithms/streaming/streamed_reduce.hpp>
#include <strata/core/error.hpp>

#include "core/random.hpp"
#include "four_devices.hpp"
#include "stream_draw.hpp"

namespace {

using namespace stream_test;

class LeftOut : public FourDevices {};

// The same kernel, and how many work items there are.
template <class K>
struct Counted {
  K kernel;
  STRATA_FUNCTION void operator()(auto i, const auto& old, const auto& next, double& count) const {
    kernel(i, old, next);
    count += 1;
  }
  STRATA_FUNCTION void operator()(index_t i, index_t j, const auto& old, const auto& next,
                                  double& count) const {
    kernel(i, j, old, next);
    count += 1;
  }
};

enum Place { one_device = 1, several_devices = 2, fused_launches = 4, reduced = 8 };

// The kernel's steps in core and at one of `places`.
template <int Places, class Array, class R, class K, class Region>
void check(Draw& draw, const R& work, int steps, const K& kernel, const Region& region, Array a, Array b,
           const Array& u) {
  using S = StreamScheduler;
  assign(u, a);
  in_core(Serial{}, work, steps, kernel, a, b, region);
  // At times of a few rows.
  const index_t budget = draw(0, 1) == 0 ? 1 << 18 : 1 << 15;
  const auto one = streamed(Emulated{0}, budget);
  const auto drawn = [&](int place) { return (Places & place) != 0 && draw(0, 1) == 0; };
  if constexpr ((Places & several_devices) != 0) {
    if (drawn(several_devices)) {
      streamed_iterate(with_options(streamed(across(devices(3)), budget), draw,
                                    {S::Automatic, S::Naive, S::Overlap, S::Carry}),
                       work, steps, kernel, state(u, region));
      ASSERT_EQ(values(u), values(a)) << "three devices";
      return;
    }
  }
  if constexpr ((Places & fused_launches) != 0) {
    if (drawn(fused_launches)) {
      streamed_iterate(one.steps_per_launch(4), work, steps, kernel, state(u, region));
      ASSERT_EQ(values(u), values(a)) << "several steps a launch";
      return;
    }
  }
  if constexpr ((Places & reduced) != 0) {
    if (drawn(reduced)) {
      std::vector<double> counts;
      streamed_iterate_reduce(with_options(streamed(Emulated{0}, 1 << 18), draw, {S::Automatic, S::Naive}),
                              work, steps, Counted<K>{kernel}, each_step(Sum, counts), state(u, region));
      ASSERT_EQ(values(u), values(a)) << "with a reduction";
      ASSERT_EQ(counts.size(), static_cast<std::size_t>(steps));
      return;
    }
  }
  const auto where = with_options(one, draw, {S::Automatic, S::Naive, S::Overlap, S::EvenOdd, S::Carry});
  const StreamReport report = streamed_iterate(where, work, steps, kernel, state(u, region));
  ASSERT_EQ(values(u), values(a)) << name_of(report.scheduler);
}

// Two states, of which a work item leaves one out and declares that it writes all of the other.
struct LeaveOfTwo {
  Leaves leaves;
  STRATA_FUNCTION void operator()(auto i, const auto& u, const auto& new_u, const auto& v,
                                  const auto& new_v) const {
    if (!leaves(i, u(i))) new_u(i) = 0.5 * u(i) + 0.25 * (v(i - 1) + v(i + 1));
    new_v(i) = 0.75 * v(i) + 0.125 * (u(i - 1) + u(i + 1));
  }
};
void check_two(Draw& draw, index_t n, const Range& work, int steps, const LeaveOfTwo& kernel) {
  using S = StreamScheduler;
  using Line = CoherentArray<double, rank<1>>;
  Line a = filled<Line>("a", n), b = filled<Line>("b", n), new_a("new a", n), new_b("new b", n);
  const Line u = filled<Line>("u", n), v = filled<Line>("v", n);
  for (int step = 0; step < steps; ++step) {
    assign(new_a, a);
    assign(new_b, b);
    launch(on(Serial{}), work, kernel, in(a, halo(1, 1)), inout(new_a), in(b, halo(1, 1)), inout(new_b));
    std::swap(a, new_a);
    std::swap(b, new_b);
  }
  const index_t budget = draw(0, 1) == 0 ? 1 << 18 : 1 << 15;
  const auto iterate = [&](const auto& where) {
    streamed_iterate(where, work, steps, kernel, state(u, halo(1, 1)), state(v, halo(1, 1)).writes_all());
  };
  if (draw(0, 1) == 0)
    iterate(with_options(streamed(across(devices(3)), budget), draw,
                         {S::Automatic, S::Naive, S::Overlap, S::Carry}));
  else
    iterate(with_options(streamed(Emulated{0}, budget), draw,
                         {S::Automatic, S::Naive, S::Overlap, S::EvenOdd, S::Carry}));
  ASSERT_EQ(values(u), values(a));
  ASSERT_EQ(values(v), values(b));
}

void check_random(unsigned seed) {
  using Line = CoherentArray<double, rank<1>>;
  using Plane = CoherentArray<double, rank<2>, LayoutRight>;
  using Tiles = CoherentArray<double, rank<2>>;
  using Cube = CoherentArray<double, rank<3>, LayoutRight>;
  Draw draw(seed);
  const Leaves leaves{static_cast<int>(draw(0, 3))};
  const int steps = static_cast<int>(draw(1, 9));
  const index_t kind = draw(0, 7), n = draw(3, kind == 0 ? 1500 : 200), m = draw(3, 12), l = draw(3, 6);
  // Of what goes through the devices.
  const MemoryMode modes[] = {MemoryMode::Smart,   MemoryMode::Smart,  MemoryMode::Pinned,
                              MemoryMode::Managed, MemoryMode::Mapped, MemoryMode::Explicit,
                              MemoryMode::Implicit};
  const MemoryMode mode = modes[draw(0, 6)];
  const auto home = main_in(Emulated{0});
  const auto lines = [&](const auto& check_lines) {
    check_lines(filled<Line>("a", n), filled<Line>("b", n), filled<Line>("u", n, mode, home));
  };
  const auto planes = [&](const auto& check_planes) {
    check_planes(filled<Plane>("a", n, m), filled<Plane>("b", n, m), filled<Plane>("u", n, m, mode, home));
  };
  const Range rows = draw.part(n, 1), columns = draw.part(m, 1);
  const auto inner = mdrange({rows.first, columns.first}, {rows.last, columns.last});
  switch (kind) {
    case 0:
      return lines(
          [&](auto... arrays) { check<15>(draw, rows, steps, Leave1{leaves}, halo(1, 1), arrays...); });
    case 1:
      return lines([&](auto... arrays) {
        check<one_device | several_devices>(draw, range(0, n), steps, Leave1{leaves},
                                            halo(1, 1, edge::cyclic), arrays...);
      });
    case 2:
      return planes(
          [&](auto... arrays) { check<15>(draw, inner, steps, Leave2{leaves}, halo(1, 1), arrays...); });
    case 3:  // all rows, and a part of the columns
      return planes([&](auto... arrays) {
        check<one_device | several_devices>(draw, mdrange({index_t{0}, columns.first}, {n, columns.last}),
                                            steps, Leave2{leaves}, halo(1, 1, edge::cyclic), arrays...);
      });
    case 4:
      return check<one_device | several_devices | reduced>(draw, rows, steps, LeaveRow{leaves}, halo(1, 1),
                                                           filled<Tiles>("a", n, m), filled<Tiles>("b", n, m),
                                                           filled<Tiles>("u", n, m, mode, home));
    case 5:
      return check<one_device>(draw, inner, steps, LeaveLine{leaves}, halo(1, 1), filled<Cube>("a", n, m, l),
                               filled<Cube>("b", n, m, l), filled<Cube>("u", n, m, l, mode, home));
    case 6:
      return check_two(draw, n, rows, steps, LeaveOfTwo{leaves});
    default:
      return lines([&](auto... arrays) {
        check<one_device>(draw, mdrange({rows.first, index_t{0}}, {rows.last, index_t{3}}), steps,
                          LeaveShared{leaves}, halo(1, 1), arrays...);
      });
  }
}

TEST_F(LeftOut, ElementsKeepTheirValuesWhereverTheyAre) {
  const int trials = strata_tests::trials(400);
  int refused = 0;  // chunks that were asked for and do not fit
  for (int seed = 0; seed < trials && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    try {
      check_random(static_cast<unsigned>(seed));
    } catch (const OutOfMemory&) {
      ++refused;
    }
  }
  EXPECT_LE(refused, trials / 8);
}

// A range of any part of many rows.
TEST_F(LeftOut, RangesMayBeginAnywhere) {
  const index_t n = 5000;
  for (const Range work : {range(50, n - 5), range(2000, n - 5), range(4900, 4910), range(1, 3)}) {
    auto a = filled<CoherentArray<double, rank<1>>>("a", n),
         b = filled<CoherentArray<double, rank<1>>>("b", n);
    in_core(Serial{}, work, 6, Leave1{{0}}, a, b, halo(1, 1));
    const auto expect = [&](const auto& iterate, const char* what) {
      const auto u = filled<CoherentArray<double, rank<1>>>("u", n);
      iterate(u);
      EXPECT_EQ(values(u), values(a)) << what << ", [" << work.first << ", " << work.last << ")";
    };
    for (const StreamScheduler scheduler : all_schedulers)
      expect(
          [&](const auto& u) {
            streamed_iterate(streamed(Emulated{0}, 1 << 13).scheduler(scheduler), work, 6, Leave1{{0}},
                             state(u, halo(1, 1)));
          },
          name_of(scheduler));
    expect(
        [&](const auto& u) {
          streamed_iterate(streamed(across(devices(3)), 1 << 13), work, 6, Leave1{{0}}, state(u, halo(1, 1)));
        },
        "three devices");
    expect(
        [&](const auto& u) {
          std::vector<double> counts;
          streamed_iterate_reduce(streamed(Emulated{0}, 1 << 16), work, 6, Counted<Leave1>{{{0}}},
                                  each_step(Sum, counts), state(u, halo(1, 1)));
          EXPECT_EQ(counts, std::vector<double>(6, static_cast<double>(work.last - work.first)));
        },
        "with a reduction");
  }
}

// A kernel that is made of the views.
struct MakeLeave {
  template <class Old, class New>
  struct Made {
    Old old;
    New next;
    void operator()(index_t i) const { Leave1{{3}}(i, old, next); }
  };
  template <class Old, class New>
  Made<Old, New> operator()(const Old& old, const New& next) const {
    return {old, next};
  }
};
TEST_F(LeftOut, OfKernelsThatAFactoryMakes) {
  const index_t n = 300;
  CoherentArray<double, rank<1>> a("a", n), b("b", n), u("u", n);
  for (const auto* array : {&a, &u}) fill(*array);
  in_core(Serial{}, range(20, 250), 7, Leave1{{3}}, a, b, halo(1, 1));
  streamed_iterate(streamed(Emulated{0}, 1 << 12), range(20, 250), 7, MakeLeave{}, state(u, halo(1, 1)));
  EXPECT_EQ(values(u), values(a));
}

}  // namespace
