// Launches that were planned and may come again: what each uses, and the state in which its arrays were left.
// A launch that uses the same parts of the same arrays on the same devices, while they are in that state, has
// nothing to copy, nothing to make room for and nothing to claim: it only waits, and enqueues its kernels.
//
// Not thread-safe: the owner locks.
#pragma once

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

/// The launches whose first use is of one array: the latest few.
class KeptLaunches {
 public:
  /// The launch with this hash for which is_same(launch) is true; null where there is none. Launches that
  /// come in turns are found at once.
  template <class IsSame>
  KeptLaunch* find(std::uint64_t hash, const IsSame& is_same) {
    for (std::size_t k = 0; k < hashes_.size(); ++k) {
      if (++last_ >= hashes_.size()) last_ = 0;
      if (hashes_[last_] == hash && is_same(*launches_[last_])) return launches_[last_].get();
    }
    return nullptr;
  }
  /// A launch to be filled in, in place of the oldest where there are many.
  KeptLaunch& add(std::uint64_t hash) {
    constexpr std::size_t most = 32;
    if (hashes_.size() < most) {
      launches_.push_back(std::make_unique<KeptLaunch>());
      hashes_.push_back(hash);
      return *launches_.back();
    }
    if (++oldest_ >= most) oldest_ = 0;
    hashes_[oldest_] = hash;
    return *launches_[oldest_];
  }

 private:
  std::vector<std::uint64_t> hashes_;
  std::vector<std::unique_ptr<KeptLaunch>> launches_;
  std::size_t last_ = 0, oldest_ = 0;
};

}  // namespace strata::inline STRATA_ABI::detail
