// How does StarPU keep the memory of one GPU that is too small? A model of its requests and of the thread
// that serves the GPU, to find out where the study's figures of dmda come from: docs/scheduling.md has the
// answer. It is built where it is asked for only (the target strata_request_model), and prints one line of
// JSON.
//
//   strata_request_model TILES lws|eager-prefetch|dmda|dmdas bottom-level|parsec CLEAN_PERCENT
//
// Cholesky on one GPU as v100.json describes it. What makes the difference to strata-simulate, whose
// schedulers keep memories by simpler rules:
//
//   - Each task that enters the queue makes a request for each of its arrays. An array that is there counts
//   as
//     needed by the task from then on, another one only when the task's own request has been carried out. A
//     request that finds the array on its way, and one of a task that was given to the GPU before, are not
//     counted; but the task takes one off the count when it begins, be it its own or another one's.
//   - What is requested to be written makes the host's values old when it comes, written or not.
//   - One thread does all: it begins copies, finds room, and takes tasks. Where no clean copy may leave, it
//     evicts dirty ones, two at a time, and waits for their stores; meanwhile no task is taken or released.
//   - Copies there and back share the link; requests of the tasks that are given to the GPU come first, of
//     which five are under way at most, of the others two.
//   - The thread stores dirty copies ahead, so that a share of all is clean: CLEAN_PERCENT of them at least,
//     then twice as many.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <string>
#include <tuple>
#include <vector>

#include <strata/algorithms/tasks/plan/tiled.hpp>

#include "starpu/request_list.hpp"

namespace {

using namespace strata::tasks;
using namespace perf;

constexpr double bytes = 1920.0 * 1920 * 4, bytes_per_second = 12e9, latency = 1e-5;
constexpr int capacity = 142;  // tiles in 2000 MiB

class Model {
 public:
  Model(const TiledGraph& tiled, const std::string& scheduler, std::vector<double> priorities, int clean)
      : graph_(tiled.graph),
        scheduler_(scheduler),
        priorities_(std::move(priorities)),
        clean_(clean),
        pipeline_(scheduler == "eager-prefetch" ? 4 : 2),
        arrays_(static_cast<std::size_t>(graph_.num_arrays())),
        writes_left_(arrays_.size()),
        waits_(static_cast<std::size_t>(graph_.num_tasks())) {
    for (TaskId task = 0; task < graph_.num_tasks(); ++task) {
      waits_[at(task)] = static_cast<int>(graph_.predecessors(task).size());
      for (const TaskAccess& access : graph_.task(task).accesses)
        writes_left_[at(access.array)] += access.writes();
    }
  }
  // False: it stands still.
  bool run() {
    for (TaskId task = 0; task < graph_.num_tasks(); ++task)
      if (waits_[at(task)] == 0) push(task);
    while (num_done_ < graph_.num_tasks())
      if (!serve()) return false;
    return true;
  }
  long loads() const { return loads_; }
  long stores() const {
    return stores_ + std::count_if(arrays_.begin(), arrays_.end(), [](const Array& a) { return !a.on_host; });
  }
  double seconds() const { return now_; }

 private:
  static std::size_t at(int number) { return static_cast<std::size_t>(number); }
  Array& array(ArrayId id) { return arrays_[at(id)]; }
  double seconds_of(TaskId task) const {
    const Task& one = graph_.task(task);
    static const std::map<std::string, double> rates{
        {"gemm", 14.3e12}, {"syrk", 13e12}, {"trsm", 12e12}, {"potrf", 1.5e12}};
    return one.work / rates.at(graph_.kernels()[at(one.kernel)]);
  }

  // The queue

  bool prefetches() const { return scheduler_ != "lws"; }
  double priority(TaskId task) const {
    return scheduler_ == "lws" || scheduler_ == "dmdas" ? priorities_[at(task)] : 0;
  }
  void push(TaskId task) {
    if (scheduler_ == "eager-prefetch") {
      released_.push_back(task);
      fill();
    } else {
      enqueue(task);
    }
  }
  void fill() {
    constexpr std::size_t most = 1000;
    for (; queue_.size() < most && !released_.empty(); released_.pop_front()) enqueue(released_.front());
  }
  void enqueue(TaskId task) {
    if (prefetches())
      for (const TaskAccess& access : graph_.task(task).accesses) prefetch(access, task);
    queue_.insert(queue_.upper_bound(priority(task)), {priority(task), task});
  }
  // Of the highest priority the one that lacks least; lws the first.
  TaskId pop() {
    if (queue_.empty()) return none;
    auto best = queue_.begin();
    std::tuple<int, int, int> least{99, 0, 0};
    for (auto other = best; prefetches() && other != queue_.end() && other->first == queue_.begin()->first;
         ++other) {
      int values = 0, not_coming = 0, room = 0;
      for (const TaskAccess& access : graph_.task(other->second).accesses) {
        const Array& used = array(access.array);
        room += !used.has_room;
        values += !used.on_gpu;
        not_coming += !used.on_gpu && !used.load;
      }
      const std::tuple lacking{values, not_coming, room};
      if (lacking < least) {
        least = lacking;
        best = other;
      }
      if (values == 0 && room == 0) break;
    }
    const TaskId task = best->second;
    queue_.erase(best);
    fill();
    return task;
  }

