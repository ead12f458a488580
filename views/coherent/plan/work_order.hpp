// WorkOrder: which work on an array, in one memory, must come before which, by the parts that it reads or
// writes. Pure logic.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
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

/// A few works, sorted by queue; of each queue the last, or all. As most lists have three or fewer, those
/// need no memory of their own.
template <bool OnlyLast>
class BasicWorkList {
 public:
  BasicWorkList() = default;
  BasicWorkList(std::initializer_list<Work> works) {
    for (const Work work : works) add(work);
  }
  void add(Work work);
  /// Drops the works for which ended(work) is true. Called once for each.
  template <class Ended>
  void forget(const Ended& ended) {
    Work* const first = data();
    int left = 0;
    for (int k = 0; k < count_; ++k)
      if (const Work work = first[k]; !ended(work)) first[left++] = work;
    count_ = left;
    if (!more_.empty()) more_.resize(static_cast<std::size_t>(left));
    if (left == 0) more_.clear();
  }
  void clear() {
    count_ = 0;
    more_.clear();
  }
  bool empty() const { return count_ == 0; }
  const Work* begin() const { return more_.empty() ? few_ : more_.data(); }
  const Work* end() const { return begin() + count_; }
  friend bool operator==(const BasicWorkList& a, const BasicWorkList& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
  }

 private:
  static constexpr int few = 3;
  Work* data() { return more_.empty() ? few_ : more_.data(); }
  Work few_[few];
  int count_ = 0;
  std::vector<Work> more_;  // all, where they are more
};

/// The works to wait for: waiting for the last on a queue is waiting for all before it.
using WorkList = BasicWorkList<true>;
/// The works that wrote the values which work reads: of two on one queue the first may have failed alone.
using NeededWorks = BasicWorkList<false>;

/// The order of work on one array in one memory: a read comes after the last write of each index, a write
/// after the last write and the reads since. Work on parts that share no index has no order. A host access
/// has finished when it ends, and is not noted.
class WorkOrder {
 public:
  explicit WorkOrder(const Box& domain) : map_(domain, Uses{}) {}

  /// Adds to `after` the works that must come before work that reads, or writes, `box`.
  template <bool OnlyLast>
  void before_read(const Box& box, BasicWorkList<OnlyLast>& after) const;
  void before_write(const Box& box, WorkList& after) const;

  /// The work, the last on its queue, reads or writes `box`.
  void read(const Box& box, Work work);
  void written(const Box& box, Work work);

  /// Forgets work for which `ended(work)` is true: nothing has to wait for it.
  template <class Ended>
  void forget(const Ended& ended) {
    map_.update(map_.domain(), [&](Uses uses) {
      if (uses.writer.number != 0 && ended(uses.writer)) uses.writer = {};
      uses.readers.forget(ended);
      return uses;
    });
  }
  /// Counts what was noted: while it stays the same, work has to come after the same works as before.
  std::uint64_t changes() const { return map_.changes(); }
  /// The number of parts with different uses.
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
