// Launches of scans, each one pass over the items. Compiled by nvcc only.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/devices/cuda/launch/kernel_parameters.hpp>
#include <strata/devices/cuda/launch/lookback_scan.hpp>
#include <strata/devices/cuda/launch/scan_kernels.hpp>

namespace strata::inline STRATA_ABI::detail {

template <class Scan, class Parameters>
__global__ void __launch_bounds__(Scan::threads, Scan::resident_blocks)
    cuda_ordered_scan(const __grid_constant__ Parameters parameters) {
  if (enter_block(parameters.check)) work_of(parameters).run();
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
    const std::size_t bytes = static_cast<std::size_t>(tiles) * sizeof(typename Work::Tile);
    states = launch.scratch(bytes);
    launch.clear(states.partials, bytes);
  }
  const auto parameters = parameters_of(
      launch, Work{body, reducer, finish, range.begin, count, start,
                   static_cast<typename Work::Tile*>(states.partials), states.counter, host, launch.check()});
  launch.run(cuda_kernel<&cuda_lookback_scan<Work, ParametersOf<Work>>>(), cuda_line(tiles, Work::threads),
             &parameters);
}

template <class Body, class Reducer, class Finish>
void launch_ordered_scan(CudaQueue& queue, CudaLaunch& launch, const ChunkRange& range, const Body& body,
                         const Reducer& reducer, const Finish& finish,
                         const typename Reducer::value_type& start, const CudaHostSlot& host) {
  using Work = CudaScan<Body, Reducer, Finish>;
  using T = typename Reducer::value_type;
  const BlockRange nodes = tiles_of_scan(range.begin, range.end);
  CudaScanTiles<T> all{range.begin, range.end, nodes.first, 1, start, nullptr, nullptr, nullptr, nullptr};
  if (nodes.last - nodes.first > 1) all.tiles = nodes.last - nodes.first;
  // The counter of blocks that have ended, the states, and the sums of warps, each on lines of their own.
  const auto lines = [](std::size_t bytes) { return (bytes + 255) / 256 * 256; };
  const std::size_t states_at = 256;
  const std::size_t sums_at = states_at + (all.tiles > 1 ? lines(Work::States::bytes(all.tiles)) : 0);
  const std::size_t sums = Work::sums_in_shared ? 0 : static_cast<std::size_t>(all.tiles) * (Work::warps + 1);
  if (all.tiles > 1 || sums > 0) {
    const CudaScratch scratch = launch.scratch(sums_at + sums * sizeof(T));
    auto* const memory = static_cast<char*>(scratch.partials);
    all.ended = reinterpret_cast<unsigned*>(memory);
    all.states = memory + states_at;
    all.warp_sums = reinterpret_cast<T*>(memory + sums_at);
    all.taken = scratch.counter;
    if (all.tiles > 1) launch.clear(memory, states_at + Work::States::cleared_bytes(all.tiles));
  }
  CudaKernel& kernel = cuda_kernel<&cuda_ordered_scan<Work, ParametersOf<Work>>>();
  CudaGrid grid = cuda_line(all.tiles, Work::threads);
  grid.shared_bytes = Work::shared_bytes;
  cuda_allow_shared(queue, kernel, Work::shared_bytes);
  const auto parameters = parameters_of(launch, Work{body, reducer, finish, all, host, launch.check()});
  launch.run(kernel, grid, &parameters);
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
  if constexpr (joins_exactly<T> && sizeof(T) <= 8 && Body::scan_stores == ScanStores::Nothing)
    launch_lookback_scan(launch, range, body, reducer, finish, start, host);
  else launch_ordered_scan(queue, launch, range, body, reducer, finish, start, host);
  if constexpr (Finish::waits) {
    T total;
    launch.wait_for_value(host, &total, sizeof(T));
    finish.on_host(total);
  }
}

}  // namespace strata::inline STRATA_ABI::detail