  // Requests

  void set_valid(Array& a, Way way, bool writes) {
    (way == In ? a.on_gpu : a.on_host) = true;
    if (!writes) return;
    a.on_host = false;
    a.counts_as_clean = false;
  }
  void use(Array& a) {
    if (a.has_room) order_.splice(order_.end(), order_, a.at);
  }
  void prefetch(const TaskAccess& access, TaskId task) {
    Array& a = array(access.array);
    if (!a.on_gpu) {
      request(access.array, In, Prefetch, access.writes(), task);
      return;
    }
    if (access.writes()) set_valid(a, In, true);
    ++a.needed;
    use(a);
  }
  RequestRef request(ArrayId id, Way way, Urgency urgency, bool writes, TaskId task) {
    const auto made = std::make_shared<Request>(
        Request{id, way, urgency, writes, task, task == none ? 0 : priority(task), {}});
    Array& a = array(id);
    a.requests.push_back(made);
    if (way == Out || urgency == Fetch) ++a.pins;  // what is stored stays until then
    made->has_pin = way == Out || urgency == Fetch;
    made->counts = urgency == Prefetch;
    lists_[urgency][way].push_back(made);
    return made;
  }
  void hasten(const RequestRef& r, Urgency urgency) {
    if (urgency >= r->urgency) return;
    const bool was_listed = lists_[r->urgency][r->way].erase(r);
    if (urgency == Fetch && !r->has_pin) {
      r->has_pin = true;
      ++array(r->array).pins;
    }
    r->urgency = urgency;
    if (was_listed) lists_[urgency][r->way].push_back(r);
  }
  // `arrived` is called when the task that begins has the array; it stays until the task is done.
  void fetch(const TaskAccess& access, TaskId task, const std::function<void()>& arrived) {
    Array& a = array(access.array);
    ++a.pins;
    const bool waits = access.writes() && !a.requests.empty();
    if (a.on_gpu && !waits) {
      if (access.writes()) set_valid(a, In, true);
      use(a);
      for (const RequestRef& r : a.requests) r->is_over = r->is_over || r->task == task;
      return arrived();
    }
    RequestRef own;
    for (const RequestRef& r : a.requests)
      if (r->way == In && r->task == task && !r->is_over) own = r;
    if (own) hasten(own, Fetch);
    else if (!a.on_gpu) own = request(access.array, In, Fetch, access.writes(), task);
    if (!access.writes()) {
      own->then.push_back(arrived);
      return;
    }
    const auto left = std::make_shared<std::size_t>(a.requests.size());
    for (const RequestRef& r : a.requests) {
      hasten(r, Fetch);
      r->then.push_back([this, &a, left, arrived] {
        if (--*left > 0) return;
        set_valid(a, In, true);
        arrived();
      });
    }
  }
  void finish(const RequestRef& r, bool is_carried_out) {
    Array& a = array(r->array);
    r->is_done = true;
    if (is_carried_out) {
      set_valid(a, r->way, r->writes);
      if (r->way == In) {
        a.load = nullptr;
        a.needed += r->counts;
      }
    }
    if (r->has_pin) --a.pins;
    a.requests.erase(std::find(a.requests.begin(), a.requests.end(), r));
    const auto then = std::move(r->then);
    for (const auto& call : then) call();
  }
  // False: there is no room for it now.
  bool carry_out(const RequestRef& r) {
    Array& a = array(r->array);
    if (r->is_over) {
      finish(r, false);
      return true;
    }
    if (r->way == In && a.load && a.load != r) {
      hasten(a.load, r->urgency);
      a.load->then.push_back([this, r] { finish(r, false); });
      return true;
    }
    if (r->way == In) a.load = r;
    if (r->way == In ? a.on_gpu : a.on_host) {
      finish(r, true);
      return true;
    }
    if (r->way == In && !a.has_room && (num_evicting_ > 0 || !find_room(r))) return false;
    if (!r->has_pin) ++a.pins;
    r->has_pin = true;
    ++(r->way == In ? loads_ : stores_);
    link_[r->way].push_back({r, latency, bytes});
    under_way_[r->way].push_back(r);
    return true;
  }

  // Room

