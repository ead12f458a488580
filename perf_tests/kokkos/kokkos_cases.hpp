// The same work by Kokkos, on the same memory, where the build found Kokkos (see kokkos_cases.cpp); elsewhere
// nothing (no_kokkos.cpp). A place that this Kokkos has no execution space for has no competitor.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "baselines/reduce.hpp"
#include "baselines/row_average.hpp"
#include "baselines/scan.hpp"
#include "baselines/scatter_add.hpp"
#include "baselines/stencil7.hpp"
#include "baselines/stream.hpp"

namespace perf {

/// For the types of the namesakes in baselines/.
template <class T>
Sweep kokkos_stream(KokkosPlace place, StreamOperation operation, StreamArrays<T> arrays);
template <class T>
Sweep kokkos_reduce(KokkosPlace place, ReduceArrays<T> arrays);
template <class T>
Sweep kokkos_scan(KokkosPlace place, ScanArrays<T> arrays);
template <class T>
Sweep kokkos_row_average(KokkosPlace place, RowAverageArrays<T> arrays);
template <class T>
Sweep kokkos_stencil7(KokkosPlace place, StencilArrays<T> arrays);
template <class T>
Sweep kokkos_scatter_add(KokkosPlace place, ScatterArrays<T> arrays);

}  // namespace perf
