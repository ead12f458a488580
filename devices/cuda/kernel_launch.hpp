// Launches: chooses kernel, grid and blocks. Compiled by nvcc only.
//
// Parameters travel with the launch, up to 32,764 bytes; larger ones through device memory. The size of a
// block is what occupancy says of the kernel, asked once a device.
#pragma once

#include <type_traits>

#include <strata/devices/cuda/array_reduce_kernels.hpp>
#include <strata/devices/cuda/for_kernels.hpp>
#include <strata/devices/cuda/launch.hpp>
#include <strata/devices/cuda/reduce_kernels.hpp>
#include <strata/devices/cuda/scan_kernels.hpp>

namespace strata::inline STRATA_ABI::detail {

template <class Work>
__global__ void cuda_run(const __grid_constant__ Work work) {
  if (enter_block(work.check)) work.run();
}
template <class Work>
__global__ void cuda_scan_totals(const __grid_constant__ Work work) {
  if (enter_block(work.check)) work.totals();
}
template <class Work, bool Parallel>
__global__ void cuda_scan_carries(const __grid_constant__ Work work) {
  if (enter_block(work.check)) work.template make_carries<Parallel>();
}
template <class Work>
__global__ void cuda_scan_final(const __grid_constant__ Work work) {
  if (enter_block(work.check)) work.final();
}

/// Work whose parameters are too many for a launch: they lie in device memory.
template <class Work>
struct CudaIndirect {
  const Work* work;
  CudaCheck check;

  __device__ void run() const { work->run(); }
  __device__ void run_exact() const { work->run_exact(); }
  __device__ void run_strided() const { work->run_strided(); }
  __device__ void totals() const { work->totals(); }
  template <bool Parallel>
  __device__ void make_carries() const {
    work->template make_carries<Parallel>();
  }
  __device__ void final() const { work->final(); }
};

// What a kernel is given, made of the work: itself, or where it lies.
template <class Work>
auto parameters_of(CudaLaunch& launch, const Work& work) {
  if constexpr (sizeof(Work) <= cuda_parameter_bytes) return work;
  else return CudaIndirect<Work>{static_cast<const Work*>(launch.place(&work, sizeof work)), work.check};
}
template <class Work>
using ParametersOf = std::conditional_t<(sizeof(Work) <= cuda_parameter_bytes), Work, CudaIndirect<Work>>;

template <class Body>
constexpr bool last_index_fastest() {
  if constexpr (requires { Body::last_index_fastest; }) return Body::last_index_fastest;
  else return false;
}

struct CudaKernelLaunch {
  template <class Body>
  static void for_range(const LaunchInfo& info, const ChunkRange& range, const Body& body) {
    using Work = CudaFor<Body>;
    const index_t count = range.end > range.begin ? range.end - range.begin : 0;
    CudaQueue& queue = cuda_queue_for(info);
    CudaLaunch launch(queue, EventKind::BeginFor, info, count);
    if (count == 0) return;
    Work work{body, range.begin, count, launch.check()};
    using P = ParametersOf<Work>;
    const bool exact = count <= (index_t{1} << 31);
    CudaKernel& kernel = exact ? kernel_of<&cuda_for_exact<P>>() : kernel_of<&cuda_for_strided<P>>();
    const auto& on_device = cuda_kernel_on(queue, kernel);
    const index_t block = on_device.block;
    index_t blocks = (count + block - 1) / block;
    if (!exact && blocks > most_blocks) blocks = most_blocks;
    run(launch, kernel, line(blocks, block), work);
  }

