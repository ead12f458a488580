// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>
#include <utility>

#include <strata/algorithms/tasks/plan/output_packages.hpp>

namespace strata::inline STRATA_ABI::tasks::detail {

namespace {

constexpr int most_looked_at = 200;  // ready tasks, for where packages may begin
constexpr int most_tried = 3;        // packages, of which the best is taken
constexpr int most_groups = 4;       // of which the best is added to a package

std::size_t at(int id) { return static_cast<std::size_t>(id); }

}  // namespace

std::vector<ArrayId> outputs_of(const TaskDag& graph) {
  std::vector<ArrayId> outputs(at(graph.num_tasks()), none);
  for (TaskId task = 0; task < graph.num_tasks(); ++task)
    for (const TaskAccess& access : graph.task(task).accesses)
      if (access.writes() && outputs[at(task)] == none) outputs[at(task)] = access.array;
  return outputs;
}

OutputPackages::OutputPackages(const TaskDag& graph, const StructuralOrder& order,
                               const std::vector<double>& priorities)
    : graph_(&graph),
      order_(&order),
      priorities_(&priorities),
      outputs_(outputs_of(graph)),
      is_taken_(at(graph.num_tasks())),
      arrays_(at(graph.num_arrays())) {
  for (TaskId task = 0; task < graph.num_tasks(); ++task) {
    waits_.push_back(static_cast<int>(graph.predecessors(task).size()));
    if (outputs_[at(task)] != none) output(outputs_[at(task)]).chain.push_back(task);
    for (const TaskId next : graph.successors(task))
      if (outputs_[at(next)] != none && outputs_[at(next)] != outputs_[at(task)])
        ++output(outputs_[at(next)]).waits;
  }
  std::vector<ArrayId> arrays(arrays_.size());
  std::iota(arrays.begin(), arrays.end(), 0);
  sort_by_number(arrays);
  for (const ArrayId array : arrays) {
    Output& own = output(array);
    for (const TaskId task : own.chain)
      for (const TaskAccess& access : graph.task(task).accesses)
        if (access.array != array) own.reads.push_back(access.array);
    sort_by_number(own.reads);
    own.reads.erase(std::unique(own.reads.begin(), own.reads.end()), own.reads.end());
    for (const ArrayId other : own.reads) {
      output(other).readers.push_back(array);
      ++output(other).open_readers;
    }
    own.open_tasks = static_cast<int>(own.chain.size());
    count_after(array);
    if (!own.chain.empty()) bytes_left_ += graph.array(array).bytes;
  }
  for (ArrayId array = 0; array < graph.num_arrays(); ++array)
    if (output(array).chain.empty()) finalize(array);
  for (TaskId task = 0; task < graph.num_tasks(); ++task)
    if (graph.predecessors(task).empty()) enable(task);
}

// All that the task waits for is taken. What writes nothing runs as soon as it can; what is of the package
// that is taken just now follows.
void OutputPackages::enable(TaskId task) {
  if (outputs_[at(task)] == none) take_task(task);
  else if (!output(outputs_[at(task)]).is_chosen)
    ready_.insert({(*priorities_)[at(task)], order_->of_tasks[at(task)], task});
}

// And the tasks that write nothing and waited for it alone.
void OutputPackages::take_task(TaskId first) {
  for (pending_.assign(1, first); !pending_.empty();) {
    const TaskId task = pending_.back();
    pending_.pop_back();
    is_taken_[at(task)] = true;
    for (const TaskId next : graph_->successors(task)) {
      const ArrayId array = outputs_[at(next)];
      if (array != none && array != outputs_[at(task)]) --output(array).waits;
      if (--waits_[at(next)] > 0) continue;
      if (array == none) pending_.push_back(next);
      else enable(next);
    }
  }
}

void OutputPackages::sort_by_number(std::vector<ArrayId>& arrays) const {
  std::sort(arrays.begin(), arrays.end(),
            [this](ArrayId a, ArrayId b) { return number_of(a) < number_of(b); });
}

// How many tasks of which other outputs wait for the tasks of an output that are not taken.
void OutputPackages::count_after(ArrayId array) {
  Output& own = output(array);
  std::vector<ArrayId> outputs;
  for (std::size_t k = own.next; k < own.chain.size(); ++k)
    for (const TaskId next : graph_->successors(own.chain[k]))
      if (outputs_[at(next)] != none && outputs_[at(next)] != array) outputs.push_back(outputs_[at(next)]);
  sort_by_number(outputs);
  num_inspected_ += 2 * std::ssize(outputs);  // and sorted
  own.after.clear();
  for (const ArrayId other : outputs) {
    if (own.after.empty() || own.after.back().first != other) own.after.emplace_back(other, 0);
    ++own.after.back().second;
  }
}

// From now on an array has to be loaded beside the outputs whose tasks read it.
void OutputPackages::finalize(ArrayId array) {
  Output& own = output(array);
  own.is_final = true;
  const std::uint64_t key = key_of(static_cast<std::uint64_t>(number_of(array)));
  for (const ArrayId reader : own.readers) {
    output(reader).lacks += graph_->array(array).bytes;
    output(reader).lacking ^= key;
  }
  num_inspected_ += std::ssize(own.readers);
}

inline void OutputPackages::touch(ArrayId array, Output& own, Growth& growth) {
  if (!own.is_touched) growth.touched.push_back(array);
  own.is_touched = true;
  if (own.lacks == 0 && own.waits == 0 && is_open(own)) add_free(array, own, growth);
}

void OutputPackages::add_free(ArrayId array, const Output& own, Growth& growth) {
  growth.free.push({static_cast<double>(own.open_tasks), -number_of(array), array});
}

// An array is loaded for the package, or is there.
void OutputPackages::see(ArrayId array, Growth& growth) {
  Output& own = output(array);
  if (own.is_seen || !own.is_final) return;
  own.is_seen = true;
  growth.seen.push_back(array);
  const index_t bytes = graph_->array(array).bytes;
  const std::uint64_t key = key_of(static_cast<std::uint64_t>(number_of(array)));
  num_inspected_ += std::ssize(own.readers);
  std::size_t count = 0;
  for (const ArrayId id : own.readers) {
    Output& reader = output(id);
    if (reader.open_tasks == 0) continue;  // for good
    own.readers[count++] = id;
    if (reader.saved != step_) growth.saved.push_back({id, reader.lacking, reader.lacks});
    reader.saved = step_;
    reader.lacks -= bytes;
    reader.lacking ^= key;
    touch(id, reader, growth);
  }
  own.readers.resize(count);
}

// Of an output, and of what is kept for it and for no other one yet.
index_t OutputPackages::room_of(const Output& own, ArrayId array, const Growth& growth) const {
  index_t bytes = graph_->array(array).bytes;
  if (!growth.has_held) return bytes;
  for (const ArrayId other : own.reads)
    if (output(other).is_held && !output(other).is_counted) bytes += graph_->array(other).bytes;
  return bytes;
}

void OutputPackages::choose(ArrayId array, Growth& growth) {
  Output& own = output(array);
  growth.room -= room_of(own, array, growth);
  growth.tasks += own.open_tasks;
  growth.loads += static_cast<double>(graph_->array(array).bytes);
  growth.chosen.push_back(array);
  own.is_chosen = true;
  if (growth.has_held)
    for (const ArrayId other : own.reads)
      if (output(other).is_held && !output(other).is_counted) {
        output(other).is_counted = true;
        growth.counted.push_back(other);
      }
  load(own, growth);
  for (const auto& [next, count] : own.after) {
    Output& waiting = output(next);
    waiting.waits -= count;
    touch(next, waiting, growth);
  }
  num_inspected_ += std::ssize(own.after) + 1;
  if (growth.worth() >= growth.best.worth()) growth.best = {growth.chosen.size(), growth.tasks, growth.loads};
}

// Outputs that lack nothing, of these always the one with most tasks: a whole row, not a column of
// beginnings.
void OutputPackages::choose_free(Growth& growth) {
  while (!growth.free.empty()) {
    const ArrayId array = growth.free.top().array;
    growth.free.pop();
    const Output& own = output(array);
    if (own.is_chosen || own.lacks > 0 || own.waits > 0 || room_of(own, array, growth) > growth.room)
      continue;
    choose(array, growth);
  }
}

// Loads what an output lacks.
void OutputPackages::load(const Output& own, Growth& growth) {
  if (own.lacks == 0) return;
  for (const ArrayId other : own.reads) {
    if (output(other).is_seen || !output(other).is_final) continue;
    growth.loads += static_cast<double>(graph_->array(other).bytes);
    see(other, growth);
  }
  num_inspected_ += std::ssize(own.reads);
}

// The same, and chooses all that lacks nothing then.
void OutputPackages::load_for(ArrayId array, Growth& growth) {
  ++step_;
  load(output(array), growth);
  choose_free(growth);
}

// Back to how many outputs were chosen, and arrays seen and counted.
void OutputPackages::undo(Growth& growth, const Growth::Mark& mark) {
  for (; growth.chosen.size() > mark.chosen; growth.chosen.pop_back()) {
    Output& own = output(growth.chosen.back());
    own.is_chosen = false;
    for (const auto& [next, count] : own.after) output(next).waits += count;
  }
  for (; growth.seen.size() > mark.seen; growth.seen.pop_back()) output(growth.seen.back()).is_seen = false;
  for (; growth.saved.size() > mark.saved; growth.saved.pop_back()) {
    Output& own = output(growth.saved.back().output);
    own.lacking = growth.saved.back().lacking;
    own.lacks = growth.saved.back().lacks;
  }
  for (; growth.counted.size() > mark.counted; growth.counted.pop_back())
    output(growth.counted.back()).is_counted = false;
  growth.room = mark.room;
  growth.tasks = mark.tasks;
  growth.loads = mark.loads;
  growth.best = mark.best;
  growth.free = {};
  ++step_;
}

inline OutputPackages::GroupPlaces::Slot& OutputPackages::GroupPlaces::slot(std::uint64_t lacking) {
  std::size_t k = lacking & (slots_.size() - 1);
  while (slots_[k].epoch == epoch_ && slots_[k].lacking != lacking) k = (k + 1) & (slots_.size() - 1);
  return slots_[k];
}

std::size_t OutputPackages::GroupPlaces::find(std::uint64_t lacking, std::size_t next) {
  Slot* own = &slot(lacking);
  if (own->epoch == epoch_) return own->place;
  if (2 * ++count_ > slots_.size()) {
    const std::vector<Slot> before = std::exchange(slots_, std::vector<Slot>(2 * slots_.size()));
    for (const Slot& other : before)
      if (other.epoch == epoch_) slot(other.lacking) = other;
    own = &slot(lacking);
  }
  *own = {lacking, epoch_, next};
  return next;
}

// The open outputs around a package by what they lack, some that promise most tasks for each byte first.
void OutputPackages::find_groups(const Growth& growth) {
  groups_.clear();
  members_.clear();
  places_.clear();
  for (const ArrayId array : growth.touched) {
    const Output& own = output(array);
    if (!is_open(own) || own.lacks == 0) continue;
    const std::size_t place = places_.find(own.lacking, groups_.size());
    if (place == groups_.size())
      groups_.push_back({0, 0, static_cast<double>(own.lacks), number_of(array), none, 0});
    members_.emplace_back(array, place);
    ++groups_[place].count;
  }
  num_inspected_ += std::ssize(growth.touched);
  for (const auto& [array, place] : members_) {
    const Output& own = output(array);
    Group& group = groups_[place];
    if (own.waits >= group.count) continue;  // for more than the others of the group
    group.tasks += own.open_tasks;
    group.loads += static_cast<double>(graph_->array(array).bytes);
    group.number = std::min(group.number, number_of(array));
    if (own.waits == 0) group.output = array;
  }
  std::erase_if(groups_, [](const Group& group) { return group.output == none; });
  for (Group& group : groups_) group.open_readers = open_readers_of(output(group.output));
  const auto end = groups_.begin() + std::min<std::ptrdiff_t>(std::ssize(groups_), most_groups);
  std::partial_sort(groups_.begin(), end, groups_.end(), [](const Group& a, const Group& b) {
    const double of_a = a.tasks * b.loads, of_b = b.tasks * a.loads;
    if (of_a != of_b) return of_a > of_b;
    return std::pair(a.open_readers, a.number) < std::pair(b.open_readers, b.number);
  });
  groups_.erase(end, groups_.end());
}

// Adds the outputs that lack the same arrays and give most tasks for each byte; false: none fits.
bool OutputPackages::add_group(Growth& growth) {
  find_groups(growth);
  const Growth::Mark mark = growth.mark();
  ArrayId best = none;
  double best_worth = 0;
  bool is_added = false;  // the best one is
  for (const Group& group : groups_) {
    if (group.tasks <= best_worth * group.loads) break;
    if (std::exchange(is_added, false)) undo(growth, mark);
    load_for(group.output, growth);
    const double tasks = growth.tasks - mark.tasks, worth = tasks / (growth.loads - mark.loads);
    is_added = tasks > 0 && worth > best_worth;
    if (!is_added) {
      undo(growth, mark);
      continue;
    }
    best_worth = worth;
    best = group.output;
  }
  if (best != none && !is_added) load_for(best, growth);
  return best != none;
}

// Grows to at most `bytes`: from `seed` on, or where there is none, from what is held.
OutputPackages::Growth OutputPackages::grow(ArrayId seed, index_t bytes, const std::vector<ArrayId>& held) {
  Growth growth;
  growth.room = bytes;
  growth.has_held = !held.empty();
  ++step_;
  for (const ArrayId array : held) {
    output(array).is_held = output(array).is_final;
    see(array, growth);
  }
  if (seed != none) choose(seed, growth);
  choose_free(growth);
  while (growth.room > 0 && add_group(growth)) {
  }
  Growth result;
  result.chosen.assign(growth.chosen.begin(),
                       growth.chosen.begin() + static_cast<std::ptrdiff_t>(growth.best.count));
  result.counted = growth.counted;
  result.best = growth.best;
  undo(growth, {});
  for (const ArrayId array : growth.touched) output(array).is_touched = false;
  for (const ArrayId array : held) output(array).is_held = false;
  return result;
}

void OutputPackages::take_output(ArrayId array, std::vector<TaskId>& tasks) {
  Output& own = output(array);
  for (; own.open_tasks > 0 && waits_[at(own.chain[own.next])] == 0; ++own.next) {
    tasks.push_back(own.chain[own.next]);
    --own.open_tasks;
    take_task(own.chain[own.next]);
  }
  if (own.open_tasks > 0) {
    count_after(array);
    return;
  }
  bytes_left_ -= graph_->array(array).bytes;
  for (const ArrayId other : own.reads) --output(other).open_readers;
  finalize(array);
}

// How many outputs are left that read an array which this one lacks, or 0: those of a row that was begun come
// before those of another one, so that whole rows are left.
int OutputPackages::open_readers_of(const Output& own) const {
  for (const ArrayId other : own.reads)
    if (output(other).is_final && !output(other).is_seen) return output(other).open_readers;
  return 0;
}

// Where to begin: the outputs of the most urgent tasks that can be finished; where there is none, of the most
// urgent.
std::vector<ArrayId> OutputPackages::seeds() {
  struct Seed {
    double priority;
    int open_readers;
    ArrayId array;
  };
  std::vector<Seed> found;
  ArrayId first = none;
  int count = 0;
  for (auto entry = ready_.begin(); entry != ready_.end() && count < most_looked_at;) {
    if (is_taken_[at(entry->task)]) {
      entry = ready_.erase(entry);
      continue;
    }
    const ArrayId array = outputs_[at(entry->task)];
    const Output& own = output(array);
    // Where updates commute, or use parts, a task can be ready before the ones of its output that are first.
    const bool can_begin = own.open_tasks > 0 && waits_[at(own.chain[own.next])] == 0;
    const double priority = entry->priority;
    ++entry;
    if (!can_begin) continue;
    if (first == none) first = array;
    if (own.waits == 0) found.push_back({priority, open_readers_of(own), array});
    ++count;
  }
  std::stable_sort(found.begin(), found.end(), [](const Seed& a, const Seed& b) {
    return std::pair(-a.priority, a.open_readers) < std::pair(-b.priority, b.open_readers);
  });
  num_inspected_ += count;
  std::vector<ArrayId> arrays;
  for (const Seed& seed : found) arrays.push_back(seed.array);
  if (arrays.empty() && first != none) arrays.push_back(first);
  return arrays;
}

OutputPackage OutputPackages::take(index_t bytes, const std::vector<ArrayId>& held) {
  Growth best = grow(none, bytes, held);
  std::vector<ArrayId> tried;
  int tries = 0;
  for (const ArrayId seed : seeds()) {
    if (output(seed).is_tried) continue;
    if (++tries > most_tried) break;
    Growth growth = grow(seed, bytes, {});
    for (const ArrayId array : growth.chosen) {
      output(array).is_tried = true;
      tried.push_back(array);
    }
    if (growth.best.worth() > best.best.worth()) best = std::move(growth);
  }
  for (const ArrayId array : tried) output(array).is_tried = false;

  OutputPackage package{best.chosen, {}, best.counted, best.best.loads};
  for (const ArrayId array : package.outputs) {
    output(array).is_chosen = true;
    package.steps = std::max(package.steps, output(array).open_tasks);
  }
  // What a task waits for may be of an output that comes after its own.
  for (bool is_changed = true; is_changed;) {
    const std::size_t before = package.tasks.size();
    for (const ArrayId array : package.outputs)
      if (output(array).open_tasks > 0) take_output(array, package.tasks);
    is_changed = package.tasks.size() > before;
  }
  for (const ArrayId array : package.outputs) output(array).is_chosen = false;
  bool is_unfinished = false;
  for (const ArrayId array : package.outputs) {
    const Output& own = output(array);
    if (own.open_tasks > 0 && waits_[at(own.chain[own.next])] == 0) enable(own.chain[own.next]);
    is_unfinished = is_unfinished || own.open_tasks > 0;
  }
  // What its tasks read is still being written, and comes anew for most of them.
  if (is_unfinished) {
    package.loads = 0;
    for (const TaskId task : package.tasks) package.loads += static_cast<double>(graph_->bytes_of(task));
  }
  return package;
}

}  // namespace strata::inline STRATA_ABI::tasks::detail
