// How kernels are launched on a GPU, without templates and without a CUDA header: the functions of its queue
// that any launch needs. Kernels are launched by handle and stream, so that no launch queries or changes the
// current device, and a kernel's limits are queried once for each device.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include <strata/core/check.hpp>
#include <strata/core/config.hpp>
#include <strata/devices/array_addresses.hpp>
#include <strata/devices/launch_hints.hpp>
#include <strata/devices/launch_info.hpp>

struct CUstream_st;

namespace strata::inline STRATA_ABI::detail {

class CudaQueue;

/// The most GPUs of one process.
inline constexpr int max_cuda_devices = 16;
/// The most bytes of parameters that a kernel takes; larger ones go through device memory.
inline constexpr std::size_t cuda_parameter_bytes = 32764;

/// Registers that each thread has where a multiprocessor holds as many threads as it can.
inline constexpr int light_registers = 32;

/// One kernel, by the address of its host stub. Filled at its first launch on each device; lives in static
/// storage.
struct CudaKernel {
  const void* function;
  struct OnDevice {
    void* handle;         // CUfunction; null until filled
    int most_threads;     // that one block may have
    int block;            // threads a block that keep the most threads on a multiprocessor
    int resident_blocks;  // of that size, on the whole device at a time
    bool waits_itself;    // for the kernel before it: may be launched ahead
    int registers;        // of a thread
    int local_bytes;      // of a thread: local arrays, and registers that did not do
    // The last question to cuda_shared_for_occupancy and its answer.
    std::uint64_t shared_for_occupancy;
    bool large_shared;  // cuda_allow_shared has allowed it
    /// Whether a thread has so few registers that a multiprocessor holds as many threads as it can: the
    /// kernel mostly moves data.
    bool is_light() const { return registers <= light_registers; }
  } on[max_cuda_devices];
};

struct CudaGrid {
  unsigned grid[3];
  unsigned block[3];
  unsigned shared_bytes;
  unsigned cluster = 1;  // blocks that run at the same time and reach each other's shared memory
};

inline CudaGrid cuda_line(index_t blocks, index_t threads) {
  return {{static_cast<unsigned>(blocks), 1, 1}, {static_cast<unsigned>(threads), 1, 1}, 0};
}

/// Arguments for the entry of a kernel: whether it was launched ahead of the end of the one before it, and,
/// in checked builds, where to report bad accesses.
struct CudaCheck {
  bool ahead = false;
#if defined(STRATA_CHECKED) && STRATA_CHECKED
  CheckRecord* record;  // of the queue, in memory that host and device reach
  std::uint64_t launch;
#endif
};

/// The parameters of a kernel whose work is too large for them: where it lies in device memory.
struct CudaPlaced {
  const void* work;
  CudaCheck check;
};

/// Of a parallel_for over a range, the work besides its body: items are counted in 32 bits.
struct CudaItems {
  CudaCheck check{};  // first, so that no body lies in padding at the end
  index_t begin = 0;
  unsigned count = 0;
  unsigned tile = 0;  // items of a block: whole warps, or all its threads once or several times
};

/// The memory of its queue that a reduction may use until it is done.
struct CudaScratch {
  void* partials;             // at least the bytes asked for, 256-byte aligned
  unsigned* counter;          // 0 before and after
  unsigned long long* slots;  // as many as were asked for; 0 before and after
};

/// Memory through which a kernel passes a value to the host: words of 8 bytes, each 4 bytes of the value and,
/// in the upper half, the ticket of the launch. A word is written and read in one access, so the value itself
/// needs no fence; the host has it when all words have the ticket. Scans fence before, as the host may read
/// the arrays they wrote; after reductions it waits for the kernel where it may.
struct CudaHostSlot {
  volatile std::uint64_t* words;
  std::uint32_t ticket;
};
constexpr std::size_t host_slot_words(std::size_t bytes) { return (bytes + 3) / 4; }

/// The queue that a launch goes to; `waits` says that the launch waits for its result. Throws WrongDevice for
/// views in another memory, RuntimeEnded.
CudaQueue& cuda_queue_for(const LaunchInfo& info, bool waits = false);
/// Of the device of `queue`; asks the driver the first time.
const CudaKernel::OnDevice& cuda_kernel_on(CudaQueue& queue, CudaKernel& kernel);
int cuda_multiprocessors(const CudaQueue& queue);
/// The bytes of dynamic shared memory for each block that limit the threads on a multiprocessor to about
/// `percent` of those it can hold; 0 where there are not more anyway. Asks the driver when the arguments
/// change.
unsigned cuda_shared_for_occupancy(CudaQueue& queue, CudaKernel& kernel, const CudaGrid& grid, int percent);
/// Lets the kernel be launched with so many bytes of dynamic shared memory for each block, which without this
/// may have no more than 48 KiB with its static ones. Asks the driver the first time, if at all. The kernel
/// is always launched with as many.
void cuda_allow_shared(CudaQueue& queue, CudaKernel& kernel, unsigned bytes);

/// One launch: holds the queue's lock, so that scratch memory and kernel stay together. Reports to the
/// listeners.
class CudaLaunch {
 public:
  CudaLaunch(CudaQueue& queue, EventKind kind, const LaunchInfo& info, index_t items);
  ~CudaLaunch();
  CudaLaunch(const CudaLaunch&) = delete;
  CudaLaunch& operator=(const CudaLaunch&) = delete;

