// SystemFlag: a number that only grows, for which threads of the host and of devices wait.
//
//   const SystemFlag flag(system_atomics(step, Cuda{0}));
//   flag.raise(1);          // all that this thread has written before is seen by who has waited for 1
//   flag.wait_for(1);       // on the other side
//
// A host thread that waits polls, then yields, then sleeps for up to a tenth of a millisecond at a time; a
// GPU thread polls every few hundred nanoseconds; a thread of Emulated waits as one of the host.
//
// A wait ends only if another thread raises the flag while it waits. It may never end (deadlock) where
// - the raising kernel is enqueued after the waiting one in the same queue, or needs room that the waiting
//   one takes: kernels of one GPU need not run at the same time, nor blocks of one kernel;
// - an item of a loop waits for another item of the same loop: items of a host loop run in turn on few
//   threads, and threads of a warp need not make progress independently: at most one thread of a kernel may
//   wait, for the host or for a kernel that is running;
// - the host first waits for a kernel (wait, a host view, a launch with a result) that waits for the host.
// No work of a GPU that is waiting in a kernel can be stopped.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/core/config.hpp>
#include <strata/views/system_atomics.hpp>

namespace strata::inline STRATA_ABI {

namespace detail {

/// What a host thread does between two looks at a value that another one is about to change; `looks` counts
/// them from 0.
void wait_between_looks(int looks);

}  // namespace detail

/// A handle, which kernels copy; the array of `value`, which is zero at first, must outlive it.
class SystemFlag {
 public:
  /// `value` has one element.
  STRATA_FUNCTION explicit SystemFlag(const SystemAtomics<std::int64_t>& value) : value_(value) {}

  /// Raises the flag to `number`, unless it is larger already.
  STRATA_FUNCTION void raise(index_t number) const { value_(0).fetch_max(number, order_release); }
  /// The current number; all that was written before it was raised is visible after this call.
  STRATA_FUNCTION index_t raised() const { return value_(0).load(order_acquire); }
  /// Returns once it is at least `number`. The head of this file says when that may never happen.
  STRATA_FUNCTION void wait_for(index_t number) const {
    for (int looks = 0; raised() < number; ++looks) {
#if defined(__CUDA_ARCH__)
      __nanosleep(200);
#else
      detail::wait_between_looks(looks);
#endif
    }
  }

 private:
  SystemAtomics<std::int64_t> value_;
};

}  // namespace strata::inline STRATA_ABI
