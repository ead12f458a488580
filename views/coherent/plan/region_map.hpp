// RegionMap: a value for every index of an array, stored once for each box of equal values.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include <strata/views/coherent/plan/box_index.hpp>

namespace strata::inline STRATA_ABI::detail {

/// Throws OutOfMemory.
[[noreturn]] void fail_region_map();

/// A map from the indices of a box, the domain, to values that can be compared, in few boxes: a change splits
/// boxes where it must, and joins neighbours of equal value where it can. Boxes given lie in the domain.
/// After a change that ran out of memory every use throws OutOfMemory, as the values are no longer known.
template <class V>
class RegionMap {
 public:
  /// `value` everywhere.
  RegionMap(const Box& domain, const V& value) : domain_(domain), is_one_(!domain.empty()), one_(value) {}

  const Box& domain() const { return domain_; }
  /// The number of boxes.
  std::size_t size() const { return is_one_ ? 1 : index_.size(); }
  /// Counts the changes of values: while it stays the same, every index has the value that it had.
  std::uint64_t changes() const { return changes_; }

  /// Calls f(part, value) for the parts of `box`, which share no index, in no particular order; as long as f
  /// returns true, or always where f returns nothing. Returns whether all parts were visited.
  template <class F>
  bool visit(const Box& box, F&& f) const {
    require_whole();
    const auto call = [&](const Box& part, const V& its_value) {
      if constexpr (std::is_void_v<decltype(f(part, its_value))>) return f(part, its_value), true;
      else return static_cast<bool>(f(part, its_value));
    };
    if (is_one_) return box.empty() || call(box, one_);
    const auto see = [&](int id) {
      return call(box.contains(index_[id]) ? index_[id] : intersect(index_[id], box), value(id));
    };
    if (index_.is_list()) {
      for (const int id : index_.numbers())
        if (overlap(index_[id], box) && !see(id)) return false;
      return true;
    }
    for (const int id : found(box))
      if (!see(id)) return false;
    return true;
  }

  /// Replaces every value in `box` by change(value).
  template <class F>
  void update(const Box& box, F&& change) {
    require_whole();
    if (box.empty()) return;
    is_whole_ = false;
    if (is_one_) {
      update_one(box, change(one_));
      is_whole_ = true;
      return;
    }
    bool changed = false;
    const auto alter = [&](int id) {
      V& mine = values_[static_cast<std::size_t>(id)];
      V after = change(mine);
      if (after == mine) return;
      if (!changed) ++changes_;
      changed = true;
      if (box.contains(index_[id])) {
        mine = std::move(after);
        return;
      }
      const V before = mine;
      const Box whole = index_[id];
      remove(id);
      add(intersect(whole, box), after);
      for (const Box& rest : remainder(whole, box)) add(rest, before);
    };
    if (index_.is_list()) {
      // What alter() adds overlaps no box that is still to come; numbers move, so they are noted first.
      int ids[BoxIndex::longest_list + 1];
      int count = 0;
      for (const int id : index_.numbers())
        if (overlap(index_[id], box)) ids[count++] = id;
      for (int k = 0; k < count; ++k) alter(ids[k]);
    } else {
      for (const int id : found(box)) alter(id);
    }
    if (changed && may_join(box)) join_near(box);
    if (index_.size() == 1) become_one();
    is_whole_ = true;
  }
  void assign(const Box& box, const V& value) {
    update(box, [&](const V&) { return value; });
  }

 private:
  void require_whole() const {
    if (!is_whole_) [[unlikely]]
      fail_region_map();
  }
  std::vector<int> found(const Box& box) const {
    std::vector<int> ids;
    index_.find(box, ids);
    return ids;
  }
  const V& value(int id) const { return values_[static_cast<std::size_t>(id)]; }

  void add(const Box& box, const V& value) {
    int id;
    if (free_.empty()) {
      id = static_cast<int>(values_.size());
      values_.push_back(value);
    } else {
      id = free_.back();
      free_.pop_back();
      values_[static_cast<std::size_t>(id)] = value;
    }
    index_.insert(id, box);
  }
  void remove(int id) {
    index_.erase(id);
    free_.push_back(id);
  }

  // A box of the domain, which has one value, has `after` from now on.
  void update_one(const Box& box, V&& after) {
    if (after == one_) return;
    ++changes_;
    if (box == domain_) {
      one_ = std::move(after);
      return;
    }
    is_one_ = false;
    add(box, after);
    for (const Box& rest : remainder(domain_, box)) add(rest, one_);
    if (may_join(box)) join_near(box);
  }
  void become_one() {
    const int id = index_.numbers().front();
    one_ = std::move(values_[static_cast<std::size_t>(id)]);
    is_one_ = true;
    remove(id);
  }

  // Whether two boxes near `box` have one value. Cheap where there are few, and where there are many: true.
  bool may_join(const Box& box) const {
    if (index_.size() < 2) return false;
    if (!index_.is_list()) return true;
    const Box near = grown(box);
    int ids[BoxIndex::longest_list + 1];
    int count = 0;
    for (const int id : index_.numbers())
      if (overlap(index_[id], near)) ids[count++] = id;
    for (int k = 0; k < count; ++k)
      for (int l = 0; l < k; ++l)
        if (value(ids[k]) == value(ids[l])) return true;
    return false;
  }

  // Joins boxes of equal value that touch `box`, and then those that touch the joined box.
  void join_near(Box box) {
    for (bool joined = true; joined;) {
      joined = false;
      std::vector<int> ids = found(grown(box));
      while (!ids.empty()) {
        const V common = value(ids.front());
        std::vector<int> same, others;
        for (const int id : ids) (value(id) == common ? same : others).push_back(id);
        ids = std::move(others);
        std::vector<Box> boxes;
        for (const int id : same) boxes.push_back(index_[id]);
        merge(boxes);
        if (boxes.size() == same.size()) continue;
        for (const int id : same) remove(id);
        for (const Box& whole : boxes) {
          add(whole, common);
          box = cover(box, whole);
        }
        joined = true;
      }
    }
  }
  // The box and its neighbours in the domain.
  Box grown(Box box) const {
    for (int d = 0; d < box.rank(); ++d)
      box = box.with_bounds(d, box.lower(d) > domain_.lower(d) ? box.lower(d) - 1 : box.lower(d),
                            box.upper(d) < domain_.upper(d) ? box.upper(d) + 1 : box.upper(d));
    return box;
  }

  Box domain_;
  bool is_one_;  // one value everywhere, as most maps have most of the time: it needs no index
  V one_;
  bool is_whole_ = true;
  std::uint64_t changes_ = 0;
  BoxIndex index_;
  std::vector<V> values_;
  std::vector<int> free_;
};

}  // namespace strata::inline STRATA_ABI::detail
