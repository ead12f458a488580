#include <strata/algorithms/tasks/plan/output_packages.hpp>

namespace strata::inline STRATA_ABI::tasks::detail {

namespace {

constexpr int most_looked_at = 200;  // ready tasks, for where packages may begin
constexpr int most_tried = 6;        // packages, of which the best is taken

std::size_t at(int id) { return static_cast<std::size_t>(id); }

}  // namespace

void OutputPackages::start(const SchedulerView& view) {
  graph_ = &view.graph;
  const std::size_t arrays = at(graph_->num_arrays());
  devices_.assign(at(graph_->num_tasks()), none);
  is_done_.resize(at(graph_->num_tasks()));
  chains_.resize(arrays);
  next_.resize(arrays);
  is_chosen_.resize(arrays);
  is_vertex_.resize(arrays);
  for (TaskId task = 0; task < graph_->num_tasks(); ++task) {
    outputs_.push_back(none);
    for (const TaskAccess& access : graph_->task(task).accesses)
      if (access.writes() && outputs_.back() == none) outputs_.back() = access.array;
    if (outputs_.back() != none) chains_[at(outputs_.back())].push_back(task);
  }
  for (ArrayId array = 0; array < graph_->num_arrays(); ++array)
    if (!chains_[at(array)].empty()) bytes_left_ += graph_->array(array).bytes;
}

// Once what packages have is done, nothing keeps a task from running.
bool OutputPackages::is_enabled(TaskId task) const {
  for (const TaskId before : graph_->predecessors(task)) {
    if (is_done_[at(before)] || is_taken(before)) continue;
    const ArrayId output = output_of(before);
    if (output == none || !is_chosen_[at(output)]) return false;
  }
  return true;
}

// From the last task back: most that cannot be finished lack what it waits for.
bool OutputPackages::can_finish(ArrayId output) const {
  const std::vector<TaskId>& chain = chains_[at(output)];
  for (std::size_t k = chain.size(); k-- > next_[at(output)];)
    for (const TaskId before : graph_->predecessors(chain[k])) {
      const ArrayId other = output_of(before);
      if (is_done_[at(before)] || is_taken(before) || other == output) continue;
      if (other == none || !is_chosen_[at(other)]) return false;
    }
  return true;
}

// What the next task of an output reads beside it.
std::vector<ArrayId> OutputPackages::front(ArrayId output) const {
  std::vector<ArrayId> arrays;
  for (const TaskAccess& access : graph_->task(chains_[at(output)][next_[at(output)]]).accesses)
    if (access.array != output) arrays.push_back(access.array);
  return arrays;
}

// The outputs that are not taken and have the array in their front, in program order.
std::vector<ArrayId> OutputPackages::outputs_with(ArrayId vertex) const {
  std::vector<ArrayId> outputs;
  for (const TaskId task : graph_->users(vertex)) {
    const ArrayId output = output_of(task);
    if (output == none || output == vertex || is_chosen_[at(output)] || is_taken(task)) continue;
    if (chains_[at(output)][next_[at(output)]] == task) outputs.push_back(output);
  }
  return outputs;
}

void OutputPackages::add_vertex(ArrayId vertex) {
  if (is_vertex_[at(vertex)]) return;
  is_vertex_[at(vertex)] = true;
  vertices_.push_back(vertex);
}

// The outputs of at most `bytes` that can be finished once the vertex is one of the package; they are chosen.
std::vector<ArrayId> OutputPackages::gains(ArrayId vertex, index_t bytes) {
  std::vector<ArrayId> gained;
  const bool was_vertex = is_vertex_[at(vertex)];
  is_vertex_[at(vertex)] = true;
  std::vector<ArrayId> candidates = outputs_with(vertex);
  std::erase_if(candidates, [&](ArrayId output) {
    const std::vector<ArrayId> arrays = front(output);
    return !std::all_of(arrays.begin(), arrays.end(), [&](ArrayId array) { return is_vertex_[at(array)]; });
  });
  // One that is chosen may be what another one waits for, whatever the order in which they were submitted.
  for (bool is_changed = true; is_changed;) {
    const std::size_t before = gained.size();
    std::erase_if(candidates, [&](ArrayId output) {
      if (graph_->array(output).bytes > bytes || !can_finish(output)) return false;
      bytes -= graph_->array(output).bytes;
      is_chosen_[at(output)] = true;
      gained.push_back(output);
      return true;
    });
    is_changed = gained.size() > before;
  }
  is_vertex_[at(vertex)] = was_vertex;
  return gained;
}

void OutputPackages::take_output(ArrayId output, DeviceId device, std::vector<TaskId>& tasks) {
  const std::vector<TaskId>& chain = chains_[at(output)];
  std::size_t& next = next_[at(output)];
  for (; next < chain.size() && is_enabled(chain[next]); ++next) {
    devices_[at(chain[next])] = device;
    tasks.push_back(chain[next]);
  }
  if (next == chain.size()) bytes_left_ -= graph_->array(output).bytes;
}

// Grows from `seed` on to at most `bytes`; what it chooses is marked.
std::vector<ArrayId> OutputPackages::grow(ArrayId seed, index_t bytes) {
  std::vector<ArrayId> chosen;
  const auto add = [&](const std::vector<ArrayId>& gained) {
    for (const ArrayId output : gained) {
      is_chosen_[at(output)] = true;
      chosen.push_back(output);
      bytes -= graph_->array(output).bytes;
      add_vertex(output);
    }
  };
  std::size_t first = 0;  // vertices from here on may have outputs that need no other one
  const auto complete = [&] {
    for (; first < vertices_.size(); ++first) add(gains(vertices_[first], bytes));
  };
  for (const ArrayId array : front(seed)) add_vertex(array);
  add({seed});
  complete();
  while (bytes > 0) {
    ArrayId best_vertex = none;
    std::vector<ArrayId> best;
    for (const ArrayId vertex : neighbours()) {
      std::vector<ArrayId> gained = gains(vertex, bytes);
      for (const ArrayId output : gained) is_chosen_[at(output)] = false;
      if (gained.size() <= best.size()) continue;
      best = std::move(gained);
      best_vertex = vertex;
    }
    if (best_vertex == none) break;
    add_vertex(best_vertex);
    add(best);
    complete();
  }
  for (const ArrayId vertex : vertices_) is_vertex_[at(vertex)] = false;
  vertices_.clear();
  return chosen;
}

// What the fronts of outputs have beside a vertex of the package.
std::vector<ArrayId> OutputPackages::neighbours() {
  std::vector<ArrayId> found;
  for (const ArrayId vertex : vertices_)
    for (const ArrayId output : outputs_with(vertex))
      for (const ArrayId other : front(output)) {
        if (is_vertex_[at(other)]) continue;
        is_vertex_[at(other)] = true;  // found
        found.push_back(other);
      }
  for (const ArrayId other : found) is_vertex_[at(other)] = false;
  return found;
}

// Tasks for each byte that is streamed beside the outputs, which are marked.
double OutputPackages::worth(const std::vector<ArrayId>& outputs) {
  double tasks = 0, bytes = 1;
  std::vector<ArrayId> seen;
  for (const ArrayId output : outputs)
    for (std::size_t k = next_[at(output)]; k < chains_[at(output)].size(); ++k) {
      ++tasks;
      for (const TaskAccess& access : graph_->task(chains_[at(output)][k]).accesses) {
        if (is_chosen_[at(access.array)] || is_vertex_[at(access.array)]) continue;
        is_vertex_[at(access.array)] = true;
        seen.push_back(access.array);
        bytes += static_cast<double>(graph_->array(access.array).bytes);
      }
    }
  for (const ArrayId array : seen) is_vertex_[at(array)] = false;
  return tasks / bytes;
}

// Where to begin: the outputs of the most urgent tasks that can be finished; where there is none, of the most
// urgent.
std::vector<ArrayId> OutputPackages::seeds() {
  std::vector<ArrayId> found;
  ArrayId first = none;
  int count = 0;
  for (auto entry = ready_.begin(); entry != ready_.end() && count < most_looked_at;) {
    if (is_taken(entry->task)) {
      entry = ready_.erase(entry);
      continue;
    }
    const ArrayId output = output_of(entry->task);
    ++entry;
    // Where updates commute, or use parts, a task can be ready before the ones of its output that are first.
    if (!is_enabled(chains_[at(output)][next_[at(output)]])) continue;
    if (first == none) first = output;
    if (can_finish(output)) found.push_back(output);
    ++count;
  }
  if (found.empty() && first != none) found.push_back(first);
  return found;
}

std::vector<TaskId> OutputPackages::take(DeviceId device, index_t bytes) {
  std::vector<ArrayId> best;
  double best_worth = -1;
  std::vector<bool> was_tried(is_chosen_.size());
  int tries = 0;
  for (const ArrayId seed : seeds()) {
    if (was_tried[at(seed)]) continue;
    if (++tries > most_tried) break;
    std::vector<ArrayId> chosen = grow(seed, bytes);
    const double worth = this->worth(chosen);
    for (const ArrayId output : chosen) {
      was_tried[at(output)] = true;
      is_chosen_[at(output)] = false;
    }
    if (worth <= best_worth) continue;
    best_worth = worth;
    best = std::move(chosen);
  }

  std::vector<TaskId> tasks;
  for (const ArrayId output : best) is_chosen_[at(output)] = true;
  // What a task waits for may be of an output that comes after its own.
  for (bool is_changed = true; is_changed;) {
    const std::size_t before = tasks.size();
    for (const ArrayId output : best)
      if (next_[at(output)] < chains_[at(output)].size()) take_output(output, device, tasks);
    is_changed = tasks.size() > before;
  }
  for (const ArrayId output : best) is_chosen_[at(output)] = false;
  std::sort(tasks.begin(), tasks.end());
  return tasks;
}

}  // namespace strata::inline STRATA_ABI::tasks::detail
