// Plans the copies of parts of arrays to the memories in which a launch, or the host, will read them: boxes,
// sources and order. Pure logic; nothing changes but the plan.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <vector>

#include <strata/views/coherent/plan/directory.hpp>
#include <strata/views/coherent/plan/memory_links.hpp>

namespace strata::inline STRATA_ABI::detail {

/// One copy of a box of an array from one memory to another (or, in the protocol of the paper only, within
/// one). It reads what `after`, numbers of copies earlier in the plan, write; copies that do not name each
/// other may run in any order or at once.
struct PlannedCopy {
  int array;
  Box box;
  MemoryId from;
  MemoryId to;
  std::vector<int> after;
};

/// Plans all reads of one call together, each from the directory as it is before the call: no write of the
/// call comes before a read of it. The directories must outlive the planner, unchanged, and the boxes that
/// the plan reads must stay where they are until it is carried out: room is made before a plan, or its
/// sources are pinned. The pieces in which a box is copied, as it lies in memory, are planned by plan_copy
/// (core/copy_plan.hpp).
class CopyPlanner {
 public:
  /// Whether a copy of this plan may be the source of another, so that what several devices need leaves the
  /// host once and goes on from device to device where that is faster.
  enum class Broadcast { No, Yes };

  explicit CopyPlanner(const MemoryLinks& links, Broadcast broadcast = Broadcast::Yes)
      : links_(&links), broadcast_(broadcast) {}
  /// Forgets the plan, to make another one in the same memory.
  void clear();

  /// `memory` will read `box` of `array`, whose elements have `element_bytes` bytes: copies what it lacks,
  /// each part from the memory from which it arrives first (as far as each has the copies planned before to
  /// make), through the host where there is no direct way from any memory that has it. Elements that were
  /// never written are not copied. Nothing is copied to a memory twice.
  void read(int array, const Directory& directory, index_t element_bytes, MemoryId memory, const Box& box);

  const std::vector<PlannedCopy>& copies() const { return copies_; }

 private:
  // The memories that have a part before the call, and once the plan is carried out.
  struct Holders {
    MemorySet before;
    MemorySet planned;
  };
  struct Way {
    MemoryId from;
    bool through_host;
    friend auto operator<=>(const Way&, const Way&) = default;
    friend bool operator==(const Way&, const Way&) = default;
  };
  // Of an array with planned copies: where its parts are going to be, and the copies to each memory.
  struct Arrivals {
    explicit Arrivals(const Box& domain) : memories(domain, MemorySet()) {}
    RegionMap<MemorySet> memories;
    std::map<MemoryId, BoxIndex> copies;
  };

  Way choose(const Arrivals& arrivals, const Box& part, const Holders& holders, MemoryId to,
             double bytes) const;
  // When a part that `from` has, or will have, is at `to`; infinite where there is no way.
  double arrival(const Arrivals& arrivals, const Box& part, MemoryId from, MemoryId to, double bytes) const;
  std::vector<int> copies_to(const Arrivals& arrivals, MemoryId memory, const Box& part) const;
  void add(int array, Arrivals& arrivals, const Box& box, MemoryId from, MemoryId to, double bytes);
  void note(Arrivals& arrivals, int copy, double bytes);
  bool add_without_choice(int array, const Directory& directory, index_t element_bytes, MemoryId memory,
                          const Box& box);
  void note_only_ways();

  const MemoryLinks* links_;
  Broadcast broadcast_;
  std::vector<PlannedCopy> copies_;
  std::vector<int> planned_;  // the arrays that have some
  // Of copies of which there was nothing to choose: when they arrive is not asked before another has a
  // choice.
  struct OnlyWay {
    int copy;
    const Directory* directory;
    double bytes;
  };
  std::vector<OnlyWay> only_ways_;
  std::map<int, Arrivals> arrivals_;
  std::vector<double> ends_;                 // of the copies, in seconds from the begin
  std::map<MemoryId, double> sends_, gets_;  // when a memory is done with the planned copies
};

}  // namespace strata::inline STRATA_ABI::detail
