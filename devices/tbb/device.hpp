// Tbb: kernels run on oneTBB's workers, in the task arena of the caller, whose limits they honour. Any thread
// may launch; launches may nest. Where an OpenMP library binds the first thread of the process, oneTBB's
// arenas still count all of its processors, and its workers are let go to them.
#pragma once

#include <strata/core/layout_right.hpp>
#include <strata/devices/device.hpp>
#include <strata/devices/host/execution.hpp>
#include <strata/devices/host/kind.hpp>
#include <strata/devices/host/space.hpp>
#include <strata/devices/host/start_affinity.hpp>

namespace strata::inline STRATA_ABI {

/// The host's threads as a device: those of oneTBB. Its members are those of the concept Device.
struct Tbb {
  /// Memory, layout of plain arrays, index of kernels, launches and name, as the concept Device asks for.
  using memory_space = HostSpace;
  using layout = LayoutRight;
  using index_type = detail::HostIndex;
  using size_type = index_t;
  using execution = detail::HostExecution;
  static constexpr char name[] = "Tbb";

  constexpr Tbb() = default;
  /// There is one instance, 0; NoSuchDevice for another number.
  explicit Tbb(int index);

  /// Its one instance.
  static constexpr int count() { return 1; }
  constexpr int index() const { return 0; }
  detail::DeviceInstance& backend() const;

  /// The threads that a launch from the calling thread may use.
  static int concurrency();
  static detail::Runner runner();
  static const detail::HostKind& host() { return detail::tbb_host; }

  friend constexpr bool operator==(Tbb, Tbb) { return true; }
};

}  // namespace strata::inline STRATA_ABI