  CudaCheck check() const;
  CudaScratch scratch(std::size_t bytes, std::size_t slots = 0) const;
  /// Sets device memory to zero before the kernel.
  void clear(void* memory, std::size_t bytes) const;
  /// A slot for `bytes`, until wait_for_value gives it back.
  CudaHostSlot host_slot(std::size_t bytes) const;
  /// A copy in device memory, until the work enqueued by this launch is done. At most twice a launch.
  const void* place(const void* parameters, std::size_t bytes);
  /// Whether the kernel should be launched ahead of the end of the one before it. It must then wait for it.
  /// `updated_bytes` are those of arrays that a reduction writes and reads, 0 where that is not known.
  bool goes_ahead(CudaKernel& kernel, const CudaGrid& grid, std::size_t updated_bytes = 0) const;
  /// `parameters` is the kernel's only argument, or the first one of a kernel for separate arrays, of which
  /// `arrays` has the others. Throws KernelError where the launch fails.
  void run(CudaKernel& kernel, const CudaGrid& grid, const void* parameters, bool ahead = false,
           const ArrayAddresses* arrays = nullptr) const;
  /// Copies device memory to the host and waits for the queue.
  void fetch(void* host, const void* device, std::size_t bytes) const;
  /// Waits until the kernel has handed over its value, copies it to `value`, and gives the slot back. If the
  /// kernel `writes` and has views of memory that the host reads, too, waits for its end. Throws the queue's
  /// error if the kernel fails. Ends the launch: nothing else may follow.
  void wait_for_value(const CudaHostSlot& slot, void* value, std::size_t bytes, bool writes = false);

  /// For libraries that launch by themselves: the queue's stream, and what to do with their error codes.
  CUstream_st* stream() const;
  void check(int cuda_error, const char* tried) const;

 private:
  CudaQueue& queue_;
  const LaunchInfo& info_;
  [[noreturn]] void fail_launch(int code, const CudaGrid& grid) const;

  KernelScope scope_;
  std::uint64_t number_ = 0;
  std::uint64_t submitted_ = 0;  // of the queue, when a value is waited for
  void* placed_[2] = {};
  bool locked_ = true;
  mutable bool stream_used_ = false;  // by work that was not counted
};

/// Threads of a block in which each has several items. A constant, so that the compiler knows that the item
/// after next is another element of the same array, and its loads need not wait for the stores of this one;
/// larger blocks were slower.
inline constexpr unsigned stream_block = 256;

/// Launches a parallel_for over a range: `work`, a base of `bytes` bytes of work, begins with what is set
/// here. `thread_items` are the items of a thread whose loads are in flight together. More than 2^30 items
/// are several launches, one after the other: where one cannot be launched, those before it are not undone.
/// `arrays` are for the kernel, a cuda_run_separate.
void cuda_launch_items(const LaunchInfo& info, CudaKernel& kernel, const ChunkRange& range,
                       const LaunchHints& hints, int thread_items, CudaItems& work, std::size_t bytes,
                       const ArrayAddresses* arrays = nullptr);

}  // namespace strata::inline STRATA_ABI::detail
