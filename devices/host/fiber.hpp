// Fiber: a stack of its own on which a function runs until it switches to another fiber of the same thread.
// Private to the devices: included by .cpp files only.
//
// Fibers never change threads, so thread-local variables are those of the thread. A switch saves and restores
// the exceptions that are being handled, and informs AddressSanitizer and ThreadSanitizer. On x86-64 it costs
// some 20 instructions; elsewhere it is swapcontext, which asks the system for the signal mask each time.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include <strata/core/config.hpp>

// May be set to 1 to try the other way on x86-64.
#if !defined(STRATA_FIBER_UCONTEXT)
#if defined(__x86_64__) && defined(__GNUC__)
#define STRATA_FIBER_UCONTEXT 0
#else
#define STRATA_FIBER_UCONTEXT 1
#endif
#endif
#if STRATA_FIBER_UCONTEXT
#include <ucontext.h>
#endif

namespace strata::inline STRATA_ABI::detail {

class Fiber {
 public:
  /// The calling thread as it is: what other fibers switch back to.
  Fiber();
  /// A fiber that calls `entry(argument)` when it is first switched to. `entry` must not return, and must not
  /// let an exception out. Throws OutOfMemory where the system has no memory for a stack.
  Fiber(void (*entry)(void*), void* argument);
  /// The fiber must not be running; objects on its stack are not destroyed.
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  /// From `*this`, which must be running, to `next`. Returns when something switches back.
  void switch_to(Fiber& next);

  /// Bytes of a stack, of which the system gives pages as they are touched. An overflow faults in a page that
  /// no one may touch.
  static constexpr std::size_t stack_bytes = std::size_t{256} << 10;

 private:
  // The C++ runtime's state of a thread's exceptions: those being handled, and the number in flight.
  struct ExceptionState {
    void* handled = nullptr;
    unsigned in_flight = 0;
  };

  static void start();
  void arrived();

  void (*entry_)(void*) = nullptr;
  void* argument_ = nullptr;
  char* mapping_ = nullptr;
  std::size_t mapping_bytes_ = 0;
#if STRATA_FIBER_UCONTEXT
  ucontext_t context_{};
#else
  void* stack_pointer_ = nullptr;
#endif
  ExceptionState exceptions_;
  // For the sanitizers: the bounds of the stack, and their own pointer.
  const void* bottom_ = nullptr;
  std::size_t bytes_ = 0;
  [[maybe_unused]] void* fake_stack_ = nullptr;
  [[maybe_unused]] void* thread_sanitizer_ = nullptr;
};

}  // namespace strata::inline STRATA_ABI::detail
