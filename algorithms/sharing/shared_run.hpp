// run_shared: carries out a launch whose parts devices claim. Functions hide the types of views and kernels;
// here are the plan and the threads. Who has what is in SharedLedger, what asynchronous devices do
// in SharedFlights, what failures cost in SharedLosses.
//
// Threads: the calling one gives asynchronous devices their first parts, and then works as the first host.
// Each other host has a thread of its own. Where parts are left after the first ones, one more thread feeds
// all asynchronous devices; otherwise, and without hosts, the calling thread waits for them itself. So a
// launch that one device does alone is one launch there. All act for the calling thread, which has reserved
// the arrays: other threads use them before or after the launch, never in between.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <strata/algorithms/across.hpp>
#include <strata/algorithms/coherent_launch.hpp>
#include <strata/algorithms/sharing/claim_counter.hpp>
#include <strata/algorithms/sharing/shared_report.hpp>
#include <strata/core/access_mode.hpp>
#include <strata/core/function.hpp>
#include <strata/views/coherent/coherent_array.hpp>
#include <strata/views/coherent/coherent_array_state.hpp>
#include <strata/views/coherent/coherent_call.hpp>

namespace strata::inline STRATA_ABI {

/// Forgets what shared launches so far have shown of kernels and devices: the next ones find out anew.
void forget_shared_speeds();

/// Who claims parts of a shared launch.
enum class ClaimedBy {
  HostThread,  ///< which launches each part
  Kernels  ///< where they can: over managed arrays, kernels for themselves, and hosts from the same counter
};

/// How parts of a shared launch are claimed.
struct DynamicOptions {
  double host_seconds = 1e-3;                    ///< a host's claim is at least what it does in this time
  double device_seconds = 100e-6;                ///< another device's
  int parts_ahead = 3;                           ///< parts that an asynchronous device has at once
  ClaimedBy claimed_by = ClaimedBy::HostThread;  ///< a thread of the host, or kernels
};

namespace detail::sharing {

/// Throws Error for times that are negative or no numbers, and for fewer parts than one.
void check_options(const DynamicOptions& options);

/// What makes launches the same: their label, and the types of range, kernel and accesses.
std::uint64_t kind_of_launch(const char* label, const char* types);

/// A kernel on each of some devices, which claim from one counter (claiming_launch.hpp).
struct ClaimingLaunch {
  struct Device {
    std::size_t number;  // of the work's devices
    ResidentRows home;   // where it probably begins
    TeamClaims sizes;
    index_t teams;
    CoherentCall::Timing timing = {};  // once it is enqueued
  };
  std::vector<Device> devices;
  ClaimCounter counter;  // with its number, once that is made
  /// Calls its argument, which enqueues the end of the kernel of device `p` of these.
  Function<void(std::size_t p, const Function<void()>& end)> ended_by;
  CoherentArray<std::uint64_t, rank<1>> numbers, results;
};

struct SharedWork {
  struct Device {
    DeviceInstance* device;
    QueueState* queue;
  };
  struct Use {
    Ref<CoherentState> array;
    AccessMode mode;
    ArrayPart part;                             // of all work items
    Function<ArrayPart(ResidentRows)> part_of;  // of some
  };
  std::string name;        // of the launch, for messages
  std::uint64_t kind = 0;  // of the label, the kernel and its accesses: what launches that come again share
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
  // Where kernels could claim, if the arrays were managed; null elsewhere.
  index_t unit_of_claims = 0;  // rows of which claims are multiples
  index_t claiming_teams = 0;  // of a kernel
  Function<void(ClaimingLaunch&)> enqueue_claiming;
  /// Runs the kernel on a host, over the memory of the arrays as it is. From several threads at once.
  Function<void(std::size_t host, ResidentRows part)> run_on_host;
  /// The part that begins there has failed: it will be launched again, perhaps cut otherwise.
  Function<void(index_t begin)> undo;
};

/// Returns when all is done. Throws what a part threw; DataLost where values were lost, and the error of the
/// first device that failed where none is left: both say what is not done.
SharedReport run_shared(const SharedWork& work);

}  // namespace detail::sharing
}  // namespace strata::inline STRATA_ABI
