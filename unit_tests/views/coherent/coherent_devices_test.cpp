// Coherent arrays on every device, on one instance and on all that there are (at most four).
// SPDX-License-Identifier: Apache-2.0
#include "views/coherent/coherent_devices.hpp"

#include <numeric>
#include <vector>

#include <strata/core/error.hpp>
#include <strata/views/coherent/coherent_array.hpp>

#include "messages.hpp"

namespace {

using namespace coherent_devices;

struct Grid {
  STRATA_FUNCTION void operator()(index_t i, index_t j, auto a) const {
    a(i, j) = static_cast<double>(100 * i + j);
  }
};
struct FivePoints {
  STRATA_FUNCTION void operator()(index_t i, index_t j, auto a, auto b) const {
    b(i, j) = a(i - 1, j) + a(i + 1, j) + a(i, j - 1) + a(i, j + 1);
  }
};
struct RowSum {  // of pairs of rows: item i has rows 2i and 2i + 1
  STRATA_FUNCTION void operator()(auto i, auto a, auto s) const { s(i) = a(2 * i) + a(2 * i + 1); }
};
struct PairsOfRows {
  ResidentRows operator()(ResidentRows work) const { return {2 * work.begin, 2 * work.end}; }
};
struct ColumnSum {
  index_t rows;
  STRATA_FUNCTION void operator()(auto j, auto a, auto s) const {
    double sum = 0;
    for (index_t i = 0; i < rows; ++i) sum += a(i, j);
    s(j) = sum;
  }
};
struct Gather {
  STRATA_FUNCTION void operator()(auto i, auto x, auto table, auto y) const {
    y(i) = x(i) + table(index_t(i) % 7);
  }
};
struct Add {
  STRATA_FUNCTION void operator()(auto i, auto x, double& sum) const { sum += x(i); }
};
struct SumFunctor {
  using value_type = double;
  STRATA_FUNCTION static void init(double& v) { v = 0; }
  STRATA_FUNCTION static void join(double& v, const double& o) { v += o; }
  STRATA_FUNCTION void operator()(auto i, auto x, double& sum) const { sum += x(i); }
};
struct Halve {
  STRATA_FUNCTION void operator()(double& value, auto into) const { into() = value / 2; }
};
struct Prefix {
  STRATA_FUNCTION void operator()(auto i, auto x, auto y, double& sum, bool final) const {
    sum += x(i);
    if (final) y(i) = sum;
  }
};

TYPED_TEST_SUITE(CoherentDevices, strata_tests::TestDevices, strata_tests::DeviceName);

TYPED_TEST(CoherentDevices, LaunchReadsAndWritesCurrentValues) {
  everywhere<TypeParam>([](const auto& where) {
    const index_t n = 1003;
    CoherentArray<double, rank<1>> x("x", n), y("y", n);
    const auto ones = [&] {
      auto view = x.write();
      for (index_t i = 0; i < n; ++i) view(i) = static_cast<double>(i);
    };
    ones();

    launch(where, n, Axpy{2}, in(x), inout(y));
    x(7) = 100.0;
    launch(where, range(5, n), Axpy{1}, in(x), inout(y));

    const auto view = y.read();
    for (index_t i = 0; i < n; ++i) {
      const double value = static_cast<double>(i);
      ASSERT_EQ(view(i), i < 5 ? 2 * value : i == 7 ? 114 : 3 * value) << i;
    }
  });
}

template <class Edge, class Where, class Outside>
void expect_three_points(const Where& where, const Edge& edges, const Outside& outside) {
  const index_t n = 500;
  CoherentArray<double, rank<1>> x("x", n, uninitialized), y("y", n, uninitialized);
  launch(where, n, Count{1}, out(x));
  std::vector<double> now(n), next(n);
  std::iota(now.begin(), now.end(), 1.0);

  for (int step = 0; step < 3; ++step) {
    launch(where, n, ThreePoints{}, in(x, halo(1, 1, edges)), out(y));
    std::swap(x, y);
    const auto at = [&](index_t i) {
      return i >= 0 && i < n ? now[static_cast<std::size_t>(i)] : outside(now, i);
    };
    for (index_t i = 0; i < n; ++i) next[static_cast<std::size_t>(i)] = at(i - 1) + 2 * at(i) + 3 * at(i + 1);
    std::swap(now, next);
  }

  const auto view = x.read();
  for (index_t i = 0; i < n; ++i) ASSERT_EQ(view(i), now[static_cast<std::size_t>(i)]) << i;
}

TYPED_TEST(CoherentDevices, HalosHaveEdges) {
  everywhere<TypeParam>([](const auto& where) {
    using Values = std::vector<double>;
    expect_three_points(where, edge::cyclic,
                        [](const Values& v, index_t i) { return i < 0 ? v.back() : v.front(); });
    expect_three_points(where, edge::duplicate,
                        [](const Values& v, index_t i) { return i < 0 ? v.front() : v.back(); });
    expect_three_points(where, edge::pad(2.5), [](const Values&, index_t) { return 2.5; });
  });
}

template <class Layout, class Where>
void expect_stencil(const Where& where) {
  const index_t n = 61, m = 37;
  CoherentArray<double, rank<2>, Layout> a("a", n, m, uninitialized), b("b", n, m);
  launch(where, mdrange({n, m}), Grid{}, out(a));
  for (int step = 0; step < 2; ++step)
    launch(where, mdrange({1, 1}, {n - 1, m - 1}), FivePoints{}, in(a, halo(1, 1)), inout(b));
  const auto part = b.read(Box({10, 5}, {50, 30}));
  for (index_t i = 10; i < 50; ++i)
    for (index_t j = 5; j < 30; ++j)
      ASSERT_EQ(part(i, j), 4 * static_cast<double>(100 * i + j)) << i << ", " << j;
  EXPECT_EQ(double(b(0, 3)), 0);
}
TYPED_TEST(CoherentDevices, LayoutsAreTheSameEverywhere) {
  everywhere<TypeParam>([](const auto& where) {
    expect_stencil<LayoutRight>(where);
    expect_stencil<LayoutTiled<8>>(where);
    expect_stencil<LayoutLeft>(where);
  });
}

struct TwoColumns {  // of work item (i, j): 2 j and 2 j + 1
  STRATA_FUNCTION void operator()(index_t i, index_t j, auto a) const {
    a(i, 2 * j) = static_cast<double>(i);
    a(i, 2 * j + 1) = static_cast<double>(-i);
  }
};
TYPED_TEST(CoherentDevices, RangesThatLeaveOutWhatIsOutAreRefused) {
  everywhere<TypeParam>([](const auto& where) {
    const CoherentArray<double, rank<2>> a("a", 8, 8), b("b", 8, 8);
    a.write(), b.write();
    const auto refused = [&](const auto& work, const auto& access, std::initializer_list<std::string> parts) {
      strata_tests::expect_parts(strata_tests::message_of<ShapeMismatch>(
                                     [&] { launch(where.named("points"), work, Grid{}, access); }),
                                 parts);
    };
    refused(mdrange({1, 1}, {7, 7}), out(b),
            {"points", "columns 0 and 7 of \"b\" are left out by mdrange({1, 1}, {7, 7})", "declare inout",
             "out(x, own)"});
    refused(mdrange({0, 0}, {8, 6}), out(b), {"columns 6 to 7 of \"b\""});
    refused(mdrange({0, 1}, {8, 8}), out(b), {"column 0 of \"b\" is left out"});
    refused(mdrange({0, 3}, {8, 3}), out(b), {"columns 0 to 7"});
    refused(mdrange({0, 0}, {9, 8}), inout(b), {"points", "work items [0, 9)", "\"b\", which has 8 rows"});
    refused(mdrange({-1, 0}, {8, 8}), inout(b), {"work items [-1, 8)"});

    // Rows are not declared where the range does not reach; what has a region is not looked at.
    launch(where, mdrange({1, 0}, {7, 8}), Grid{}, out(b));
    launch(where, mdrange({2, 1}, {2, 7}), Grid{}, out(b));
    launch(where, mdrange({8, 4}), TwoColumns{}, out(a, own));
    launch(where, mdrange({1, 1}, {7, 7}), FivePoints{}, in(a, halo(1, 1)), inout(b));
    EXPECT_EQ(double(b(3, 4)), 2 + 4 - 3 - 3);
    EXPECT_EQ(double(b(3, 0)), 300);
    EXPECT_EQ(double(a(5, 7)), -5);
  });
}

TYPED_TEST(CoherentDevices, RegionsSayWhatIsTouched) {
  everywhere<TypeParam>([](const auto& where) {
    const index_t n = 300;
    CoherentArray<double, rank<1>> a("a", 2 * n), s("s", n), table("table", 7), y("y", n),
        columns_sum("sums", 50);
    launch(where, 2 * n, Count{0}, out(a));
    launch(where, 7, Count{1000}, out(table));

    launch(where, n, RowSum{}, in(a, rows(PairsOfRows{})), out(s));
    launch(where, n, Gather{}, in(s), in(table, everything), out(y));
    EXPECT_EQ(double(s(20)), 40 + 41);
    EXPECT_EQ(double(y(20)), 81 + 1006);
    launch(where, n, Gather{}, in(s), in(table, fixed(Box({0}, {7}))), out(y));
    EXPECT_EQ(double(y(299)), 598 + 599 + 1005);

    CoherentArray<double, rank<2>, LayoutRight> g("g", 20, 50);
    launch(where, mdrange({20, 50}), Grid{}, out(g));
    launch(where, 50, ColumnSum{20}, in(g, columns), out(columns_sum));
    EXPECT_EQ(double(columns_sum(31)), 100 * 190 + 20 * 31);
  });
}

// A kernel that uses one member of eleven loads no others.
struct Item {
  double word[11];
};
struct TakeOneWord {
  STRATA_FUNCTION void operator()(auto index, const auto& items, const auto& weights, const auto& y) const {
    static_assert(std::is_same_v<decltype(items(index_t{})), const Item&>);
    static_assert(std::is_same_v<decltype(weights(index_t{})), double>);
    const index_t i = static_cast<index_t>(index), n = y.extent(0);
    y(i) = weights(n - 1 - i) * items(n - 1 - i).word[10];
  }
};
TYPED_TEST(CoherentDevices, WhatIsReadIsHandedOutByReferenceUnlessItIsANumber) {
  const index_t n = 100;
  const CoherentArray<Item, rank<1>> items("items", n);
  const CoherentArray<double, rank<1>> weights("weights", n), y("y", n);
  {
    const auto item = items.write();
    const auto weight = weights.write();
    for (index_t i = 0; i < n; ++i) {
      item(i).word[10] = static_cast<double>(i);
      weight(i) = 2;
    }
  }

  launch(on(TypeParam{}), n, TakeOneWord{}, in(items, everything), in(weights, everything), out(y));

  for (index_t i = 0; i < n; ++i) EXPECT_EQ(y(i), 2 * static_cast<double>(n - 1 - i));
}

TYPED_TEST(CoherentDevices, ReductionsHaveTheSameBitsHoweverTheyAreSplit) {
  using D = TypeParam;
  for (const index_t n : {1, 511, 1025, 100003}) {
    CoherentArray<double, rank<1>> x("x", n), y("y", n, uninitialized);
    {
      auto view = x.write();
      for (index_t i = 0; i < n; ++i) view(i) = 1 / (1 + static_cast<double>(i));
    }
    double one = 0, all = 0, weighted = 0;
    CoherentArray<double, rank<0>> value("value"), half("half");
    const auto devices = all_of<D>();

    launch_reduce(on(D{}), n, Add{}, Sum(one), in(x));
    launch_reduce(across(devices), n, Add{}, Sum(all), in(x));
    if (devices.size() > 1)
      launch_reduce(across(devices[0], devices[1]).weighted({3, 1}), n, SumFunctor{}, weighted, in(x));
    else launch_reduce(on(D{}), n, SumFunctor{}, weighted, in(x));
    launch_reduce(across(devices), n, Add{}, Sum(value), in(x));
    launch_reduce(across(devices), n, SumFunctor{}, finalize(Halve{}, out(half, everything)), in(x));

    EXPECT_EQ(one, all);
    EXPECT_EQ(one, weighted);
    EXPECT_EQ(one, double(value()));
    EXPECT_EQ(one / 2, double(half()));

    double total = 0, split_total = 0;
    launch_scan(on(D{}), n, Prefix{}, Sum(total), in(x), out(y));
    const double last = y(n - 1);
    launch_scan(across(devices), n, Prefix{}, Sum(split_total), in(x), out(y));
    EXPECT_EQ(total, split_total);
    EXPECT_EQ(last, double(y(n - 1)));
  }
}

TYPED_TEST(CoherentDevices, MemoryGrowsInPlace) {
  using D = TypeParam;
  const index_t n = index_t{1} << 21;  // 16 MiB
  CoherentArray<double, rank<1>> x("x", n);
  for (const index_t part : {2, 1, 3, 0})  // in both directions
    launch(on(D{}), range(part * n / 4, (part + 1) * n / 4), Count{0}, out(x));
  launch(on(D{}), n, Axpy{1}, in(x), inout(CoherentArray<double, rank<1>>("y", n)));

  EXPECT_EQ(x.counters().same_device.bytes, 0u);
  const auto view = x.read();
  for (index_t i = 0; i < n; i += 4099) ASSERT_EQ(view(i), static_cast<double>(i));
}

TYPED_TEST(CoherentDevices, WhatMakesRoomIsWrittenBack) {
  using D = TypeParam;
  if constexpr (D::memory_space::host_accessible) return;
  const index_t n = index_t{1} << 20;  // 8 MiB
  coherent::set_budget(D{}, 2 * n * index_t{sizeof(double)} + (index_t{4} << 20));
  {
    std::vector<CoherentArray<double, rank<1>>> arrays;
    for (int k = 0; k < 5; ++k) arrays.emplace_back("x", n);
    for (int k = 0; k < 5; ++k)
      launch(on(D{}), n, Count{1000.0 * k}, out(arrays[static_cast<std::size_t>(k)]));
    for (int k = 0; k < 5; ++k) {
      const auto view = arrays[static_cast<std::size_t>(k)].read();
      ASSERT_EQ(view(17), 1000.0 * k + 17);
      ASSERT_EQ(view(n - 1), 1000.0 * k + static_cast<double>(n - 1));
    }
    EXPECT_LE(coherent::resident_bytes(D{}), 2 * n * index_t{sizeof(double)} + (index_t{4} << 20));
    coherent::set_budget(D{}, n * index_t{sizeof(double)});
    EXPECT_THROW(launch(on(D{}), n, Axpy{1}, in(arrays[0]), inout(arrays[1])), OutOfMemory);
    EXPECT_EQ(double(arrays[1](5)), 1005);
  }
  coherent::set_budget(D{}, index_t{1} << 60);
}

TYPED_TEST(CoherentDevices, UsersMemoryIsAdopted) {
  using D = TypeParam;
  const index_t n = 100;
  const auto mine = create<MDArrayIn<LayoutRight, double, D, strata::rank<1>>>("mine", n);
  deep_copy(mine, 3.0);
  {
    const auto x = CoherentArray<double, rank<1>>::adopt("x", mine);

    EXPECT_EQ(double(x(50)), 3);
    launch(on(Serial{}), n, Count{0}, out(x));
    launch(on(D{}), n, Count{7}, out(x));
    EXPECT_EQ(double(x(50)), 57);
    if constexpr (D::memory_space::host_accessible) {
      EXPECT_EQ(mine(50), 57);
    }
    launch(on(Serial{}), range(20, 60), Count{11}, out(x));
  }
  // What another memory has comes home with the last handle.
  const auto host = strata_tests::on_host(mine);
  EXPECT_EQ(host(19), 26);
  EXPECT_EQ(host(50), 61);
  EXPECT_EQ(host(60), 67);
}

TYPED_TEST(CoherentDevices, ResidencesAreTold) {
  using D = TypeParam;
  const index_t n = 100;
  const CoherentArray<double, rank<1>> x("x", n), u("u", n, uninitialized);

  ASSERT_EQ(x.where(x.domain()).size(), 1u);
  EXPECT_EQ(x.where(x.domain())[0].memories, std::vector<std::string>{"Host"});
  EXPECT_TRUE(u.where(u.domain())[0].memories.empty());
  x.prefetch(Box({10}, {20}), D{});
  if constexpr (!D::memory_space::host_accessible) {
    EXPECT_EQ(x.where(Box({10}, {20}))[0].memories.size(), 2u);
    EXPECT_EQ(x.counters().host_to_device.bytes, 80u);
  }
}

// Several times the same launch, between what ends a run of them: other launches, the host, another queue.
TYPED_TEST(CoherentDevices, LaunchesThatComeAgainComputeWhatOneAfterTheOtherWould) {
  everywhere<TypeParam>([](const auto& where) {
    const index_t n = 1000;
    const CoherentArray<double, rank<1>> x("x", n), y("y", n);
    double expected_x = 1, expected_y = 0;
    launch(where, n, Count{0}, out(x));
    {
      const auto view = x.write();
      for (index_t i = 0; i < n; ++i) view(i) = 1;
    }
    const auto add = [&](int times) {
      for (int k = 0; k < times; ++k) launch(where, n, Axpy{1}, in(x), inout(y));
      expected_y += times * expected_x;
    };
    for (int round = 0; round < 20; ++round) {
      add(round % 7 + 1);
      switch (round % 4) {
        case 0:
          EXPECT_EQ(double(y(round)), expected_y);
          break;
        case 1:
          launch(where, n, Axpy{0.5}, in(y), inout(x));
          expected_x += 0.5 * expected_y;
          break;
        case 2:
          launch(on(Queue<TypeParam>(TypeParam{})), n, Axpy{-0.5}, in(x), inout(y));
          expected_y -= 0.5 * expected_x;
          break;
        default: {
          const auto view = x.read_write();
          for (index_t i = 0; i < n; ++i) view(i) -= 1;
          expected_x -= 1;
        }
      }
      add(2);
    }
    const auto view_x = x.read(), view_y = y.read();
    index_t wrong = 0;
    for (index_t i = 0; i < n; ++i) wrong += view_x(i) != expected_x || view_y(i) != expected_y;
    EXPECT_EQ(wrong, 0);
  });
}

}  // namespace
