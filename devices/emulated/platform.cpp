// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include <unistd.h>

#include <strata/core/allocation_report.hpp>
#include <strata/core/device_fence.hpp>
#include <strata/core/error.hpp>
#include <strata/core/runtime.hpp>
#include <strata/devices/emulated/device.hpp>
#include <strata/devices/emulated/instance.hpp>
#include <strata/devices/emulated/managed_pages.hpp>
#include <strata/devices/emulated/pages.hpp>
#include <strata/devices/emulated/platform.hpp>
#include <strata/devices/emulated/shared_memory.hpp>

namespace strata::inline STRATA_ABI {

namespace detail {

namespace {

Timeline make_timeline(const emulated::Config& c) {
  InstanceRates rates;
  rates.host_to_device_bandwidth = c.host_to_device_bandwidth;
  rates.device_to_host_bandwidth = c.device_to_host_bandwidth;
  rates.host_link_total = c.host_link_total;
  rates.peer_bandwidth = c.peer_bandwidth;
  rates.memory_bandwidth = c.memory_bandwidth;
  rates.copy_latency = c.copy_latency;
  rates.launch_latency = c.launch_latency;
  TimelineConfig config;
  config.instances.assign(static_cast<std::size_t>(c.count), rates);
  config.host_submit_cost = c.host_submit_cost;
  return Timeline(config);
}

// What neither the memory nor the timeline checks.
void check_config(const emulated::Config& c) {
  const auto check = [](bool good, const char* name, const std::string& value, const char* rule) {
    if (!good)
      throw SettingError(std::string("emulated::configure: ") + name + " is " + value + "; it must be " +
                         rule);
  };
  check(c.count >= 1 && c.count <= 16, "count", std::to_string(c.count), "1 to 16");
  check(c.capacity >= 1, "capacity", std::to_string(c.capacity), "at least 1 byte");
  check(c.threads >= 1 && c.threads <= 1024, "threads", std::to_string(c.threads), "1 to 1024");
  check(c.seconds_per_item >= 0 && std::isfinite(c.seconds_per_item), "seconds_per_item",
        std::to_string(c.seconds_per_item), "finite and not negative");
  for (const double factor : c.item_factors)
    check(factor >= 0 && std::isfinite(factor), "item_factors", std::to_string(factor),
          "finite and not negative");
  check(std::ssize(c.item_factors) <= c.count, "item_factors",
        std::to_string(c.item_factors.size()) + " numbers", "at most one an instance");
  check(c.managed_page >= index_t(page_bytes()) && c.managed_page <= (index_t{1} << 30) &&
            c.managed_page % index_t(page_bytes()) == 0,
        "managed_page", std::to_string(c.managed_page),
        ("a multiple of the system's page, " + std::to_string(page_bytes()) + " bytes, of at most 1 GiB")
            .c_str());
  check(c.pinned_capacity >= 0, "pinned_capacity", std::to_string(c.pinned_capacity),
        "not negative (bytes; 0: no limit)");
  check(c.bytes_reached_at_host >= 0, "bytes_reached_at_host", std::to_string(c.bytes_reached_at_host),
        "not negative (bytes; 0: no arrays)");
  check(c.fault_latency >= 0 && std::isfinite(c.fault_latency), "fault_latency",
        std::to_string(c.fault_latency), "finite and not negative (seconds)");
}

[[noreturn]] void fail_index(int index, int count) {
  throw NoSuchDevice(
      "Emulated{" + std::to_string(index) + "}: there are " + std::to_string(count) +
      " instances, counted from 0; set STRATA_EMULATED_COUNT or --strata-emulated-count for more");
}

}  // namespace

void require_outside_kernels(const char* what) {
  if (emulated_offset != 0)
    throw Error(std::string(what) +
                " inside a kernel on Emulated: it could wait for itself; wait on the host, or order the work "
                "by queues and events");
}

// ---- begin and end

Platform& Platform::get() {
  static Platform* const platform = new Platform;
  return *platform;
}

Platform::Platform()
    : config(emulated::default_config()), timeline(make_timeline(config)), process_(getpid()) {
  memory = std::make_unique<EmulatedMemory>(static_cast<std::size_t>(config.capacity), config.count);
  at_end([]() noexcept { Platform::get().end(); });
  at_fence("Emulated", []() noexcept { Platform::get().drain(); });
}

bool Platform::forked() const { return getpid() != process_; }

// Waits for all queues, also those without a handle. A kernel that calls exit() cannot wait for itself: then
// the threads end with the process.
void Platform::end() noexcept {
  if (forked() || emulated_offset != 0) return;
  std::vector<std::shared_ptr<QueueCore>> all;
  {
    const std::lock_guard lock(mutex);
    all.swap(cores_);  // closed for good, so nobody asks for them any more
  }
  for (const auto& core : all) core->close();
  for (const auto& core : all) core->join();
  const std::lock_guard lock(instances_mutex);
  for (const auto& each : instances_) each->stop_threads();
}

void Platform::drain() noexcept {
  if (forked() || emulated_offset != 0) return;
  const PendingWork work = pending_work();
  work.wait();
  host_wait_for(work);
}

// ---- configuration

emulated::Config Platform::configuration() {
  const std::lock_guard lock(mutex);
  return config;
}

void Platform::build(const emulated::Config& wanted) {
  require_running("emulated::configure");
  check_config(wanted);
  const std::lock_guard instances_lock(instances_mutex);
  for (const auto& each : instances_) each->reclaim(true);  // the old clock ends
  const std::lock_guard lock(mutex);
  require_unused(static_cast<int>(instances_.size()));
  Timeline new_timeline = make_timeline(wanted);
  auto new_memory = std::make_unique<EmulatedMemory>(static_cast<std::size_t>(wanted.capacity), wanted.count);
  std::erase_if(cores_, [](const auto& core) { return core->closed(); });
  for (const auto& core : cores_) core->forget_lag();
  managed_pages::costs_of_host().take();
  for (const auto& core : cores_)
    core->time = core->instance() < wanted.count ? new_timeline.make_queue(core->instance()) : QueueId::None;
  for (const auto& each : instances_) each->stop_threads();
  timeline = std::move(new_timeline);
  memory = std::move(new_memory);
  config = wanted;
  ++epoch;
  for (int& count : faults) count = 0;
}

// Throws Error if a configuration is in use: by arrays, by work or by queues other than the default ones.
void Platform::require_unused(int instances) {
  for (const auto& core : cores_) {
    const std::string where = "Emulated{" + std::to_string(core->instance()) + "}";
    if (!core->idle())
      throw Error("emulated::configure: work is under way on " + where + "; wait for it first");
    if (core->id() != 0 && !core->closed())
      throw Error("emulated::configure: a queue of " + where + " lives; destroy it first");
  }
  if (managed_pages::blocks() > 0)
    throw Error("emulated::configure: arrays live in managed memory; " +
                largest_allocations({emulated_managed_kind, 0, true}));
  for (int i = 0; i < instances && i < config.count; ++i)
    if (memory->allocations(i) > 0) {
      const SpaceId space{EmulatedSpace::kind, i};
      throw Error("emulated::configure: arrays live on " + describe_space(space) + "; " +
                  largest_allocations(space));
    }
}

void Platform::reset_time() {
  const std::lock_guard lock(mutex);
  for (const auto& core : cores_)
    if (!core->idle())
      throw Error("emulated::reset_time: work is under way on Emulated{" + std::to_string(core->instance()) +
                  "}; wait for it first");
  for (const auto& core : cores_) core->forget_lag();
  managed_pages::costs_of_host().take();
  timeline.reset();
  ++epoch;
}

bool Platform::fails(emulated::Fault what) {
  int& count = faults[static_cast<int>(what)];
  return count > 0 && --count == 0;
}

// ---- instances and queues

EmulatedInstance& Platform::instance(int index) {
  const std::lock_guard lock(instances_mutex);
  if (index < 0 || index >= config.count) fail_index(index, config.count);
  while (static_cast<int>(instances_.size()) <= index)
    instances_.push_back(std::make_unique<EmulatedInstance>(static_cast<int>(instances_.size())));
  return *instances_[static_cast<std::size_t>(index)];
}

std::shared_ptr<QueueCore> Platform::make_core(int instance, std::uint64_t id) {
  const std::lock_guard lock(mutex);
  forget_finished_cores_locked();
  const QueueId time = timeline.make_queue(instance);
  cores_.push_back(std::make_shared<QueueCore>(instance, id, time));
  return cores_.back();
}

std::vector<std::shared_ptr<QueueCore>> Platform::open_cores(int instance) {
  const std::lock_guard lock(mutex);
  std::vector<std::shared_ptr<QueueCore>> open;
  for (const auto& core : cores_)
    if (core->instance() == instance && !core->closed()) open.push_back(core);
  return open;
}

void Platform::forget_finished_cores() {
  const std::lock_guard lock(mutex);
  forget_finished_cores_locked();
}

void Platform::forget_finished_cores_locked() {
  std::erase_if(cores_, [&](const auto& core) {
    if (!core->closed() || !core->idle()) return false;
    if (core->time == QueueId::None) return true;
    // A wait for the instance moves the clock to the end of this work, too.
    if (core->with_lag(timeline.point(core->time), timeline.record(core->time)) > timeline.now())
      return false;
    timeline.release_queue(core->time);
    return true;
  });
}

PendingWork Platform::pending_work(int instance) {
  return pending_work_of([&](const QueueCore& core) { return instance < 0 || core.instance() == instance; });
}

PendingWork Platform::pending_work(const QueueCore& queue) {
  return pending_work_of([&](const QueueCore& core) { return &core == &queue; });
}

template <class IsWanted>
PendingWork Platform::pending_work_of(const IsWanted& is_wanted) {
  const std::lock_guard lock(mutex);
  settle_faults();
  PendingWork work{{}, {timeline.now(), epoch}};
  for (const auto& core : cores_) {
    if (!is_wanted(*core)) continue;
    const bool has_time = core->time != QueueId::None;
    QueueCore::LastWork last = core->last_work();
    const bool runs = last.lag != nullptr;
    const Timeline::Point point = has_time ? timeline.point(core->time) : Timeline::Point{};
    if (has_time) {
      const double end = timeline.record(core->time);
      work.end.time = std::max(work.end.time, runs ? end : core->with_lag(point, end));
    }
    if (runs) work.queues.push_back({core, std::move(last), point});
  }
  return work;
}

void PendingWork::wait() const {
  for (const OfQueue& each : queues) each.core->wait_until_finished(each.last.number);
}

bool PendingWork::has_run() const {
  return std::all_of(queues.begin(), queues.end(),
                     [](const OfQueue& each) { return each.core->finished() >= each.last.number; });
}

double PendingWork::end_time() const {
  double time = end.time;
  for (const OfQueue& each : queues) time = each.last.lag->end_of(each.point, time);
  return time;
}

// ---- virtual time

Moment Platform::moment() {
  const std::lock_guard lock(mutex);
  settle_faults();
  return {timeline.now(), epoch};
}

bool Platform::clock_is_held() {
  const std::lock_guard lock(mutex);
  return clock_holds > 0;
}

void Platform::host_wait_until(Moment moment) {
  const std::lock_guard lock(mutex);
  settle_faults();
  if (moment.epoch == epoch && clock_holds == 0) timeline.host_wait_until(moment.time);
}

void Platform::host_wait_for(const PendingWork& work) {
  const std::lock_guard lock(mutex);
  settle_faults();
  if (work.end.epoch == epoch && clock_holds == 0) timeline.host_wait_until(work.end_time());
}

double Platform::seconds_per_item(int instance) const {
  const auto number = static_cast<std::size_t>(instance);
  const bool is_given = number < config.item_factors.size();
  return config.seconds_per_item * (is_given ? config.item_factors[number] : 1);
}

double Platform::seconds_of(const PageCost& cost) const {
  const double most =
      config.host_link_total > 0 ? config.host_link_total : std::numeric_limits<double>::infinity();
  const double up = std::min(config.host_to_device_bandwidth, most);
  const double down = std::min(config.device_to_host_bandwidth, most);
  double seconds = double(cost.faults) * config.fault_latency + double(cost.copies) * config.copy_latency +
                   double(cost.from_host) / up + double(cost.to_host) / down;
  const auto peers = double(cost.from_peers);
  seconds += config.peer_bandwidth > 0 ? peers / config.peer_bandwidth : peers / down + peers / up;
  return seconds;
}

void Platform::settle_faults() {
  if (PageCosts& costs = managed_pages::costs_of_host(); costs.any())
    timeline.host_advance(seconds_of(costs.take()), "page faults");
}

double Platform::note_lag(const QueueCore& core, const QueueCore::Work& work, double before,
                          const PageCost& cost) {
  const std::lock_guard lock(mutex);
  const double after = before + seconds_of(cost);
  const QueueCore::Work::Placed& placed = work.placed;
  const TimeSpan time{placed.start + before, placed.end + after};
  if (placed.is_prefetch) {
    if (cost.copies == 0) return after;
    const bool up = cost.from_host + cost.from_peers > 0;
    timeline.add_to_trace({{up ? Resource::Kind::Upload : Resource::Kind::Download, core.instance()},
                           core.time,
                           work.label,
                           time,
                           cost.from_host + cost.from_peers + cost.to_host});
  } else if (placed.last_entry == placed.first_entry + 1) {
    timeline.change_trace(placed.first_entry, time);
  }
  return after;
}

}  // namespace detail

// ---- the device

Emulated::Emulated(int index) : index_(index) {
  const int n = count();
  if (index < 0 || index >= n) detail::fail_index(index, n);
}

int Emulated::count() { return detail::Platform::get().configuration().count; }

detail::DeviceInstance& Emulated::backend() const { return detail::Platform::get().instance(index_); }

}  // namespace strata::inline STRATA_ABI
