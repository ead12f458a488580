// expect: parallel_for: the kernel cannot be called as kernel\(index...\) const
// says: KernelOfFor<.*Indices<1>, .*Views<1>
// first lines: 10
// SPDX-License-Identifier: Apache-2.0
#include <strata/strata.hpp>

struct Add {
  template <class I, class X, class Y>
  void operator()(I i, X x, Y y) const {
    y(i) += x(i);
  }
};

void add(const strata::MDArray<double, strata::Serial>& x) {
  strata::parallel_for(10, strata::with(Add{}, x));
}
