// How does StarPU keep the memories of GPUs that are too small? A model of its requests, of the threads that
// serve the GPUs, and of the queues of its schedulers, to find out where the study's figures come from:
// docs/scheduling.md has the answers. It is built where it is asked for only (the target
// strata_request_model), and prints one line of JSON.
//
//   strata_request_model MACHINE.json DEVICES MEMORY cholesky|lu TILES SCHEDULER PRIORITIES CLEAN_PERCENT
//                        [OPTION=VALUE...]
//
// What makes the difference to strata-simulate, whose schedulers keep memories by simpler rules:
//
// Each task that enters the queue makes a request for each of its arrays. An array that is there counts as
// needed by the task from then on, another one only when the task's own request has been carried out. A
// request that finds the array on its way, and one of a task that was given to the GPU before, are not
// counted; but the task takes one off the count when it begins, be it its own or another one's.
//
// What is requested to be written makes the host's values old when it comes, written or not. Where a copy
// comes from is chosen when it is requested, and stays there until the request is carried out.
//
// One thread for each GPU does all: it begins copies, finds room, and takes tasks. Where no clean copy may
// leave, it evicts dirty ones, two at a time, and waits for their stores; meanwhile it takes and releases no
// task. It stores dirty copies ahead, so that a share of all is clean: CLEAN_PERCENT of them at least, then
// twice as many.
//
// The Ready rule of eager-prefetch has no choice: a task comes into the queue of the GPU when the GPU takes
// one, and alone. On one GPU all tasks are prefetched as they are released.
//
// A GPU of lws that has nothing to do steals from the nearest one: near are those whose threads are bound to
// the same core of the computer on which StarPU runs, then those of the next cores.
//
// A copy is expected to take twice the time of its link for each GPU that there is.
//
// Copies share links. Requests of the tasks that are given to the GPU come first, of which five are under way
// at most from each memory, of the others two.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <ucontext.h>

#include <strata/algorithms/tasks/plan/tiled.hpp>
#include <strata/miniapps/simulate/machine_file.hpp>

#include "starpu/request_darts.hpp"
#include "starpu/request_memories.hpp"

namespace {

using namespace strata::tasks;
using perf::RequestMemories;

struct Settings {
  std::string scheduler;
  perf::MemorySettings memories;
  int window = 10;  // tasks in the queue of darts
  int cores = 8;    // of the computer on which StarPU ran, to which its threads are bound in turn
  perf::DartsOptions darts;
};

class Model {
 public:
  Model(const TaskDag& graph, const Machine& machine, const Settings& settings,
        std::vector<double> priorities)
      : graph_(graph),
        machine_(machine),
        scheduler_(settings.scheduler),
        window_(static_cast<std::size_t>(settings.window)),
        cores_(settings.cores),
        priorities_(std::move(priorities)),
        pipeline_(scheduler_ == "eager-prefetch" || is_darts() ? 4 : 2),
        memories_(graph, machine, settings.memories, now_, [this] { wait(); }),
        darts_(graph, machine, priorities_, memories_, settings.darts),
        devices_(static_cast<std::size_t>(machine.num_devices())),
        writes_left_(static_cast<std::size_t>(graph.num_arrays())),
        waits_(static_cast<std::size_t>(graph.num_tasks())),
        seconds_(waits_.size()),
        late_(waits_.size()) {
    if (is_darts())
      memories_.set_victims([this](DeviceId id, perf::Urgency urgency) { return darts_.victim(id, urgency); },
                            [this](ArrayId array, DeviceId id) { darts_.eviction_failed(array, id); });
    for (TaskId task = 0; task < graph_.num_tasks(); ++task) {
      waits_[at(task)] = static_cast<int>(graph_.predecessors(task).size());
      for (const TaskAccess& access : graph_.task(task).accesses)
        writes_left_[at(access.array)] += access.writes() ? 1 : 0;
    }
  }

  // False: it stands still.
  bool run() {
    for (TaskId task = 0; task < graph_.num_tasks(); ++task)
      if (waits_[at(task)] == 0) push(task, host);
    for (DeviceId id = 0; id < machine_.num_devices(); ++id) start_thread(id);
    while (num_done_ < graph_.num_tasks()) {
      is_changed_ = false;
      for (turn_ = 0; turn_ < machine_.num_devices(); ++turn_) swapcontext(&main_, &device(turn_).context);
      if (!is_changed_ && !advance()) return false;
    }
    return true;
  }
  double seconds() const { return now_; }
  RequestMemories::Traffic traffic() const { return memories_.traffic(); }

