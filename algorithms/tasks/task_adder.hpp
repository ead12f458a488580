// TaskAdder: how tasks come to a graph or a scope, from launches and functions with declared accesses.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <strata/algorithms/tasks/task_body.hpp>
#include <strata/algorithms/tasks/task_contributions.hpp>
#include <strata/core/function.hpp>

namespace strata::inline STRATA_ABI::detail {

class TaskGraphState;
struct TaskEntry;

/// While it lives, no other thread adds tasks that contribute to arrays, or joins contributions.
class ContributionsLock {
 public:
  explicit ContributionsLock(TaskGraphState& graph);
  ~ContributionsLock();
  ContributionsLock(const ContributionsLock&) = delete;
  ContributionsLock& operator=(const ContributionsLock&) = delete;

 private:
  TaskGraphState& graph_;
};

/// Of a task that is to be added. No array: the access is wrong, which is found later.
struct UsedArray {
  CoherentState* array = nullptr;
  bool is_to_write = false;
};

class TaskAdder {
 public:
  TaskAdder(const TaskAdder&) = delete;
  TaskAdder& operator=(const TaskAdder&) = delete;

  /// As TaskGraph::launch; the task's number.
  template <class Devices, class R, class K, class... Accesses>
  int launch(const std::string& label, const R& work, const K& kernel, const Accesses&... accesses) {
    check_contributions(label, accesses...);
    const UsedArray arrays[] = {used(accesses)..., {}};
    const Adding adding(*this, arrays, sizeof...(Accesses));
    const ContributionsLock lock(state_);  // until the task is added, nobody joins its copies
    return add_launch<Devices>(label, work, kernel, without_contribution<Devices>(accesses)...);
  }
  /// As TaskGraph::call.
  template <class Devices, class F, class... Accesses>
  int call(const std::string& label, const F& f, const Accesses&... accesses) {
    check_contributions(label, accesses...);
    const UsedArray arrays[] = {used(accesses)..., {}};
    const Adding adding(*this, arrays, sizeof...(Accesses));
    const ContributionsLock lock(state_);
    return add_call<Devices>(label, f, access_of_call(without_contribution<Devices>(accesses))...);
  }
  /// As TaskGraph::wont_use, and discard.
  template <class Array>
  void wont_use(const Array& array) {
    add_hint(task_use(in(array, everything), {}), false);
  }
  template <class Array>
  void discard(const Array& array) {
    add_hint(task_use(out(array, everything), {}), true);
  }
  /// Adds the tasks that join what waits for it, to one array or with null to all.
  void join_contributions(const CoherentState* array);

 protected:
  explicit TaskAdder(TaskGraphState& state) : state_(state) {}
  ~TaskAdder() = default;

  // What a scope does besides; nothing in a graph.
  /// Before tasks are added that use these, and after it: waits until there is room for them, and until no
  /// other thread uses the arrays otherwise.
  virtual void begin_adding(const UsedArray* /*arrays*/, std::size_t /*count*/) {}
  virtual void end_adding(const UsedArray* /*arrays*/, std::size_t /*count*/) noexcept {}
  /// Before an entry is added, and when it may run where nothing more is given for it.
  virtual void adding(const TaskEntry& /*entry*/) {}
  virtual void added() {}
  /// While contributions wait that are to join an array.
  virtual void begin_contributions(CoherentState& /*array*/) {}
  virtual void end_contributions(CoherentState& /*array*/) noexcept {}

 private:
  void add_hint(TaskUse use, bool discards);

  class Adding {
   public:
    Adding(TaskAdder& adder, const UsedArray* arrays, std::size_t count)
        : adder_(adder), arrays_(arrays), count_(count) {
      adder_.begin_adding(arrays_, count_);
    }
    ~Adding() { adder_.end_adding(arrays_, count_); }
    Adding(const Adding&) = delete;
    Adding& operator=(const Adding&) = delete;

   private:
    TaskAdder& adder_;
    const UsedArray* const arrays_;
    const std::size_t count_;
  };
  template <class Access>
  static UsedArray used(const Access& access) {
    if constexpr (is_contribution_v<Access>) return {access.array.state().get(), true};
    else if constexpr (is_coherent_access_v<Access>)
      return {access.array.state().get(), writes(Access::mode)};
    else return {};
  }

