// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>
#include <exception>
#include <mutex>
#include <utility>

#include <strata/core/profiling/hooks.hpp>
#include <strata/core/profiling/observers.hpp>
#include <strata/core/profiling/trace.hpp>
#include <strata/core/profiling/trace_listener.hpp>
#include <strata/core/runtime.hpp>

namespace strata::inline STRATA_ABI {

namespace detail::profiling {

namespace {

// Leaked once it has been used: a thread may be inside a callback when the process ends.
struct Running {
  std::mutex mutex;
  Trace* trace = nullptr;
  std::terminate_handler previous = nullptr;
  bool handles_terminate = false;
};
Running& running() {
  static auto* const instance = new Running;
  return *instance;
}

[[noreturn]] void finish_and_terminate() {
  Running& now = running();
  if (now.mutex.try_lock()) {
    if (now.trace != nullptr) now.trace->finish(false);
    now.mutex.unlock();
  }
  if (now.previous != nullptr) now.previous();
  std::abort();
}

// The lock is held.
void stop(Running& now) {
  if (now.trace == nullptr) return;
  remove_listener(*now.trace);
  now.trace->finish(true);
  delete std::exchange(now.trace, nullptr);
}

}  // namespace

}  // namespace detail::profiling

void start_trace(const std::string& file) {
  detail::profiling::start_observers();
  detail::end_at_exit();
  auto& now = detail::profiling::running();
  const std::lock_guard lock(now.mutex);
  detail::profiling::stop(now);
  now.trace = new detail::profiling::Trace(file);
  add_listener(*now.trace);
  if (!std::exchange(now.handles_terminate, true))
    now.previous = std::set_terminate(detail::profiling::finish_and_terminate);
}

void stop_trace() {
  auto& now = detail::profiling::running();
  const std::lock_guard lock(now.mutex);
  detail::profiling::stop(now);
}

}  // namespace strata::inline STRATA_ABI
