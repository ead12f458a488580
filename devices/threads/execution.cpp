// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include <strata/core/log.hpp>
#include <strata/core/runtime.hpp>
#include <strata/core/settings.hpp>
#include <strata/devices/host/affinity.hpp>
#include <strata/devices/host/device.hpp>
#include <strata/devices/host/worker_pool.hpp>
#include <strata/devices/threads/device.hpp>

namespace strata::inline STRATA_ABI {

namespace {

// Started by the first launch and never destroyed: at the end of the runtime another thread may be in a
// region, and launches from static destructors must find the error of an ended runtime. Its threads sleep
// then.
detail::WorkerPool& pool() {
  static auto* const workers = [] {
    const Settings& s = settings();
    auto team = std::make_unique<detail::WorkerPool>(
        detail::WorkerPool::Options{.workers = s.threads,
                                    .pin = s.pin,
                                    .spin_us = s.spin_us,
                                    .shares_processors = s.threads == 0,  // a number that is given is kept
                                    .share_ns = 2000,     // twice what it takes to hand work over
                                    .slice_ns = 10000});  // a hundred times what it takes to take one
    detail::log_message(LogLevel::Info, "Threads: %d host threads%s; this process may use %d processors",
                        team->size(), s.pin ? ", each on one processor" : "", detail::usable_processors());
    // The end waits for the region under way, by taking a turn. A kernel that calls exit() must not wait for
    // itself.
    detail::at_end([]() noexcept {
      if (!pool().in_region())
        pool().run({.begin = 0, .end = 1}, {[](const void*, index_t, index_t, int) {}, nullptr});
    });
    return team.release();
  }();
  return *workers;
}

void run(const void*, const detail::ChunkRange& range, detail::ChunkFunction function) {
  pool().run(range, function);
}

int concurrency() { return pool().in_region() ? 1 : pool().size(); }  // nested launches run inline

detail::Runner runner() {
  detail::require_running("a launch on Threads");
  return {run, nullptr, concurrency()};
}

detail::DeviceInstance& backend() {
  static auto* const instance = new detail::HostDevice(Threads::name, runner);
  return *instance;
}

}  // namespace

constinit const detail::HostKind detail::threads_host{Threads::name, runner, backend, concurrency};

}  // namespace strata::inline STRATA_ABI
