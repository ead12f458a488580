// SPDX-License-Identifier: Apache-2.0
//! [axpy]
#include <cstdio>

#include <strata/strata.hpp>
using namespace strata;

struct Axpy {  // a kernel: an index, then one view for each array it touches
  double a;
  STRATA_FUNCTION void operator()(auto i, auto x, auto y) const { y(i) += a * x(i); }
};

void run() {
  using Array = MDArray<double, Threads, rank<1>>;
  const auto x = create<Array>("x", 1'000'000), y = create<Array>("y", 1'000'000);
  deep_copy(x, 2.0);
  parallel_for(x.extent(0), with(Axpy{3.0}, x, y));
  double sum = 0;
  parallel_reduce(
      on(Threads{}), y.extent(0), [=](auto i, double& s) { s += y(i); }, Sum(sum));
  std::printf("%g\n", sum);  // 6e+06
}

int main(int argc, char** argv) { return main_guard(argc, argv, run); }  // prints errors, takes --strata-*
//! [axpy]
