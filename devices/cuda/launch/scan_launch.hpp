// Launches of scans: one pass for integers, three kernels where the order of joins matters. Compiled by nvcc
// only.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/devices/cuda/launch/kernel_parameters.hpp>
#include <strata/devices/cuda/launch/lookback_scan.hpp>
#include <strata/devices/cuda/launch/scan_kernels.hpp>

namespace strata::inline STRATA_ABI::detail {

template <class Parameters>
__global__ void cuda_scan_totals(const __grid_constant__ Parameters parameters) {
  if (enter_block(parameters.check)) work_of(parameters).totals();
}
template <class Parameters>
__global__ void cuda_scan_carries(const __grid_constant__ Parameters parameters) {
  if (enter_block(parameters.check)) work_of(parameters).make_carries();
}
template <class Parameters>
__global__ void cuda_scan_final(const __grid_constant__ Parameters parameters) {
  if (enter_block(parameters.check)) work_of(parameters).final();
}
template <class Scan, class Parameters>
__global__ void __launch_bounds__(Scan::threads, 4)
    cuda_lookback_scan(const __grid_constant__ Parameters parameters) {
  if (enter_block(parameters.check)) work_of(parameters).run();
}

template <class Body, class Reducer, class Finish>
void launch_lookback_scan(CudaLaunch& launch, const ChunkRange& range, const Body& body,
                          const Reducer& reducer, const Finish& finish,
                          const typename Reducer::value_type& start, const CudaHostSlot& host) {
  using Work = CudaLookbackScan<Body, Reducer, Finish>;
  const index_t count = range.end > range.begin ? range.end - range.begin : 0;
  const index_t tiles = count > 0 ? (count - 1) / Work::tile_items + 1 : 1;
  CudaScratch states{};
  if (tiles > 1) {
    const std::size_t bytes = static_cast<std::size_t>(tiles) * sizeof(LookbackTile);
    states = launch.scratch(bytes);
    launch.clear(states.partials, bytes);
  }
  const auto parameters = parameters_of(
      launch, Work{body, reducer, finish, range.begin, count, start,
                   static_cast<LookbackTile*>(states.partials), states.counter, host, launch.check()});
  launch.run(cuda_kernel<&cuda_lookback_scan<Work, ParametersOf<Work>>>(), cuda_line(tiles, Work::threads),
             &parameters);
}

template <class Body, class Reducer, class Finish>
void launch_ordered_scan(CudaLaunch& launch, int multiprocessors, const ChunkRange& range, const Body& body,
                         const Reducer& reducer, const Finish& finish,
                         const typename Reducer::value_type& start, const CudaHostSlot& host) {
  using Work = CudaScan<Body, Reducer, Finish>;
  using T = typename Reducer::value_type;
  using P = ParametersOf<Work>;
  const BlockRange blocks = reduction_blocks(range.begin, range.end);
  const index_t nodes = blocks.last - blocks.first;
  const CudaScratch scratch = launch.scratch(static_cast<std::size_t>(nodes + 1) * sizeof(T));
  P parameters =
      parameters_of(launch, Work{body, reducer, finish, range.begin, range.end, blocks.first, blocks.last,
                                 start, static_cast<T*>(scratch.partials), scratch, host, launch.check()});
  constexpr int threads = 256;
  const index_t resident = 8 * static_cast<index_t>(multiprocessors);
  index_t grid = (nodes * warp_lanes + threads - 1) / threads;
  if (grid > resident) grid = resident;
  if (nodes > 0)
    cuda_launch(launch, cuda_kernel<&cuda_scan_totals<P>>(), cuda_line(grid, threads), parameters);
  cuda_launch(launch, cuda_kernel<&cuda_scan_carries<P>>(), cuda_line(1, threads), parameters);
  cuda_launch(launch, cuda_kernel<&cuda_scan_final<P>>(), cuda_line(grid > 0 ? grid : 1, threads),
              parameters);
}

template <class Body, class Reducer, class Finish>
void cuda_scan(const LaunchInfo& info, const ChunkRange& range, const Body& body, const Reducer& reducer,
               const Finish& finish, const typename Reducer::value_type& start) {
  using T = typename Reducer::value_type;
  const index_t count = range.end > range.begin ? range.end - range.begin : 0;
  CudaQueue& queue = cuda_queue_for(info, Finish::waits);
  CudaLaunch launch(queue, EventKind::BeginScan, info, count);
  CudaHostSlot host{};
  if constexpr (Finish::waits) host = launch.host_slot(sizeof(T));
  if constexpr (std::is_integral_v<T> && sizeof(T) <= 8)
    launch_lookback_scan(launch, range, body, reducer, finish, start, host);
  else launch_ordered_scan(launch, cuda_multiprocessors(queue), range, body, reducer, finish, start, host);
  if constexpr (Finish::waits) {
    T total;
    launch.wait_for_value(host, &total, sizeof(T));
    finish.on_host(total);
  }
}

}  // namespace strata::inline STRATA_ABI::detail
