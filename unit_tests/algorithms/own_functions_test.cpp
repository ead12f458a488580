// Functions of a program that are named as those of the library: calls that fit them are theirs, and not the
// library's functions that only say what is wrong with a call.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <strata/strata.hpp>

namespace program {

template <class D, class F>
int parallel_for(const D&, strata::index_t n, const F&) {
  return static_cast<int>(n);
}
template <class D, class F, class T>
void parallel_reduce(const D&, long n, const F&, T& sum) {
  sum = static_cast<T>(n);
}

TEST(OwnFunctions, OfDevicesAreCalledThoughNumbersConvert) {
  EXPECT_EQ(parallel_for(strata::Serial{}, 100, 0), 100);
  double sum = 0;
  parallel_reduce(strata::Serial{}, 100, 0, sum);
  EXPECT_EQ(sum, 100);
}

}  // namespace program

namespace beside_all_names {

using namespace strata;

template <class F>
int launch(long n, const F&) {
  return static_cast<int>(n);
}
template <class D, class F, class... A>
int launch(D, long n, F, A...) {
  return static_cast<int>(n);
}

TEST(OwnFunctions, OfNumbersAreCalledBesideAllNamesOfTheLibrary) {
  EXPECT_EQ(launch(100, 0.5), 100);
  EXPECT_EQ(launch(Serial{}, 7, 0, 1, 2), 7);
}

}  // namespace beside_all_names
