// ReadyQueues: the tasks that wait on each device, and which of them is next by the Ready rule of StarPU: of
// those of the highest priority the one that lacks least on the device, of equal ones the first that came.
//
// The rule as written looks at the whole queue for each task. Here a tournament over a queue keeps its
// winner, and only tasks whose arrays came or went since are looked at again: O(log) for each of them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <functional>
#include <map>
#include <vector>

#include <strata/algorithms/tasks/plan/scheduler.hpp>

namespace strata::inline STRATA_ABI::tasks::detail {

/// What a task lacks on a device: values that are not there, of these what is not even on its way; and room.
struct LackingBytes {
  index_t values = 0, not_coming = 0, room = 0;
  auto operator<=>(const LackingBytes&) const = default;
  bool is_any() const { return values > 0 || room > 0; }
};

/// Tasks in the order in which they came, and the first of those that lack least.
class ReadyTournament {
 public:
  bool is_full() const { return size_ == tasks_.size(); }
  bool is_empty() const { return num_live_ == 0; }
  /// The place of the task, which holds until make_room(). Not full.
  int append(TaskId task, const LackingBytes& lacking);
  void set(int place, const LackingBytes& lacking);
  void erase(int place);
  /// Not empty.
  TaskId first() const { return tasks_[static_cast<std::size_t>(winners_[1])]; }
  /// At least as much as there are tasks; then moved(task, place) is called for each.
  template <class F>
  void make_room(const F& moved) {
    rebuild();
    for (std::size_t place = 0; place < size_; ++place) moved(tasks_[place], static_cast<int>(place));
  }

 private:
  void rebuild();
  void update(std::size_t place);
  int better(int a, int b) const;

  std::vector<TaskId> tasks_;  // by place; none: it has left
  std::vector<LackingBytes> lacking_;
  std::vector<int> winners_;  // of a binary tree: the places in it, or none; node k has 2 k and 2 k + 1
  std::size_t size_ = 0, num_live_ = 0;
};

/// See the head of the file.
class ReadyQueues {
 public:
  void start(const SchedulerView& view);
  /// A task that is in no queue yet; it lacks what `lacking` says.
  void add(TaskId task, DeviceId device, double priority, const LackingBytes& lacking);
  /// What tasks lack may be another amount now.
  void changed(ArrayId array, DeviceId device);
  /// Removes the next one; none: the queue is empty. `lacking(task)` says what it lacks now.
  template <class F>
  TaskId take(DeviceId device, const F& lacking) {
    std::vector<ArrayId>& changed = changed_[static_cast<std::size_t>(device)];
    for (const ArrayId array : changed) {
      is_changed_[at(array, device)] = false;
      std::vector<TaskId>& users = users_[at(array, device)];
      std::erase_if(users, [&](TaskId task) { return !is_queued(task); });
      for (const TaskId task : users) {
        const Place& place = places_[static_cast<std::size_t>(task)];
        place.level->second.set(place.number, lacking(task));
      }
    }
    changed.clear();
    return take_first(device);
  }
  std::size_t size(DeviceId device) const { return sizes_[static_cast<std::size_t>(device)]; }

 private:
  using Levels = std::map<double, ReadyTournament, std::greater<>>;  // by priority
  struct Place {
    Levels::iterator level;
    int number = none;  // none: it is in no queue
  };
  std::size_t at(ArrayId array, DeviceId device) const {
    return static_cast<std::size_t>(array) * levels_.size() + static_cast<std::size_t>(device);
  }
  bool is_queued(TaskId task) const { return places_[static_cast<std::size_t>(task)].number != none; }
  TaskId take_first(DeviceId device);

  const TaskDag* graph_ = nullptr;
  std::vector<Levels> levels_;              // of devices
  std::vector<std::size_t> sizes_;          // of devices
  std::vector<Place> places_;               // of tasks
  std::vector<std::vector<TaskId>> users_;  // of arrays and devices: tasks in the queue, and some that left
  std::vector<bool> is_changed_;            // of arrays and devices
  std::vector<std::vector<ArrayId>> changed_;  // of devices, since the last take()
};

}  // namespace strata::inline STRATA_ABI::tasks::detail
