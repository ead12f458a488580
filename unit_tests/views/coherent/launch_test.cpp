// launch over coherent arrays: regions and their edges, ranges, factories, one device, several, kinds mixed;
// what excludes each other; what overlaps in time.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <vector>

#include "core/random.hpp"
#include "devices/emulated/fixture.hpp"
#include "views/coherent/executor_fixture.hpp"

namespace {

using namespace coherent_testing;
using Numbers = CoherentArray<std::int64_t, rank<1>>;

class CoherentLaunch : public CoherentTest {
 protected:
  // Calls f(where) for one device and several, of one kind and of several.
  template <class F>
  static void everywhere(const F& f) {
    f(on(AnyHost(Serial{})));
    f(on(AnyHost(Threads{})));
    f(on(Emulated{1}));
    for (const int count : {1, 2, 4, 8}) {
      SCOPED_TRACE(count);
      f(across(emulated_devices(count)));
    }
    f(across(Emulated{0}, AnyHost(Threads{}), AnyHost(Serial{})));
    f(across(AnyHost(Serial{}), Emulated{2}).weighted({1, 3}));
  }
};

void fill(const Numbers& x) {
  const auto view = x.write();
  for (index_t i = 0; i < x.extent(0); ++i) view(i) = 1000 + i * i;
}

// y(i) = x(i - 1) + 10 x(i) + 100 x(i + 1), whatever x is outside.
struct Weighted {
  STRATA_FUNCTION void operator()(auto i, auto x, auto y) const {
    y(i) = x(i - 1) + 10 * x(i) + 100 * x(i + 1);
  }
};

struct NumberOfPlace {
  STRATA_FUNCTION void operator()(index_t i, index_t j, auto a) const { a(i, j) = 100 * i + j + 1; }
};

TEST_F(CoherentLaunch, HalosHaveEdges) {
  everywhere([](const auto& where) {
    for (const index_t n : {2, 3, 9, 100, 1000}) {
      const Numbers x("x", n), y("y", n);
      const auto expect = [&](const auto& halo, const auto& outside) {
        fill(x);
        launch(on(Emulated{3}), n, AddTo{0}, inout(x));  // a device has it
        launch(where, n, Weighted{}, in(x, halo), out(y));
        const auto got = values(y), from = values(x);
        const auto at = [&](index_t i) {
          return i >= 0 && i < n ? from[static_cast<std::size_t>(i)] : outside(i, from);
        };
        for (index_t i = 0; i < n; ++i)
          ASSERT_EQ(got[static_cast<std::size_t>(i)], at(i - 1) + 10 * at(i) + 100 * at(i + 1))
              << i << " of " << n;
      };
      expect(halo(1, 1, edge::cyclic),
             [n](index_t i, const auto& v) { return v[static_cast<std::size_t>((i + n) % n)]; });
      expect(halo(1, 1, edge::duplicate),
             [](index_t i, const auto& v) { return i < 0 ? v.front() : v.back(); });
      expect(halo(1, 1, edge::pad(std::int64_t{-5})), [](index_t, const auto&) { return std::int64_t{-5}; });
    }
  });
}

// Random programs of two arrays: memory modes and edges.
TEST_F(CoherentLaunch, MemoryModesComputeTheSameAtEdges) {
  strata_tests::Random random;
  const MemoryMode modes[] = {MemoryMode::Smart, MemoryMode::Pinned, MemoryMode::Managed, MemoryMode::Mapped,
                              MemoryMode::Implicit};
  const auto program = [&](MemoryMode mode, const auto& halo, const auto& outside) {
    const index_t n = random(2, 60);
    const Numbers x("x", n, mode), y("y", n, mode);
    fill(x);
    std::vector<std::int64_t> now_x = values(x), now_y(now_x.size(), 0);
    for (int step = 0; step < 4; ++step) {
      const index_t begin = random(0, n - 1), end = random(begin + 1, n);
      const bool back = random(0, 1) == 0;
      const Numbers &from = back ? y : x, &to = back ? x : y;
      const auto& now_from = back ? now_y : now_x;
      auto& now_to = back ? now_x : now_y;
      const Emulated device{static_cast<int>(random(0, 2))};
      launch(on(device).named("ring"), range(begin, end), Weighted{}, in(from, halo), out(to));
      const auto at = [&](index_t i) {
        return i >= 0 && i < n ? now_from[static_cast<std::size_t>(i)] : outside(i, now_from);
      };
      for (index_t i = begin; i < end; ++i)
        now_to[static_cast<std::size_t>(i)] = at(i - 1) + 10 * at(i) + 100 * at(i + 1);
    }
    EXPECT_EQ(values(x), now_x);
    EXPECT_EQ(values(y), now_y);
  };
  for (int k = 0; k < strata_tests::trials(60) && !HasFailure(); ++k) {
    const MemoryMode mode = modes[random(0, 4)];
    switch (random(0, 2)) {
      case 0:
        program(mode, halo(1, 1, edge::cyclic),
                [](index_t i, const auto& v) { return i < 0 ? v.back() : v.front(); });
        break;
      case 1:
        program(mode, halo(1, 1, edge::duplicate),
                [](index_t i, const auto& v) { return i < 0 ? v.front() : v.back(); });
        break;
      default:
        program(mode, halo(1, 1, edge::pad(std::int64_t{-5})),
                [](index_t, const auto&) { return std::int64_t{-5}; });
    }
  }
}

// Random ranges over arrays of two dimensions, or none: whether they are refused, and what they change.
TEST_F(CoherentLaunch, RangesInsideAnArrayKeepWhatTheyLeaveOutOrAreRefused) {
  using Grid = CoherentArray<std::int64_t, rank<2>, LayoutRight>;
  strata_tests::Random random;
  for (int k = 0; k < strata_tests::trials(60) && !HasFailure(); ++k) {
    const index_t n = random(1, 12), m = random(1, 6), first = random(0, n - 1), left = random(0, m - 1);
    const index_t last = random(first, n + 1), right = random(left, m);
    const bool all_columns = random(0, 2) == 0;
    const auto work = all_columns ? mdrange({first, 0}, {last, m}) : mdrange({first, left}, {last, right});
    const bool is_out = random(0, 1) == 0;
    const Grid grid("grid", n, m);
    const auto where = across(Emulated{static_cast<int>(random(0, 1))}, Emulated{2});
    const auto run = [&] {
      if (is_out) launch(where, work, NumberOfPlace{}, out(grid));
      else launch(where, work, NumberOfPlace{}, inout(grid));
    };
    const bool beyond = last > n, left_out = is_out && (work.lower[1] > 0 || work.upper[1] < m);
    if (first < last && (beyond || left_out)) {
      const std::string text = message_of<ShapeMismatch>(run);
      EXPECT_TRUE(has(text, beyond ? "a row each of \"grid\"" : "left out by mdrange")) << text;
      continue;
    }
    run();
    const auto view = grid.read();
    for (index_t i = 0; i < n; ++i)
      for (index_t j = 0; j < m; ++j) {
        const bool inside = i >= first && i < last && j >= work.lower[1] && j < work.upper[1];
        ASSERT_EQ(view(i, j), inside ? 100 * i + j + 1 : 0) << i << ", " << j;
      }
  }
}

TEST_F(CoherentLaunch, HalosWithoutEdgesAreForTheInside) {
  everywhere([](const auto& where) {
    const index_t n = 101;
    const Numbers x("x", n), y("y", n);
    fill(x);
    for (int step = 0; step < 3; ++step) {
      launch(where, range(1, n - 1), SumOfThree{}, in(x, halo(1, 1)), inout(y));
      launch(where, range(1, n - 1), Copy{}, in(y), inout(x));
    }
    std::vector<std::int64_t> expected, next;
    for (index_t i = 0; i < n; ++i) expected.push_back(1000 + i * i);
    for (int step = 0; step < 3; ++step) {
      next = expected;
      for (std::size_t i = 1; i + 1 < expected.size(); ++i)
        next[i] = expected[i - 1] + expected[i] + expected[i + 1];
      expected = next;
    }
    EXPECT_EQ(values(x), expected);
  });
}

struct EveryOther {
  ResidentRows operator()(ResidentRows work) const { return {2 * work.begin, 2 * work.end}; }
};
struct Coarsen {
  STRATA_FUNCTION void operator()(auto index, auto fine, auto coarse) const {
    const index_t i = static_cast<index_t>(index);
    coarse(i) = fine(2 * i) + fine(2 * i + 1);
  }
};
struct Pick {
  STRATA_FUNCTION void operator()(auto i, auto table, auto offset, auto y) const {
    y(i) = table(static_cast<index_t>(i) * 7 % table.extent(0)) + offset(4);
  }
};

TEST_F(CoherentLaunch, RowsAllAndFixedSayWhatIsTouched) {
  everywhere([](const auto& where) {
    const index_t n = 60;
    const Numbers fine("fine", 2 * n), coarse("coarse", n), picked("picked", n);
    fill(fine);
    launch(on(Emulated{5}), 2 * n, AddTo{1}, inout(fine));
    launch(where, n, Coarsen{}, in(fine, rows(EveryOther{})), out(coarse));
    launch(where, n, Pick{}, in(fine, everything), in(coarse, fixed(line(4, 5))), out(picked));
    const auto f = values(fine), c = values(coarse), p = values(picked);
    for (std::size_t i = 0; i < 60; ++i) {
      ASSERT_EQ(c[i], f[2 * i] + f[2 * i + 1]);
      ASSERT_EQ(p[i], f[i * 7 % 120] + c[4]);
    }
  });
  const Numbers x("x", 10), y("y", 10);
  launch(on(Emulated{0}), 10, ReadOnly{}, in(x, fixed(line(2, 4))));
  EXPECT_EQ(x.counters().host_to_device.bytes, 16U);
  EXPECT_THROW(launch(on(Emulated{0}), 10, ReadOnly{}, in(x, fixed(line(2, 11)))), ShapeMismatch);
}

struct SumColumns {
  STRATA_FUNCTION void operator()(auto column, auto a, auto b) const {
    const index_t j = static_cast<index_t>(column);
    for (index_t i = 0; i < a.extent(0); ++i)
      b(i, j) = a(i, j) + (j > 0 ? a(i, j - 1) : 0) + (j + 1 < a.extent(1) ? a(i, j + 1) : 0);
  }
};
template <class Layout>
void check_columns() {
  const CoherentArray<int, rank<2>, Layout> a("a", 13, 22), b("b", 13, 22, uninitialized);
  {
    const auto view = a.write();
    for (index_t i = 0; i < 13; ++i)
      for (index_t j = 0; j < 22; ++j) view(i, j) = static_cast<int>(100 * i + j);
  }
  launch(across(Emulated{0}, Emulated{1}, Threads{}), 22, SumColumns{}, in(a, columns(1, 1)),
         out(b, columns));
  const auto view = b.read();
  for (index_t i = 0; i < 13; ++i)
    for (index_t j = 0; j < 22; ++j) {
      const auto at = [&](index_t k) { return k < 0 || k > 21 ? 0 : static_cast<int>(100 * i + k); };
      ASSERT_EQ(view(i, j), at(j - 1) + at(j) + at(j + 1)) << i << ", " << j;
    }
}
TEST_F(CoherentLaunch, ColumnsAreTouchedByTheirIndex) {
  check_columns<LayoutRight>();
  check_columns<LayoutTiled<8>>();
  check_columns<LayoutLeft>();
}

struct Place {
  STRATA_FUNCTION void operator()(auto i, auto j, auto a) const {
    a(i, j) = 100 * static_cast<index_t>(i) + static_cast<index_t>(j);
  }
};
struct Third {};
struct Tagged {
  STRATA_FUNCTION void operator()(Third, auto i, auto x) const { x(i) += 3; }
};
template <class X, class Y>
struct FactoryFunctor {
  X x;
  Y y;
  STRATA_FUNCTION void operator()(index_t i) const { y(i) = 2 * x(i); }
};
struct Factory {
  template <class X, class Y>
  FactoryFunctor<X, Y> operator()(const X& x, const Y& y) const {
    return {x, y};
  }
};

TEST_F(CoherentLaunch, RangesTagsAndFactoriesAreThoseOfParallelFor) {
  everywhere([](const auto& where) {
    const CoherentArray<index_t, rank<2>> tiled("tiled", 37, 9);
    const CoherentArray<index_t, rank<2>, LayoutRight> right("right", 37, 9);
    launch(where, mdrange({3, 1}, {36, 8}), Place{}, inout(tiled));
    launch(where, mdrange({3, 1}, {36, 8}, {4, 4}), Place{}, inout(right));
    const auto t = tiled.read();
    const auto r = right.read();
    for (index_t i = 0; i < 37; ++i)
      for (index_t j = 0; j < 9; ++j) {
        const index_t expected = i >= 3 && i < 36 && j >= 1 && j < 8 ? 100 * i + j : 0;
        ASSERT_EQ(t(i, j), expected);
        ASSERT_EQ(r(i, j), expected);
      }
    const Numbers x("x", 50), y("y", 50);
    launch(where.named("tagged"), tagged<Third>(range(10, 50).chunk(7)), Tagged{}, inout(x));
    launch(where.named("factory"), 50, Factory{}, in(x), out(y));
    EXPECT_EQ(y(9), 0);
    EXPECT_EQ(y(10), 6);
  });
}

TEST_F(CoherentLaunch, PlainViewsAreHandedThrough) {
  const auto plain = create<MDArray<std::int64_t, Emulated, rank<1>>>("plain", 40);
  parallel_for(40, with(Iota{500}, plain));
  const Numbers x("x", 40);
  launch(on(Emulated{0}), 40, Copy{}, in(plain), out(x));
  EXPECT_EQ(x(39), 539);
}

TEST_F(CoherentLaunch, EmptyRangesAndDevicesWithoutWorkAreFine) {
  everywhere([](const auto& where) {
    const Numbers x("x", 3);
    launch(where, 0, AddTo{1}, inout(x));
    launch(where, range(2, 2), AddTo{1}, inout(x));
    launch(where, 3, AddTo{1}, inout(x));
    EXPECT_EQ(values(x), (std::vector<std::int64_t>{1, 1, 1}));
  });
  EXPECT_THROW(across(std::vector<Emulated>{}), NoSuchDevice);
  EXPECT_THROW(across(Emulated{0}, Emulated{1}).weighted({1}), Error);
  EXPECT_THROW(across(Emulated{0}, Emulated{1}).weighted({0, 0}), Error);
  EXPECT_THROW(across(Emulated{0}, Emulated{1}).weighted({2, -1}), Error);
  EXPECT_THROW(launch(on(Emulated{0}), 3, AddTo{1}, inout(Numbers())), Error);
}

struct CopyUpperHalf {
  STRATA_FUNCTION void operator()(index_t i, const auto& x, const auto& y) const { y(i) = x(i + 50); }
};
TEST_F(CoherentLaunch, UsesThatExcludeEachOtherAreNamed) {
  const Numbers x("mine", 100);
  const auto both = across(Emulated{0}, Emulated{1});
  const std::string read = message_of<AccessConflict>(
      [&] { launch(both.named("bad"), 100, SumOfThree{}, in(x, halo(1, 1)), out(x)); });
  for (const char* part : {"bad", "\"mine\""}) EXPECT_TRUE(has(read, part));
  const std::string devices =
      message_of<AccessConflict>([&] { launch(both.named("bad"), 100, ReadOnly{}, inout(x, halo(0, 1))); });
  for (const char* part : {"bad", "\"mine\"", "Emulated{0}", "Emulated{1}", "[0, 51)", "[50, 100)"})
    EXPECT_TRUE(has(devices, part));
  EXPECT_THROW(launch(both, 100, ReadOnly{}, out(x, everything)), AccessConflict);
  EXPECT_THROW(launch(on(Emulated{0}), 100, Copy{}, in(x), out(x)), AccessConflict);
  EXPECT_NO_THROW(
      launch(on(Emulated{0}), range(0, 50), CopyUpperHalf{}, in(x, fixed(line(50, 100))), out(x)));
  EXPECT_NO_THROW(launch(both, 100, ReadOnly{}, in(x, everything)));
  EXPECT_EQ(x.counters().device_to_host.count, 0U);
}

// ---- shares

class StoppedEvent : public detail::EventState {
 public:
  StoppedEvent(double seconds, const bool& is_complete) : seconds_(seconds), complete_(&is_complete) {}
  bool complete() const override { return *complete_; }
  void wait() override {}
  double seconds_since(const EventState& earlier) const override {
    return seconds_ - static_cast<const StoppedEvent&>(earlier).seconds_;
  }

