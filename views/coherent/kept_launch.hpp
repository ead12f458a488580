// Launches that were planned and may come again: what each uses, and the state in which its arrays were left.
// A launch that uses the same parts of the same arrays on the same devices, while they are in that state, has
// nothing to copy, nothing to make room for and nothing to claim: it only waits, and enqueues its kernels.
//
// Not thread-safe: the owner locks.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include <strata/core/access_mode.hpp>
#include <strata/devices/backend.hpp>
#include <strata/views/coherent/access_region.hpp>
#include <strata/views/coherent/plan/memory_set.hpp>
#include <strata/views/coherent/plan/work_order.hpp>

namespace strata::inline STRATA_ABI::detail {

class CoherentState;

struct KeptLaunch {
  struct Part {
    DeviceInstance* device;
    bool unlocked;
    MemoryId memory;
    int uses;
    Work last;  // its kernel, the last time
  };
  struct Use {
    const CoherentState* array;  // to be compared only: it may be gone
    std::uint64_t identity;      // of the array
    AccessMode mode;
    ArrayPart region;
    std::uint64_t state_number;   // of the array, when the launch was over
    std::uint64_t order_changes;  // of the array in the part's memory, when it was over
  };
  std::vector<Part> parts;
  std::vector<Use> uses;  // of the first part, of the second, ...
};

/// The launches whose first use is of one array: the most recent ones.
class KeptLaunches {
 public:
  static constexpr std::size_t most = 128;

  /// The launch with this hash for which is_same(launch) is true, or null. Launches that alternate are found
  /// at once.
  template <class IsSame>
  KeptLaunch* find(std::uint64_t hash, const IsSame& is_same) {
    for (std::size_t k = 0; k < kept_.size(); ++k) {
      if (++last_ >= kept_.size()) last_ = 0;
      Kept& kept = kept_[last_];
      if (kept.hash != hash || !is_same(*kept.launch)) continue;
      kept.used = ++uses_;
      return kept.launch.get();
    }
    return nullptr;
  }
  /// A launch to be filled in; where there are `most`, it replaces the one that was found least recently.
  KeptLaunch& add(std::uint64_t hash) {
    if (kept_.size() < most) {
      kept_.push_back({hash, ++uses_, std::make_unique<KeptLaunch>()});
      return *kept_.back().launch;
    }
    Kept& replaced = *std::min_element(kept_.begin(), kept_.end(),
                                       [](const Kept& a, const Kept& b) { return a.used < b.used; });
    replaced.hash = hash;
    replaced.used = ++uses_;
    return *replaced.launch;
  }

 private:
  struct Kept {
    std::uint64_t hash, used;
    std::unique_ptr<KeptLaunch> launch;
  };
  std::vector<Kept> kept_;
  std::uint64_t uses_ = 0;
  std::size_t last_ = 0;
};

}  // namespace strata::inline STRATA_ABI::detail
