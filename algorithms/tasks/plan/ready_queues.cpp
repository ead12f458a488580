// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <strata/algorithms/tasks/plan/ready_queues.hpp>

namespace strata::inline STRATA_ABI::tasks::detail {

// ReadyTournament

int ReadyTournament::append(TaskId task, const LackingBytes& lacking) {
  const std::size_t place = size_++;
  ++num_live_;
  tasks_[place] = task;
  lacking_[place] = lacking;
  winners_[tasks_.size() + place] = static_cast<int>(place);
  update(place);
  return static_cast<int>(place);
}

void ReadyTournament::set(int place, const LackingBytes& lacking) {
  LackingBytes& own = lacking_[static_cast<std::size_t>(place)];
  if (own == lacking) return;
  own = lacking;
  update(static_cast<std::size_t>(place));
}

void ReadyTournament::erase(int place) {
  --num_live_;
  tasks_[static_cast<std::size_t>(place)] = none;
  winners_[tasks_.size() + static_cast<std::size_t>(place)] = none;
  update(static_cast<std::size_t>(place));
}

// Without the places of those that have left.
void ReadyTournament::rebuild() {
  std::size_t live = 0;
  for (std::size_t place = 0; place < size_; ++place) {
    if (tasks_[place] == none) continue;
    tasks_[live] = tasks_[place];
    lacking_[live++] = lacking_[place];
  }
  size_ = live;
  std::size_t capacity = 4;
  while (capacity < 2 * live) capacity *= 2;
  tasks_.resize(capacity, none);
  std::fill(tasks_.begin() + static_cast<std::ptrdiff_t>(live), tasks_.end(), none);
  lacking_.resize(capacity);
  winners_.assign(2 * capacity, none);
  for (std::size_t place = 0; place < live; ++place) winners_[capacity + place] = static_cast<int>(place);
  for (std::size_t node = capacity - 1; node >= 1; --node)
    winners_[node] = better(winners_[2 * node], winners_[2 * node + 1]);
}

// From a place up to where another one wins as before.
void ReadyTournament::update(std::size_t place) {
  for (std::size_t node = (tasks_.size() + place) / 2; node >= 1; node /= 2) {
    const int winner = better(winners_[2 * node], winners_[2 * node + 1]);
    if (winner == winners_[node] && winner != static_cast<int>(place)) return;
    winners_[node] = winner;
  }
}

// `a` came first.
int ReadyTournament::better(int a, int b) const {
  if (a == none || b == none) return a == none ? b : a;
  return lacking_[static_cast<std::size_t>(b)] < lacking_[static_cast<std::size_t>(a)] ? b : a;
}

// ReadyQueues

void ReadyQueues::start(const SchedulerView& view) {
  graph_ = &view.graph;
  const std::size_t devices = static_cast<std::size_t>(view.machine.num_devices());
  const std::size_t copies = static_cast<std::size_t>(view.graph.num_arrays()) * devices;
  levels_.resize(devices);
  sizes_.resize(devices);
  places_.resize(static_cast<std::size_t>(view.graph.num_tasks()));
  users_.resize(copies);
  is_changed_.resize(copies);
  changed_.resize(devices);
}

void ReadyQueues::add(TaskId task, DeviceId device, double priority, const LackingBytes& lacking) {
  const auto level = levels_[static_cast<std::size_t>(device)].try_emplace(priority).first;
  ReadyTournament& tasks = level->second;
  if (tasks.is_full())
    tasks.make_room(
        [&](TaskId other, int place) { places_[static_cast<std::size_t>(other)].number = place; });
  places_[static_cast<std::size_t>(task)] = {level, tasks.append(task, lacking)};
  ++sizes_[static_cast<std::size_t>(device)];
  for (const TaskAccess& access : graph_->task(task).accesses)
    users_[at(access.array, device)].push_back(task);
}

void ReadyQueues::changed(ArrayId array, DeviceId device) {
  const std::size_t k = at(array, device);
  if (is_changed_[k] || users_[k].empty()) return;
  is_changed_[k] = true;
  changed_[static_cast<std::size_t>(device)].push_back(array);
}

TaskId ReadyQueues::take_first(DeviceId device) {
  Levels& levels = levels_[static_cast<std::size_t>(device)];
  if (levels.empty()) return none;
  const auto level = levels.begin();
  const TaskId task = level->second.first();
  Place& place = places_[static_cast<std::size_t>(task)];
  level->second.erase(place.number);
  place.number = none;
  if (level->second.is_empty()) levels.erase(level);
  --sizes_[static_cast<std::size_t>(device)];
  return task;
}

}  // namespace strata::inline STRATA_ABI::tasks::detail
