// expect: the kernel of a reduction cannot be called as kernel\(index..., value&...\) const
// says: KernelOfReduce<.*Indices<1>, .*Views<0>, .*References<2>
// SPDX-License-Identifier: Apache-2.0
#include <strata/strata.hpp>

struct SumRows {
  using device_type = strata::Serial;
  void operator()(int i, double& sum) const { sum += i; }
};

void sum(double& a, double& b) { strata::parallel_reduce(10, SumRows{}, strata::Sum(a), strata::Max(b)); }
