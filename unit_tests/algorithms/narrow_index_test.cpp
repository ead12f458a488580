// Kernels that take their index as a narrower number: no header warns of it where a program is compiled with
// -Wconversion. Decided by the compiler.
// SPDX-License-Identifier: Apache-2.0
#if defined(__GNUC__) && !defined(__clang__) && !defined(__CUDACC__)
#pragma GCC diagnostic error "-Wconversion"
#endif

#include <strata/algorithms/parallel_for.hpp>
#include <strata/algorithms/parallel_reduce.hpp>
#include <strata/algorithms/reducers.hpp>
#include <strata/devices/serial/device.hpp>
#include <strata/views/mdarray.hpp>

namespace {

using namespace strata;
using Vector = MDArray<int, Serial, rank<1>>;

struct Count {
  void operator()(int i, auto x) const { x(i) = i; }
};

[[maybe_unused]] int call_all(const Vector& x) {
  int sum = 0;
  parallel_for(on(Serial{}), 10, [=](int i) { x(i) = i; });
  parallel_for(on(Serial{}), 10, [=](unsigned i) { x(i) = 1; });
  parallel_for(on(Serial{}), mdrange({2, 5}), [=](int i, int j) { x(i) = j; });
  parallel_for(10, with(Count{}, x));
  parallel_reduce(
      on(Serial{}), 10, [=](int i, int& s) { s += x(i); }, Sum(sum));
  return sum;
}

}  // namespace