 private:
  double seconds_;
  const bool* complete_;
};

TEST(CoherentBalance, GivesSharesByTheSpeedsMeasured) {
  Balance balance;
  bool complete = false;
  const auto at = [&](double seconds) {
    return detail::Ref<detail::EventState>(new StoppedEvent(seconds, complete));
  };
  EXPECT_EQ(balance.shares(2), (std::vector<double>{0.5, 0.5}));
  balance.add({{100, at(0), at(1)}, {100, at(0), at(4)}});
  EXPECT_EQ(balance.shares(2), (std::vector<double>{0.5, 0.5})) << "not done yet";
  complete = true;
  const std::vector<double> shares = balance.shares(2);
  EXPECT_NEAR(shares[0], 0.8, 1e-12);
  EXPECT_NEAR(shares[1], 0.2, 1e-12);
  for (int k = 0; k < 20; ++k) balance.add({{80, at(0), at(1)}, {20, at(0), at(1e9)}});
  EXPECT_GE(balance.shares(2)[1], 0.9e-3) << "nobody is left without any work";
  EXPECT_NEAR(balance.shares(2)[0] + balance.shares(2)[1], 1, 1e-12);
}

TEST_F(CoherentLaunch, AdaptiveSharesKeepTheValues) {
  Balance balance;
  const Numbers x("x", 5000);
  for (int step = 0; step < 10; ++step)
    launch(across(Emulated{0}, Serial{}, Emulated{1}).adaptive(balance), 5000, AddTo{1}, inout(x));
  EXPECT_EQ(values(x), std::vector<std::int64_t>(5000, 10));
  const std::vector<double> shares = balance.shares(3);
  EXPECT_NEAR(shares[0] / shares[2], 1, 0.2) << "two devices of the same speed";
}

// ---- time

struct Span {
  double start, end;
};
std::vector<Span> spans_of(const std::string& engine, const std::string& label) {
  std::vector<Span> spans;
  for (const emulated::Operation& operation : emulated::trace())
    if (operation.engine == engine && operation.label == label)
      spans.push_back({operation.start, operation.end});
  return spans;
}
bool at_once(Span a, Span b) { return a.start < b.end && b.start < a.end; }

TEST_F(CoherentLaunch, WorkOnDisjointDataOverlaps) {
  const index_t n = 100000;
  const Numbers x("x", n), y("y", n), z("z", n);
  for (const Numbers& array : {x, y, z}) {
    array.prefetch(array.domain(), Emulated{0});
    array.prefetch(array.domain(), Emulated{1});
  }
  wait(Emulated{0}), wait(Emulated{1});
  emulated::reset_time();
  emulated::keep_trace(true);
  launch(on(Emulated{0}).named("first"), n, AddTo{1}, inout(x));
  launch(on(Emulated{1}).named("second"), n, AddTo{1}, inout(y));
  z.prefetch(line(0, 10), Emulated{2});
  launch(on(Emulated{1}).named("after first"), n, AddTo{1}, inout(x));
  x.flush();

  const Span first = spans_of("compute 0", "first")[0], second = spans_of("compute 1", "second")[0];
  EXPECT_TRUE(at_once(first, second));
  EXPECT_EQ(second.start, 0) << "the host does not wait";
  EXPECT_GE(spans_of("peer 0 1", "x")[0].start, first.end);
  EXPECT_GE(spans_of("compute 1", "after first")[0].start, spans_of("peer 0 1", "x")[0].end);
}

TEST_F(CoherentLaunch, HalosTravelWhileTheInsideIsComputed) {
#if defined(STRATA_CHECKED) && STRATA_CHECKED
  GTEST_SKIP() << "checked builds fill what is to be written before the kernel, in one piece";
#endif
  const index_t n = 200000;
  const Numbers a("a", n), b("b", n);
  const auto both = across(Emulated{0}, Emulated{1});
  launch(both, n, AddTo{1}, inout(a));
  launch(both, n, AddTo{1}, inout(b));
  wait(Emulated{0}), wait(Emulated{1});
  // A launch whose work is held: its halos are on their way when the next is split.
  emulated_testing::Gate gates[2];
  gates[0].hold(default_queue(Emulated{0}));
  gates[1].hold(default_queue(Emulated{1}));
  emulated::keep_trace(true);
  launch(both.named("edges"), n, AddTo{1}, inout(a));
  launch(both.named("stencil"), range(1, n - 1), SumOfThree{}, in(a, halo(1, 1)), inout(b));
  for (auto& gate : gates) gate.open();
  b.flush();

  const auto halo = spans_of("peer 1 0", "a"), kernels = spans_of("compute 0", "stencil");
  ASSERT_EQ(halo.size(), 1U);
  ASSERT_EQ(kernels.size(), 3U) << "the inside, and then the edges";
  EXPECT_TRUE(at_once(halo[0], kernels[0]));
  EXPECT_GE(kernels[1].start, halo[0].end);
  EXPECT_GE(kernels[2].start, halo[0].end);
  EXPECT_EQ(b(n / 2), 6);
}

}  // namespace
