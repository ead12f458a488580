// Functions of the host that a GPU calls (then_host): what they throw, and who destroys them. Private to this
// folder.
//
// CUDA calls them on a thread of its own, on which CUDA may not be used. A function may hold the last handle
// of an array, so it is not destroyed there, but by a later call of the library.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <mutex>
#include <utility>
#include <vector>

#include <cuda_runtime_api.h>

#include <strata/core/unheard_errors.hpp>
#include <strata/devices/backend.hpp>

namespace strata::inline STRATA_ABI::detail {

/// The first error of a queue's functions that no wait for the queue has thrown. Held by the queue and by its
/// functions, which may run after it is gone.
class HostErrors final : public RefCounted {
 public:
  ~HostErrors() override { print(); }

  /// Of the function that is operation `number` of the queue.
  void note(std::exception_ptr error, std::uint64_t number) {
    const std::lock_guard lock(mutex_);
    if (first_ != nullptr) return;
    first_ = std::move(error);
    number_ = number;
    is_reported_ = false;
    has_error_.store(true, std::memory_order_release);
  }
  /// Throws the error, once.
  void throw_and_clear() {
    if (!has_error_.load(std::memory_order_acquire)) return;
    if (const std::exception_ptr error = take(false)) std::rethrow_exception(error);
  }
  /// Throws it if its function is among the first `count` operations. It stays the queue's.
  void throw_of_first(std::uint64_t count) {
    if (!has_error_.load(std::memory_order_acquire)) return;
    std::exception_ptr error;
    {
      const std::lock_guard lock(mutex_);
      if (number_ > count) return;
      error = first_;
      is_reported_ = true;
    }
    if (error != nullptr) std::rethrow_exception(error);
  }
  /// Prints it if no wait has thrown it.
  void print() noexcept {
    if (const std::exception_ptr error = take(true)) print_unheard_error("a function of the host", error);
  }

 private:
  // With `unreported` none that an event has thrown.
  std::exception_ptr take(bool unreported) {
    const std::lock_guard lock(mutex_);
    has_error_.store(false, std::memory_order_relaxed);
    std::exception_ptr error = std::exchange(first_, nullptr);
    return unreported && is_reported_ ? nullptr : error;
  }

  std::mutex mutex_;
  std::atomic<bool> has_error_ = false;
  std::exception_ptr first_;
  std::uint64_t number_ = 0;
  bool is_reported_ = false;  // an event has thrown it
};

/// A function as CUDA calls it: through a function of C, which may not throw.
class CudaHostCall final : public RefCounted {
 public:
  CudaHostCall(Ref<HostCall> call, Ref<HostErrors> errors, std::uint64_t number)
      : call_(std::move(call)), errors_(std::move(errors)), number_(number) {}
  /// Notes that CUDA is to call `count` functions, once each; a negative count takes that back.
  static void note_enqueued(std::ptrdiff_t count) { open_.fetch_add(count, std::memory_order_relaxed); }
  /// Whether CUDA is still to end some that were enqueued, on any GPU. What the others wrote is visible.
  static bool any_open() { return open_.load(std::memory_order_acquire) > 0; }

  static void run(void* raw) {
    auto& self = *static_cast<CudaHostCall*>(raw);
    try {
      self.call_->run();
    } catch (...) {
      self.errors_->note(std::current_exception(), self.number_);
    }
    open_.fetch_sub(1, std::memory_order_release);
    self.set_done();  // from now on it may be destroyed
  }
  void set_done() { is_done_.store(true, std::memory_order_release); }
  bool is_done() const { return is_done_.load(std::memory_order_acquire); }

 private:
  const Ref<HostCall> call_;
  const Ref<HostErrors> errors_;
  const std::uint64_t number_;
  std::atomic<bool> is_done_ = false;  // it has run, at least once
  static inline std::atomic<std::ptrdiff_t> open_ = 0;
};

/// Functions that CUDA is still to call, of one GPU. May be used by several threads.
class CudaHostCalls {
 public:
  /// Holds `call` until it has run.
  void keep(const Ref<CudaHostCall>& call) { add({{call}, nullptr}); }
  /// Holds those of a graph until its last launch, before event `after`, is done. Takes both over.
  void keep(std::vector<Ref<CudaHostCall>>&& calls, cudaEvent_t after) { add({std::move(calls), after}); }

  /// Destroys what need not be held any more; give_back(event) for the events. Not on a thread of CUDA, and
  /// not with locks that destroying arrays and queues takes.
  template <class GiveBack>
  void drop_done(const GiveBack& give_back) {
    if (count_.load(std::memory_order_relaxed) == 0) return;
    std::vector<Kept> done;  // destroyed without the lock: they may destroy anything
    {
      const std::lock_guard lock(mutex_);
      std::erase_if(kept_, [&](Kept& kept) {
        if (!kept.is_done()) return false;
        done.push_back(std::move(kept));
        return true;
      });
      count_.store(kept_.size(), std::memory_order_relaxed);
    }
    for (const Kept& kept : done)
      if (kept.after != nullptr) give_back(kept.after);
  }

 private:
  struct Kept {
    std::vector<Ref<CudaHostCall>> calls;
    cudaEvent_t after;
    bool is_done() const {
      return after != nullptr ? cudaEventQuery(after) != cudaErrorNotReady : calls.front()->is_done();
    }
  };
  void add(Kept&& kept) {
    const std::lock_guard lock(mutex_);
    kept_.push_back(std::move(kept));
    count_.store(kept_.size(), std::memory_order_relaxed);
  }

  std::mutex mutex_;
  std::vector<Kept> kept_;
  std::atomic<std::size_t> count_ = 0;
};

}  // namespace strata::inline STRATA_ABI::detail