 private:
  using Queue = std::multimap<double, TaskId, std::greater<>>;  // by priority
  struct Device {
    Queue queue;
    TaskId refused = none;  // by the queue of darts
    TaskId taken = none;    // whose arrays are fetched
    int num_missing = 0, num_given = 0;
    std::deque<TaskId> running, ended;
    double kernel_end = 0;
    double begin = 0, queued = 0, given = 0;  // expected, as dmda has them
    ucontext_t context = {};
    std::unique_ptr<char[]> stack;
  };

  static std::size_t at(int number) { return static_cast<std::size_t>(number); }
  Device& device(DeviceId id) { return devices_[at(id)]; }
  double run_seconds(TaskId task, DeviceId id) const { return machine_.run_seconds(graph_, task, id); }

  // The queues

  bool is_darts() const { return scheduler_ == "darts"; }
  bool is_dmda() const { return scheduler_ == "dmda" || scheduler_ == "dmdas"; }
  bool prefetches() const { return scheduler_ != "lws"; }
  double priority(TaskId task) const {
    return scheduler_ == "dmda" || scheduler_ == "eager-prefetch" ? 0 : priorities_[at(task)];
  }
  void push(TaskId task, DeviceId released_by) {
    if (is_darts()) darts_.release(task);
    else if (scheduler_ == "eager-prefetch") push_eager(task);
    else if (is_dmda()) enqueue(task, best_device(task));
    else enqueue(task, released_by == host ? next_device_++ % machine_.num_devices() : released_by);
  }
  // The queue of all prefetches where all that take tasks out of it are of one memory.
  void push_eager(TaskId task) {
    released_.push_back(task);
    if (machine_.num_devices() == 1) prefetch(task, 0);
  }
  // One at a time.
  void move_down(DeviceId id) {
    if (released_.empty()) return;
    const TaskId task = released_.front();
    released_.pop_front();
    if (machine_.num_devices() > 1) prefetch(task, id);
    insert(task, id);
  }
  // Until the queue is full.
  void fill(DeviceId id) {
    Device& own = device(id);
    while (true) {
      if (own.refused == none) own.refused = darts_.pull(id);
      if (own.refused == none || own.queue.size() >= window_) return;
      enqueue(std::exchange(own.refused, none), id);
    }
  }
  void prefetch(TaskId task, DeviceId id) {
    for (const TaskAccess& access : graph_.task(task).accesses)
      memories_.prefetch(access, task, priority(task), id);
  }
  void insert(TaskId task, DeviceId id) {
    Queue& queue = device(id).queue;
    queue.insert(queue.upper_bound(priority(task)), {priority(task), task});
  }
  void enqueue(TaskId task, DeviceId id) {
    if (prefetches()) prefetch(task, id);
    insert(task, id);
  }
  // Where it is expected to end first, with the transfer counted once more.
  DeviceId best_device(TaskId task) {
    struct Expected {
      double end, transfer;
    };
    std::vector<Expected> expected;
    for (DeviceId id = 0; id < machine_.num_devices(); ++id) {
      double transfer = 0;
      for (const TaskAccess& access : graph_.task(task).accesses)
        if (!memories_.is_valid(access.array, id) && !memories_.is_requested(access.array, id))
          transfer += memories_.expected_seconds(access.array, id);
      expected.push_back({std::max(end_of(device(id)), now_ + transfer) + run_seconds(task, id), transfer});
    }
    const auto best = std::min_element(expected.begin(), expected.end(), [](const auto& a, const auto& b) {
      return a.end + a.transfer < b.end + b.transfer;
    });
    const DeviceId id = static_cast<DeviceId>(best - expected.begin());
    Device& chosen = device(id);
    seconds_[at(task)] = run_seconds(task, id);
    late_[at(task)] = best->end - end_of(chosen) - seconds_[at(task)];
    chosen.begin = std::max(chosen.begin, now_);
    chosen.queued += late_[at(task)] + seconds_[at(task)];
    return id;
  }
  // What was expected of its transfers is over.
  void begin_run(TaskId task, DeviceId id) {
    Device& own = device(id);
    own.given += seconds_[at(task)] - late_[at(task)];
    own.queued -= seconds_[at(task)];
    own.begin = now_ + own.given;
  }
  double end_of(const Device& one) const { return std::max(one.begin, now_) + one.queued; }
  TaskId pop(DeviceId id) {
    const TaskId task = scheduler_ == "lws"              ? pop_or_steal(id)
                        : scheduler_ == "eager-prefetch" ? pop_in_turn(id)
                        : is_darts()                     ? pop_filled(id)
                                                         : pop_ready(id);
    if (task == none || !is_dmda()) return task;
    Device& own = device(id);
    own.queued -= late_[at(task)];
    own.given += late_[at(task)];
    own.begin = now_ + own.given;
    return task;
  }
  static TaskId take(Queue& queue, Queue::iterator which) {
    const TaskId task = which->second;
    queue.erase(which);
    return task;
  }
  // From the nearest one that has tasks: first those of the own core, then those of the next ones.
  TaskId pop_or_steal(DeviceId id) {
    if (!device(id).queue.empty()) return take(device(id).queue, device(id).queue.begin());
    for (int k = 0; k < cores_; ++k)
      for (DeviceId from = (id + k) % cores_; from < machine_.num_devices(); from += cores_) {
        Device& other = device(from);
        if (from == id || other.queue.empty() || other.num_given == 0) continue;
        return take(other.queue, std::prev(other.queue.upper_bound(other.queue.begin()->first)));
      }
    return none;
  }
  // The queue is filled before and after: the Ready rule has one task to choose from.
  TaskId pop_in_turn(DeviceId id) {
    Queue& queue = device(id).queue;
    if (queue.empty()) move_down(id);
    if (queue.empty()) return none;
    const TaskId task = take(queue, queue.begin());
    move_down(id);
    return task;
  }
  TaskId pop_filled(DeviceId id) {
    if (device(id).queue.empty()) fill(id);
    const TaskId task = pop_ready(id);
    fill(id);
    return task;
  }
  // Of the highest priority the one that lacks least; darts looks at all.
  TaskId pop_ready(DeviceId id) {
    Queue& queue = device(id).queue;
    if (queue.empty()) return none;
    auto best = queue.begin();
    std::tuple<int, int, int> least{99, 0, 0};
    for (auto other = best; other != queue.end(); ++other) {
      if (!is_darts() && other->first != queue.begin()->first) break;
      int values = 0, not_coming = 0, room = 0;
      for (const TaskAccess& access : graph_.task(other->second).accesses) {
        const bool is_valid = memories_.is_valid(access.array, id);
        values += is_valid ? 0 : 1;
        not_coming += is_valid || memories_.is_coming(access.array, id) ? 0 : 1;
        room += memories_.has_room(access.array, id) ? 0 : 1;
      }
      const std::tuple lacking{values, not_coming, room};
      if (lacking < least) {
        least = lacking;
        best = other;
      }
      if (values == 0 && room == 0) break;
    }
    return take(queue, best);
  }

