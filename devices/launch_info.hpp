// The arguments of a launch besides its range and kernel, and what all devices do around a launch.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/core/allocation.hpp>
#include <strata/core/check.hpp>
#include <strata/core/config.hpp>
#include <strata/core/profiling/hooks.hpp>
#include <strata/devices/backend.hpp>
#include <strata/devices/chunk.hpp>
#include <strata/devices/host/kind.hpp>

namespace strata::inline STRATA_ABI::detail {

/// Names a launch and says where it runs.
struct LaunchInfo {
  const char* label;        // "" if the user gave none
  const char* kernel_type;  // mangled
  QueueState* queue;        // null: the default queue of the instance that the kernel's views live on
  int instance;             // the instance asked for; -1: that of the views
  const Capture* views;     // where the views of the kernel live; valid during the call of the launch only
  const char* tag_type = nullptr;  // mangled, of the kernel's tag, if it has one
  const HostKind* host = nullptr;  // the device, where that is one of HostExecution

  /// For people.
  const char* name() const { return kernel_name(label, kernel_type, tag_type); }
};

/// A work range of `Rank` dimensions, cut into tiles; rows (left-most indices) stay in order.
template <int Rank>
struct TileRange {
  index_t lower[Rank];
  index_t upper[Rank];
  index_t tile[Rank];  // 0: the device chooses
  Schedule schedule = Schedule::Static;

  /// Work items, 0 if any dimension is empty.
  constexpr index_t items() const {
    index_t n = 1;
    for (int r = 0; r < Rank; ++r) n *= upper[r] > lower[r] ? upper[r] - lower[r] : 0;
    return n;
  }
};

/// Throws WrongDevice: a view of the kernel lives in a memory that `device` cannot use.
[[noreturn]] void fail_wrong_space(const LaunchInfo& info, const char* device, int instance,
                                   const Allocation& wrong);

/// The event of the begin of a kernel.
HookEvent kernel_event(EventKind begin, const LaunchInfo& info, const char* device, int instance,
                       std::uint64_t queue, index_t items);

/// Reports to the listeners a kernel that runs between its construction and destruction.
class KernelScope : public profiling::EventScope {
 public:
  KernelScope(EventKind begin, const LaunchInfo& info, const char* device, int instance, std::uint64_t queue,
              index_t items)
      : profiling::EventScope([&] { return kernel_event(begin, info, device, instance, queue, items); }) {}
};

}  // namespace strata::inline STRATA_ABI::detail
