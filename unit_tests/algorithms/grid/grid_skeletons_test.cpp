// Skeletons over grids: the values of one device, and no copies of what elements do not read.
// SPDX-License-Identifier: Apache-2.0
#include <strata/algorithms/grid/grid.hpp>
#include <strata/algorithms/skeletons/skeletons.hpp>

#include "views/coherent/executor_fixture.hpp"

namespace {

using namespace coherent_testing;
using namespace strata::skeletons;
using Plane = CoherentArray<std::int64_t, rank<2>, LayoutRight>;

struct Place {
  STRATA_FUNCTION std::int64_t operator()(index_t i, index_t j) const { return 100 * i + j; }
};
struct AddTwice {
  STRATA_FUNCTION std::int64_t operator()(std::int64_t y, std::int64_t x) const { return y + 2 * x; }
};
struct Corners {
  STRATA_FUNCTION std::int64_t operator()(auto r) const { return r(-1, -1) + 3 * r(1, 1) + 5 * r(-1, 1); }
};
struct Product {
  STRATA_FUNCTION std::int64_t operator()(std::int64_t x, std::int64_t y) const { return x * y; }
};

class GridSkeletons : public CoherentTest {};

TEST_F(GridSkeletons, ComputeTheSame) {
  const index_t n = 20, m = 30;
  const auto compute = [&](const auto& where) {
    const Plane x("x", n, m), y("y", n, m), z("z", n, m);
    map(where, Place{}, x);
    map(where, Place{}, y);
    map(where, AddTwice{}, inout(y), x);
    EXPECT_EQ(x.counters().peer.bytes + y.counters().peer.bytes, 0U) << "each part has its elements";
    map_overlap(where, Corners{}, z, x, overlap({1, 1}, edge::cyclic));
    map_overlap(where, Corners{}, z, overlap({1, 1}), Update::RedBlack);
    const std::int64_t product = map_reduce(where, Product{}, strata::Sum, y, z);
    const std::int64_t most = reduce(where, Max, std::int64_t{0}, z);
    std::vector<std::int64_t> all{product, most};
    const auto view = z.read();
    for (index_t i = 0; i < n; ++i)
      for (index_t j = 0; j < m; ++j) all.push_back(view(i, j));
    return all;
  };
  const auto expected = compute(on(Serial{}));
  EXPECT_EQ(compute(across(emulated_devices(4)).grid(2, 2)), expected);
  EXPECT_EQ(compute(across(emulated_devices(3)).grid(1, 3)), expected);
  EXPECT_EQ(compute(across(emulated_devices(2))), expected);
}

}  // namespace
