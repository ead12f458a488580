// expect: the kernel of a reduction cannot be called as kernel\(index..., value&...\) const
// expect: the kernel of a scan cannot be called as kernel\(index, value&, bool final\) const
// says: KernelOfReduce<.*Indices<1>, .*Views<1>, .*References<1>
// errors: 2
// SPDX-License-Identifier: Apache-2.0
#include <strata/strata.hpp>

using Vector = strata::MDArray<double, strata::Serial, strata::rank<1>>;
struct Add {
  void operator()(auto i, double& sum) const { sum += i; }
};
void add(const Vector& x, double& sum) {
  using namespace strata;
  launch_reduce(on(Serial{}), 10, Add{}, Sum(sum), in(x));
  launch_scan(on(Serial{}), 10, Add{}, Sum(sum), in(x));
}
