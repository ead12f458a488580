// SPDX-License-Identifier: Apache-2.0
#include "baselines/sort.hpp"

#if STRATA_PERF_TBB
#include <tbb/parallel_sort.h>
#endif

namespace perf {

template <class T>
Sweep sort_by_library([[maybe_unused]] T* keys, [[maybe_unused]] std::ptrdiff_t n) {
#if STRATA_PERF_TBB
  return {{"tbb::parallel_sort", [=] { tbb::parallel_sort(keys, keys + n); }}};
#else
  return {};
#endif
}
template Sweep sort_by_library(float*, std::ptrdiff_t);
template Sweep sort_by_library(double*, std::ptrdiff_t);

}  // namespace perf
