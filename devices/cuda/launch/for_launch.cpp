// SPDX-License-Identifier: Apache-2.0
#include <strata/core/min_max.hpp>
#include <strata/devices/cuda/launch/launch.hpp>
#include <strata/devices/cuda/queue.hpp>
#include <strata/devices/link_bound.hpp>

namespace strata::inline STRATA_ABI::detail {

namespace {

constexpr index_t warp_threads = 32;
constexpr index_t most_items = index_t{1} << 30;  // of a launch: counts of items and blocks have 32 bits

// Of kernels that are bound by the link to the host a block for each multiprocessor: their loads fill the
// link, and as they are few, stores begin to fill it the other way soon. With all blocks at a time stores
// wait until most has been loaded. Each block has a piece of the range, so that what several processors of
// the host have just written, and have in their caches, comes from all of them at a time. By hand, on an H200
// (perf_tests/memory_modes), to change 4 MiB that 8 processors have written takes 0.20 ms so and 0.37 with a
// thread for each element, 16 MiB 0.58 and 0.90. That a kernel with few registers moves data rather than
// computes is a guess.
index_t link_blocks(const CudaQueue& queue, const CudaKernel::OnDevice& on_device, const LaunchHints& hints,
                    int thread_items) {
  const bool is_asked = hints.block_size > 0 || hints.occupancy > 0;
  if (!kernels_are_link_bound || is_asked || !on_device.is_light() || queue.gpu().uses_host_page_tables())
    return 0;
  // Of small numbers, or few multiprocessors, more blocks: about twice the bytes that such a link holds.
  constexpr index_t in_flight = index_t{128} << 10;
  const index_t multiprocessors = cuda_multiprocessors(queue), item_bytes = larger_of(16 / thread_items, 1);
  const index_t at_once = multiprocessors * index_t{stream_block} * item_bytes;
  return multiprocessors * ((in_flight - 1) / at_once + 1);
}

// Threads of a block, and in `tile` its items; with `most_blocks` other than 0 no more blocks than that, if
// threads can have several items.
index_t plan_items(const CudaKernel::OnDevice& on_device, int block_size, int thread_items, index_t count,
                   index_t most_blocks, unsigned& tile) {
  index_t block = block_size > 0 ? block_size : on_device.block;
  if (block_size == 0 && thread_items > 1) block = stream_block;
  if (block > on_device.most_threads) block = on_device.most_threads;
  if (block > count) block = (count + warp_threads - 1) / warp_threads * warp_threads;
  // Several items a thread where there are enough for all multiprocessors.
  tile = static_cast<unsigned>(block);
  if (block == stream_block && count >= index_t{on_device.resident_blocks} * on_device.block * thread_items)
    tile *= static_cast<unsigned>(thread_items);
  if (block == stream_block && thread_items > 1 && most_blocks > 0 && count > most_blocks * tile) {
    const index_t warps = (count - 1) / (most_blocks * warp_threads) + 1;
    tile = static_cast<unsigned>(warps * warp_threads);
  }
  return block;
}

}  // namespace

void cuda_launch_items(const LaunchInfo& info, CudaKernel& kernel, const ChunkRange& range,
                       const LaunchHints& hints, int thread_items, CudaItems& work, std::size_t bytes,
                       const ArrayAddresses* arrays) {
  CudaQueue& queue = cuda_queue_for(info);
  work.begin = range.begin;
  do {
    const index_t left = range.end > work.begin ? range.end - work.begin : 0;
    const index_t count = smaller_of(left, most_items);
    CudaLaunch launch(queue, EventKind::BeginFor, info, count);
    if (count == 0) return;
    const CudaKernel::OnDevice& on_device = cuda_kernel_on(queue, kernel);
    const index_t block = plan_items(on_device, hints.block_size, thread_items, count,
                                     link_blocks(queue, on_device, hints, thread_items), work.tile);
    CudaGrid grid = cuda_line((count + work.tile - 1) / work.tile, block);
    if (hints.occupancy > 0)
      grid.shared_bytes = cuda_shared_for_occupancy(queue, kernel, grid, hints.occupancy);
    work.count = static_cast<unsigned>(count);
    work.check = launch.check();
    if (bytes <= cuda_parameter_bytes) {
      work.check.ahead = launch.goes_ahead(kernel, grid);
      launch.run(kernel, grid, &work, work.check.ahead, arrays);
    } else {
      CudaPlaced placed{launch.place(&work, bytes), work.check};
      placed.check.ahead = launch.goes_ahead(kernel, grid);
      launch.run(kernel, grid, &placed, placed.check.ahead);
    }
    work.begin += count;
  } while (work.begin < range.end);
}

}  // namespace strata::inline STRATA_ABI::detail
