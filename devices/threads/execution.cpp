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
  int size = 0;

  Pool() {
    const Settings& s = settings();
    workers = std::make_unique<detail::WorkerPool>(
        detail::WorkerPool::Options{.workers = s.threads, .pin = s.pin, .spin_us = s.spin_us});
    size = workers->size();
    detail::at_end([]() noexcept {
      // A kernel that calls exit() cannot wait for itself: then the threads end with the process.
      auto& team = pool().workers;
      if (team->in_region()) static_cast<void>(team.release());
      else team.reset();
    });
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

int Threads::concurrency() {
  const Pool& pool = Pool::pool();
  return pool.workers && pool.workers->in_region() ? 1 : pool.size;  // nested launches run inline
}

detail::Runner Threads::runner() {
  detail::require_running("a launch on Threads");
  return {run, nullptr, concurrency()};
}

detail::DeviceInstance& Threads::backend() const {
  static auto* const instance = new detail::HostDevice(name, runner);
  return *instance;
}

}  // namespace strata::inline STRATA_ABI
