// Launches of reductions: how many blocks and warps, and how many nodes of the tree a warp takes. Compiled by
// nvcc only.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/core/min_max.hpp>
#include <strata/devices/cuda/launch/kernel_parameters.hpp>
#include <strata/devices/cuda/launch/lane_nodes.hpp>
#include <strata/devices/cuda/launch/reduce_kernels.hpp>

namespace strata::inline STRATA_ABI::detail {

// The bounds allow the compiler the registers to keep the loads of a whole node in flight.
template <class Reduce, class Parameters>
__global__ void __launch_bounds__(Reduce::most_threads, Reduce::least_blocks)
    cuda_reduce(const __grid_constant__ Parameters parameters) {
  __shared__ typename Reduce::Gather gather;
  constexpr bool direct = std::is_same_v<Reduce, Parameters>;
  if constexpr (direct) parameters.prepare(gather);
  const bool works = enter_with<!Reduce::Threads::writes>(parameters);
  if (!checked_build && !works) return;
  const Reduce& reduce = work_of(parameters);
  if constexpr (!direct) reduce.prepare(gather);
  reduce.run(gather, works);
}

// The same for arrays that are separate.
template <class Reduce>
__global__ void __launch_bounds__(Reduce::most_threads, Reduce::least_blocks)
    cuda_reduce_separate(const __grid_constant__ Reduce reduce, void* __restrict__ a, void* __restrict__ b,
                         void* __restrict__ c, void* __restrict__ d, void* __restrict__ e,
                         void* __restrict__ f, void* __restrict__ g, void* __restrict__ h) {
  __shared__ typename Reduce::Gather gather;
  reduce.prepare(gather);
  if (enter_with<!Reduce::Threads::writes>(reduce))
    reduce.on_arrays({{a, b, c, d, e, f, g, h}}).run(gather, true);
}

template <class Nodes, class Reducer, class Finish, class Static>
class CudaReduceLaunch {
 public:
  using Work = CudaReduce<Nodes, Reducer, Finish, Static>;
  using T = typename Reducer::value_type;

  static constexpr bool is_separate = detail::is_separate<typename Nodes::body_type>();

  static CudaKernel& kernel() {
    if constexpr (is_separate) return cuda_kernel<&cuda_reduce_separate<Work>>();
    else return cuda_kernel<&cuda_reduce<Work, ParametersOf<Work>>>();
  }

  /// `count` numbers of nodes from nodes.first on.
  CudaReduceLaunch(const CudaKernel::OnDevice& on_device, const Nodes& nodes, index_t count)
      : first_(nodes.first), last_(nodes.last) {
    // Few nodes: a group of warps each, in one block, or, as one multiprocessor is slow to read much, in a
    // cluster. More: full blocks, some more than the device holds at a time. A block is slow to end, as its
    // warps wait for each other: rather than a second round of blocks, groups should have two nodes.
    const index_t resident_threads = index_t{on_device.resident_blocks} * on_device.block;
    shared_nodes_ = Work::Threads::shares(nodes, count, resident_threads);
    const int most_groups = Work::log2_most_warps - int{shared_nodes_};
    const int few = smaller_of(3, most_groups);
    const int few_nodes = smaller_of(few + 1, Work::log2_most_nodes);
    while (!in_one_group(log2_nodes_) && log2_nodes_ < few) ++log2_nodes_;
    log2_groups_ = log2_nodes_;
    if (!in_one_group(log2_nodes_)) {
      clustered_ =
          on_device.waits_itself && Work::log2_cluster > 0 && in_one_group(few_nodes + Work::log2_cluster);
      if (clustered_) {
        log2_nodes_ = 0;
        while (!in_one_group(log2_nodes_ + Work::log2_cluster)) ++log2_nodes_;
        log2_groups_ = smaller_of(log2_nodes_, few);
      } else {
        // As many blocks as there can be where all warps have a node at once: multiprocessors then have
        // almost as many nodes each. Sums of 1.09 million took 0.92 of the time of blocks of twice the size.
        const bool at_once = (index_t{warp_lanes} << int{shared_nodes_}) * count <= resident_threads;
        log2_nodes_ = log2_groups_ = at_once ? smaller_of(3 - int{shared_nodes_}, most_groups) : most_groups;
        const index_t resident = resident_threads >> (5 + log2_groups_ + int{shared_nodes_});
        const auto too_many = [&] {
          return 2 * (count >> log2_nodes_) > (log2_nodes_ == log2_groups_ ? 3 : 6) * resident;
        };
        // Of what writes in two steps short blocks: it took 0.97 of the time of two long ones for each that a
        // multiprocessor holds. In one step it took 1.09 of it.
        const bool short_ones = shared_nodes_ && Work::Threads::in_two_steps;
        // Else at most 16 nodes a warp, or two: with 32, of which the last ones are done by few warps, dot
        // products of 134 million took 1.01 times as long, compared with kernels by hand.
        const int most = short_ones                   ? larger_of(3, log2_groups_)
                         : Work::log2_most_warps == 0 ? Work::log2_most_nodes
                                                      : smaller_of(log2_groups_ + 4, Work::log2_most_nodes);
        while (log2_nodes_ < most && too_many()) ++log2_nodes_;
      }
    }
    const int log2_aligned = log2_nodes_ + (clustered_ ? Work::log2_cluster : 0);
    base_ = (first_ >> log2_aligned) << log2_aligned;
    grid_ = clustered_ ? 1 << Work::log2_cluster : ((last_ - base_ - 1) >> log2_nodes_) + 1;
    if (count == 0) grid_ = 1;
  }

