// Launches: chooses kernel, grid and blocks. Compiled by nvcc only.
//
// Parameters travel with the launch, up to 32,764 bytes; larger ones through device memory. The size of a
// block is the occupancy calculator's for the kernel, asked once for each device.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/core/layout.hpp>
#include <strata/devices/cuda/launch/array_reduce_kernels.hpp>
#include <strata/devices/cuda/launch/block_values.hpp>
#include <strata/devices/cuda/launch/for_launch.hpp>
#include <strata/devices/cuda/launch/kernel_parameters.hpp>
#include <strata/devices/cuda/launch/reduce_launch.hpp>
#include <strata/devices/cuda/launch/scan_launch.hpp>

namespace strata::inline STRATA_ABI::detail {

struct CudaKernelLaunch : CudaForLaunch {
  /// `R` is ChunkRange, or that with hints.
  template <class R, class Body, class Reducer, class Finish>
  static void reduce_range(const LaunchInfo& info, const R& range, const Body& body, const Reducer& reducer,
                           const Finish& finish) {
    using Static = typename HintsOf<R>::static_hints;
    const BlockRange blocks = reduction_blocks(range.begin, range.end);
    const index_t count = range.end > range.begin ? range.end - range.begin : 0;
    const auto reduce = [&](const auto& its_body) {
      using Nodes = RangeNodes<std::remove_cvref_t<decltype(its_body)>>;
      cuda_reduce_nodes<Static>(info, count, blocks.last - blocks.first,
                                Nodes{its_body, range.begin, range.end, blocks.first, blocks.last}, reducer,
                                finish);
    };
    if constexpr (may_reduce_separate<Body>()) {
      using Work = CudaReduce<RangeNodes<SeparateBody<Body>>, Reducer, Finish, Static>;
      if constexpr (travels_with_arrays<Work>)
        if (body.are_separate() && body.hold_elements(range.begin, range.end))
          return reduce(SeparateBody<Body>(body));
    }
    reduce(body);
  }

  /// `R` is TileRange<Rank>, or that with hints.
  template <int Rank, class R, class Body, class Reducer, class Finish>
  static void reduce_box(const LaunchInfo& info, const R& range, const Body& body, const Reducer& reducer,
                         const Finish& finish) {
    using Static = typename HintsOf<R>::static_hints;
    const BoxNodes<Rank, Body> nodes = box_nodes<Rank>(range, body);
    if constexpr (may_have_lane_nodes<Static, Body, Reducer>()) {
      const CudaUnits<typename Reducer::value_type> units(nodes);
      const ResidentRows rows{range.lower[0], range.upper[0]};
      if (has_lane_nodes(rows.end - rows.begin, nodes.row_items) && units.are_few())
        return cuda_reduce_by_lanes(info, range.items(), nodes, rows, units, reducer, finish);
    }
    cuda_reduce_nodes<Static>(info, range.items(), nodes.last - nodes.first, nodes, reducer, finish);
  }

  /// The values of blocks `blocks` of the rows `rows` of a box, each by itself: store(row, block, value).
  template <int Rank, class R, class Body, class Reducer, class Store>
  static void reduce_blocks(const LaunchInfo& info, const R& range, ResidentRows rows, ResidentRows blocks,
                            const Body& body, const Reducer& reducer, const Store& store) {
    using Static = typename HintsOf<R>::static_hints;
    const BoxNodes<Rank, Body> nodes = box_nodes<Rank>(range, body);
    if constexpr (may_have_lane_nodes<Static, Body, Reducer>())
      if (has_lane_nodes(rows.end - rows.begin, items_of_blocks(nodes, blocks)))
        return cuda_reduce_blocks_by_lanes(info, rows, blocks, nodes, reducer, store);
    cuda_reduce_blocks<Static>(info, rows, blocks, nodes, reducer, store);
  }

  /// The values of the blocks of a range, each by itself: store(0, block, value). `R` as above.
  template <class R, class Body, class Reducer, class Store>
  static void reduce_range_blocks(const LaunchInfo& info, const R& range, const Body& body,
                                  const Reducer& reducer, const Store& store) {
    using Static = typename HintsOf<R>::static_hints;
    const BlockRange blocks = reduction_blocks(range.begin, range.end);
    const RangeAsRow<Body> nodes{{body, range.begin, range.end, blocks.first, blocks.last}, range.end};
    cuda_reduce_blocks<Static>(info, {0, 1}, {blocks.first, blocks.last}, nodes, reducer, store);
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
    run(launch, cuda_kernel<&cuda_run<ParametersOf<Work>>>(), cuda_line(grid, block), work);
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
    if constexpr (Body::may_scan_separate) {
      using Work = CudaScan<SeparateBody<Body>, Reducer, Finish>;
      if constexpr (Work::keeps_elements && travels_with_arrays<Work>)
        if (body.are_separate() && body.hold_elements(range.begin, range.end))
          return cuda_scan(info, range, SeparateBody<Body>(body), reducer, finish, start);
    }
    cuda_scan(info, range, body, reducer, finish, start);
  }

 private:
  template <class Work>
  static void run(CudaLaunch& launch, CudaKernel& kernel, const CudaGrid& grid, const Work& work) {
    auto parameters = parameters_of(launch, work);
    cuda_launch(launch, kernel, grid, parameters);
  }
};

}  // namespace strata::inline STRATA_ABI::detail