  template <int Rank, class Body>
  static void for_box(const LaunchInfo& info, const TileRange<Rank>& range, const Body& body) {
    constexpr bool last_fastest = last_index_fastest<Body>();
    using Work = CudaBox<Rank, last_fastest, Body>;
    CudaQueue& queue = cuda_queue_for(info);
    CudaLaunch launch(queue, EventKind::BeginFor, info, range.items());
    if (range.items() == 0) return;
    Work work{body, {}, {}, launch.check()};
    index_t tile[Rank];
    for (int d = 0; d < Rank; ++d) {
      const int axis = last_fastest ? Rank - 1 - d : d;
      work.lower[d] = range.lower[d];
      work.extent[axis] = range.upper[d] - range.lower[d];
      tile[axis] = range.tile[d];
    }
    CudaKernel& kernel = kernel_of<&cuda_run<ParametersOf<Work>>>();
    const auto& on_device = cuda_kernel_on(queue, kernel);
    run(launch, kernel, box_grid<Rank>(work.extent, tile, on_device.most_threads), work);
  }

  template <class Body, class Reducer, class Finish>
  static void reduce_range(const LaunchInfo& info, const ChunkRange& range, const Body& body,
                           const Reducer& reducer, const Finish& finish) {
    const BlockRange blocks = reduction_blocks(range.begin, range.end);
    const index_t count = range.end > range.begin ? range.end - range.begin : 0;
    reduce_nodes_of(info, count, blocks.last - blocks.first,
                    RangeNodes<Body>{body, range.begin, range.end, blocks.first, blocks.last}, reducer,
                    finish);
  }

  template <int Rank, class Body, class Reducer, class Finish>
  static void reduce_box(const LaunchInfo& info, const TileRange<Rank>& range, const Body& body,
                         const Reducer& reducer, const Finish& finish) {
    const index_t items = range.items();
    BoxNodes<Rank, Body> nodes{body, {}, {}, 0, 0, 0, 0, 0};
    index_t row_items = 1;
    for (int d = 0; d < Rank; ++d) {
      nodes.lower[d] = range.lower[d];
      nodes.extent[d] = range.upper[d] - range.lower[d];
      if (d > 0) row_items *= nodes.extent[d];
    }
    if (items > 0) {
      nodes.row_items = row_items;
      nodes.blocks = (row_items + reduction_block - 1) / reduction_block;
      while ((index_t{1} << nodes.log2_row) < nodes.blocks) ++nodes.log2_row;
      nodes.first = range.lower[0] << nodes.log2_row;
      nodes.last = range.upper[0] << nodes.log2_row;
    }
    reduce_nodes_of(info, items, nodes.last - nodes.first, nodes, reducer, finish);
  }

  template <class Body, class Reducer, class Finish>
  static void reduce_array(const LaunchInfo& info, const ChunkRange& range, const Body& body,
                           const Reducer& reducer, const Finish& finish) {
    using Work = CudaArrayReduce<Body, Reducer, Finish>;
    using Element = typename Reducer::element_type;
    constexpr index_t block = 64;
    const BlockRange blocks = reduction_blocks(range.begin, range.end);
    const index_t count = range.end > range.begin ? range.end - range.begin : 0;
    const index_t nodes = blocks.last - blocks.first, length = reducer.count();
    CudaQueue& queue = cuda_queue_for(info, Finish::waits);
    CudaLaunch launch(queue, EventKind::BeginReduce, info, count);
    const std::size_t array_bytes = static_cast<std::size_t>(length > 0 ? length : 1) * sizeof(Element);
    const CudaScratch scratch = launch.scratch(static_cast<std::size_t>(nodes > 0 ? nodes : 1) * array_bytes);
    const index_t base =
        (blocks.first >= 0 ? blocks.first / block : -((-blocks.first + block - 1) / block)) * block;
    Work work{body,        reducer, finish, range.begin, range.end,     blocks.first,
              blocks.last, base,    length, scratch,     launch.check()};
    const index_t grid = nodes > 0 ? (blocks.last - base + block - 1) / block : 1;
    run(launch, kernel_of<&cuda_run<ParametersOf<Work>>>(), line(grid, block), work);
    if constexpr (Finish::waits) {
      auto* const host = new Element[static_cast<std::size_t>(length > 0 ? length : 1)];
      struct Owner {
        Element* host;
        ~Owner() { delete[] host; }
      } const owner{host};
      launch.fetch(host, scratch.partials, static_cast<std::size_t>(length) * sizeof(Element));
      finish.on_host(host);
    }
  }

