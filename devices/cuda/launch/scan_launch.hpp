// Launches of scans, each one pass over the items. Compiled by nvcc only.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/devices/cuda/launch/kernel_parameters.hpp>
#include <strata/devices/cuda/launch/lookback_scan.hpp>
#include <strata/devices/cuda/launch/scan_kernels.hpp>

namespace strata::inline STRATA_ABI::detail {

// `Scan` is a CudaScan or a CudaLookbackScan.
template <class Scan, class Parameters>
__global__ void __launch_bounds__(Scan::threads, Scan::resident_blocks)
    cuda_scan_tiles(const __grid_constant__ Parameters parameters) {
  if (enter_block(parameters.check)) work_of(parameters).run();
}
// The same for arrays that are separate.
template <class Scan>
__global__ void __launch_bounds__(Scan::threads, Scan::resident_blocks)
    cuda_scan_separate(const __grid_constant__ Scan scan, void* __restrict__ a, void* __restrict__ b,
                       void* __restrict__ c, void* __restrict__ d, void* __restrict__ e, void* __restrict__ f,
                       void* __restrict__ g, void* __restrict__ h) {
  if (enter_block(scan.check)) scan.on_arrays({{a, b, c, d, e, f, g, h}}).run();
}

template <class Scan>
void launch_tiles(CudaLaunch& launch, CudaQueue& queue, index_t tiles, const Scan& scan) {
  CudaGrid grid = cuda_line(tiles, Scan::threads);
  grid.shared_bytes = Scan::shared_bytes;
  const auto run = [&](CudaKernel& kernel, const auto& parameters, const ArrayAddresses* arrays) {
    if (grid.shared_bytes > 0) cuda_allow_shared(queue, kernel, grid.shared_bytes);
    launch.run(kernel, grid, &parameters, false, arrays);
  };
  if constexpr (Scan::keeps_elements) {
    const ArrayAddresses arrays = scan.body.arrays();
    run(cuda_kernel<&cuda_scan_separate<Scan>>(), scan, &arrays);
  } else {
    run(cuda_kernel<&cuda_scan_tiles<Scan, ParametersOf<Scan>>>(), parameters_of(launch, scan), nullptr);
  }
}

template <class Body, class Reducer, class Finish>
void launch_lookback_scan(CudaQueue& queue, CudaLaunch& launch, const ChunkRange& range, const Body& body,
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
  launch_tiles(
      launch, queue, tiles,
      Work{body, reducer, finish, range.begin, count, start,
           static_cast<typename Work::Tile*>(states.partials), states.counter, host, launch.check()});
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
  launch_tiles(launch, queue, all.tiles, Work{body, reducer, finish, all, host, launch.check()});
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
  if constexpr (joins_exactly<T> && sizeof(T) <= 8 && Body::scan_stores == ScanStores::Nothing &&
                !is_separate<Body>())
    launch_lookback_scan(queue, launch, range, body, reducer, finish, start, host);
  else launch_ordered_scan(queue, launch, range, body, reducer, finish, start, host);
  if constexpr (Finish::waits) {
    T total;
    launch.wait_for_value(host, &total, sizeof(T));
    finish.on_host(total);
  }
}

}  // namespace strata::inline STRATA_ABI::detail
