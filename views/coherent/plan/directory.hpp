// Where the current values of one array are. Pure logic: no memory is touched, no device or thread is used.
//
// Every index of the array has a set of memories that hold its current value; where that set is empty,
// nothing was ever written. A copy adds the memory that it goes to, a write leaves the writer's only. Neither
// happens while a copy is planned (copy_planner.hpp): copies are entered when they are enqueued, so that a
// plan that is not carried out leaves no wrong entry.
//
// After Dastgeer and Kessler, Smart Containers and Skeleton Programming for GPU-Based Systems, IJPP 44
// (2016), with regions in place of whole copies.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include <strata/core/box.hpp>
#include <strata/views/coherent/plan/memory_set.hpp>
#include <strata/views/coherent/plan/region_map.hpp>

namespace strata::inline STRATA_ABI::detail {

/// Boxes given to it lie in the domain. A region is a vector of boxes that share no index.
class Directory {
 public:
  /// An array whose values are in the memories `current`: in none yet, or where the user had them.
  Directory(const Box& domain, MemorySet current) : map_(domain, current) {}

  const Box& domain() const { return map_.domain(); }
  const RegionMap<MemorySet>& map() const { return map_; }
  /// Counts its changes: while it stays the same, all is where it was.
  std::uint64_t changes() const { return map_.changes(); }

  /// Whether `memory` holds all of `box`.
  bool holds(MemoryId memory, const Box& box) const;
  /// Whether `memory` holds all of `box`, and no other memory any of it.
  bool holds_alone(MemoryId memory, const Box& box) const;
  /// Whether some other memory has a part of `box` that `memory` lacks.
  bool lacks(MemoryId memory, const Box& box) const;
  /// Whether no element is in `memory` only: all of it could be given up.
  bool is_clean(MemoryId memory) const;
  /// Of `box`, what `memory` lacks and some other memory has.
  std::vector<Box> missing(MemoryId memory, const Box& box) const;
  /// Of `box`, what no memory has.
  std::vector<Box> never_written(const Box& box) const;
  /// Of `box`, what no other memory than this has: to be copied before the memory is given up.
  std::vector<Box> only_in(MemoryId memory, const Box& box) const;
  /// Whether `other`, of the same domain, says the same.
  bool same_as(const Directory& other) const;

  /// `memory` got the current values of `box` from a memory that had them.
  void copied(MemoryId memory, const Box& box);
  /// A part as it was before a change.
  struct Part {
    Box box;
    MemorySet memories;
  };
  /// `memory` wrote all of `box`, or is going to: all other copies are out of date.
  void written(MemoryId memory, const Box& box) { map_.assign(box, MemorySet{memory}); }
  /// Undoes the changes since.
  void restore(const std::vector<Part>& parts);
  /// `memory` gives `box` up. Elements that no other memory has are lost, and count as never written.
  void dropped(MemoryId memory, const Box& box);

 private:
  RegionMap<MemorySet> map_;
};

}  // namespace strata::inline STRATA_ABI::detail
