// What the tests of skeletons share: the places where they run, and arrays filled and read on the host.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <strata/algorithms/skeletons/skeletons.hpp>

#include "messages.hpp"
#include "test_devices.hpp"

namespace strata_tests {

using strata::BasicCoherentArray;
using strata::CoherentArray;
using strata::index_t;
using strata::rank;

/// 0, 1, and the surroundings of multiples of tiles and of the blocks of a reduction.
inline constexpr index_t some_sizes[] = {0, 1, 2, 7, 8, 9, 65, 511, 513, 2051};

/// Suites derive from it: four emulated devices.
class SkeletonTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    strata::emulated::Config config = strata::emulated::default_config();
    config.count = 4;
    configure(config);
  }
  static void TearDownTestSuite() { configure(strata::emulated::default_config()); }

 private:
  static void configure(const strata::emulated::Config& config) {
    for (int k = 0; k < strata::Emulated::count(); ++k)
      wait(strata::Emulated(k));  // for what is being freed, too
    strata::emulated::configure(config);
  }
};

/// Calls f(where) for D alone, and for two and four of it where there are so many. A host also works with an
/// emulated device, in unequal parts.
template <class D, class F>
void for_each_place(const F& f) {
  {
    SCOPED_TRACE("alone");
    f(strata::on(D{}));
  }
  if constexpr (is_asynchronous<D>) {
    for (const int count : {2, 4}) {
      if (D::count() < count) continue;
      SCOPED_TRACE(std::to_string(count) + " devices");
      std::vector<D> devices;
      for (int k = 0; k < count; ++k) devices.push_back(D{k});
      f(strata::across(devices));
    }
  }
  if constexpr (std::is_same_v<D, strata::AnyHost>) {
    SCOPED_TRACE("with Emulated");
    f(strata::across(strata::Emulated{1}, D{}).weighted({0.7, 0.3}));
  }
}

/// Well-mixed numbers from -500 to 499, the same on every machine.
inline std::int64_t number(index_t k, index_t salt = 0) {
  std::uint64_t bits = static_cast<std::uint64_t>(k) * 0x9e3779b97f4a7c15U + static_cast<std::uint64_t>(salt);
  bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9U;
  bits = (bits ^ (bits >> 27)) * 0x94d049bb133111ebU;
  return static_cast<std::int64_t>((bits >> 20) % 1000) - 500;
}

/// Calls f(indices) for all of them, the last one fastest.
template <int Rank, class F>
void for_each_index(const index_t (&extents)[Rank], const F& f) {
  index_t size = 1, at[Rank];
  for (const index_t n : extents) size *= n;
  for (index_t k = 0; k < size; ++k) {
    index_t rest = k;
    for (int d = Rank - 1; d >= 0; --d) {
      at[d] = rest % extents[d];
      rest /= extents[d];
    }
    f(at);
  }
}
template <class H, std::size_t... D, int Rank>
decltype(auto) at_index(const H& host, const index_t (&at)[Rank], std::index_sequence<D...>) {
  return host(at[D]...);
}

/// A new array with element k, counted with the last index fastest, of f(k).
template <class T, int Rank, class L = strata::CoherentLayout<strata::rank<Rank>>, class F>
BasicCoherentArray<T, Rank, L> make_array(const char* label, const index_t (&n)[Rank], const F& f) {
  const auto make = [&]<std::size_t... D>(std::index_sequence<D...>) {
    return BasicCoherentArray<T, Rank, L>(label, n[D]..., strata::uninitialized);
  };
  const auto x = make(std::make_index_sequence<Rank>());
  const auto host = x.write();
  index_t k = 0;
  for_each_index(n, [&](const index_t(&at)[Rank]) {
    at_index(host, at, std::make_index_sequence<Rank>()) = static_cast<T>(f(k++));
  });
  return x;
}
template <class T, int Rank, class L = strata::CoherentLayout<strata::rank<Rank>>>
BasicCoherentArray<T, Rank, L> make_numbers(const char* label, const index_t (&n)[Rank], index_t salt = 0) {
  return make_array<T, Rank, L>(label, n, [&](index_t k) { return number(k, salt); });
}

/// The elements, the last index fastest.
template <class T, int Rank, class L>
std::vector<T> values_of(const BasicCoherentArray<T, Rank, L>& x) {
  index_t n[Rank];
  for (int d = 0; d < Rank; ++d) n[d] = x.extent(d);
  std::vector<T> values;
  const auto host = x.read();
  for_each_index(n, [&](const index_t(&at)[Rank]) {
    values.push_back(at_index(host, at, std::make_index_sequence<Rank>()));
  });
  return values;
}

inline ::testing::AssertionResult contains(const std::string& text, const std::vector<std::string>& parts) {
  for (const std::string& part : parts)
    if (text.find(part) == std::string::npos)
      return ::testing::AssertionFailure() << "no `" << part << "` in: " << text;
  return ::testing::AssertionSuccess();
}

}  // namespace strata_tests
