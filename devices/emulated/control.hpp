// Control of the emulated devices, for tests and experiments: how many, how large, how fast; what fails;
// virtual time.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include <strata/core/config.hpp>

namespace strata::inline STRATA_ABI {
namespace emulated {

/// The properties of all instances. The defaults are those of the settings emulated_*.
struct Config {
  int count;                        ///< instances, 1 to 16
  index_t capacity;                 ///< bytes of each
  int threads;                      ///< host threads that run the kernels of one instance
  double host_to_device_bandwidth;  ///< bytes per second
  double device_to_host_bandwidth;  ///< bytes per second
  double host_link_total;           ///< both directions together, bytes per second; 0: no limit beyond each
  double peer_bandwidth;            ///< between instances, bytes per second; 0: copies go through the host
  double memory_bandwidth;          ///< within an instance, bytes per second
  double copy_latency;              ///< seconds
  double launch_latency;            ///< seconds
  double seconds_per_item;          ///< of a kernel, besides the latency
  double host_submit_cost;          ///< seconds of host time for each launch and copy
  bool reads_files = false;         ///< whether it reads and writes files itself, by its link to the host
  index_t managed_page = index_t{64} << 10;  ///< bytes of a page of managed memory
  double fault_latency = 20e-6;              ///< seconds, of an access to a page that lies elsewhere
  /// Whether kernels have system-wide atomics on pinned and ordinary memory of the host, as they always have
  /// on managed memory: GPUs behind PCIe have none.
  bool host_atomics = true;
  /// Whether the host may touch managed memory while kernels run. Where it may not, as with some GPUs and
  /// drivers, nothing is prefetched.
  bool concurrent_managed_access = true;
  /// Managed arrays up to this size that the host uses again and again stay with it, and kernels reach them
  /// over the link (docs/memory_modes.md): as on a GPU, where these are 16 MiB. 0: none.
  index_t bytes_reached_at_host = 0;
  bool managed_memory = true;   ///< whether there is any; some systems give GPUs none
  index_t pinned_capacity = 0;  ///< bytes of pinned memory, as a limit on locked pages; 0: as the system has
  /// Factors of seconds_per_item, one for each instance; 1 for instances beyond the list.
  std::vector<double> item_factors = {};
};

/// The configuration in force, and that of the settings.
Config config();
Config default_config();

/// Replaces all instances; their default queues go on with the new ones. Throws Error while arrays or other
/// queues of the old ones live, or work is under way, and SettingError for figures out of range. No other
/// thread may use emulated devices meanwhile.
void configure(const Config& config);

/// Lowers or raises the bytes that may be allocated on an instance, at most the configured capacity.
void set_capacity(int instance, index_t bytes);
/// Bytes allocated on an instance now, and the most there ever were. Freed blocks count until all work that
/// was queued when they were freed is done, and the host's virtual clock has passed its end.
index_t used(int instance);
index_t peak(int instance);

/// Operations that can be made to fail. Giving memory to a part of a reserved array counts as an allocation.
enum class Fault { Allocation, Copy, Kernel };
/// The k-th such operation from now on (1: the next) fails, once, with OutOfMemory, CopyError or KernelError.
/// Copies and kernels count in the order in which they are enqueued, and fail without having touched memory.
/// A kernel that is recorded for a graph counts as an allocation.
void fail(Fault what, int k);
/// No operation is to fail any more.
void clear_faults();

/// The host's virtual clock, in seconds: moves by submissions and by waiting.
double now();
/// The host works for `seconds`.
void advance(double seconds);
/// While one lives, waits for events do not move the host's virtual clock; advance() does. For code that
/// handles ends of work in the order of virtual time, which differs from the order in real time.
class HeldClock {
 public:
  HeldClock();
  ~HeldClock();
  HeldClock(const HeldClock&) = delete;
  HeldClock& operator=(const HeldClock&) = delete;
};
/// Back to time 0, with idle engines and an empty trace. Only while no work is under way.
void reset_time();

/// One use of an engine or link in virtual time.
struct Operation {
  std::string engine;   ///< "compute 0", "upload 1", "download 0", "memory 0", "peer 0 1"
  std::string label;    ///< of the kernel or array
  std::uint64_t queue;  ///< number of the queue within the emulated devices
  double start;         ///< seconds of virtual time
  double end;           ///< seconds of virtual time
  std::size_t bytes;    ///< of a copy or fill
};
/// Starts or stops the recording of operations, which grows without end.
void keep_trace(bool keep);
std::vector<Operation> trace();

}  // namespace emulated
}  // namespace strata::inline STRATA_ABI
