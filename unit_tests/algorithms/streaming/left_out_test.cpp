// Elements that steps leave out keep their values: random kernels, ranges that begin anywhere, all schedulers
// and places against the same steps in core.
#include <random>
#include <string>
#include <vector>

#include <strata/algorithms/streaming/fused_steps.hpp>
#include <strata/algorithms/streaming/streamed_across.hpp>
#include <strata/algorithms/streaming/streamed_iterate_reduce.hpp>
#include <strata/core/error.hpp>

#include "core/random.hpp"
#include "four_devices.hpp"
#include "stream_kernels.hpp"

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

// What a problem draws.
class Draw {
 public:
  explicit Draw(unsigned seed) : random_(seed) {}
  index_t operator()(index_t low, index_t high) {
    return low + static_cast<index_t>(random_() % static_cast<unsigned long>(high - low + 1));
  }
  // A part of [edge, n - edge), at times all of it.
  Range part(index_t n, index_t edge) {
    if ((*this)(0, 2) == 0) return range(edge, n - edge);
    const index_t begin = (*this)(edge, n - edge - 1);
    return range(begin, (*this)(begin + 1, n - edge));
  }

 private:
  std::mt19937 random_;
};

template <class Where>
Where with_options(Where where, Draw& draw, std::initializer_list<StreamScheduler> schedulers) {
  const auto chosen = schedulers.begin()[draw(0, static_cast<index_t>(schedulers.size()) - 1)];
  where = where.scheduler(chosen);
  if (draw(0, 1) == 0) where = where.steps_per_pass(static_cast<int>(draw(1, 4)));
  if (chosen != StreamScheduler::Automatic && chosen != StreamScheduler::EvenOdd && draw(0, 1) == 0)
    where = where.chunk(draw(1, 60));
  return where;
}

template <class Array, class... N>
Array filled(const char* label, N... extents) {
  const Array array(label, extents...);
  fill(array);
  return array;
}

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

void check_random(unsigned seed) {
  using Line = CoherentArray<double, 1>;
  using Plane = CoherentArray<double, 2, LayoutRight>;
  using Tiles = CoherentArray<double, 2>;
  using Cube = CoherentArray<double, 3, LayoutRight>;
  Draw draw(seed);
  const Leaves leaves{static_cast<int>(draw(0, 3))};
  const int steps = static_cast<int>(draw(1, 9));
  const index_t kind = draw(0, 6), n = draw(3, kind == 0 ? 1500 : 200), m = draw(3, 12), l = draw(3, 6);
  const auto lines = [&](const auto& check_lines) {
    check_lines(filled<Line>("a", n), filled<Line>("b", n), filled<Line>("u", n));
  };
  const auto planes = [&](const auto& check_planes) {
    check_planes(filled<Plane>("a", n, m), filled<Plane>("b", n, m), filled<Plane>("u", n, m));
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
                                                           filled<Tiles>("u", n, m));
    case 5:
      return check<one_device>(draw, inner, steps, LeaveLine{leaves}, halo(1, 1), filled<Cube>("a", n, m, l),
                               filled<Cube>("b", n, m, l), filled<Cube>("u", n, m, l));
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
    auto a = filled<CoherentArray<double, 1>>("a", n), b = filled<CoherentArray<double, 1>>("b", n);
    in_core(Serial{}, work, 6, Leave1{{0}}, a, b, halo(1, 1));
    const auto expect = [&](const auto& iterate, const char* what) {
      const auto u = filled<CoherentArray<double, 1>>("u", n);
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
  CoherentArray<double, 1> a("a", n), b("b", n), u("u", n);
  for (const auto* array : {&a, &u}) fill(*array);
  in_core(Serial{}, range(20, 250), 7, Leave1{{3}}, a, b, halo(1, 1));
  streamed_iterate(streamed(Emulated{0}, 1 << 12), range(20, 250), 7, MakeLeave{}, state(u, halo(1, 1)));
  EXPECT_EQ(values(u), values(a));
}

// ---- kernels that say that they write all

TEST_F(LeftOut, KernelsThatWriteAllMaySaySo) {
  const index_t n = 500;
  CoherentArray<double, 1> a("a", n), b("b", n);
  fill(a);
  in_core(Serial{}, range(30, 400), 9, Leave1{{0}}, a, b, halo(1, 1));
  for (const StreamScheduler scheduler : all_schedulers) {
    const auto u = filled<CoherentArray<double, 1>>("u", n);
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
TEST_F(LeftOut, EveryValueMayBeWritten) {
  const CoherentArray<unsigned char, 2, LayoutRight> u("u", 64, 16);
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
TEST_F(LeftOut, ValuesThatLookLikeMarksLeaveOtherStatesRight) {
  const CoherentArray<unsigned char, 1> u("u", 600);
  const CoherentArray<double, 1> sum("sum", 600);
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
      streamed_iterate("mine", streamed(Emulated{0}, 1 << 16), work, 4, kernel,
                       state(u, halo(1, 1)).writes_all());
    if constexpr (requires { K::reach; })
      if (at_once > 1)
        streamed_iterate("mine", streamed(Emulated{0}, 1 << 16).steps_per_launch(at_once), work, 4, kernel,
                         state(u, halo(1, 1)).writes_all());
  });
}
void expect_named(const std::string& message, const std::string& index) {
  EXPECT_NE(message.find("index (" + index + ") of \"u\" on "), std::string::npos) << message;
  EXPECT_NE(message.find("was not written by its work item, though the access declares writes_all()"),
            std::string::npos)
      << message;
}
TEST_F(LeftOut, AKernelThatBreaksItsDeclarationIsAnError) {
  const auto line = filled<CoherentArray<double, 1>>("u", 40);
  const auto plane = filled<CoherentArray<double, 2, LayoutRight>>("u", 40, 9);
  // The first item that leaves out is the only one.
  expect_named(told(line, range(7, 9), Leave1{{1}}), "7");
  expect_named(told(line, range(7, 9), Leave1{{1}}, 4), "7");
  const auto longer = filled<CoherentArray<double, 1>>("u", 20'000);  // in several slices
  expect_named(told(longer, range(15'001, 15'003), Leave1{{1}}), "15001");
  expect_named(told(plane, mdrange({5, 1}, {6, 3}), Leave2{{1}}), "5, 1");
  expect_named(told(plane, mdrange({5, 1}, {6, 3}), Leave2{{1}}, 4), "5, 1");
  expect_named(told(plane, range(5, 6), LeaveRow{{0}}), "5, 0");
}
#endif

}  // namespace
