// Entry of a kernel: a block waits for the kernel before it, and in checked builds learns where to report bad
// accesses; after a launch with a bad access the queue's kernels do nothing until the queue is waited for.
//
// From compute capability 9.0 on, the kernels of a queue are launched ahead of time (programmatic dependent
// launch): when all blocks of a kernel have begun, or, of a reduction that writes, have computed their nodes,
// those of the next may start, and wait here until it has ended and the memory it wrote is visible, to
// read-only loads, too. That hides the cost of a launch between short kernels. No memory may be accessed
// before.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/core/check.hpp>
#include <strata/devices/cuda/launch/launch.hpp>

namespace strata::inline STRATA_ABI::detail {

/// Lets the blocks of the next kernel start, as soon as all blocks of this one have called it or ended.
inline __device__ void let_next_start() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

struct NothingBefore {
  __device__ void operator()() const {}
};

/// Whether the block shall work; called by all its threads, first. Unless the work itself calls
/// let_next_start, the blocks of the next kernel may start from here on. A block that waits for the kernel
/// before it calls `before_wait`, which accesses no memory but parameters.
template <bool LetsNextStart = true, class BeforeWait = NothingBefore>
__device__ bool enter_block(const CudaCheck& check, [[maybe_unused]] const BeforeWait& before_wait = {}) {
  bool go = true;
#if __CUDA_ARCH__ >= 900
  // The compiler may move loads of constant memory before the wait, but not before a branch that depends on
  // it.
  if (check.ahead) {
    unsigned one;
    if constexpr (LetsNextStart) let_next_start();
    before_wait();
    asm volatile("griddepcontrol.wait;\n\tmov.u32 %0, 1;" : "=r"(one)::"memory");
    go = one != 0;
  }
#endif
#if defined(STRATA_CHECKED) && STRATA_CHECKED
  __shared__ bool good;
  if (threadIdx.x == 0 && threadIdx.y == 0 && threadIdx.z == 0) {
    block_check = check.record;
    block_launch = check.launch;
    block_note_count = 0;
    good = may_work(check.record, check.launch);
  }
  __syncthreads();
  return good && go;
#else
  return go;
#endif
}

}  // namespace strata::inline STRATA_ABI::detail
