// EmulatedQueue: the handle of an in-order queue of an emulated instance. Private to this folder.
//
// Each submission takes its place in virtual time and in the work of the core in one step under
// Platform::mutex, so that both have the same order whichever threads submit.
// Lifetime: the handle may be destroyed with work under way, which is still done; the destructor neither
// waits nor throws, and an error that no one can wait for any more is printed.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include <strata/devices/backend.hpp>
#include <strata/devices/emulated/queue_core.hpp>

namespace strata::inline STRATA_ABI::detail {

class EmulatedInstance;
class Platform;

class EmulatedQueue final : public QueueState {
 public:
  EmulatedQueue(EmulatedInstance& instance, std::uint64_t id);
  ~EmulatedQueue() override;

  DeviceInstance& instance() override;
  std::uint64_t id() const override { return core_->id(); }
  void wait() override;
  bool idle() const override { return core_->idle(); }
  Ref<EventState> record() override;
  void wait_for(const Ref<EventState>& event) override;
  void copy(const CopySide& destination, const CopySide& source, std::size_t element_bytes) override;
  void fill(const CopySide& destination, const void* value, std::size_t element_bytes) override;
  void convert(const CopySide& destination, const CopySide& source, const Conversion& how) override;
  void call_host(const Ref<HostCall>& call) override;
  /// In virtual time, each range costs a copy of the pages that are not there yet. Throws OutOfBounds for
  /// bytes that are not in managed memory of Emulated, Error while a graph is recorded. Nothing where the
  /// configuration has no concurrent access to managed memory.
  std::size_t prefetch(const ManagedRange* ranges, int count, bool to_host) override;
  /// The kernel takes at least as long as that.
  void next_kernel_uses_link(index_t read, index_t written) override;

  /// Enqueues a kernel of `items` work items.
  void launch(const char* label, index_t items, std::function<void()> run);
  /// Enqueues a function that moves `bytes` bytes to or from `memory` of the instance; run() gets the address
  /// at which the host reaches it.
  void transfer(const char* label, void* memory, std::size_t bytes, bool to_device,
                const std::function<void(char*)>& run);

 private:
  int place(const CopySide& side, const CopySide& other) const;
  char* address(const CopySide& side) const;
  void require_instance() const;
  // Enqueues `work`, a kernel or copy; listeners learn when it runs in virtual time.
  // `place` gives it its place there; it may exchange the work for another, and runs with Platform::mutex
  // held.
  void submit(const char* label, std::size_t bytes, QueueCore::Work& work,
              const std::function<TimeSpan(Platform&)>& place, bool is_copy = false);

  EmulatedInstance& instance_;
  std::shared_ptr<QueueCore> core_;
};

}  // namespace strata::inline STRATA_ABI::detail
