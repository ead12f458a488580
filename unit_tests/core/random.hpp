// Random numbers of property tests: a seed of its own for every run, printed, so that a failure can be
// repeated with PROPERTY_TEST_SEED.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>

#include <strata/core/config.hpp>

namespace strata_tests {

/// Whether this runs under sanitizers, where work takes ten times as long or more.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool is_sanitized = true;
#else
inline constexpr bool is_sanitized = false;
#endif

/// Whether that is AddressSanitizer, which looks for no races.
#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool is_address_sanitized = true;
#else
inline constexpr bool is_address_sanitized = false;
#endif

/// Trials of a property test: a twentieth under sanitizers.
constexpr int trials(int count) { return is_sanitized ? count / 20 : count; }

/// Tests that let one operation after the other fail try every third of them under sanitizers.
inline constexpr int faults_apart = is_sanitized ? 3 : 1;

class Random {
 public:
  Random() {
    const char* given = std::getenv("PROPERTY_TEST_SEED");
    const std::uint64_t seed = given ? std::strtoull(given, nullptr, 10) : std::random_device{}();
    std::printf("seed %llu (PROPERTY_TEST_SEED repeats it)\n", static_cast<unsigned long long>(seed));
    engine_.seed(seed);
  }
  /// For a case in which a fault was found.
  explicit Random(std::uint64_t seed) : engine_(seed) {}
  /// One of first, ..., last.
  strata::index_t operator()(strata::index_t first, strata::index_t last) {
    return std::uniform_int_distribution<strata::index_t>(first, last)(engine_);
  }

 private:
  std::mt19937_64 engine_;
};

}  // namespace strata_tests
