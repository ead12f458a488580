// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include <strata/core/error.hpp>
#include <strata/devices/emulated/timeline.hpp>

namespace strata::inline STRATA_ABI::detail {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

void check(bool good, int instance, const char* name, double value, const char* rule) {
  if (good) return;
  throw SettingError("Emulated" + (instance < 0 ? std::string() : "{" + std::to_string(instance) + "}") +
                     ": " + name + " is " + std::to_string(value) + "; it must be " + rule);
}

void check_rates(const InstanceRates& rates, int instance) {
  const auto positive = [&](const char* name, double value) {
    check(value > 0, instance, name, value, "positive (bytes per second)");
  };
  const auto optional = [&](const char* name, double value) {
    check(value >= 0, instance, name, value, "positive (bytes per second), or 0 for none");
  };
  const auto latency = [&](const char* name, double value) {
    check(value >= 0 && value < infinity, instance, name, value, "finite and not negative (seconds)");
  };
  positive("host_to_device_bandwidth", rates.host_to_device_bandwidth);
  positive("device_to_host_bandwidth", rates.device_to_host_bandwidth);
  positive("memory_bandwidth", rates.memory_bandwidth);
  optional("host_link_total", rates.host_link_total);
  optional("peer_bandwidth", rates.peer_bandwidth);
  latency("copy_latency", rates.copy_latency);
  latency("launch_latency", rates.launch_latency);
}

// The first busy time of `engine` that ends after `time`.
auto first_after(const auto& engine, double time) {
  return std::upper_bound(engine.begin(), engine.end(), time,
                          [](double moment, const auto& busy) { return moment < busy.end; });
}

}  // namespace

Timeline::Timeline(TimelineConfig config)
    : config_(std::move(config)), count_(int(config_.instances.size())) {
  check(count_ > 0, -1, "the number of instances", count_, "at least 1");
  check(config_.host_submit_cost >= 0 && config_.host_submit_cost < infinity, -1, "host_submit_cost",
        config_.host_submit_cost, "finite and not negative (seconds)");
  for (int i = 0; i < count_; ++i) check_rates(rates(i), i);
  reset();
}

void Timeline::reset() {
  now_ = last_end_ = 0;
  engines_.assign(std::size_t(4 * count_ + count_ * count_), {});
  for (Queue& each : queues_) each.ends(0);
  trace_.clear();
}

Timeline::Engine& Timeline::engine(const Resource& resource) {
  const int first = resource.kind == Resource::Kind::Compute    ? 0
                    : resource.kind == Resource::Kind::Upload   ? count_
                    : resource.kind == Resource::Kind::Download ? 2 * count_
                    : resource.kind == Resource::Kind::Memory   ? 3 * count_
                                                                : 4 * count_ + resource.target * count_;
  return engines_[std::size_t(first + resource.instance)];
}

// --- Queues and the host ---

QueueId Timeline::make_queue(int instance) {
  if (instance < 0 || instance >= count_)
    throw NoSuchDevice("Emulated{" + std::to_string(instance) + "} does not exist; there are " +
                       std::to_string(count_) + " instances, counted from 0");
  auto free =
      std::find_if(queues_.begin(), queues_.end(), [](const Queue& each) { return each.instance < 0; });
  if (free == queues_.end()) free = queues_.insert(free, Queue{});
  *free = {instance};
  return QueueId(int(free - queues_.begin()));
}

void Timeline::release_queue(QueueId id) { queue(id).instance = -1; }

const Timeline::Queue& Timeline::queue(QueueId id) const {
  const auto index = std::size_t(id);
  if (index >= queues_.size() || queues_[index].instance < 0)
    throw Error("Emulated: queue " + std::to_string(int(id)) + " of the timeline does not exist; use what " +
                "make_queue() returned, before its release");
  return queues_[index];
}

Timeline::Queue& Timeline::queue(QueueId id) { return const_cast<Queue&>(std::as_const(*this).queue(id)); }