  bool may_leave(const Array& a, Urgency urgency) const {
    return a.pins == 0 && !a.is_being_evicted && (urgency == Fetch || a.needed == 0);
  }
  void give_up(Array& a) {
    order_.erase(a.at);
    a.has_room = a.on_gpu = false;
  }
  bool find_room(const RequestRef& r) {
    Array& a = array(r->array);
    ++a.pins;
    const bool found =
        static_cast<int>(order_.size()) < capacity || replace_clean(r->urgency) || evict_dirty(r->urgency);
    --a.pins;
    if (!found || a.has_room) return found;
    a.has_room = true;
    a.counts_as_clean = true;
    a.at = order_.insert(order_.end(), r->array);
    return true;
  }
  bool replace_clean(Urgency urgency) {
    for (const ArrayId id : order_)
      if (array(id).on_host && may_leave(array(id), urgency)) {
        give_up(array(id));
        return true;
      }
    return false;
  }
  // The thread waits for the stores of two.
  bool evict_dirty(Urgency urgency) {
    ++num_evicting_;
    int evicted = 0;
    for (int count = 0; count < 2; ++count) {
      const auto victim = std::find_if(order_.begin(), order_.end(),
                                       [&](ArrayId id) { return may_leave(array(id), urgency); });
      if (victim == order_.end()) break;
      const ArrayId id = *victim;
      Array& a = array(id);
      a.is_being_evicted = true;
      if (!a.on_host) {
        RequestRef store;
        for (const RequestRef& r : a.requests)
          if (r->way == Out) store = r;
        if (store) hasten(store, Fetch);
        else store = request(id, Out, Fetch, false, none);
        while (!store->is_done)
          if (!progress() && !store->is_done && !advance()) break;
      }
      a.is_being_evicted = false;
      if (a.pins > 0 || !a.on_host) continue;  // a task has it
      give_up(a);
      ++evicted;
    }
    --num_evicting_;
    return evicted > 0;
  }
  void clean() {
    const int most = static_cast<int>(order_.size());
    int clean = 0;
    for (const ArrayId id : order_) clean += array(id).counts_as_clean;
    if (clean >= most * clean_ / 100) return;
    for (const ArrayId id : order_) {
      if (clean >= most * 2 * clean_ / 100) return;
      Array& a = array(id);
      if (a.counts_as_clean || a.pins > 0) continue;
      a.counts_as_clean = true;
      ++clean;
      if (!a.on_host) request(id, Out, Idle, false, none);
    }
  }

  // The thread

  bool handle(Urgency urgency, Way way, bool& has_room) {
    RequestList& list = lists_[urgency][way];
    bool is_changed = false;
    std::deque<RequestRef> taken;
    for (std::size_t k = under_way_[way].size(); k < most_under_way[urgency] && !list.is_empty(); ++k)
      taken.push_back(list.pop());
    std::vector<RequestRef> kept;
    const double begin = now_;
    while (!taken.empty() && under_way_[way].size() < most_under_way[urgency] && now_ - begin < 1e-3) {
      const RequestRef r = taken.front();
      taken.pop_front();
      if (carry_out(r)) {
        is_changed = true;
        continue;
      }
      has_room = false;
      kept.push_back(r);
      if (urgency != Fetch) break;
    }
    kept.insert(kept.end(), taken.begin(), taken.end());
    for (; !kept.empty(); kept.pop_back()) lists_[kept.back()->urgency][way].push_front(kept.back());
    return is_changed;
  }
  bool progress() {
    bool is_changed = false;
    for (const Way way : {In, Out}) {
      for (std::size_t k = 0; k < under_way_[way].size();) {
        const RequestRef r = under_way_[way][k];
        if (!r->is_copied) {
          ++k;
          continue;
        }
        under_way_[way].erase(under_way_[way].begin() + static_cast<std::ptrdiff_t>(k));
        finish(r, true);
        is_changed = true;
        k = 0;
      }
      clean();
      bool has_room = true;
      for (const Urgency urgency : {Fetch, Prefetch, Idle})
        if (has_room && (urgency != Idle || under_way_[way].empty()))
          is_changed |= handle(urgency, way, has_room);
    }
    return is_changed;
  }
  bool serve() {
    if (taken_ != none && num_missing_ == 0) {
      for (const TaskAccess& access : graph_.task(taken_).accesses)
        if (prefetches() && array(access.array).needed > 0) --array(access.array).needed;
      if (running_.empty()) kernel_end_ = now_ + seconds_of(taken_);
      running_.push_back(taken_);
      taken_ = none;
    }
    bool is_changed = !ended_.empty();
    if (is_changed) {
      const TaskId task = ended_.front();
      ended_.pop_front();
      --num_given_;
      release(task);
    }
    is_changed |= progress();
    const TaskId next = num_given_ < pipeline_ && taken_ == none ? pop() : none;
    const bool has_more = (taken_ != none && num_missing_ == 0) || !ended_.empty();
    if (!is_changed && next == none && !has_more && !advance()) return false;
    if (next == none) return true;
    ++num_given_;
    taken_ = next;
    num_missing_ = static_cast<int>(graph_.task(next).accesses.size());
    for (const TaskAccess& access : graph_.task(next).accesses)
      fetch(access, next, [this] { --num_missing_; });
    return true;
  }
  // What no task writes any more is stored when nothing else is, and leaves before what is dirty.
  void release(TaskId task) {
    ++num_done_;
    for (const TaskAccess& access : graph_.task(task).accesses) --array(access.array).pins;
    for (const TaskId next : graph_.successors(task))
      if (--waits_[at(next)] == 0) push(next);
    for (const TaskAccess& access : graph_.task(task).accesses) {
      if (!access.writes() || --writes_left_[at(access.array)] > 0) continue;
      Array& a = array(access.array);
      a.counts_as_clean = true;
      order_.splice(
          std::find_if(order_.begin(), order_.end(),
                       [&](ArrayId id) { return id != access.array && !array(id).counts_as_clean; }),
          order_, a.at);
      if (!a.on_host) request(access.array, Out, Idle, false, none);
    }
  }

