// expect: the kernel of a reduction cannot be called as kernel\(index..., value&...\) const
// says: KernelOfReduce<.*Indices<1>, .*Views<0>, .*References<1>
// first lines: 10
// SPDX-License-Identifier: Apache-2.0
#include <strata/strata.hpp>

struct SumRows {
  using device_type = strata::Serial;
  using value_type = double;
  void operator()(int) const {}
  static void init(double& sum) { sum = 0; }
  static void join(double& sum, const double& other) { sum += other; }
};

void sum(double& result) { strata::parallel_reduce(10, SumRows{}, result); }