double Timeline::record(QueueId id) const { return std::max(now_, queue(id).ready()); }

Timeline::Point Timeline::point(QueueId id) const { return {queue(id).end, queue(id).waited}; }

void Timeline::wait_event(QueueId id, double time) {
  Queue& waiting = queue(id);
  waiting.waited = std::max(waiting.waited, time);
}

void Timeline::host_advance(double seconds, std::string_view label) {
  check(seconds >= 0 && seconds < infinity, -1, "the host's work", seconds,
        "finite and not negative (seconds)");
  note({}, QueueId::None, label, {now_, now_ + seconds}, 0);
  now_ += seconds;
}

void Timeline::host_wait_until(double time) {
  if (time <= now_) return;
  note({}, QueueId::None, "wait", {now_, time}, 0);
  now_ = time;
}

double Timeline::makespan() const { return std::max(now_, last_end_); }

// The host pays for the submission first; the result is the earliest time at which the operation may begin.
double Timeline::submit(const Queue& queue) {
  now_ += config_.host_submit_cost;
  return std::max(now_, queue.ready());
}

// --- Operations ---

TimeSpan Timeline::kernel(QueueId id, double seconds, std::string_view label) {
  Queue& in = queue(id);
  check(seconds >= 0 && seconds < infinity, in.instance, "the time of a kernel", seconds,
        "finite and not negative (seconds)");
  const Resource compute{Resource::Kind::Compute, in.instance};
  const TimeSpan time = simple(compute, submit(in), rates(in.instance).launch_latency + seconds);
  in.ends(time.end);
  note(compute, id, label, time, 0);
  return time;
}

double Timeline::enter(QueueId id) {
  Queue& in = queue(id);
  in.ends(submit(in));
  return in.end;
}

TimeSpan Timeline::copy(QueueId id, int source, int destination, std::size_t bytes, std::string_view label) {
  Queue& in = queue(id);
  const auto known = [&](int place) { return place == host || (place >= 0 && place < count_); };
  if (!known(source) || !known(destination) || (source == host && destination == host))
    throw CopyError("Emulated: asked to copy " + std::to_string(bytes) + " bytes \"" + std::string(label) +
                    "\" from place " + std::to_string(source) + " to place " + std::to_string(destination) +
                    "; places are -1, the host, on at most one side, and instances 0 to " +
                    std::to_string(count_ - 1));
  in.ends(submit(in));
  TimeSpan whole{infinity, 0};
  const auto leg = [&](const Resource& resource, TimeSpan time) {
    note(resource, id, label, time, bytes);
    whole = {std::min(whole.start, time.start), time.end};
    in.ends(time.end);
  };
  const double peer = peer_bandwidth(source, destination);
  if (source == destination) {
    const Resource memory{Resource::Kind::Memory, source};
    const InstanceRates& own = rates(source);
    leg(memory, simple(memory, in.end, own.copy_latency + double(bytes) / own.memory_bandwidth));
  } else if (peer > 0) {
    const Resource link{Resource::Kind::Peer, source, destination};
    leg(link, simple(link, in.end, rates(source).copy_latency + double(bytes) / peer));
  } else {
    const Resource download{Resource::Kind::Download, source}, upload{Resource::Kind::Upload, destination};
    if (source != host) leg(download, transfer(download, in.end, bytes));
    if (destination != host) leg(upload, transfer(upload, in.end, bytes));
  }
  return whole;
}

double Timeline::peer_bandwidth(int source, int destination) const {
  if (source == host || destination == host) return 0;
  return std::min(rates(source).peer_bandwidth, rates(destination).peer_bandwidth);
}

// --- Placement ---

