// Which work has to come before which: what was enqueued, and which parts of an array, in one memory, it
// reads or writes. Pure logic.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include <strata/core/box.hpp>
#include <strata/views/coherent/plan/region_map.hpp>

namespace strata::inline STRATA_ABI::detail {

/// A copy or a launch: the queue that it is on, and its number, counted up from 1 in the order of that queue.
/// Work on one queue runs in order, so that waiting for a number is waiting for all before it.
struct Work {
  int queue = 0;
  std::uint64_t number = 0;  // 0: none
  friend auto operator<=>(const Work&, const Work&) = default;
  friend bool operator==(const Work&, const Work&) = default;  // nvcc 13.0 forgets the one that <=> brings
};

/// A few works, of each queue the last, sorted by queue. As most lists have three or fewer, those need no
/// memory of their own.
class WorkList {
 public:
  void add(Work work);
  template <class Ended>
  void forget(const Ended& ended) {
    WorkList kept;
    for (const Work work : *this)
      if (!ended(work)) kept.add(work);
    *this = std::move(kept);
  }
  const Work* begin() const { return more_.empty() ? few_ : more_.data(); }
  const Work* end() const { return begin() + count_; }
  friend bool operator==(const WorkList& a, const WorkList& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
  }

 private:
  static constexpr int few = 3;
  Work few_[few];
  int count_ = 0;
  std::vector<Work> more_;  // all, where they are more
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
      uses.readers.forget(ended);
      return uses;
    });
  }
  /// The parts in which its uses differ.
  std::size_t size() const { return map_.size(); }

 private:
  struct Uses {
    Work writer;
    WorkList readers;  // since
    friend bool operator==(const Uses&, const Uses&) = default;
  };
  RegionMap<Uses> map_;
};

}  // namespace strata::inline STRATA_ABI::detail
