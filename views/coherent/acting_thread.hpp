// On whose behalf a thread uses arrays: its own, or that of a thread which has reserved them and waits for
// it. The workers of the executor of tasks act for the thread that runs the graph.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <thread>

#include <strata/core/config.hpp>

namespace strata::inline STRATA_ABI::detail {

/// The calling thread, or the one that it acts for; its number (core/thread_number.hpp), which no other
/// thread has after it.
std::thread::id acting_thread();
std::uint64_t acting_thread_number();

/// How many launches over coherent arrays the calling thread has begun: so one can find out whether a launch
/// that threw had begun.
std::uint64_t calls_begun();
void note_call_begun();

/// Calls f, in the thread and without locks, before any thread waits until others do not use an array: what
/// the thread has kept from beginning may be what uses it.
void set_before_waits(void (*f)());
void call_before_waits();

/// The calling thread acts for `thread` until the end of this.
class ActingFor {
 public:
  /// `thread` and `number` are those of the same thread.
  ActingFor(std::thread::id thread, std::uint64_t number);
  ~ActingFor();
  ActingFor(const ActingFor&) = delete;
  ActingFor& operator=(const ActingFor&) = delete;

 private:
  std::thread::id before_;
  std::uint64_t number_before_;
};

}  // namespace strata::inline STRATA_ABI::detail
