// Launches and reductions over grids of every device, alone and with the host's: the values and bits of one
// device.
// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <cstring>
#include <vector>

#include <strata/algorithms/grid/grid.hpp>

#include "algorithms/arrays.hpp"
#include "test_devices.hpp"

namespace {

using namespace strata;

struct Fill {
  STRATA_FUNCTION void operator()(index_t i, index_t j, auto a) const {
    a(i, j) = static_cast<typename decltype(a)::value_type>((13 * i + 7 * j) % 101);
  }
};
struct FivePoints {
  STRATA_FUNCTION void operator()(index_t i, index_t j, auto u, auto v) const {
    v(i, j) =
        2 * u(i, j) + u(i - 1, j) + 3 * u(i + 1, j) + 5 * u(i, j - 1) + 7 * u(i, j + 1) + u(i + 1, j + 1);
  }
};
struct Weighted {
  STRATA_FUNCTION void operator()(index_t i, index_t j, auto a, double& sum) const {
    sum += a(i, j) * static_cast<double>(i + 3 * j + 1);
  }
};

template <class D>
class Grids : public ::testing::Test {
 protected:
  // Calls f(place) for grids of a device of the type, several times in each, and with hosts.
  template <class F>
  static void everywhere(const F& f) {
    const auto devices = [](std::size_t count) { return std::vector<D>(count); };
    f(across(devices(4)).grid(2, 2));
    f(across(devices(3)).grid(1, 3));
    f(across(devices(6)).grid(3, 2).weighted({{1, 2, 1}, {3, 1}}));
    f(across(D{}, AnyHost(Serial{}), AnyHost(Threads{}), D{}).grid(2, 2));
  }
};
TYPED_TEST_SUITE(Grids, strata_tests::TestDevices, strata_tests::DeviceName);

template <class Layout>
void check_stencil(const auto& where, index_t n, index_t m) {
  using Plane = CoherentArray<std::int64_t, rank<2>, Layout>;
  const Plane u("u", n, m), v("v", n, m), expected("expected", n, m);
  launch(on(Serial{}), mdrange({n, m}), Fill{}, out(u));
  const auto cyclic = halo({1, 1}, {1, 1}, edge::cyclic);
  launch(on(Serial{}), mdrange({n, m}), FivePoints{}, in(u, halo(1, 1, edge::cyclic)), out(expected));
  launch(where, mdrange({n, m}), Fill{}, out(u));
  launch(where, mdrange({n, m}), FivePoints{}, in(u, cyclic), out(v));
  launch(where, mdrange({n, m}), FivePoints{}, in(v, cyclic), out(u));
  launch(on(Serial{}), mdrange({n, m}), FivePoints{}, in(expected, cyclic), out(v));
  const auto got = u.read(), want = v.read();
  for (index_t i = 0; i < n; ++i)
    for (index_t j = 0; j < m; ++j) ASSERT_EQ(got(i, j), want(i, j)) << i << ", " << j << " of " << n;
}
TYPED_TEST(Grids, ComputeStencilsOfEveryLayout) {
  this->everywhere([](const auto& where) {
    check_stencil<LayoutRight>(where, 17, 11);
    check_stencil<LayoutTiled<8>>(where, 37, 20);
    check_stencil<LayoutLeft>(where, 6, 31);
    check_stencil<LayoutRight>(where, 1, 2);  // fewer rows than parts
  });
}

template <class D, class Layout>
void check_reduction(const auto& everywhere, index_t n, index_t m) {
  const CoherentArray<double, rank<2>, Layout> a("a", n, m);
  {
    const auto view = a.write();
    for (index_t i = 0; i < n; ++i)
      for (index_t j = 0; j < m; ++j) view(i, j) = strata_tests::mixed_number(i * m + j);
  }
  double expected = 0;
  launch_reduce(on(D{}), mdrange({1, 0}, {n, m}), Weighted{}, Sum(expected), in(a));
  everywhere([&](const auto& where) {
    // A GPU and a host may contract multiply-adds in other ways.
    constexpr bool one_kind = std::is_same_v<decltype(where), const GridAcross<2, D>&>;
    if constexpr (!one_kind && !strata_tests::runs_on_host_threads<D>) return;
    double sum = 0;
    launch_reduce(where, mdrange({1, 0}, {n, m}), Weighted{}, Sum(sum), in(a, own_element));
    EXPECT_EQ(std::memcmp(&sum, &expected, sizeof sum), 0) << sum << " is not " << expected;
  });
}
TYPED_TEST(Grids, ReduceToTheBitsOfOneDevice) {
  using D = TypeParam;
  const auto everywhere = [](const auto& f) { Grids<D>::everywhere(f); };
  for (const index_t m : {3, 700, 1100}) check_reduction<D, LayoutRight>(everywhere, 23, m);
  // GPUs give the rows of a part of 2^18 elements to the lanes of warps.
  const index_t rows = strata_tests::runs_on_host_threads<D> ? 40 : 1400;
  check_reduction<D, LayoutLeft>(everywhere, rows, 1100);
}

}  // namespace