// Puts an operation, which takes at least `shortest`, into the first gap that holds it. `plan(start)` gives
// its end if it began at `start`, and writes what it would occupy to parts_. Nothing begins before now_, so
// that what ended before it is forgotten.
template <class Plan>
TimeSpan Timeline::place(Engine& engine, double ready, double shortest, Plan plan) {
  constexpr std::size_t worth_forgetting = 64;
  if (const auto half = std::ptrdiff_t(engine.size() / 2);
      engine.size() >= worth_forgetting && engine[std::size_t(half)].end <= now_)
    engine.erase(engine.begin(), engine.begin() + half);
  double start = ready;
  for (auto next = std::size_t(first_after(engine, ready) - engine.begin());; ++next) {
    const double limit = next < engine.size() ? engine[next].start : infinity;
    if (start + shortest <= limit) {
      parts_.clear();
      if (const double end = plan(start); end <= limit) {
        occupy(engine, next);
        last_end_ = std::max(last_end_, end);
        return {start, end};
      }
    }
    start = engine[next].end;
  }
}

// Enters parts_ before `position`, joined with what they touch.
void Timeline::occupy(Engine& engine, std::size_t position) {
  for (const Busy& part : parts_) {
    if (part.end <= part.start) continue;
    if (position > 0 && engine[position - 1].end == part.start && engine[position - 1].rate == part.rate) {
      engine[position - 1].end = part.end;
    } else {
      engine.insert(engine.begin() + std::ptrdiff_t(position), part);
      ++position;
    }
  }
  if (position > 0 && position < engine.size() && engine[position - 1].end == engine[position].start &&
      engine[position - 1].rate == engine[position].rate) {
    engine[position - 1].end = engine[position].end;
    engine.erase(engine.begin() + std::ptrdiff_t(position));
  }
}

TimeSpan Timeline::simple(const Resource& resource, double ready, double seconds) {
  return place(engine(resource), ready, seconds, [&](double start) {
    parts_.push_back({start, start + seconds, 0});
    return start + seconds;
  });
}

TimeSpan Timeline::transfer(const Resource& resource, double ready, std::size_t bytes) {
  const InstanceRates& own = rates(resource.instance);
  const bool up = resource.kind == Resource::Kind::Upload;
  const double rate = up ? own.host_to_device_bandwidth : own.device_to_host_bandwidth;
  if (own.host_link_total == 0 || own.host_link_total == infinity)
    return simple(resource, ready, own.copy_latency + double(bytes) / rate);
  const Engine& opposite =
      engine({up ? Resource::Kind::Download : Resource::Kind::Upload, resource.instance});
  return place(engine(resource), ready, own.copy_latency, [&](double start) {
    return plan_transfer(start, double(bytes), rate, own.host_link_total, own.copy_latency, opposite);
  });
}

// Moves the bytes at the rate that the opposite direction leaves, from one of its changes to the next.
double Timeline::plan_transfer(double start, double bytes, double rate, double total, double latency,
                               const Engine& opposite) {
  double time = start + latency;
  parts_.push_back({start, time, 0});
  for (auto other = first_after(opposite, time); bytes > 0;) {
    double used = 0, until = infinity;
    if (other != opposite.end() && other->start <= time) {
      used = other->rate;
      until = other->end;
      ++other;
    } else if (other != opposite.end()) {
      until = other->start;
    }
    const double left = std::min(rate, std::max(total - used, 0.0));
    if (left > 0 && time + bytes / left <= until) until = time + bytes / left, bytes = 0;
    else bytes -= left * (until - time);
    parts_.push_back({time, until, left});
    time = until;
  }
  return time;
}

void Timeline::add_to_trace(TraceEntry entry) {
  if (tracing_) trace_.push_back(std::move(entry));
}

void Timeline::change_trace(std::size_t index, TimeSpan time) {
  if (index < trace_.size()) trace_[index].time = time;
}

void Timeline::note(const Resource& resource, QueueId queue, std::string_view label, TimeSpan time,
                    std::size_t bytes) {
  if (tracing_) trace_.push_back({resource, queue, std::string(label), time, bytes});
}

}  // namespace strata::inline STRATA_ABI::detail
