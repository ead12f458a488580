// Instead of kokkos_cases.cpp where the build found no Kokkos.
// SPDX-License-Identifier: Apache-2.0
#include <cstdint>

#include "kokkos/kokkos_cases.hpp"

namespace perf {

template <class T>
Sweep kokkos_stream(KokkosPlace, StreamOperation, StreamArrays<T>) {
  return {};
}
template <class T>
Sweep kokkos_reduce(KokkosPlace, ReduceArrays<T>) {
  return {};
}
template <class T>
Sweep kokkos_scan(KokkosPlace, ScanArrays<T>) {
  return {};
}
template <class T>
Sweep kokkos_row_average(KokkosPlace, RowAverageArrays<T>) {
  return {};
}
template <class T>
Sweep kokkos_stencil7(KokkosPlace, StencilArrays<T>) {
  return {};
}
template <class T>
Sweep kokkos_scatter_add(KokkosPlace, ScatterArrays<T>) {
  return {};
}

#define STRATA_PERF_FOR(T)                                                     \
  template Sweep kokkos_stream(KokkosPlace, StreamOperation, StreamArrays<T>); \
  template Sweep kokkos_reduce(KokkosPlace, ReduceArrays<T>);                  \
  template Sweep kokkos_row_average(KokkosPlace, RowAverageArrays<T>);         \
  template Sweep kokkos_stencil7(KokkosPlace, StencilArrays<T>);               \
  template Sweep kokkos_scatter_add(KokkosPlace, ScatterArrays<T>);
STRATA_PERF_FOR(float)
STRATA_PERF_FOR(double)
#undef STRATA_PERF_FOR
template Sweep kokkos_scan(KokkosPlace, ScanArrays<double>);
template Sweep kokkos_scan(KokkosPlace, ScanArrays<float>);
template Sweep kokkos_scan(KokkosPlace, ScanArrays<std::int64_t>);

}  // namespace perf
