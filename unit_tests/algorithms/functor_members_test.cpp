// Functors may have data members of any name: those that the library looks for, as constants of a functor's
// type, do not say anything then.
// SPDX-License-Identifier: Apache-2.0
#include <strata/algorithms/skeletons/operands.hpp>
#include <strata/algorithms/streaming/fused_steps.hpp>
#include <strata/algorithms/streaming/step_results.hpp>

#include "test_devices.hpp"

namespace {

using namespace strata;

// One of an int index, which devices call in a loop of ints, and one of any index.
struct OfInt {
  bool any_index = true, int_index = false, takes_int = false, takes_lanes = false, last_index_fastest = true;
  int reach = 1, any_order = 2, wants_indices = 3, begins_items = 4, ends_items = 5, note = 6;
  STRATA_FUNCTION int sum() const {
    return reach + any_order + wants_indices + begins_items + ends_items + note;
  }
  STRATA_FUNCTION void operator()(int i, auto x) const { x(i) = i + sum(); }
  STRATA_FUNCTION void operator()(index_t i, index_t j, auto x) const { x(i, j) = i + 10 * j + sum(); }
};
struct Adds {
  int any_index = 3, int_index = 4;
  STRATA_FUNCTION void operator()(auto i, auto x, index_t& sum) const { sum += any_index * x(i); }
};
struct AddsTwo {
  int any_index = 3, int_index = 4;
  STRATA_FUNCTION void operator()(auto i, auto x, index_t& a, index_t& b) const {
    a += any_index * x(i);
    b += int_index * x(i);
  }
};
struct Scans {
  int any_index = 2, int_index = 1;
  STRATA_FUNCTION void operator()(auto i, auto x, auto y, index_t& sum, bool final) const {
    sum += any_index * x(i);
    if (final) y(i) = sum;
  }
};

static_assert(!detail::WantsIndices<OfInt> && !detail::HasReach<OfInt>);
static_assert(!detail::reduces_in_any_order<OfInt>() && !detail::last_index_fastest_of<OfInt>());
// What counts is the operator.
static_assert(!detail::takes_any_index<decltype([any_index = true](index_t) { return any_index; })>());
struct OneOperator {
  bool any_index = true, int_index = false;
  void operator()(int) const {}
};
static_assert(!detail::takes_any_index<OneOperator>() && detail::takes_int_index<OneOperator>());

template <class D>
class FunctorMembers : public ::testing::Test {};
TYPED_TEST_SUITE(FunctorMembers, strata_tests::TestDevices, strata_tests::DeviceName);

TYPED_TEST(FunctorMembers, HaveTheNamesThatTheyLike) {
  using Numbers = MDArray<index_t, TypeParam, rank<1>>;
  const auto x = create<Numbers>("x", 100), y = create<Numbers>("y", 100);
  const auto plane = create<MDArray<index_t, TypeParam, rank<2>>>("plane", 5, 4);
  index_t sum = 0, a = 0, b = 0, total = 0;

  parallel_for(100, with(OfInt{}, x));
  parallel_for(mdrange({5, 4}), with(OfInt{}, plane));
  parallel_reduce(100, with(Adds{}, x), Sum(sum));
  launch_reduce(on(TypeParam{}), 100, AddsTwo{}, Sum(a), Sum(b), in(x));
  launch_scan(on(TypeParam{}), 100, Scans{}, Sum(total), in(x), out(y));

  const index_t all = 99 * 50 + 100 * 21;
  EXPECT_EQ(sum, 3 * all);
  EXPECT_EQ(a, 3 * all);
  EXPECT_EQ(b, 4 * all);
  EXPECT_EQ(total, 2 * all);
  EXPECT_EQ(strata_tests::on_host(plane)(4, 3), 55);
  EXPECT_EQ(strata_tests::on_host(y)(1), 2 * (21 + 22));
}

}  // namespace
