// What the tests of the algorithms share: arrays filled and read from the host whatever their device, sizes
// at which loops over lanes and blocks change their ways, and numbers that make the order of a sum visible.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include "test_devices.hpp"

namespace strata_tests {

template <class T, class D>
using Vector = strata::MDArray<T, D, strata::rank<1>>;

/// 0, 1, primes, and the surroundings of multiples of the lanes and of the blocks of a reduction.
inline constexpr strata::index_t loop_sizes[] = {0,  1,   2,   7,   8,   9,    63,  64,
                                                 65, 127, 511, 512, 513, 1021, 4099};

/// A new array of rank 1 whose element i is f(i).
template <class T, class D, class F>
Vector<T, D> make_vector(strata::index_t n, const F& f) {
  const auto x = strata::create<Vector<T, D>>("x", n);
  const auto host = strata::create_mirror_view(x);
  for (strata::index_t i = 0; i < n; ++i) host(i) = static_cast<T>(f(i));
  strata::deep_copy(x, host);
  return x;
}

/// The elements of an array of rank 1 after all work on its device.
template <class T, class D, class L>
std::vector<T> values_of(const strata::View<T, D, strata::RankExtents<1>, L>& x) {
  strata::wait(D{});
  const auto host = on_host(x);
  std::vector<T> values;
  for (strata::index_t i = 0; i < host.extent(0); ++i) values.push_back(host(i));
  return values;
}

/// The value of an array of rank 0 after all work on its device.
template <class T, class D>
T value_of(const strata::Value<T, D>& v) {
  strata::wait(D{});
  T value{};
  strata::deep_copy(value, v);
  return value;
}

/// Well-mixed bits of `i`, the same on every machine.
STRATA_FUNCTION constexpr std::uint64_t mix(std::uint64_t i) {
  i += 0x9e3779b97f4a7c15U;
  i = (i ^ (i >> 30)) * 0xbf58476d1ce4e5b9U;
  i = (i ^ (i >> 27)) * 0x94d049bb133111ebU;
  return i ^ (i >> 31);
}

/// Numbers of both signs between 2^-20 and 2^21 in magnitude: sums in different orders differ.
inline double mixed_number(strata::index_t i) {
  const std::uint64_t bits = mix(static_cast<std::uint64_t>(i));
  const double mantissa = 1 + static_cast<double>(bits >> 12) * 0x1p-52;
  const double magnitude = std::ldexp(mantissa, static_cast<int>(bits & 0xfff) % 41 - 20);
  return bits & 0x800 ? magnitude : -magnitude;
}

/// Equality of all bits: tells -0.0 from 0.0, and takes a NaN for equal to itself.
template <class T>
bool same_bits(const T& a, const T& b) {
  return std::memcmp(&a, &b, sizeof(T)) == 0;
}

}  // namespace strata_tests