  template <class Devices, class R, class K, class... Accesses>
  int add_launch(const std::string& label, const R& work, const K& kernel, const Accesses&... accesses) {
    static_assert((is_coherent_access_v<Accesses> && ...) && sizeof...(Accesses) > 0,
                  "strata: TaskGraph::launch: declare coherent arrays: in(x), out(y), inout(z), commute(z), "
                  "reduce(z)");
    check_all_fit<K>(label.c_str(), work, accesses...);
    const ResidentRows rows = LeftMost<R>::of(work);
    std::vector<TaskUse> uses;
    uses.reserve(sizeof...(Accesses));
    (uses.push_back(task_use(accesses, rows)), ...);
    return add(label, Ref<TaskBody>(new LaunchBody<Devices, R, K, Accesses...>(work, kernel, accesses...)),
               std::move(uses));
  }
  template <class Devices, class F, class... Accesses>
  int add_call(const std::string& label, const F& f, const Accesses&... accesses) {
    using Body = CallBody<Devices, F, Accesses...>;
    static_assert(Body::template has_versions<>,
                  "strata: TaskGraph::call: no device can call the function as f(queue, views...), with a "
                  "view for each access; the queue is a Queue<D>, on Serial, Threads and Tbb Queue<AnyHost>");
    const auto rows = [](const auto& access) {
      return ResidentRows{0, access.array && access.array.rank > 0 ? access.array.extent(0) : 1};
    };
    std::vector<TaskUse> uses;
    uses.reserve(sizeof...(Accesses));
    (uses.push_back(task_use(accesses, rows(accesses))), ...);
    return add(label, Ref<TaskBody>(new Body(f, accesses...)), std::move(uses));
  }
  int add(const std::string& label, Ref<TaskBody> body, std::vector<TaskUse> uses);
  int add_entry(TaskEntry&& entry);
  void add_hint_entry(TaskUse&& use, bool discards);

  // An array to which a task contributes is not used by it otherwise.
  template <class... Accesses>
  static void check_contributions(const std::string& label, const Accesses&... accesses) {
    if constexpr ((is_contribution_v<Accesses> || ...)) {
      const CoherentState* const arrays[] = {accesses.array.state().get()...};
      constexpr bool contributes[] = {is_contribution_v<Accesses>...};
      for (std::size_t k = 0; k < sizeof...(Accesses); ++k)
        for (std::size_t other = 0; other < sizeof...(Accesses); ++other)
          if (k != other && contributes[k] && arrays[k] != nullptr && arrays[k] == arrays[other])
            fail_contribution(label, *arrays[k]);
    }
  }
  // What contributes to an array updates a private copy of it.
  template <class Devices, class Access>
  auto without_contribution(const Access& access) {
    if constexpr (is_contribution_v<Access>) {
      using Copies = ContributionCopies<Devices, typename Access::array_type, decltype(access.join)>;
      if (!access.array) fail_no_array();
      PendingContributions& pending = pending_contributions(access.array.state(), typeid(Copies).name(), [&] {
        return Ref<PendingContributions>(new Copies(access.array, access.join));
      });
      return commute(static_cast<Copies&>(pending).next(*this), everything);
    } else {
      return access;
    }
  }
  PendingContributions& pending_contributions(const Ref<CoherentState>& array, const char* type,
                                              const Function<Ref<PendingContributions>()>& make);

  template <class, class, class>
  friend class ContributionCopies;

  TaskGraphState& state_;
};

// Of the tasks that clear and join copies: they come with a task that is being added.
template <class Devices, class Array, class Join>
Array ContributionCopies<Devices, Array, Join>::next(TaskAdder& adder) {
  if (num_open_ < most_contribution_copies) {
    const std::string label = std::string("contributions to ") + array_.label();
    if (num_open_ == copies_.size())
      copies_.push_back(new_copy(label, std::make_index_sequence<std::size_t{Array::rank}>()));
    const Array copy = copies_[num_open_++];
    adder.add_launch<Devices>("clear " + label, rows(), ClearContributions<Join>{}, out(copy, everything));
    return copy;
  }
  next_ = (next_ + 1) % num_open_;
  return copies_[next_];
}

template <class Devices, class Array, class Join>
void ContributionCopies<Devices, Array, Join>::join(TaskAdder& adder) {
  for (; num_open_ > 0; --num_open_) {
    const Array& copy = copies_[num_open_ - 1];
    adder.add_launch<Devices>(std::string("join ") + copy.label(), rows(), JoinContributions<Join>{join_},
                              in(copy, everything), inout(array_, everything));
    adder.add_hint_entry(task_use(out(copy, everything), {}), true);
  }
}

}  // namespace strata::inline STRATA_ABI::detail
