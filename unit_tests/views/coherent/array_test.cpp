// CoherentArray on the host and on every device: creation, adopted memory, host views, elements, residences,
// layouts.
// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <chrono>
#include <functional>
#include <limits>
#include <thread>
#include <vector>

#include "devices/emulated/fixture.hpp"
#include "views/coherent/executor_fixture.hpp"

namespace {

using namespace coherent_testing;
using Numbers = CoherentArray<std::int64_t, rank<1>>;

class CoherentArrays : public CoherentTest {};

// Calls f(device) for an instance of every device.
template <class F>
void on_each_device(const F& f) {
  strata_tests::for_each_device([&](const auto& device) {
    SCOPED_TRACE(device.backend().device_name());
    f(device);
  });
}

TEST_F(CoherentArrays, AreZeroAndTheHostsAtFirst) {
  const Numbers x("x", 100);
  EXPECT_TRUE(x);
  EXPECT_FALSE(Numbers());
  EXPECT_STREQ(x.label(), "x");
  EXPECT_EQ(x.size(), 100);
  EXPECT_EQ(x.domain(), line(0, 100));
  EXPECT_EQ(values(x), std::vector<std::int64_t>(100, 0));
  ASSERT_EQ(x.where(x.domain()).size(), 1U);
  EXPECT_EQ(x.where(x.domain())[0].memories, std::vector<std::string>{"Host"});
}

TEST_F(CoherentArrays, UninitializedOnesAreNowhere) {
  const Numbers x("x", 100, uninitialized);
  ASSERT_EQ(x.where(x.domain()).size(), 1U);
  EXPECT_TRUE(x.where(x.domain())[0].memories.empty());
  launch(on(Emulated{1}), 100, Iota{3}, out(x));
  EXPECT_EQ(x.where(x.domain())[0].memories, std::vector<std::string>{"Emulated{1}"});
  EXPECT_EQ(x.counters().host_to_device.count, 0U);
}

TEST_F(CoherentArrays, OfAnyRank) {
  const CoherentArray<int, rank<0>> value("value");
  value() = 7;
  launch(on(Emulated{0}), 1, AddTo{0}, inout(CoherentArray<int, rank<1>>("one", 1)));
  EXPECT_EQ(value(), 7);
  EXPECT_EQ(*value.read(), 7);
  const CoherentArray<int, rank<3>, LayoutRight> a("a", 2, 3, 4);
  EXPECT_EQ(a.size(), 24);
  EXPECT_EQ(a.extent(2), 4);
  a(1, 2, 3) = 5;
  EXPECT_EQ(a(1, 2, 3), 5);
  EXPECT_EQ(a(1, 2, 2), 0);
  const CoherentArray<int, rank<8>> eight("eight", 2, 2, 2, 2, 2, 2, 2, 2);
  EXPECT_EQ(eight.size(), 256);
  eight(1, 1, 1, 1, 1, 1, 1, 1) = 9;
  EXPECT_EQ(eight(1, 1, 1, 1, 1, 1, 1, 1), 9);
  const CoherentArray<int, rank<2>> none("none", 0, 4);
  EXPECT_EQ(none.size(), 0);
  none.flush();
}

// A handle that nothing was assigned to.
TEST_F(CoherentArrays, ThatAreNoneAreRefused) {
  const Numbers none;

  for (const std::function<void()>& use : std::vector<std::function<void()>>{
           [&] { static_cast<void>(none.read()); }, [&] { static_cast<void>(none.write()); },
           [&] { none.flush(); }, [&] { none.prefetch(line(0, 0), Emulated{0}); },
           [&] { static_cast<void>(none.explain()); }, [&] { static_cast<void>(none.where(line(0, 0))); },
           [&] { static_cast<void>(none.counters()); }, [&] { static_cast<void>(none.size()); },
           [&] { static_cast<void>(none.label()); }, [&] { none(0) = 1; },
           [&] { launch(on(Emulated{0}), 3, AddTo{1}, inout(none)); }})
    EXPECT_TRUE(has(message_of<Error>(use), "create it first"));
}

TEST_F(CoherentArrays, OfNoElementsDoAllThatOthersDo) {
  const auto check = [](const auto& x) {
    EXPECT_EQ(x.size(), 0);
    static_cast<void>(x.read());
    static_cast<void>(x.read_write());
    x.flush();
    x.prefetch(x.domain(), Emulated{0});
    launch(on(Emulated{0}), 0, ReadOnly{}, inout(x));
    launch(on(Emulated{0}), 5, ReadOnly{}, in(x, everything));
    launch(across(Emulated{0}, Threads{}, Emulated{1}), 9, ReadOnly{}, in(x, halo(2, 20)));
    EXPECT_NE(x.explain(), "");
    const auto seen = [&](const auto& edge) {
      return message_of<ShapeMismatch>(
          [&] { launch(on(Emulated{0}).named("over none"), 3, ReadOnly{}, in(x, halo(1, 1, edge))); });
    };
    EXPECT_TRUE(has(seen(edge::cyclic), "over none"));
    EXPECT_TRUE(has(seen(edge::duplicate), x.label()));
    launch(on(Emulated{0}), 3, ReadOnly{}, in(x, halo(1, 1, edge::pad(std::int64_t{1}))));
    wait(Emulated{0});
  };

  check(Numbers("none", 0));
  check(Numbers("none", 0, uninitialized));
  check(CoherentArray<std::int64_t, rank<2>>("none", 0, 4));
  check(CoherentArray<std::int64_t, rank<2>>("none", 4, 0));
  check(CoherentArray<std::int64_t, rank<2>, LayoutLeft>("none", 4, 0));
}

struct FixedRows {
  index_t begin, end;
  STRATA_FUNCTION ResidentRows operator()(ResidentRows) const { return {begin, end}; }
};
TEST_F(CoherentArrays, RefuseRegionsThatAreNone) {
  const Numbers x("x", 10);
  constexpr index_t most = std::numeric_limits<index_t>::max();

  for (const index_t n : {index_t{-1}, -most, most}) {
    EXPECT_THROW(static_cast<void>(halo(n, 1)), ShapeMismatch);
    EXPECT_THROW(static_cast<void>(halo(1, n, edge::cyclic)), ShapeMismatch);
    EXPECT_THROW(static_cast<void>(columns(n, 0)), ShapeMismatch);
  }
  const auto refusal = [&](const auto& places, const auto& region) {
    return message_of<ShapeMismatch>([&] { launch(places.named("many"), 10, ReadOnly{}, in(x, region)); });
  };
  for (const FixedRows inverted : {FixedRows{8, 2}, FixedRows{most, -most}}) {
    EXPECT_TRUE(has(refusal(on(Emulated{0}), rows(inverted)), "many"));
    EXPECT_TRUE(has(refusal(across(Emulated{0}, Serial{}), rows(inverted)), "\"x\""));
  }
  EXPECT_TRUE(has(refusal(on(Serial{}), halo(11, 0, edge::cyclic)), "at most 10"));
  EXPECT_TRUE(has(refusal(on(Serial{}), Halo<>{-1, 0, {}}), "many"));
  launch(on(Emulated{0}), 10, ReadOnly{}, in(x, halo(1000, index_t{1} << 47)));
  launch(across(Emulated{0}, Emulated{1}), 10, ReadOnly{}, in(x, rows(FixedRows{-most, most})));
  launch(on(Emulated{0}), 0, ReadOnly{}, in(x, rows(FixedRows{0, 0})));
}

TEST_F(CoherentArrays, NeedExtentsThatAreNotNegativeAndCanBeCounted) {
  EXPECT_TRUE(has(message_of<ExtentError>([] { Numbers("mine", -1); }), "mine"));
  EXPECT_THROW((CoherentArray<int, rank<2>>("x", index_t{1} << 40, index_t{1} << 40)), ExtentError);
}

TEST_F(CoherentArrays, AreShared) {
  const Numbers x("x", 10);
  const Numbers same = x;
  same(3) = 8;
  EXPECT_EQ(x(3), 8);
  EXPECT_TRUE(same == x);
  EXPECT_FALSE(Numbers("x", 10) == x);
}

TEST_F(CoherentArrays, ShowTheirElements) {
  const Numbers x("x", 10);
  x(2) = 5;
  x(2) += 3;
  x(2) *= 4;
  x(2) -= 2;
  x(2) /= 3;
  x(1) = x(2);
  EXPECT_EQ(x(1), 10);
  launch(on(Emulated{0}), 10, AddTo{1}, inout(x));
  EXPECT_EQ(x(1), 11);
  EXPECT_EQ(x.counters().device_to_host.bytes, sizeof(std::int64_t)) << "an element";
  x(9) = 1;
  EXPECT_EQ(x.counters().device_to_host.bytes, sizeof(std::int64_t)) << "writing reads nothing";
}

TEST_F(CoherentArrays, AreSeenByTheHostInParts) {
  on_each_device([](const auto& device) {
    const Numbers x("x", 100);
    launch(on(device), 100, Iota{100}, out(x));
    {
      const auto part = x.read_write(line(10, 20));
      EXPECT_EQ(part.box(), line(10, 20));
      EXPECT_EQ(part(10), 110);
      part(11) = -1;
      const auto other = x.write(line(20, 30));
      for (index_t i = 20; i < 30; ++i) other[i] = -2;
    }
    launch(on(device), 100, AddTo{1}, inout(x));
    const auto all = values(x);
    for (std::size_t i = 0; i < 100; ++i)
      EXPECT_EQ(all[i], i == 11 ? 0 : i >= 20 && i < 30 ? -1 : 101 + static_cast<std::int64_t>(i));
  });
}

TEST_F(CoherentArrays, HostViewsExcludeWhatConflictsOnTheirThread) {
  const Numbers x("x", 100);
  auto reading = x.read(line(0, 50));
  EXPECT_NO_THROW(x.read());
  EXPECT_THROW(x.write(line(49, 60)), AccessConflict);
  EXPECT_NO_THROW(x.write(line(50, 60)));
  EXPECT_NO_THROW(launch(on(Emulated{0}), 100, ReadOnly{}, in(x)));
  EXPECT_TRUE(
      has(message_of<AccessConflict>([&] { launch(on(Emulated{0}).named("mine"), 100, AddTo{1}, inout(x)); }),
          "mine"));
  EXPECT_NO_THROW(launch(on(Emulated{0}), range(50, 100), AddTo{1}, inout(x)));
  reading.end();
  EXPECT_NO_THROW(launch(on(Emulated{0}), 100, AddTo{1}, inout(x)));
  const auto writing = x.write(line(0, 10));
  EXPECT_THROW(x.read(), AccessConflict);
  EXPECT_THROW(x.flush(), AccessConflict);
  EXPECT_THROW(static_cast<void>(static_cast<std::int64_t>(x(5))), AccessConflict);
  EXPECT_EQ(x(10), 1);
}

#if defined(STRATA_CHECKED) && STRATA_CHECKED
TEST_F(CoherentArrays, HostViewsAreNotUsedAfterTheirEnd) {
  const Numbers x("x", 100);
  auto view = x.read_write();
  const auto& inside = view.view();
  const auto copy = view.view();
  const View<const std::int64_t, Threads, Numbers::extents_type, LayoutRight, Unmanaged<DefaultAccess>>
      for_reading = copy;
  const auto part = subview(copy, range(2, 9));
  view(3) = 7;
  EXPECT_EQ(copy(3) + for_reading(3) + part(1), 21);
  view.end();

  launch(on(Emulated{0}), 100, AddTo{1}, inout(x));
  EXPECT_TRUE(has(message_of<OutOfBounds>([&] { view(3) = 9; }), "\"x\" is used after its end()"));
  EXPECT_THROW(static_cast<void>(view[3]), OutOfBounds);
  EXPECT_THROW(static_cast<void>(view.view()), OutOfBounds);
  EXPECT_THROW(static_cast<void>(inside(3)), OutOfBounds);
  EXPECT_TRUE(has(message_of<OutOfBounds>([&] { copy(3) = 9; }), "after the end() of the host view"));
  EXPECT_THROW(static_cast<void>(for_reading(3)), OutOfBounds);
  EXPECT_THROW(static_cast<void>(part(1)), OutOfBounds);
  EXPECT_THROW(parallel_for(on(Serial{}), 9, with(AddTo{1}, copy)), OutOfBounds);
  EXPECT_EQ(x(3), 8);

  auto first = x.read_write();
  const auto of_first = first.view();
  auto moved = std::move(first);
  EXPECT_EQ(moved(3), 8);
  EXPECT_EQ(of_first(3), 8);
  EXPECT_THROW(static_cast<void>(copy(3)), OutOfBounds) << "the new one is another";
  EXPECT_THROW(static_cast<void>(first(3)), OutOfBounds);
  const CoherentArray<double, rank<0>> value("a value", main_in(Serial{}));
  auto one = value.read();
  EXPECT_EQ(*one, 0);
  one.end();
  EXPECT_THROW(static_cast<void>(*one), OutOfBounds);
}
#endif

TEST_F(CoherentArrays, HostViewsOfOtherThreadsAreWaitedFor) {
  const Numbers x("x", 100);
  std::atomic<bool> ended{false};
  auto writing = x.write(line(0, 10));
  std::thread other([&] {
    launch(on(Emulated{0}), 100, AddTo{1}, inout(x));
    EXPECT_TRUE(ended.load());
    const auto view = x.read_write(line(0, 5));
    EXPECT_EQ(view(0), 41);
  });
  for (index_t i = 0; i < 10; ++i) writing(i) = 40;
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  ended = true;
  writing.end();
  other.join();
}

TEST_F(CoherentArrays, HostViewsWaitForNothingElse) {
  const Numbers x("x", 100);
  const Queue<Emulated> queue(Emulated{0});
  emulated_testing::Gate gate;
  gate.hold(queue);
  launch(on(queue), range(0, 50), AddTo{1}, inout(x));

  const auto view = x.read(line(50, 100));
  EXPECT_EQ(view(50), 0);

  gate.open();
  EXPECT_EQ(x(0), 1);
}

TEST_F(CoherentArrays, BoxesMustLieInTheArray) {
  const Numbers x("x", 100);
  EXPECT_TRUE(has(message_of<ShapeMismatch>([&] { static_cast<void>(std::int64_t{x(100)}); }),
                  "a use by the host: [100, 101) does not lie in the array \"x\", which is [0, 100)"));
  EXPECT_THROW(x.read(line(50, 101)), ShapeMismatch);
  EXPECT_THROW(x.write(Box({0, 0}, {1, 1})), ShapeMismatch);
  EXPECT_THROW(x.prefetch(line(-1, 5), Emulated{0}), ShapeMismatch);
  EXPECT_THROW(x.where(line(50, 101)), ShapeMismatch);
  EXPECT_NO_THROW(x.read(line(7, 7)));
}

TEST_F(CoherentArrays, FlushedArraysAreTheHosts) {
  const Numbers x("x", 100);
  launch(across(Emulated{0}, Emulated{1}), 100, Iota{0}, out(x));
  x.flush();
  for (const Residence& part : x.where(x.domain())) EXPECT_EQ(part.memories[0], "Host");
  EXPECT_EQ(x.counters().device_to_host.bytes, 800U);
  x.flush();
  EXPECT_EQ(x.counters().device_to_host.bytes, 800U);
}

TEST_F(CoherentArrays, PrefetchedPartsAreThere) {
  const Numbers x("x", 100);
  x.prefetch(line(20, 60), Emulated{2});
  EXPECT_EQ(x.counters().host_to_device.bytes, 320U);
  launch(on(Emulated{2}), range(20, 60), ReadOnly{}, in(x));
  EXPECT_EQ(x.counters().host_to_device.bytes, 320U);
  x.prefetch(line(20, 60), Serial{});
  x.prefetch(line(30, 30), Emulated{3});
  EXPECT_EQ(x.counters().allocated.count, 1U);
}

TEST_F(CoherentArrays, ExplainThemselves) {
  const Numbers x("mine", 100);
  launch(on(Emulated{1}), range(0, 50), AddTo{1}, inout(x));
  EXPECT_EQ(x.explain(),
            "\"mine\": [0, 100), 8 bytes an element; memory mode smart; its rows are contiguous\n"
            "  [0, 50): Emulated{1}\n"
            "  [50, 100): Host\n"
            "  1 allocation on devices, 400 bytes; 1 copy from the host to devices, 400 bytes\n");
  EXPECT_TRUE(has(Numbers("new", 100).explain(), "nothing was copied\n"));
  EXPECT_TRUE(has(CoherentArray<int, rank<2>, LayoutLeft>("left", 3, 3).explain(), "packed"));
  EXPECT_TRUE(has(CoherentArray<int, rank<2>>("tiled", 3, 3).explain(), "tiles of 8"));
}

TEST_F(CoherentArrays, UseMemoryOfTheUser) {
  std::vector<std::int64_t> mine(50, 4);
  {
    const View<std::int64_t, Serial, RankExtents<1>, LayoutRight> view(mine.data(), index_t{50});
    const auto x = Numbers::adopt("mine", view);
    launch(on(Emulated{0}), 50, AddTo{1}, inout(x));
    EXPECT_EQ(mine[49], 4);
    x.flush();
    EXPECT_EQ(mine[49], 5);
    launch(on(Emulated{1}), range(0, 20), AddTo{1}, inout(x));
    const Numbers same = x;
    EXPECT_EQ(mine[19], 5);
  }
  EXPECT_EQ(mine[19], 6) << "the last handle brings the values home";
  EXPECT_EQ(mine[20], 5);
  const auto on_device = create<MDArrayIn<LayoutRight, std::int64_t, Emulated, rank<1>>>("device", 50);
  parallel_for(50, with(Iota{70}, on_device));
  const auto x = Numbers::adopt("adopted", on_device);
  launch(on(Emulated{0}), 50, AddTo{1}, inout(x));
  EXPECT_EQ(x.counters().allocated.count, 0U) << "it is used where it is";
  EXPECT_EQ(x.counters().host_to_device.count, 0U);
  EXPECT_EQ(x(9), 80);
}

TEST_F(CoherentArrays, InMemoryOfADeviceComeHomeWithTheLastHandle) {
  const auto mine = create<MDArrayIn<LayoutRight, std::int64_t, Emulated, rank<1>>>("mine", 50);
  parallel_for(50, with(Iota{70}, mine));
  {
    const auto x = Numbers::adopt("x", mine);
    launch(on(Emulated{1}), range(0, 20), AddTo{1}, inout(x));
    launch(on(Serial{}), range(20, 30), AddTo{2}, inout(x));
  }
  const auto host = create_mirror_and_copy(mine);
  EXPECT_EQ(host(19), 90);
  EXPECT_EQ(host(20), 92);
  EXPECT_EQ(host(30), 100);
}

TEST_F(CoherentArrays, AreNotBroughtHomeByAnException) {
  std::vector<std::int64_t> mine(50, 4);
  const View<std::int64_t, Serial, RankExtents<1>, LayoutRight> view(mine.data(), index_t{50});
  try {
    const auto x = Numbers::adopt("mine", view);
    launch(on(Emulated{0}), 50, AddTo{1}, inout(x));
    throw Error("given up");
  } catch (const Error&) {
  }
  EXPECT_EQ(mine[0], 4);
}

TEST_F(CoherentArrays, HaveTheirMainCopyWhereAsked) {
  const CoherentArray<double, rank<1>> x("x", 1000, main_in(Threads{})),
      y("y", main_in(Serial{}), uninitialized, 1000);
  launch(across(Emulated{0}, Threads{}), 1000, AddTo{2}, inout(x));
  launch(across(Emulated{1}, Threads{}), 1000, Copy{}, in(x), out(y));
  EXPECT_EQ(y(0) + y(999), 4);
}

// ---- layouts

template <class Layout>
struct Tag {
  using layout = Layout;
};
struct Mark {
  index_t stamp;
  STRATA_FUNCTION void operator()(auto index, auto x) const {
    const index_t i = static_cast<index_t>(index);
    for (index_t j = 0; j < x.extent(1); ++j)
      for (index_t k = 0; k < x.extent(2); ++k) x(i, j, k) = stamp + 10000 * i + 100 * j + k;
  }
};

TEST_F(CoherentArrays, PartsAreRightInEveryLayout) {
  const auto check = [](auto tag) {
    using Array = CoherentArray<index_t, rank<3>, typename decltype(tag)::layout>;
    const index_t n[] = {29, 5, 6};
    const Array x("x", n[0], n[1], n[2]);
    const auto expected = [](index_t i, index_t j, index_t k) { return 10000 * i + 100 * j + k; };
    launch(across(Emulated{0}, Emulated{1}, Threads{}, Emulated{2}), n[0], Mark{0}, out(x));
    const Box odd({3, 1, 2}, {22, 4, 5});
    {
      const auto view = x.read(odd);  // of two devices and a host
      for (index_t i = 3; i < 22; ++i)
        for (index_t j = 1; j < 4; ++j)
          for (index_t k = 2; k < 5; ++k) ASSERT_EQ(view(i, j, k), expected(i, j, k));
    }
    {
      const auto view = x.write(odd);
      for (index_t i = 3; i < 22; ++i)
        for (index_t j = 1; j < 4; ++j)
          for (index_t k = 2; k < 5; ++k) view(i, j, k) = -expected(i, j, k);
    }
    x.prefetch(Box({1, 0, 3}, {27, 5, 4}), Emulated{3});
    launch(on(Emulated{3}), range(9, 13), Mark{1000000}, out(x));
    const auto view = x.read();
    for (index_t i = 0; i < n[0]; ++i)
      for (index_t j = 0; j < n[1]; ++j)
        for (index_t k = 0; k < n[2]; ++k) {
          const bool is_odd = i >= 3 && i < 22 && j >= 1 && j < 4 && k >= 2 && k < 5;
          const index_t value = i >= 9 && i < 13 ? 1000000 + expected(i, j, k)
                                : is_odd         ? -expected(i, j, k)
                                                 : expected(i, j, k);
          ASSERT_EQ(view(i, j, k), value) << i << ", " << j << ", " << k;
        }
  };
  check(Tag<LayoutRight>());
  check(Tag<LayoutTiled<8>>());
  check(Tag<LayoutTiled<4>>());
  check(Tag<LayoutLeft>());
}

}  // namespace
