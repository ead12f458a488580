#include <strata/core/runtime.hpp>
#include <strata/core/settings.hpp>
#include <strata/devices/host_device.hpp>
#include <strata/devices/threads/device.hpp>
#include <strata/devices/worker_pool.hpp>

namespace strata::inline STRATA_ABI {

namespace {

// Started by the first launch, stopped by the end of the runtime; the pointer is never destroyed, so that
// launches from static destructors find either a pool or the error of an ended runtime.
struct Pool {
  std::unique_ptr<detail::WorkerPool> workers;

  Pool() {
    const Settings& s = settings();
    workers = std::make_unique<detail::WorkerPool>(
        detail::WorkerPool::Options{.workers = s.threads, .pin = s.pin, .spin_us = s.spin_us});
    detail::at_end([]() noexcept { pool().workers.reset(); });
  }
  static Pool& pool() {
    static auto* const instance = new Pool;
    return *instance;
  }
};

void run(const void*, const detail::ChunkRange& range, detail::ChunkFunction function) {
  Pool::pool().workers->run(range, function);
}

}  // namespace

Threads::Threads(int index) { detail::require_only_instance(name, index); }

int Threads::concurrency() { return Pool::pool().workers->size(); }

detail::Runner Threads::runner() {
  detail::require_running("a launch on Threads");
  return {run, nullptr, concurrency()};
}

detail::DeviceInstance& Threads::backend() const {
  static auto* const instance = new detail::HostDevice(name, runner);
  return *instance;
}

}  // namespace strata::inline STRATA_ABI
