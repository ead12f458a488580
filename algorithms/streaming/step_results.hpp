// Results of reductions with a value for each step of a run: of streamed sequences and
// streamed_iterate_reduce.
//
// A reduction in slices has a value on the device for each node of the tree in a slice. The values are copied
// to the host and joined there, so that the bits are those of the reduction in core.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include <strata/algorithms/sequence/each_step.hpp>
#include <strata/algorithms/streaming/plan/stream_problem.hpp>
#include <strata/core/min_max.hpp>
#include <strata/views/deep_copy.hpp>
#include <strata/views/mdarray.hpp>

namespace strata::inline STRATA_ABI {

namespace detail {

/// Rethrows the current exception: all steps were done, but their results could not be copied from the
/// device.
[[noreturn]] void fail_results(const std::string& label);

/// The nodes that launches over `pieces` of `work`, in this order, consist of; of reductions in any order the
/// pieces.
std::vector<ReductionGroup> groups_of_pieces(ResidentRows work, const std::vector<ResidentRows>& pieces,
                                             index_t block, bool any_order);

// The results of a reducing loop: values of groups on the device, joined on the host after a run.
template <class T, class D>
class StepResults : public RefCounted {
 public:
  // Sets the groups; returns the bytes of their values.
  index_t set_groups(std::vector<std::vector<ReductionGroup>>&& groups) {
    groups_ = static_cast<std::vector<std::vector<ReductionGroup>>&&>(groups);
    next_.assign(groups_.size(), 0);
    first_.assign(1, 0);
    for (const auto& of_time : groups_) first_.push_back(first_.back() + of_time.size());
    return count() * static_cast<index_t>(sizeof(T));
  }
  void prepare(const On<D>& where, bool make) {
    if (partials_.extent(0) == count()) return;
    partials_ = {};
    if (make) reserve(where, count());
  }
  // Allocates memory for `groups` values.
  void reserve(const On<D>& where, index_t groups) {
    partials_ = create<Partials>("results of slices", larger_of<index_t>(groups, 1), uninitialized, where);
  }
  // The groups of one time that begin before `end`, and were not called for yet.
  template <class F>
  void for_groups(int time, index_t end, const F& f) {
    const std::size_t t = static_cast<std::size_t>(time);
    for (std::size_t& next = next_[t]; next < groups_[t].size() && groups_[t][next].items.begin < end; ++next)
      f(groups_[t][next].items, ValueView<T, D>(partials_.data() + (first_[t] + next)));
  }
  // Adds a value for each time. All launches must be done.
  template <class R>
  void finish(const R& reducer, std::vector<T>& values) {
    std::vector<T> parts(static_cast<std::size_t>(partials_.extent(0)));
    const View<T, Serial, typename Partials::extents_type, LayoutRight, Unmanaged<DefaultAccess>> host(
        parts.data(),
        typename LayoutRight::template mapping<typename Partials::extents_type>(partials_.extents()));
    deep_copy(host, partials_);
    for (std::size_t t = 0; t < groups_.size(); ++t) {
      T* const of_time = parts.data() + first_[t];
      values.emplace_back();
      if (groups_[t].empty()) {
        reducer.init(values.back());
      } else {
        for (const Join& join : joins_of(groups_[t])) reducer.join(of_time[join.a], of_time[join.b]);
        values.back() = of_time[0];
      }
    }
  }

 private:
  index_t count() const { return larger_of<index_t>(static_cast<index_t>(first_.back()), 1); }

  using Partials = MDArray<T, D, rank<1>>;
  std::vector<std::vector<ReductionGroup>> groups_;  // of each time
  std::vector<std::size_t> first_, next_;            // values of a time, and the group that is next
  Partials partials_;
};

template <class F>
constexpr bool reduces_in_any_order() {
  // A constant of the type; not a data member, whatever it is.
  if constexpr (
      requires { F::any_order; } && !requires { requires std::is_member_pointer_v<decltype(&F::any_order)>; })
    return F::any_order;
  else return false;
}

}  // namespace detail
}  // namespace strata::inline STRATA_ABI
