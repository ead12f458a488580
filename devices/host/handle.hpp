// HostHandle: the common base of the types Serial, Threads and Tbb. They differ in their name and in their
// HostKind: how pieces of a range are run.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/core/layout_right.hpp>
#include <strata/devices/device.hpp>
#include <strata/devices/host/execution.hpp>
#include <strata/devices/host/kind.hpp>
#include <strata/devices/host/space.hpp>

namespace strata::inline STRATA_ABI::detail {

/// A host device as a type and a handle, with the members of the concept Device but for its name.
template <const HostKind& Kind>
struct HostHandle {
  /// Memory, layout of plain arrays, index of kernels and launches, as the concept Device asks for.
  using memory_space = HostSpace;
  using layout = LayoutRight;
  using index_type = HostIndex;
  using size_type = index_t;
  using execution = HostExecution;

  constexpr HostHandle() = default;
  /// There is one instance, 0; NoSuchDevice for another number.
  explicit HostHandle(int index) { require_only_instance(Kind.name, index); }

  /// Its one instance.
  static constexpr int count() { return 1; }
  static constexpr int index() { return 0; }
  static DeviceInstance& backend() { return Kind.backend(); }

  /// The threads that a launch from the calling thread may use.
  static int concurrency() { return Kind.concurrency(); }
  static Runner runner() { return Kind.runner(); }
  static const HostKind& host() { return Kind; }
};

}  // namespace strata::inline STRATA_ABI::detail