  // The threads, one after the other until none has anything to do

  static void thread(unsigned int high, unsigned int low) {
    const std::uintptr_t address = static_cast<std::uintptr_t>(high) << 32 | low;
    Model& model = *reinterpret_cast<Model*>(address);
    const DeviceId id = model.turn_;
    while (true) {
      model.is_changed_ |= model.serve(id);
      model.wait();
    }
  }
  void start_thread(DeviceId id) {
    constexpr std::size_t bytes = std::size_t{1} << 22;
    Device& own = device(id);
    own.stack = std::make_unique<char[]>(bytes);
    getcontext(&own.context);
    own.context.uc_stack.ss_sp = own.stack.get();
    own.context.uc_stack.ss_size = bytes;
    const std::uintptr_t address = reinterpret_cast<std::uintptr_t>(this);
    makecontext(&own.context, reinterpret_cast<void (*)()>(&thread), 2,
                static_cast<unsigned int>(address >> 32), static_cast<unsigned int>(address));
  }
  void wait() { swapcontext(&device(turn_).context, &main_); }

  bool serve(DeviceId id) {
    Device& own = device(id);
    bool is_changed = false;
    if (own.taken != none && own.num_missing == 0) {
      for (const TaskAccess& access : graph_.task(own.taken).accesses)
        if (prefetches()) memories_.begin_use(access.array, id);
      if (own.running.empty()) {
        if (is_dmda()) begin_run(own.taken, id);
        own.kernel_end = now_ + run_seconds(own.taken, id);
      }
      own.running.push_back(own.taken);
      own.taken = none;
      is_changed = true;
    }
    if (!own.ended.empty()) {
      const TaskId task = own.ended.front();
      own.ended.pop_front();
      --own.num_given;
      release(task, id);
      is_changed = true;
    }
    is_changed |= memories_.progress(id);
    const TaskId next = own.num_given < pipeline_ && own.taken == none ? pop(id) : none;
    if (next == none) return is_changed;
    ++own.num_given;
    own.taken = next;
    own.num_missing = static_cast<int>(graph_.task(next).accesses.size());
    for (const TaskAccess& access : graph_.task(next).accesses)
      memories_.fetch(access, next, priority(next), id, [&own] { --own.num_missing; });
    return true;
  }
  void release(TaskId task, DeviceId id) {
    ++num_done_;
    Device& own = device(id);
    own.given -= seconds_[at(task)];
    own.begin = std::max(own.begin, now_ + own.given);
    if (is_darts()) darts_.done(task, id);
    for (const TaskAccess& access : graph_.task(task).accesses) memories_.let_go(access.array, id);
    for (const TaskId next : graph_.successors(task))
      if (--waits_[at(next)] == 0) push(next, id);
    for (const TaskAccess& access : graph_.task(task).accesses)
      if (access.writes() && --writes_left_[at(access.array)] == 0) memories_.set_finished(access.array, id);
  }

