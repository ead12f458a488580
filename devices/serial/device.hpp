// Serial: kernels run on the calling thread, one work item after the other. The reference for all other
// devices.
#pragma once

#include <strata/core/layout_right.hpp>
#include <strata/devices/device.hpp>
#include <strata/devices/host/execution.hpp>
#include <strata/devices/host/kind.hpp>
#include <strata/devices/host/space.hpp>

namespace strata::inline STRATA_ABI {

/// The calling thread as a device. Its members are those of the concept Device.
struct Serial {
  /// Memory, layout of plain arrays, index of kernels, launches and name, as the concept Device asks for.
  using memory_space = HostSpace;
  using layout = LayoutRight;
  using index_type = detail::HostIndex;
  using size_type = index_t;
  using execution = detail::HostExecution;
  static constexpr char name[] = "Serial";

  constexpr Serial() = default;
  /// There is one instance, 0; NoSuchDevice for another number.
  explicit Serial(int index);

  /// Its one instance.
  static constexpr int count() { return 1; }
  constexpr int index() const { return 0; }
  detail::DeviceInstance& backend() const;

  /// The threads that a launch from the calling thread may use.
  static int concurrency();
  static detail::Runner runner();
  static const detail::HostKind& host() { return detail::serial_host; }

  friend constexpr bool operator==(Serial, Serial) { return true; }
};

/// The Kokkos Array paper's name of the host as a device (figure 14).
using Host = Serial;

}  // namespace strata::inline STRATA_ABI
