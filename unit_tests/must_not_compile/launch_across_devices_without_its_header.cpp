// expect: need <strata/algorithms/coherent_launch.hpp>
// SPDX-License-Identifier: Apache-2.0
#include <strata/algorithms/across.hpp>
#include <strata/algorithms/device_list.hpp>
#include <strata/algorithms/launch.hpp>
#include <strata/views/mdarray.hpp>

using Vector = strata::MDArray<double, strata::Serial, strata::rank<1>>;
struct Clear {
  void operator()(auto i, auto x) const { x(i) = 0; }
};
void clear(const Vector& x) {
  strata::launch(strata::across(strata::Serial{}, strata::Threads{}), 10, Clear{}, strata::out(x));
}
