// What strata_memory_modes and its competitors compute, so that both do the same: access patterns of host and
// device after Oden and Saidi (2021), and the host's share of them. No Strata header.
//
//   full         the host fills a; a = f(a); the host checks a
//   partial      the host fills a and b; c = h(a, b); the host checks c
//   multikernel  the host fills a; a = f(a); a = g(a); the host checks a
//   reads        the host fills a; kernels read all of it, so many times
//   to the host  a kernel writes a, before the clock starts; the host gets it
//
// Values are small integers, exact in float too.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <functional>

#include "common/perf_function.hpp"
#include "common/plain_team.hpp"

namespace perf {

enum class Pattern { Full, Partial, Multikernel, Reads, ToHost };

/// A pattern over arrays of n elements; `reads` of Pattern::Reads.
struct MemoryWork {
  Pattern pattern;
  std::ptrdiff_t n;
  int reads = 1;

  int launches() const { return pattern == Pattern::Multikernel ? 2 : pattern == Pattern::Reads ? reads : 1; }
};

/// Seconds from the first call that moves or launches something: until the host has the results (of reads:
/// until the kernels are done), and until it has checked them.
struct PatternTimes {
  double done = 0, verified = 0;
};
/// A way to do it, sampled again and again: `prepare` fills arrays and is not timed.
struct MemoryWay {
  std::function<void()> prepare;
  std::function<PatternTimes()> run;
};

// ---- kernels, for one element

template <class T>
STRATA_PERF_FUNCTION T first_of(T x) {
  return 2 * x + 1;
}
template <class T>
STRATA_PERF_FUNCTION T second_of(T x) {
  return 3 * x - 1;
}
template <class T>
STRATA_PERF_FUNCTION T combined_of(T a, T b) {
  return a + 2 * b;
}
/// Which no element is: a read that depends on it is done, and writes nothing.
template <class T>
STRATA_PERF_FUNCTION bool is_unheard_of(T x) {
  return x == T(-12345);
}

// ---- the host

/// Fills and checks arrays: by several threads where they are large.
class HostSide {
 public:
  explicit HostSide(int threads) : team_(threads) {}

  template <class T>
  static T initial(std::ptrdiff_t i, int array) {
    return static_cast<T>((i & 1023) + array);
  }
  /// Array 0 (a) or 1 (b).
  template <class T>
  void fill(T* data, std::ptrdiff_t n, int array) {
    split<T>(n, [=](std::ptrdiff_t begin, std::ptrdiff_t end) {
      for (std::ptrdiff_t i = begin; i < end; ++i) data[i] = initial<T>(i, array);
    });
  }
  /// Elements of a result that are not what the pattern leaves.
  template <class T>
  std::ptrdiff_t wrong(const T* data, std::ptrdiff_t n, Pattern pattern) {
    switch (pattern) {
      case Pattern::Partial:
        return count<T>(data, n, [](T a) { return combined_of<T>(a, a + 1); });
      case Pattern::Multikernel:
        return count<T>(data, n, [](T a) { return second_of<T>(first_of<T>(a)); });
      default:
        return count<T>(data, n, [](T a) { return first_of<T>(a); });
    }
  }

 private:
  static constexpr std::size_t by_one_thread = std::size_t{1} << 20;  // bytes; waking others takes longer

  template <class T, class F>
  void split(std::ptrdiff_t n, const F& part) {
    if (static_cast<std::size_t>(n) * sizeof(T) <= by_one_thread) part(std::ptrdiff_t{0}, n);
    else team_.split(n, part);
  }
  template <class T, class F>
  std::ptrdiff_t count(const T* data, std::ptrdiff_t n, const F& expected) {
    std::atomic<std::ptrdiff_t> wrong = 0;
    split<T>(n, [&](std::ptrdiff_t begin, std::ptrdiff_t end) {
      std::ptrdiff_t some = 0;
      for (std::ptrdiff_t i = begin; i < end; ++i) some += data[i] != expected(initial<T>(i, 0));
      wrong += some;
    });
    return wrong;
  }

  PlainTeam team_;
};

}  // namespace perf
