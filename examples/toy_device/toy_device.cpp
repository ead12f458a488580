// SPDX-License-Identifier: Apache-2.0
#include "toy_device.hpp"

#include <exception>
#include <thread>

#include <strata/devices/host/device.hpp>

namespace toy {

namespace {

using strata::detail::ChunkFunction;
using strata::detail::ChunkPlan;
using strata::detail::ChunkRange;

constexpr int workers = 2;

// The pieces worker, worker + 2, ... from the last to the first. Keeps the first exception and goes on to the
// end, as a run throws when all its pieces are done.
void run_pieces(const ChunkPlan& plan, ChunkFunction function, int worker,
                std::exception_ptr& error) noexcept {
  for (ChunkPlan::Count k = plan.count(); k-- > 0;) {
    if (static_cast<int>(k % workers) != worker) continue;
    try {
      function(plan.begin(k), plan.end(k), worker);
    } catch (...) {
      if (!error) error = std::current_exception();
    }
  }
}

void run(const void*, const ChunkRange& range, ChunkFunction function) {
  const ChunkPlan plan(range, workers);
  if (plan.count() == 0) return;
  std::exception_ptr error[workers];
  if (plan.count() == 1) {
    run_pieces(plan, function, 0, error[0]);
  } else {
    std::thread helper([&] { run_pieces(plan, function, 1, error[1]); });
    run_pieces(plan, function, 0, error[0]);
    helper.join();
  }
  for (const std::exception_ptr& e : error)
    if (e) std::rethrow_exception(e);
}

// How HostExecution and the copies of the backend run the pieces of a range.
strata::detail::Runner runner() { return {run, nullptr, workers}; }

}  // namespace

Toy::Toy(int index) { strata::detail::require_only_instance(name, index); }

strata::detail::DeviceInstance& Toy::backend() const {
  // Never destroyed: arrays in static storage may outlive everything else.
  static auto* const instance = new strata::detail::HostDevice(name, runner);
  return *instance;
}

const strata::detail::HostKind& Toy::host() {
  static constexpr strata::detail::HostKind kind{
      name, runner, []() -> strata::detail::DeviceInstance& { return Toy().backend(); },
      [] { return workers; }};
  return kind;
}

static_assert(strata::Device<Toy>);

}  // namespace toy
