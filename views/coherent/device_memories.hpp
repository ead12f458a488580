// The memories that coherent arrays use: which device each belongs to, the queues of its copies, what copies
// cost, and who has memory there.
//
// Not thread-safe: the owner locks.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <strata/devices/backend.hpp>
#include <strata/views/coherent/plan/memory_links.hpp>
#include <strata/views/coherent/plan/residency.hpp>

namespace strata::inline STRATA_ABI::detail {

/// A queue that its first use makes: short copies go by those of kernels, so that programs with small arrays
/// need none of these.
class CopyQueue {
 public:
  explicit CopyQueue(DeviceInstance& device) : device_(&device) {}
  Ref<QueueState>& made() {
    if (!queue_) queue_ = device_->create_queue();
    return queue_;
  }
  QueueState& operator*() { return *made(); }
  QueueState* operator->() { return made().get(); }

 private:
  DeviceInstance* device_;
  Ref<QueueState> queue_;
};

struct DeviceMemory {
  DeviceInstance* device;
  Residency residency;
  // Copies to it from the host, from it to the host, and to it from other devices: each way by itself, so
  // that the ways overlap.
  CopyQueue upload, download, peer;
};

class DeviceMemories {
 public:
  /// The memory of `device`, known from its first use on; that of the host for all devices whose memory the
  /// host reaches. Throws Error beyond 63 devices.
  MemoryId id_of(DeviceInstance& device);
  /// Not the host's.
  DeviceMemory& operator[](MemoryId memory) { return *memories_[static_cast<std::size_t>(memory) - 1]; }
  /// The host's and all devices'.
  int size() const { return 1 + static_cast<int>(memories_.size()); }
  const MemoryLinks& links() const { return links_; }
  /// For people: "Host", "Cuda{1}".
  std::string name(MemoryId memory) const;
  /// Forgets all, and their budgets.
  void clear() {
    memories_.clear();
    links_ = MemoryLinks(1, {});
  }

 private:
  void connect();

  std::vector<std::unique_ptr<DeviceMemory>> memories_;
  MemoryLinks links_{1, {}};
};

}  // namespace strata::inline STRATA_ABI::detail