  template <class Body, class Reducer, class Finish>
  static void scan_range(const LaunchInfo& info, const ChunkRange& range, const Body& body,
                         const Reducer& reducer, const Finish& finish,
                         const typename Reducer::value_type& start) {
    using Work = CudaScan<Body, Reducer, Finish>;
    using T = typename Reducer::value_type;
    const BlockRange blocks = reduction_blocks(range.begin, range.end);
    const index_t count = range.end > range.begin ? range.end - range.begin : 0;
    CudaQueue& queue = cuda_queue_for(info, Finish::waits);
    CudaLaunch launch(queue, EventKind::BeginScan, info, count);
    const index_t nodes = blocks.last - blocks.first;
    const CudaScratch scratch = launch.scratch(static_cast<std::size_t>(nodes + 1) * sizeof(T));
    CudaHostSlot host{};
    if constexpr (Finish::waits) host = launch.host_slot(sizeof(T));
    Work work{body,        reducer,   finish,
              range.begin, range.end, blocks.first,
              blocks.last, start,     static_cast<T*>(scratch.partials),
              scratch,     host,      launch.check()};
    using P = ParametersOf<Work>;
    P parameters = parameters_of(launch, work);
    constexpr int block = 256;
    const int resident = 8 * cuda_multiprocessors(queue);
    index_t grid = (nodes * warp_lanes + block - 1) / block;
    if (grid > resident) grid = resident;
    if (nodes > 0) run(launch, kernel_of<&cuda_scan_totals<P>>(), line(grid, block), parameters);
    run(launch, kernel_of<&cuda_scan_carries<P, std::is_integral_v<T>>>(), line(1, block), parameters);
    run(launch, kernel_of<&cuda_scan_final<P>>(), line(grid > 0 ? grid : 1, block), parameters);
    if constexpr (Finish::waits) {
      T total;
      launch.wait_for_value(host, &total, sizeof(T));
      finish.on_host(total);
    }
  }

 private:
  static constexpr index_t most_blocks = index_t{1} << 20;

  // The record of a kernel, one in the program.
  template <auto Function>
  static CudaKernel& kernel_of() {
    static CudaKernel kernel{reinterpret_cast<const void*>(Function), {}};
    return kernel;
  }
  static CudaGrid line(index_t blocks, index_t threads) {
    return {{static_cast<unsigned>(blocks), 1, 1}, {static_cast<unsigned>(threads), 1, 1}, 0};
  }

  template <class Work>
  static void run(CudaLaunch& launch, CudaKernel& kernel, const CudaGrid& grid, Work& work) {
    if constexpr (sizeof(Work) <= cuda_parameter_bytes) {
      work.check.ahead = launch.goes_ahead(kernel, grid);
      launch.run(kernel, grid, &work, work.check.ahead);
    } else {
      auto parameters = parameters_of(launch, work);
      run(launch, kernel, grid, parameters);
    }
  }

  // Blocks of 64 x 4 threads, or those of the tile that was asked for, made to fit.
  template <int Rank>
  static CudaGrid box_grid(const index_t (&extent)[Rank], const index_t (&tile)[Rank], int most_threads) {
    constexpr index_t preferred[3] = {64, 4, 1};
    constexpr index_t most_in_block[3] = {1024, 1024, 64};
    constexpr index_t most_in_grid[3] = {(index_t{1} << 31) - 1, 65535, 65535};
    CudaGrid grid{{1, 1, 1}, {1, 1, 1}, 0};
    index_t left = most_threads;
    for (int a = 0; a < 3 && a < Rank; ++a) {
      index_t threads = tile[a] > 0 ? tile[a] : preferred[a];
      if (threads > most_in_block[a]) threads = most_in_block[a];
      if (threads > left) threads = left;
      if (threads > extent[a]) threads = extent[a];
      left /= threads;
      index_t count = extent[a];
      if (a == 2)
        for (int d = 3; d < Rank; ++d) count *= extent[d];
      index_t blocks = (count + threads - 1) / threads;
      if (blocks > most_in_grid[a]) blocks = most_in_grid[a];
      grid.block[a] = static_cast<unsigned>(threads);
      grid.grid[a] = static_cast<unsigned>(blocks);
    }
    return grid;
  }

