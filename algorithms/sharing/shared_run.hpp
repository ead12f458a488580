// run_shared: carries out a launch whose parts devices claim. What is typed (views, kernels) is behind
// functions; here are the threads, the waits and the failures.
//
// Threads: one feeds all asynchronous devices, a few parts ahead of each, so that none is idle; each host
// works in a thread of its own, the first in the calling one. All act for the calling thread, which has
// reserved the arrays: other threads use them before or after the launch, never in between.
#pragma once

#include <string>
#include <vector>

#include <strata/algorithms/across.hpp>
#include <strata/algorithms/coherent_launch.hpp>
#include <strata/algorithms/sharing/shared_report.hpp>
#include <strata/core/access_mode.hpp>
#include <strata/core/function.hpp>
#include <strata/views/coherent/coherent_array_state.hpp>
#include <strata/views/coherent/coherent_call.hpp>

namespace strata::inline STRATA_ABI {

/// How parts of a shared launch are claimed.
struct DynamicOptions {
  double host_seconds = 1e-3;      ///< a host's claim is at least what it does in this time
  double device_seconds = 100e-6;  ///< another device's
  int parts_ahead = 3;             ///< parts that an asynchronous device has at once
};

namespace detail {

/// Throws Error for times that are negative or no numbers, and for fewer parts than one.
void check_options(const DynamicOptions& options);

struct SharedWork {
  struct Device {
    DeviceInstance* device;
    QueueState* queue;
  };
  struct Use {
    Ref<CoherentState> array;
    AccessMode mode;
    ArrayPart part;  // of all work items
  };
  std::string name;  // of the launch, for messages
  std::vector<Device> devices;
  std::vector<Use> uses;
  ResidentRows range{0, 0};
  index_t align = 1;
  bool in_nodes = false;        // see SharedClaims
  std::vector<double> weights;  // empty: equal, or as the balance knows
  Balance* balance = nullptr;
  DynamicOptions options;

  /// Throws what is wrong with a launch of these parts.
  Function<void(const std::vector<SpreadPart>& parts)> check;
  /// Enqueues the kernel over a part, timed, or runs it. Called from several threads at once.
  Function<CoherentCall::Timing(std::size_t device, ResidentRows part)> launch;
  /// The part that begins there has failed: it will be launched again, perhaps cut otherwise.
  Function<void(index_t begin)> undo;
};

/// Returns when all is done. Throws what a part threw; DataLost where values were lost, and the error of the
/// first device that failed where none is left: both say what is not done.
SharedReport run_shared(const SharedWork& work);

}  // namespace detail
}  // namespace strata::inline STRATA_ABI
