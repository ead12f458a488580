// Threads: kernels run on the calling thread and a pool of the library's own, pinned within the affinity that
// the process inherited, also where an OpenMP library binds its first thread. Any thread may launch; launches
// of several threads take turns. Nested launches run inline. Settings: threads, pin, spin_us.
#pragma once

#include <strata/core/layout_right.hpp>
#include <strata/devices/device.hpp>
#include <strata/devices/host/execution.hpp>
#include <strata/devices/host/kind.hpp>
#include <strata/devices/host/space.hpp>
#include <strata/devices/host/start_affinity.hpp>

namespace strata::inline STRATA_ABI {

/// The host's threads as a device: a pool of the library's own. Its members are those of the concept Device.
struct Threads {
  /// Memory, layout of plain arrays, index of kernels, launches and name, as the concept Device asks for.
  using memory_space = HostSpace;
  using layout = LayoutRight;
  using index_type = detail::HostIndex;
  using size_type = index_t;
  using execution = detail::HostExecution;
  static constexpr char name[] = "Threads";

  constexpr Threads() = default;
  /// There is one instance, 0; NoSuchDevice for another number.
  explicit Threads(int index);

  /// Its one instance.
  static constexpr int count() { return 1; }
  constexpr int index() const { return 0; }
  detail::DeviceInstance& backend() const;

  /// The threads that a launch from the calling thread may use.
  static int concurrency();
  static detail::Runner runner();
  static const detail::HostKind& host() { return detail::threads_host; }

  friend constexpr bool operator==(Threads, Threads) { return true; }
};

}  // namespace strata::inline STRATA_ABI
