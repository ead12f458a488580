// What the tests of complex numbers, halfs and bfloat16s as elements share: the suite, and numbers.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <type_traits>

#include "arrays.hpp"

namespace strata_tests {

using namespace strata;
using ComplexFloat = strata::complex<float>;
using Complex = strata::complex<double>;

// Integers of a few hundred.
inline int small_integer(index_t i) {
  return static_cast<int>(mix(static_cast<std::uint64_t>(i)) % 801) - 400;
}

// Numbers so small that their sums are exact in every order.
template <class T>
T small_element(index_t i) {
  if constexpr (is_complex_v<T>)
    return T(static_cast<float>(small_integer(i)), static_cast<float>(small_integer(i + 4321)));
  else return T(small_integer(i) % (std::is_same_v<T, bfloat16_t> ? 2 : 5));
}

template <class D>
class ElementTypes : public ::testing::Test {
 protected:
  template <class F>
  static void for_each_type(const F& f) {
    f(ComplexFloat());
    f(Complex());
    f(half_t());
    f(bfloat16_t());
  }
};

}  // namespace strata_tests
