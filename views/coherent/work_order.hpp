// Which work has to come before which: what was enqueued, and which parts of an array, in one memory, it
// reads or writes. Pure logic.
#pragma once

#include <cstdint>
#include <vector>

#include <strata/core/box.hpp>
#include <strata/views/coherent/region_map.hpp>

namespace strata::inline STRATA_ABI::detail {

/// A number for a copy, a launch or an access of the host, counted up from 1 as they are enqueued.
using WorkId = std::uint64_t;

/// The order of work on one array in one memory: a read comes after the last write of each index, a write
/// after the last write and the reads since. Work on parts that share nothing has no order.
class WorkOrder {
 public:
  explicit WorkOrder(const Box& domain) : map_(domain, Uses{}) {}

  /// Adds to `after` what work that reads, or writes, `box` has to come after; sorted, each once.
  void before_read(const Box& box, std::vector<WorkId>& after) const;
  void before_write(const Box& box, std::vector<WorkId>& after) const;

  /// The work, with a higher number than all before, reads or writes `box`.
  void read(const Box& box, WorkId work);
  void written(const Box& box, WorkId work);

  /// Work for which `ended(work)` is true is forgotten: it is before everything. To be called now and then,
  /// as readers add up between writes.
  template <class Ended>
  void forget(const Ended& ended) {
    map_.update(map_.domain(), [&](Uses uses) {
      if (ended(uses.writer)) uses.writer = 0;
      std::erase_if(uses.readers, ended);
      return uses;
    });
  }
  /// The parts in which its uses differ.
  std::size_t size() const { return map_.size(); }

 private:
  struct Uses {
    WorkId writer = 0;  // 0: none
    std::vector<WorkId> readers;
    friend bool operator==(const Uses&, const Uses&) = default;
  };
  RegionMap<Uses> map_;
};

}  // namespace strata::inline STRATA_ABI::detail
