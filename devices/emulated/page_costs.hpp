// PageCosts: what faults and prefetches of managed memory have cost since the last query: counts, which the
// configuration turns into seconds of virtual time (Platform::seconds_of). Private to this folder.
//
// Added to by the fault handler, in any thread; so all is atomic, and nothing is allocated.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

#include <strata/core/config.hpp>

namespace strata::inline STRATA_ABI::detail {

/// Counts, and bytes by the way that they went.
struct PageCost {
  std::uint64_t faults = 0;
  std::uint64_t copies = 0;  // of prefetches: runs of pages asked for, of which some moved
  std::uint64_t from_host = 0, from_peers = 0, to_host = 0;

  bool any() const { return (faults | copies | from_host | from_peers | to_host) != 0; }
};

class PageCosts {
 public:
  bool any() const {
    return (faults_.load(std::memory_order_relaxed) | copies_.load(std::memory_order_relaxed) |
            from_host_.load(std::memory_order_relaxed) | from_peers_.load(std::memory_order_relaxed) |
            to_host_.load(std::memory_order_relaxed)) != 0;
  }
  void add(const PageCost& cost) {
    faults_.fetch_add(cost.faults, std::memory_order_relaxed);
    copies_.fetch_add(cost.copies, std::memory_order_relaxed);
    from_host_.fetch_add(cost.from_host, std::memory_order_relaxed);
    from_peers_.fetch_add(cost.from_peers, std::memory_order_relaxed);
    to_host_.fetch_add(cost.to_host, std::memory_order_relaxed);
  }
  PageCost take() {
    return {faults_.exchange(0), copies_.exchange(0), from_host_.exchange(0), from_peers_.exchange(0),
            to_host_.exchange(0)};
  }

 private:
  std::atomic<std::uint64_t> faults_{0}, copies_{0}, from_host_{0}, from_peers_{0}, to_host_{0};
};

/// Where the calling thread's costs are charged: those of the queue whose work it does; null: the host's.
inline constinit thread_local PageCosts* page_costs_of_thread STRATA_INITIAL_EXEC = nullptr;

/// Has the costs of the calling thread charged to `costs` while it lives.
class PageCostsScope {
 public:
  explicit PageCostsScope(PageCosts* costs) : before_(page_costs_of_thread) {
    page_costs_of_thread = costs;
    std::atomic_signal_fence(std::memory_order_seq_cst);
  }
  ~PageCostsScope() {
    std::atomic_signal_fence(std::memory_order_seq_cst);
    page_costs_of_thread = before_;
  }
  PageCostsScope(const PageCostsScope&) = delete;
  PageCostsScope& operator=(const PageCostsScope&) = delete;

 private:
  PageCosts* before_;
};

}  // namespace strata::inline STRATA_ABI::detail
