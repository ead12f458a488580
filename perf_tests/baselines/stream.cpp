// SPDX-License-Identifier: Apache-2.0
#include "baselines/stream.hpp"

namespace perf {

namespace {

// Without it g++ makes memcpy of a loop that copies, and that stores around the cache, which no loop here
// does.
#if defined(__GNUC__) && !defined(__clang__)
#define STRATA_PERF_LOOP [[gnu::optimize("no-tree-loop-distribute-patterns")]]
#else
#define STRATA_PERF_LOOP
#endif

struct Copy {
  static auto value(auto b, auto, auto) { return b; }
};
struct Scale {
  static auto value(auto b, auto, auto s) { return s * b; }
};
struct Add {
  static auto value(auto b, auto c, auto) { return b + c; }
};
struct Triad {
  static auto value(auto b, auto c, auto s) { return b + s * c; }
};
struct Fill {
  static auto value(auto, auto, auto s) { return s; }
};

template <class Operation, class T>
STRATA_PERF_LOOP void loop(T* __restrict a, const T* __restrict b, const T* __restrict c, T s,
                           std::ptrdiff_t n) {
  for (std::ptrdiff_t i = 0; i < n; ++i) a[i] = Operation::value(b[i], c[i], s);
}
template <class Operation, class T>
STRATA_PERF_LOOP void simd_loop(T* __restrict a, const T* __restrict b, const T* __restrict c, T s,
                                std::ptrdiff_t n) {
#pragma omp simd
  for (std::ptrdiff_t i = 0; i < n; ++i) a[i] = Operation::value(b[i], c[i], s);
}
// Four vectors of 64 bytes a turn.
template <class Operation, class T>
STRATA_PERF_LOOP void unrolled_loop(T* __restrict a, const T* __restrict b, const T* __restrict c, T s,
                                    std::ptrdiff_t n) {
  constexpr std::ptrdiff_t block = 256 / sizeof(T);
  std::ptrdiff_t i = 0;
  for (; i + block <= n; i += block) {
#pragma omp simd
    for (std::ptrdiff_t k = 0; k < block; ++k) a[i + k] = Operation::value(b[i + k], c[i + k], s);
  }
  for (; i < n; ++i) a[i] = Operation::value(b[i], c[i], s);
}

template <class Operation, class T>
Sweep variants(HostPlace place, StreamArrays<T> x) {
  const auto by = [&](const char* name, auto* function) {
    return Competitor{name, [place, x, function] {
                        split(place, x.n, [&](std::ptrdiff_t begin, std::ptrdiff_t end) {
                          function(x.a + begin, x.b + begin, x.c + begin, x.s, end - begin);
                        });
                      }};
  };
  return {by("loop", &loop<Operation, T>), by("simd", &simd_loop<Operation, T>),
          by("simd, unrolled", &unrolled_loop<Operation, T>)};
}

}  // namespace

template <class T>
Sweep stream_by_hand(HostPlace place, StreamOperation operation, StreamArrays<T> arrays) {
  switch (operation) {
    case StreamOperation::Copy:
      return variants<Copy>(place, arrays);
    case StreamOperation::Scale:
      return variants<Scale>(place, arrays);
    case StreamOperation::Add:
      return variants<Add>(place, arrays);
    case StreamOperation::Triad:
      return variants<Triad>(place, arrays);
    case StreamOperation::Fill:
      return variants<Fill>(place, arrays);
  }
  return {};
}
template Sweep stream_by_hand(HostPlace, StreamOperation, StreamArrays<float>);
template Sweep stream_by_hand(HostPlace, StreamOperation, StreamArrays<double>);

}  // namespace perf
