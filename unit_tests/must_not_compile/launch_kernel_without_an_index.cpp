// expect: launch_kernel_without_an_index.cpp:[0-9]+:[0-9]+: error:.* no match for call to
// expect: launch: the kernel cannot be called as kernel\(index..., views...\) const, nor as a factory
// says: KernelOfLaunch<.*Indices<1>, .*Views<2>
// errors: 2
// lines: 46
// bytes: 16500
// SPDX-License-Identifier: Apache-2.0
#include <strata/algorithms/coherent_launch.hpp>
#include <strata/strata.hpp>

void fill(const strata::CoherentArray<double, strata::rank<1>>& x,
          const strata::CoherentArray<double, strata::rank<1>>& y) {
  const auto place = strata::on(strata::Serial{});
  launch(
      place, 10, [](auto i, auto a) { a(i) = 2; }, in(x), inout(y));
}
