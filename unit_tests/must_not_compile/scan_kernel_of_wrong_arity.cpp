// expect: the kernel of a scan cannot be called as kernel\(index, value&, bool final\) const
// SPDX-License-Identifier: Apache-2.0
#include <strata/strata.hpp>

struct SumRows {
  using device_type = strata::Serial;
  void operator()(int i, double& sum) const { sum += i; }
};

void sum(double& total) { strata::parallel_scan(10, SumRows{}, strata::Sum(total)); }
