// HostDevice: the backend that Serial, Threads and Tbb share. They differ in one function: how the pieces of
// an index range are run. All else (memory, queues that work at once, copies) is common.
//
// Queues of host devices do not overlap with their caller: work is done when the call returns, on the calling
// thread and whatever helps it, so that errors are thrown directly and waiting has nothing to do.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/devices/backend.hpp>
#include <strata/devices/host/kind.hpp>

namespace strata::inline STRATA_ABI::detail {

class HostDevice final : public DeviceInstance {
 public:
  /// `name` is the device's, for messages; `runner` its way to run pieces.
  HostDevice(const char* name, Runner (*runner)());
  ~HostDevice() override;

  const char* device_name() const override { return name_; }
  int index() const override { return 0; }
  SpaceId space() const override;
  bool host_accessible() const override { return true; }
  Allocation* allocate(const AllocationRequest& request) override;
  QueueState& default_queue() override { return *default_queue_; }
  Ref<QueueState> create_queue() override;
  void wait_all() override {}
  std::size_t used() const override;

 private:
  const char* name_;
  Runner (*runner_)();
  Ref<QueueState> default_queue_;
};

/// How a HostDevice releases an allocation.
void release_host(Allocation& allocation) noexcept;

/// Throws OutOfMemory, with the request and the largest allocations there. `reason` says why it does not
/// fit.
[[noreturn]] void fail_out_of_memory(const AllocationRequest& request, SpaceId space, const char* device,
                                     const char* reason);

}  // namespace strata::inline STRATA_ABI::detail
