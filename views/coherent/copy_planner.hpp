// Plans the copies that bring parts of arrays to where a launch, or the host, will read them: what is copied,
// from where, in which order. Pure logic; nothing changes but the plan.
#pragma once

#include <map>
#include <vector>

#include <strata/views/coherent/directory.hpp>
#include <strata/views/coherent/memory_links.hpp>

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
/// call comes before a read of it. The directories must outlive the planner, unchanged.
class CopyPlanner {
 public:
  /// Whether a copy of this plan may be the source of another, so that what several devices need leaves the
  /// host once and goes on from device to device where that is faster.
  enum class Broadcast { No, Yes };

  explicit CopyPlanner(const MemoryLinks& links, Broadcast broadcast = Broadcast::Yes)
      : links_(&links), broadcast_(broadcast) {}

  /// `memory` will read `box` of `array`, whose elements have `element_bytes` bytes: copies what it lacks,
  /// each part from the memory that takes the least time, through the host where no direct way leads from any
  /// that has it. What was never written is not copied. Nothing is copied to a memory twice.
  void read(int array, const Directory& directory, index_t element_bytes, MemoryId memory, const Box& box);

  const std::vector<PlannedCopy>& copies() const { return copies_; }

 private:
  // Where the values of an array are before the call, and when the plan is carried out.
  struct Holders {
    MemorySet before;
    MemorySet planned;
    friend bool operator==(const Holders&, const Holders&) = default;
  };
  struct Way {
    MemoryId from;
    bool through_host;
  };

  RegionMap<Holders>& holders(int array, const Directory& directory);
  Way choose(const Holders& holders, MemoryId to, double bytes) const;
  void add(int array, const Box& box, MemoryId from, MemoryId to);

  const MemoryLinks* links_;
  Broadcast broadcast_;
  std::map<int, RegionMap<Holders>> holders_;  // of the arrays that something is copied of
  std::vector<PlannedCopy> copies_;
};

}  // namespace strata::inline STRATA_ABI::detail
