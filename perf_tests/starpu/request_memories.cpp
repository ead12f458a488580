// SPDX-License-Identifier: Apache-2.0
#include "starpu/request_memories.hpp"

namespace perf {

namespace {
// As StarPU's sources have them (src/datawizard): the copies that are under way from or to one memory, each
// way, where those of an urgency begin (data_request.h: MAX_PENDING_..._REQUESTS_PER_NODE), how long a thread
// begins copies of an urgency before it looks after other things (MAX_PUSH_TIME), and how many arrays' room
// is made at a time, and how often that is tried (memalloc.c).
constexpr std::size_t most_fetches = 5, most_prefetches = 2, most_idle = 1;
constexpr std::size_t most_under_way[] = {most_fetches, most_prefetches, most_idle};  // by urgency
constexpr double longest_begin = 1e-3;                                                // seconds
constexpr int evicted_at_a_time = 2, most_attempts = 3;
}  // namespace

RequestMemories::RequestMemories(const strata::tasks::TaskDag& graph, const strata::tasks::Machine& machine,
                                 const MemorySettings& settings, const double& now,
                                 std::function<void()> wait)
    : graph_(graph),
      machine_(machine),
      clean_(settings.clean),
      expects_sharing_(settings.expects_sharing),
      frees_wait_(settings.frees_wait),
      now_(now),
      wait_(std::move(wait)),
      arrays_(static_cast<std::size_t>(graph.num_arrays())),
      devices_(static_cast<std::size_t>(machine.num_devices())) {
  for (Array& a : arrays_) {
    a.copies.resize(devices_.size() + 1);
    a.at(host).is_valid = true;
  }
  for (Device& one : devices_) {
    one.in.resize(devices_.size() + 1);
    one.out.resize(devices_.size() + 1);
  }
}

// Requests

RequestMemories::Queue& RequestMemories::queue(const Request& r) {
  const bool is_in = r.to != host;  // the device that gets it, else the one that stores it, carries it out
  return is_in ? device(r.to).in[static_cast<std::size_t>(r.from + 1)] : device(r.from).out.front();
}

DeviceId RequestMemories::source(const Array& a, DeviceId to) const {
  DeviceId best = to;
  double least = 0;
  for (DeviceId from = host; from < machine_.num_devices(); ++from) {
    if (from == to || !a.at(from).is_valid) continue;
    const double seconds = expected_seconds(from, to, 1 << 20);
    if (best != to && seconds >= least) continue;
    best = from;
    least = seconds;
  }
  return best;
}

bool RequestMemories::is_only(const Array& a, DeviceId device) const {
  if (!a.at(device).is_valid) return false;
  for (DeviceId other = host; other < machine_.num_devices(); ++other)
    if (other != device && a.at(other).is_valid) return false;
  return true;
}

bool RequestMemories::is_requested(ArrayId id, DeviceId device) const {
  const Array& a = array(id);
  return std::any_of(a.requests.begin(), a.requests.end(),
                     [&](const RequestRef& r) { return r->to == device; });
}

// StarPU expects a copy to take twice the time of its link (starpu_transfer_predict), and as many times more
// as there are GPUs.
double RequestMemories::expected_seconds(DeviceId from, DeviceId to, double bytes) const {
  const strata::tasks::Link& link =
      machine_.links()[static_cast<std::size_t>(machine_.link_between(from, to))];
  return link.latency + bytes / link.bytes_per_second * (expects_sharing_ ? 2 * machine_.num_devices() : 1);
}

double RequestMemories::expected_seconds(ArrayId id, DeviceId to) const {
  return expected_seconds(source(array(id), to), to, static_cast<double>(graph_.array(id).bytes));
}

void RequestMemories::set_valid(Array& a, DeviceId device, bool writes) {
  if (writes)
    for (Copy& copy : a.copies) copy.is_valid = false;
  a.at(device).is_valid = true;
  if (writes) a.at(device).counts_as_clean = false;
}

void RequestMemories::use(Array& a, DeviceId device) {
  std::list<ArrayId>& order = this->device(device).order;
  if (a.at(device).has_room) order.splice(order.end(), order, a.at(device).at);
}

void RequestMemories::prefetch(const TaskAccess& access, TaskId task, double priority, DeviceId device) {
  Array& a = array(access.array);
  if (!a.at(device).is_valid) {
    request(access.array, source(a, device), device, Prefetch, access.writes(), task, priority);
    return;
  }
  if (access.writes()) set_valid(a, device, true);
  ++a.at(device).needed;
  use(a, device);
}

RequestRef RequestMemories::request(ArrayId id, DeviceId from, DeviceId to, Urgency urgency, bool writes,
                                    TaskId task, double priority) {
  const auto made = std::make_shared<Request>(Request{id, from, to, urgency, writes, task, priority, {}});
  Array& a = array(id);
  a.requests.push_back(made);
  ++a.at(from).pins;  // the source stays
  made->has_pin = urgency == Fetch;
  if (made->has_pin) ++a.at(to).pins;
  made->counts = urgency == Prefetch;
  queue(*made).waiting[urgency].push_back(made);
  return made;
}

void RequestMemories::hasten(const RequestRef& r, Urgency urgency) {
  if (urgency >= r->urgency) return;
  const bool was_waiting = queue(*r).waiting[r->urgency].erase(r);
  if (urgency == Fetch && !r->has_pin) {
    r->has_pin = true;
    ++array(r->array).at(r->to).pins;
  }
  r->urgency = urgency;
  if (was_waiting) queue(*r).waiting[urgency].push_back(r);
}

void RequestMemories::fetch(const TaskAccess& access, TaskId task, double priority, DeviceId device,
                            const std::function<void()>& arrived) {
  Array& a = array(access.array);
  Copy& copy = a.at(device);
  ++copy.pins;
  if (copy.is_valid && (!access.writes() || a.requests.empty())) {
    if (access.writes()) set_valid(a, device, true);
    use(a, device);
    for (const RequestRef& r : a.requests)
      if (r->to == device) r->is_over = r->is_over || r->task == task;
    return arrived();
  }
  RequestRef own;
  const DeviceId from = source(a, device);
  for (const RequestRef& r : a.requests)
    if (r->to == device && r->from == from && r->task == task && !r->is_over) own = r;
  if (own) hasten(own, Fetch);
  else if (!copy.is_valid) own = request(access.array, from, device, Fetch, access.writes(), task, priority);
  if (!access.writes()) {
    own->then.push_back(arrived);
    return;
  }
  // Who writes waits for all copies of what there was.
  const auto left = std::make_shared<std::size_t>(a.requests.size());
  for (const RequestRef& r : a.requests) {
    hasten(r, Fetch);
    r->then.push_back([this, &a, device, left, arrived] {
      if (--*left > 0) return;
      set_valid(a, device, true);
      arrived();
    });
  }
}

void RequestMemories::begin_use(ArrayId id, DeviceId device) {
  int& needed = array(id).at(device).needed;
  if (needed > 0) --needed;
}

void RequestMemories::finish(const RequestRef& r, bool is_carried_out) {
  Array& a = array(r->array);
  Copy& copy = a.at(r->to);
  r->is_done = true;
  if (is_carried_out) {
    set_valid(a, r->to, r->writes);
    copy.load = nullptr;
    if (r->to != host) copy.needed += r->counts ? 1 : 0;
  }
  if (r->has_pin) --copy.pins;
  --a.at(r->from).pins;
  a.requests.erase(std::find(a.requests.begin(), a.requests.end(), r));
  const auto then = std::move(r->then);
  for (const auto& call : then) call();
}

// False: there is no room for it now.
bool RequestMemories::carry_out(const RequestRef& r) {
  Copy& copy = array(r->array).at(r->to);
  if (r->is_over) {
    finish(r, false);
    return true;
  }
  if (copy.load && copy.load != r) {
    hasten(copy.load, r->urgency);
    r->is_over = true;
    copy.load->then.push_back([this, r] { finish(r, false); });
    return true;
  }
  copy.load = r;
  if (copy.is_valid) {
    finish(r, true);
    return true;
  }
  if (r->to != host && !copy.has_room && (device(r->to).num_evicting > 0 || !find_room(r))) return false;
  if (!r->has_pin) ++copy.pins;
  r->has_pin = true;
  const double bytes = static_cast<double>(graph_.array(r->array).bytes);
  (r->from == host ? traffic_.to_devices
   : r->to == host ? traffic_.from_devices
                   : traffic_.between_devices) += bytes;
  transfers_.push_back({r, machine_.copy_seconds(r->from, r->to, 0), bytes});
  queue(*r).under_way.push_back(r);
  return true;
}

// Room

bool RequestMemories::may_leave(const Copy& copy, Urgency urgency) const {
  return copy.pins == 0 && !copy.is_being_evicted && (urgency == Fetch || copy.needed == 0);
}

void RequestMemories::give_up(Copy& copy, DeviceId device) {
  this->device(device).order.erase(copy.at);
  copy.has_room = copy.is_valid = false;
}

bool RequestMemories::find_room(const RequestRef& r) {
  Copy& copy = array(r->array).at(r->to);
  std::list<ArrayId>& order = device(r->to).order;
  ++copy.pins;
  const bool found = choose_victim_ ? evict_chosen(r)
                                    : has_free_room(r->array, r->to) || replace_clean(r->to, r->urgency) ||
                                          evict_dirty(r->to, r->urgency);
  --copy.pins;
  if (!found || copy.has_room) return found;
  copy.has_room = copy.counts_as_clean = true;
  copy.at = order.insert(order.end(), r->array);
  return true;
}

bool RequestMemories::has_free_room(ArrayId id, DeviceId device) const {
  const index_t bytes = graph_.array(id).bytes;  // all arrays are as large
  return (static_cast<index_t>(order(device).size()) + 1) * bytes <= machine_.device(device).memory;
}

bool RequestMemories::replace_clean(DeviceId device, Urgency urgency) {
  for (const ArrayId id : this->device(device).order) {
    if (is_only(array(id), device) || !may_leave(array(id).at(device), urgency)) continue;
    give_up(array(id).at(device), device);
    return true;
  }
  return false;
}

// The thread waits for the stores of two.
bool RequestMemories::evict_dirty(DeviceId device, Urgency urgency) {
  std::list<ArrayId>& order = this->device(device).order;
  ++this->device(device).num_evicting;
  int evicted = 0;
  for (int count = 0; count < evicted_at_a_time; ++count) {
    const auto victim = std::find_if(order.begin(), order.end(),
                                     [&](ArrayId id) { return may_leave(array(id).at(device), urgency); });
    if (victim == order.end()) break;
    evicted += evict(*victim, device) ? 1 : 0;
  }
  --this->device(device).num_evicting;
  return evicted > 0;
}

// A scheduler's victim is replaced where it is clean; else it is asked once more, and the thread waits for
// the store of the one that it names then.
bool RequestMemories::evict_chosen(const RequestRef& r) {
  for (int attempt = 0; attempt < most_attempts; ++attempt) {
    if (has_free_room(r->array, r->to)) return true;
    for (const bool waits : {false, true}) {
      const ArrayId victim = choose_victim_(r->to, r->urgency);
      if (victim == strata::tasks::none) continue;
      const bool may_try = may_leave(victim, r->to, r->urgency) && (waits || !is_only(array(victim), r->to));
      ++device(r->to).num_evicting;
      const bool has_left = may_try && evict(victim, r->to);
      --device(r->to).num_evicting;
      if (has_left) return true;
      eviction_failed_(victim, r->to);
    }
  }
  return false;
}

// False: a task has it.
bool RequestMemories::evict(ArrayId id, DeviceId device) {
  Array& a = array(id);
  Copy& copy = a.at(device);
  copy.is_being_evicted = true;
  const bool is_stored = is_only(a, device);
  if (is_stored) {
    RequestRef store;
    for (const RequestRef& r : a.requests)
      if (r->to == host) store = r;
    if (store) hasten(store, Fetch);
    else store = request(id, device, host, Fetch, false, strata::tasks::none, 0);
    while (!store->is_done)
      if (!progress(device) && !store->is_done) wait_();
  }
  copy.is_being_evicted = false;
  if (copy.pins > 0 || is_only(a, device)) return false;
  give_up(copy, device);
  if (is_stored && frees_wait_) {
    std::vector<RequestRef> under_way;
    for (const Transfer& one : transfers_) under_way.push_back(one.request);
    for (const RequestRef& r : under_way)
      while (!r->is_copied) wait_();
  }
  return true;
}

void RequestMemories::clean(DeviceId device) {
  const std::list<ArrayId>& order = this->device(device).order;
  const int most = static_cast<int>(order.size());
  int clean = 0;
  for (const ArrayId id : order) clean += array(id).at(device).counts_as_clean ? 1 : 0;
  if (clean >= most * clean_ / 100) return;
  for (const ArrayId id : order) {
    if (clean >= most * 2 * clean_ / 100) return;
    Copy& copy = array(id).at(device);
    if (copy.counts_as_clean || copy.pins > 0) continue;
    copy.counts_as_clean = true;
    ++clean;
    if (!array(id).at(host).is_valid) request(id, device, host, Idle, false, strata::tasks::none, 0);
  }
}

void RequestMemories::set_finished(ArrayId id, DeviceId device) {
  Array& a = array(id);
  for (DeviceId other = 0; other < machine_.num_devices(); ++other) {
    Copy& copy = a.at(other);
    if (!copy.has_room) continue;
    copy.counts_as_clean = true;
    std::list<ArrayId>& order = this->device(other).order;
    const auto first_dirty = std::find_if(order.begin(), order.end(), [&](ArrayId one) {
      return one != id && !array(one).at(other).counts_as_clean;
    });
    order.splice(first_dirty, order, copy.at);
  }
  if (!a.at(host).is_valid) request(id, device, host, Idle, false, strata::tasks::none, 0);
}

// The thread

bool RequestMemories::progress(DeviceId id) {
  Device& own = device(id);
  bool is_changed = serve(id, own.in, 0, own.in.size());
  is_changed |= serve(id, own.out, 0, 1);  // what is stored goes to the host
  return is_changed;
}

bool RequestMemories::serve(DeviceId device, std::vector<Queue>& queues, std::size_t first, std::size_t end) {
  bool is_changed = false;
  for (std::size_t q = first; q < end; ++q)
    for (std::size_t k = 0; k < queues[q].under_way.size();) {
      const RequestRef r = queues[q].under_way[k];
      if (!r->is_copied) {
        ++k;
        continue;
      }
      queues[q].under_way.erase(queues[q].under_way.begin() + static_cast<std::ptrdiff_t>(k));
      finish(r, true);
      is_changed = true;
      k = 0;
    }
  clean(device);
  bool has_room = true, is_idle = true;
  for (const Urgency urgency : {Fetch, Prefetch, Idle})
    for (std::size_t q = first; q < end && has_room && (urgency != Idle || is_idle); ++q) {
      is_changed |= handle(queues[q], urgency, has_room);
      if (urgency == Prefetch) is_idle = is_idle && queues[q].under_way.empty();
    }
  return is_changed;
}

bool RequestMemories::handle(Queue& queue, Urgency urgency, bool& has_room) {
  std::deque<RequestRef> taken;
  for (std::size_t k = queue.under_way.size();
       k < most_under_way[urgency] && !queue.waiting[urgency].is_empty(); ++k)
    taken.push_back(queue.waiting[urgency].pop());
  std::vector<RequestRef> kept;
  bool is_changed = false;
  const double begin = now_;
  while (!taken.empty() && queue.under_way.size() < most_under_way[urgency] && now_ - begin < longest_begin) {
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
  for (; !kept.empty(); kept.pop_back()) queue.waiting[kept.back()->urgency].push_front(kept.back());
  return is_changed;
}

// Time

// Copies that do not wait for one before them: those of the same way between the same memories, and those of
// other devices to one that takes part in a copy between devices, follow each other.
std::vector<RequestMemories::Transfer*> RequestMemories::moving() const {
  const auto follows = [](const Request& a, const Request& b) {
    const bool a_is_peer = a.from != host && a.to != host, b_is_peer = b.from != host && b.to != host;
    return (a.from == b.from && a.to == b.to) || (a_is_peer && a.from == b.to && a.to == b.from) ||
           (a_is_peer && b.to != host && (b.to == a.from || b.to == a.to)) ||
           (b_is_peer && a.to != host && (a.to == b.from || a.to == b.to));
  };
  std::vector<Transfer*> found;
  for (auto at = transfers_.begin(); at != transfers_.end(); ++at)
    if (std::none_of(transfers_.begin(), at,
                     [&](const Transfer& before) { return follows(*at->request, *before.request); }))
      found.push_back(&*at);
  return found;
}

int RequestMemories::link_of(const Transfer& transfer) const {
  return machine_.link_between(transfer.request->from, transfer.request->to);
}

// Copies share their link.
double RequestMemories::rate(const Transfer& transfer, const std::vector<Transfer*>& moving) const {
  const int link = link_of(transfer);
  const auto sharing = std::count_if(moving.begin(), moving.end(), [&](const Transfer* other) {
    return other->latency <= 0 && link_of(*other) == link;
  });
  return machine_.links()[static_cast<std::size_t>(link)].bytes_per_second /
         static_cast<double>(std::max<std::ptrdiff_t>(1, sharing));
}

double RequestMemories::next_change() const {
  double next = -1;
  const std::vector<Transfer*> moving = this->moving();
  for (const Transfer* const one : moving) {
    const double end = now_ + (one->latency > 0 ? one->latency : one->bytes / rate(*one, moving));
    if (next < 0 || end < next) next = end;
  }
  return next;
}

bool RequestMemories::pass(double seconds) {
  const std::vector<Transfer*> moving = this->moving();
  std::vector<double> rates;
  for (const Transfer* const one : moving) rates.push_back(rate(*one, moving));
  for (std::size_t k = 0; k < moving.size(); ++k) {
    Transfer& one = *moving[k];
    if (one.latency > 0) {
      one.latency -= seconds;
      if (one.latency < 1e-15) one.latency = 0;
    } else {
      one.bytes -= seconds * rates[k];
      one.request->is_copied = one.bytes <= 1e-3;
    }
  }
  return transfers_.remove_if([](const Transfer& one) { return one.request->is_copied; }) > 0;
}

RequestMemories::Traffic RequestMemories::traffic() const {
  Traffic all = traffic_;
  for (ArrayId id = 0; id < graph_.num_arrays(); ++id)
    if (!array(id).at(host).is_valid) all.from_devices += static_cast<double>(graph_.array(id).bytes);
  return all;
}

}  // namespace perf