  // Time

  struct Copy {
    RequestRef request;
    double latency, bytes;  // that are left
  };
  // To the next end of a copy or a kernel; false: nothing is under way.
  bool advance() {
    while (true) {
      const int sharing = is_moving(In) + is_moving(Out);
      double next = running_.empty() ? -1 : kernel_end_;
      for (const auto& copies : link_)
        if (!copies.empty()) {
          const Copy& copy = copies.front();
          const double end =
              now_ + (copy.latency > 0 ? copy.latency : copy.bytes * sharing / bytes_per_second);
          if (next < 0 || end < next) next = end;
        }
      if (next < 0) return false;
      const double passed = next - now_;
      now_ = next;
      bool has_ended = false;
      for (auto& copies : link_) {
        if (copies.empty()) continue;
        Copy& copy = copies.front();
        if (copy.latency > 0) {
          copy.latency = std::max(0.0, copy.latency - passed);
          if (copy.latency < 1e-15) copy.latency = 0;
          continue;
        }
        copy.bytes -= passed * bytes_per_second / sharing;
        if (copy.bytes > 1e-3) continue;
        copy.request->is_copied = true;
        copies.pop_front();
        has_ended = true;
      }
      if (!running_.empty() && kernel_end_ <= now_) {
        ended_.push_back(running_.front());
        running_.pop_front();
        if (!running_.empty()) kernel_end_ = now_ + seconds_of(running_.front());
        has_ended = true;
      }
      if (has_ended) return true;
    }
  }
  int is_moving(Way way) const { return !link_[way].empty() && link_[way].front().latency <= 0; }

  const TaskDag& graph_;
  const std::string scheduler_;
  const std::vector<double> priorities_;
  const int clean_, pipeline_;
  std::vector<Array> arrays_;
  std::vector<int> writes_left_, waits_;
  std::multimap<double, TaskId, std::greater<>> queue_;
  std::deque<TaskId> released_;
  RequestList lists_[3][2];
  std::vector<RequestRef> under_way_[2];
  std::list<ArrayId> order_;  // of eviction
  int num_evicting_ = 0;      // calls of evict_dirty
  std::deque<Copy> link_[2];
  TaskId taken_ = none;  // whose arrays are fetched
  int num_missing_ = 0, num_given_ = 0, num_done_ = 0;
  std::deque<TaskId> running_, ended_;
  double now_ = 0, kernel_end_ = 0;
  long loads_ = 0, stores_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) {
    std::fprintf(
        stderr,
        "strata_request_model TILES lws|eager-prefetch|dmda|dmdas bottom-level|parsec CLEAN_PERCENT\n");
    return 2;
  }
  const TiledGraph tiled = tiled_graph(TiledKind::Cholesky, std::atoi(argv[1]), 1920);
  const bool is_parsec = std::strcmp(argv[3], "parsec") == 0;
  Model model(tiled, argv[2], is_parsec ? parsec_priorities(tiled) : bottom_levels(tiled.graph),
              std::atoi(argv[4]));
  if (!model.run()) {
    std::fprintf(stderr, "the run stands still\n");
    return 1;
  }
  std::printf("{\"seconds\": %.6g, \"bytes_to_devices\": %.0f, \"bytes_from_devices\": %.0f}\n",
              model.seconds(), static_cast<double>(model.loads()) * bytes,
              static_cast<double>(model.stores()) * bytes);
}