  template <class Nodes, class Reducer, class Finish>
  static void reduce_nodes_of(const LaunchInfo& info, index_t items, index_t count, const Nodes& nodes,
                              const Reducer& reducer, const Finish& finish) {
    using Work = CudaReduce<Nodes, Reducer, Finish>;
    using T = typename Reducer::value_type;
    CudaQueue& queue = cuda_queue_for(info, Finish::waits);
    CudaLaunch launch(queue, EventKind::BeginReduce, info, items);
    CudaKernel& kernel = kernel_of<&cuda_run<ParametersOf<Work>>>();
    const auto& on_device = cuda_kernel_on(queue, kernel);

    // Few nodes: a warp each, in one block, or, as one multiprocessor is slow to read much, in a cluster.
    // More: blocks of 8 warps, as many as the device can hold or more, a warp taking 2^k nodes.
    int log2_warps = 0, log2_nodes = 0;
    const auto most_warps = [&](int log2) {
      return (1 << log2) <= Work::most_warps && (warp_lanes << log2) <= on_device.most_threads;
    };
    while (!in_one_group(nodes, log2_warps) && most_warps(log2_warps + 1) && log2_warps < 3) ++log2_warps;
    bool clustered = false;
    if (!in_one_group(nodes, log2_warps) && Work::cluster_blocks > 1 && on_device.waits_itself) {
      constexpr int log2_cluster = 3;
      int log2 = 0;
      while (!in_one_group(nodes, log2 + log2_cluster) && log2 < 4 && most_warps(log2 + 1)) ++log2;
      clustered = in_one_group(nodes, log2 + log2_cluster);
      if (clustered) log2_warps = log2;
    }
    if (!clustered && !in_one_group(nodes, log2_warps)) {
      while (log2_warps < 3 && most_warps(log2_warps + 1)) ++log2_warps;
      const index_t wanted = 12 * static_cast<index_t>(cuda_multiprocessors(queue));
      while (log2_nodes < 10 && (count >> (log2_nodes + log2_warps)) > wanted) ++log2_nodes;
    }
    const int log2_block = log2_nodes + log2_warps;
    const int log2_aligned = log2_block + (clustered ? 3 : 0);
    const index_t base = (nodes.first >> log2_aligned) << log2_aligned;
    index_t grid = clustered ? Work::cluster_blocks : ((nodes.last - base - 1) >> log2_block) + 1;
    if (count == 0) grid = 1;
    CudaScratch scratch{};
    if (grid > 1 && !clustered) scratch = launch.scratch(2 * static_cast<std::size_t>(grid) * sizeof(T));
    CudaHostSlot host{};
    if constexpr (Finish::waits) host = launch.host_slot(sizeof(T));
    const int log2_group = log2_nodes < 5 ? log2_nodes : 5;
    Work work{nodes, reducer, finish, clustered,     log2_group, log2_nodes - log2_group,
              base,  scratch, host,   launch.check()};
    CudaGrid blocks = line(grid, static_cast<index_t>(warp_lanes) << log2_warps);
    if (clustered) blocks.cluster = Work::cluster_blocks;
    run(launch, kernel, blocks, work);
    if constexpr (Finish::waits) {
      T value;
      launch.wait_for_value(host, &value, sizeof(T));
      finish.on_host(value);
    }
  }

  // Whether one aligned group of 2^log2 nodes has them all.
  template <class Nodes>
  static bool in_one_group(const Nodes& nodes, int log2) {
    return nodes.first >= nodes.last || (nodes.first >> log2) == ((nodes.last - 1) >> log2);
  }
};

}  // namespace strata::inline STRATA_ABI::detail