  /// Scratch memory of the launch: slots for the values of the blocks, and bytes for those of groups of them.
  std::size_t slots() const { return grid_ > 1 && !clustered_ ? Work::FromBlocks::slots_of(grid_) : 0; }
  std::size_t scratch_bytes() const {
    const index_t groups = Work::FromBlocks::most_groups(grid_);
    return groups > Work::capacity ? 2 * static_cast<std::size_t>(groups) * sizeof(T) : 0;
  }

  /// Launches, and waits where the finish does; nothing else may follow in the launch then. `nodes` has the
  /// same node numbers as in the constructor. `writes`: kernels of the reduction may write arrays.
  void run(CudaLaunch& launch, const CudaScratch& scratch, const Nodes& nodes, const Reducer& reducer,
           const Finish& finish, bool writes = !only_reads<typename Nodes::body_type>()) {
    CudaHostSlot host{};
    if constexpr (Finish::waits) host = launch.host_slot(sizeof(T));
    auto parameters = parameters_of(launch, Work{nodes, reducer, finish, clustered_, shared_nodes_,
                                                 log2_nodes_, base_, scratch, host, launch.check()});
    CudaGrid blocks =
        cuda_line(grid_, static_cast<index_t>(warp_lanes) << (log2_groups_ + int{shared_nodes_}));
    if (clustered_) blocks.cluster = 1u << Work::log2_cluster;
    const std::size_t updated_bytes =
        Work::Threads::writes
            ? item_bytes_of<Nodes>() * static_cast<std::size_t>(last_ - first_) * reduction_block
            : 0;
    if constexpr (is_separate) {
      const ArrayAddresses arrays = nodes.body.arrays();
      cuda_launch(launch, kernel(), blocks, parameters, &arrays, updated_bytes);
    } else {
      cuda_launch(launch, kernel(), blocks, parameters, nullptr, updated_bytes);
    }
    if constexpr (Finish::waits) {
      T value;
      launch.wait_for_value(host, &value, sizeof(T), writes);
      finish.on_host(value);
    }
  }

 private:
  // Whether one aligned group of 2^log2 nodes contains them all.
  bool in_one_group(int log2) const { return first_ >= last_ || (first_ >> log2) == ((last_ - 1) >> log2); }

  index_t first_;
  index_t last_;
  bool clustered_ = false;
  bool shared_nodes_ = false;
  int log2_groups_ = 0;
  int log2_nodes_ = 0;  // of a block
  index_t base_;
  index_t grid_;
};

/// A reduction over `count` nodes, `items` work items.
template <class Static, class Nodes, class Reducer, class Finish>
void cuda_reduce_nodes(const LaunchInfo& info, index_t items, index_t count, const Nodes& nodes,
                       const Reducer& reducer, const Finish& finish) {
  using Reduction = CudaReduceLaunch<Nodes, Reducer, Finish, Static>;
  CudaQueue& queue = cuda_queue_for(info, Finish::waits);
  CudaLaunch launch(queue, EventKind::BeginReduce, info, items);
  Reduction reduction(cuda_kernel_on(queue, Reduction::kernel()), nodes, count);
  CudaScratch scratch{};
  if (reduction.slots() > 0) scratch = launch.scratch(reduction.scratch_bytes(), reduction.slots());
  reduction.run(launch, scratch, nodes, reducer, finish);
}

/// The values of nodes, or of 32 rows that are a node each, between the two kernels of the way below.
template <class T>
struct CudaUnits {
  int log2;
  index_t first;
  index_t count;
  explicit CudaUnits(const BoxNumbers& box)
      : log2(box.log2_row == 0 ? 5 : 0),
        first(box.first >> log2),
        count(box.last > box.first ? ((box.last - 1) >> log2) + 1 - first : 0) {}
  /// Whether they take little scratch memory.
  bool are_few() const {
    constexpr index_t most_bytes = index_t{64} << 20;
    return count <= most_bytes / static_cast<index_t>(sizeof(T));
  }
};

/// The same in two kernels: lanes with a row each make the values of nodes, and a reduction of the usual kind
/// joins those.
template <class Nodes, class Reducer, class Finish>
void cuda_reduce_by_lanes(const LaunchInfo& info, index_t items, const Nodes& nodes, ResidentRows rows,
                          const CudaUnits<typename Reducer::value_type>& units, const Reducer& reducer,
                          const Finish& finish) {
  using T = typename Reducer::value_type;
  using Reduction = CudaReduceLaunch<StoredNodes<T>, Reducer, Finish, StaticHints<>>;
  CudaQueue& queue = cuda_queue_for(info, Finish::waits);
  CudaLaunch launch(queue, EventKind::BeginReduce, info, items);
  StoredNodes<T> stored(nodes, units.log2);
  Reduction reduction(cuda_kernel_on(queue, Reduction::kernel()), stored, stored.last - stored.first);
  const std::size_t values_at = (reduction.scratch_bytes() + 255) / 256 * 256;
  const CudaScratch scratch =
      launch.scratch(values_at + static_cast<std::size_t>(units.count) * sizeof(T), reduction.slots());
  T* const values = reinterpret_cast<T*>(static_cast<char*>(scratch.partials) + values_at);
  stored.values = values;
  const StoreUnits<T> store{values, units.first, units.log2};
  LaneNodesLaunch<Nodes, Reducer, StoreUnits<T>>::run(launch, queue, nodes, rows, {0, nodes.blocks}, reducer,
                                                      store);
  reduction.run(launch, scratch, stored, reducer, finish, !only_reads<typename Nodes::body_type>());
}

}  // namespace strata::inline STRATA_ABI::detail