  // To the next end of a copy or a kernel; false: nothing is under way.
  bool advance() {
    while (true) {
      double next = memories_.next_change();
      for (const Device& one : devices_)
        if (!one.running.empty() && (next < 0 || one.kernel_end < next)) next = one.kernel_end;
      if (next < 0) return false;
      bool has_ended = memories_.pass(next - now_);
      now_ = next;
      for (DeviceId id = 0; id < machine_.num_devices(); ++id) {
        Device& own = device(id);
        if (own.running.empty() || own.kernel_end > now_) continue;
        own.ended.push_back(own.running.front());
        own.running.pop_front();
        if (!own.running.empty()) own.kernel_end = now_ + run_seconds(own.running.front(), id);
        if (!own.running.empty() && is_dmda()) begin_run(own.running.front(), id);
        has_ended = true;
      }
      if (has_ended) return true;
    }
  }

  const TaskDag& graph_;
  const Machine& machine_;
  const std::string scheduler_;
  const std::size_t window_;
  const int cores_;
  const std::vector<double> priorities_;
  const int pipeline_;
  double now_ = 0;
  RequestMemories memories_;
  perf::RequestDarts darts_;
  std::vector<Device> devices_;
  std::vector<int> writes_left_, waits_;
  std::vector<double> seconds_, late_;  // of tasks, as dmda expects them, and what their transfers add
  std::deque<TaskId> released_;         // of eager-prefetch
  int next_device_ = 0, num_done_ = 0;
  ucontext_t main_ = {};
  DeviceId turn_ = 0;
  bool is_changed_ = false;
};

}  // namespace

int main(int argc, char** argv) {
  const auto is_one_of = [&](int word, std::initializer_list<const char*> all) {
    return std::any_of(all.begin(), all.end(),
                       [&](const char* one) { return std::strcmp(argv[word], one) == 0; });
  };
  Settings settings;
  bool is_valid = argc >= 9 && is_one_of(4, {"cholesky", "lu"}) &&
                  is_one_of(6, {"lws", "eager-prefetch", "dmda", "dmdas", "darts"}) &&
                  is_one_of(7, {"bottom-level", "parsec"}) && std::atoi(argv[2]) >= 1 &&
                  std::atoi(argv[5]) >= 1;
  for (int word = 9; word < argc && is_valid; ++word) {
    const std::string text = argv[word];
    const std::string name = text.substr(0, text.find('='));
    const int value = std::atoi(text.c_str() + std::min(name.size() + 1, text.size()));
    if (name == "window" && value >= 1) settings.window = value;
    else if (name == "cores" && value >= 1) settings.cores = value;
    else if (name == "expects-sharing") settings.memories.expects_sharing = value != 0;
    else if (name == "frees-wait") settings.memories.frees_wait = value != 0;
    else if (name == "seed") settings.darts.seed = static_cast<std::uint64_t>(value);
    else if (name == "returns-planned-uses") settings.darts.returns_planned_uses = value != 0;
    else is_valid = false;
  }
  if (!is_valid) {
    std::fprintf(stderr,
                 "strata_request_model MACHINE.json DEVICES MEMORY cholesky|lu TILES "
                 "lws|eager-prefetch|dmda|dmdas|darts bottom-level|parsec CLEAN_PERCENT "
                 "[window=N] [cores=N] [seed=N] [returns-planned-uses=0|1] [expects-sharing=0|1] "
                 "[frees-wait=0|1]\n");
    return 2;
  }
  settings.scheduler = argv[6];
  settings.memories.clean = std::atoi(argv[8]);
  const Machine machine = strata::simulate::read_machine(argv[1], std::atoi(argv[2]),
                                                         strata::simulate::memory_from_string(argv[3]));
  const bool is_lu = std::strcmp(argv[4], "lu") == 0, is_parsec = std::strcmp(argv[7], "parsec") == 0;
  const TiledGraph tiled = tiled_graph(is_lu ? TiledKind::Lu : TiledKind::Cholesky, std::atoi(argv[5]), 1920);
  Model model(tiled.graph, machine, settings,
              is_parsec ? parsec_priorities(tiled) : bottom_levels(tiled.graph));
  if (!model.run()) {
    std::fprintf(stderr, "the run stands still\n");
    return 1;
  }
  const RequestMemories::Traffic traffic = model.traffic();
  std::printf(
      "{\"seconds\": %.6g, \"bytes_to_devices\": %.0f, \"bytes_from_devices\": %.0f, "
      "\"bytes_between_devices\": %.0f}\n",
      model.seconds(), traffic.to_devices, traffic.from_devices, traffic.between_devices);
}
