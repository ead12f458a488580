// Kernels for Cuda that call what is for hosts only.
// SPDX-License-Identifier: Apache-2.0
#include <strata/strata.hpp>

#if defined(UNMARKED_IN_THE_KERNEL)
#define OF_THE_KERNEL
#else
#define OF_THE_KERNEL STRATA_FUNCTION
#endif
#if defined(UNMARKED_IN_AN_ELEMENT)
#define OF_AN_ELEMENT
#else
#define OF_AN_ELEMENT STRATA_FUNCTION
#endif

OF_THE_KERNEL inline double twice(double x) {
  volatile double y = x;
  return y + y;
}

struct Doubled {
  STRATA_FUNCTION void operator()(strata::index_t i, auto x) const { x(i) = twice(x(i)); }
};

struct Sum {
  double value;
  OF_AN_ELEMENT Sum& operator+=(const Sum& other) {
    value = twice(value + other.value) / 2;
    return *this;
  }
};
struct Add {
  STRATA_FUNCTION void operator()(strata::index_t i, auto x, Sum& sum) const { sum.value += x(i); }
};

void launches(const strata::MDArray<double, strata::Cuda, strata::rank<1>>& x) {
  strata::parallel_for(x.extent(0), strata::with(Doubled{}, x));
  Sum sum{};
  strata::parallel_reduce(x.extent(0), strata::with(Add{}, x), strata::Sum(sum));
}
