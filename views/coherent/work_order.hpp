// Which work has to come before which: what was enqueued, and which parts of an array, in one memory, it
// reads or writes. Pure logic.
#pragma once

#include <cstdint>
#include <vector>

#include <strata/core/box.hpp>
#include <strata/views/coherent/region_map.hpp>

namespace strata::inline STRATA_ABI::detail {

/// A copy or a launch: the queue that it is on, and its number, counted up from 1 in the order of that queue.
/// Work on one queue runs in order, so that waiting for a number is waiting for all before it.
struct Work {
  int queue = 0;
  std::uint64_t number = 0;  // 0: none
  friend auto operator<=>(const Work&, const Work&) = default;
};

/// The order of work on one array in one memory: a read comes after the last write of each index, a write
/// after the last write and the reads since. Work on parts that share nothing has no order. What a host
/// access does has ended when the access ends, and needs no note.
class WorkOrder {
 public:
  explicit WorkOrder(const Box& domain) : map_(domain, Uses{}) {}

  /// Adds to `after` what work that reads, or writes, `box` has to come after: of each queue the last such
  /// work, sorted by queue.
  void before_read(const Box& box, std::vector<Work>& after) const;
  void before_write(const Box& box, std::vector<Work>& after) const;

  /// The work, the last on its queue, reads or writes `box`.
  void read(const Box& box, Work work);
  void written(const Box& box, Work work);

  /// Work for which `ended(work)` is true is forgotten: it is before everything.
  template <class Ended>
  void forget(const Ended& ended) {
    map_.update(map_.domain(), [&](Uses uses) {
      if (uses.writer.number != 0 && ended(uses.writer)) uses.writer = {};
      std::erase_if(uses.readers, ended);
      return uses;
    });
  }
  /// The parts in which its uses differ.
  std::size_t size() const { return map_.size(); }

 private:
  struct Uses {
    Work writer;
    std::vector<Work> readers;  // since; of each queue the last, sorted by queue
    friend bool operator==(const Uses&, const Uses&) = default;
  };
  RegionMap<Uses> map_;
};

}  // namespace strata::inline STRATA_ABI::detail
