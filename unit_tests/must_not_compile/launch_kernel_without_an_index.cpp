// expect: launch_kernel_without_an_index.cpp:[0-9]+:[0-9]+: error:.* no match for call to
// expect: launch: the kernel cannot be called as kernel\(index..., views...\) const, nor as a factory
// errors: 2
// lines: 43
// bytes: 15500
// SPDX-License-Identifier: Apache-2.0
#include <strata/algorithms/coherent_launch.hpp>
#include <strata/strata.hpp>

void fill(const strata::CoherentArray<double, strata::rank<1>>& x,
          const strata::CoherentArray<double, strata::rank<1>>& y) {
  const auto place = strata::on(strata::Serial{});
  launch(
      place, 10, [](auto i, auto a) { a(i) = 2; }, in(x), inout(y));
}
