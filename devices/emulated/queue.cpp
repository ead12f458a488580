// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>
#include <utility>

#include <strata/core/error.hpp>
#include <strata/core/profiling/hooks.hpp>
#include <strata/core/runtime.hpp>
#include <strata/devices/emulated/call_counts.hpp>
#include <strata/devices/emulated/event.hpp>
#include <strata/devices/emulated/instance.hpp>
#include <strata/devices/emulated/managed_pages.hpp>
#include <strata/devices/emulated/platform.hpp>
#include <strata/devices/emulated/queue.hpp>

namespace strata::inline STRATA_ABI::detail {

EmulatedQueue::EmulatedQueue(EmulatedInstance& instance, std::uint64_t id)
    : instance_(instance), core_(Platform::get().make_core(instance.index(), id)) {}

EmulatedQueue::~EmulatedQueue() {
  if (Platform::get().forked()) return;
  core_->close();
  Platform::get().forget_finished_cores();
}

DeviceInstance& EmulatedQueue::instance() { return instance_; }

// A default queue outlives a configuration with fewer instances than its own; Platform::mutex is held.
void EmulatedQueue::require_instance() const {
  if (core_->time == QueueId::None)
    throw NoSuchDevice("Emulated{" + std::to_string(core_->instance()) +
                       "}: the configuration in force has only " +
                       std::to_string(Platform::get().config.count) + " instances");
}

void EmulatedQueue::wait() {
  require_outside_kernels("a wait for a queue");
  core_->require_same_process();
  count_call(&CallCounts::host_waits);
  Platform& platform = Platform::get();
  const PendingWork work = platform.pending_work(*core_);
  core_->asked_events.all_complete();  // or not worth a record: the host is here until they are
  const std::exception_ptr error = core_->wait(work.queues.empty() ? 0 : work.queues.front().last.number);
  platform.host_wait_for(work);
  if (error) std::rethrow_exception(error);
}

Ref<EventState> EmulatedQueue::record() {
  core_->require_same_process();
  Platform& platform = Platform::get();
  const std::lock_guard lock(platform.mutex);
  require_instance();
  platform.settle_faults();
  const Ref<EmulatedEvent> event(new EmulatedEvent(core_, platform.timeline.point(core_->time),
                                                   {platform.timeline.record(core_->time), platform.epoch}));
  // Nothing enters while the platform is locked: an idle queue stays idle, and needs no thread for this.
  if (core_->idle()) {
    event->set(core_->take_since_event(ThreadKey::here()), core_->lag());
  } else {
    core_->enqueue(event);
  }
  event->set_enqueued(core_->enqueued());
  core_->asked_events.add(event.get());
  return event;
}

void EmulatedQueue::wait_for(const Ref<EventState>& event) {
  require_running("Queue::wait_for");
  auto* const emulated = dynamic_cast<EmulatedEvent*>(event.get());
  if (emulated == nullptr) {
    event->wait();
    return;
  }
  // The order within a queue needs no event, and an error of this queue that was thrown is done with.
  if (emulated->core() == core_.get()) return;
  core_->require_same_process();
  count_call(&CallCounts::queue_waits);
  emulated->record();
  core_->asked_events.record();
  Platform& platform = Platform::get();
  const std::lock_guard lock(platform.mutex);
  require_instance();
  const Moment placed = emulated->placed();
  const bool done = emulated->succeeded();  // and then its moment is final
  const bool counts = placed.epoch == platform.epoch;
  // Placed by what is known in any case; a lag takes its way through the queue, also if it is known by now.
  if (counts) platform.timeline.wait_event(core_->time, placed.time);
  if (done && (!counts || emulated->moment().time <= std::max(placed.time, platform.timeline.now()))) return;
  QueueCore::Work work{[emulated, counts, core = core_.get(), keep = event] {
                         emulated->wait_in_queue();
                         if (counts) core->lag_until(emulated->moment().time);
                       },
                       QueueCore::Kind::Wait};
  core_->enqueue(work);
}

namespace {

// What the calling thread has said of its next kernel.
struct LinkUse {
  const EmulatedQueue* queue = nullptr;
  double read = 0, written = 0;
};
constinit thread_local LinkUse link_use;

// While a kernel reads and writes over the link, it lasts as long as that does: both ways at once.
double link_seconds(const LinkUse& use, const emulated::Config& config) {
  const double each =
      std::max(use.read / config.host_to_device_bandwidth, use.written / config.device_to_host_bandwidth);
  if (config.host_link_total <= 0) return each;
  return std::max(each, (use.read + use.written) / config.host_link_total);
}

}  // namespace

void EmulatedQueue::next_kernel_uses_link(index_t read, index_t written) {
  link_use = {this, static_cast<double>(read), static_cast<double>(written)};
}

void EmulatedQueue::launch(const char* label, index_t items, std::function<void()> run) {
  count_call(&CallCounts::kernels);
  QueueCore::Work work{std::move(run)};
  const LinkUse link = link_use.queue == this ? std::exchange(link_use, {}) : LinkUse{};
  std::function<void()> not_run;  // to be destroyed after the lock
  const auto place = [&](Platform& platform) {
    const double seconds = std::max(static_cast<double>(items) * platform.seconds_per_item(core_->instance()),
                                    link_seconds(link, platform.config));
    const TimeSpan time = platform.timeline.kernel(core_->time, seconds, label);
    if (platform.fails(emulated::Fault::Kernel))
      not_run = std::exchange(work.run, [name = std::string(label), index = core_->instance()] {
        throw KernelError("kernel " + name + " on Emulated{" + std::to_string(index) +
                          "} failed (failure injected); it did not run");
      });
    return time;
  };
  submit(label, 0, work, std::cref(place));
}

void EmulatedQueue::call_host(const Ref<HostCall>& call) {
  launch("a function of the host", 0, [call] { call->run(); });
}

void EmulatedQueue::submit(const char* label, std::size_t bytes, QueueCore::Work& work,
                           const std::function<TimeSpan(Platform&)>& place, bool is_copy) {
  core_->require_same_process();
  if (is_copy) core_->asked_events.record_before_copy(bytes);
  else core_->asked_events.record();
  TimeSpan time;
  std::string name = label;  // before the lock
  // Where pages may move, times are known at the end.
  const bool later = profiling::hooks_active() && managed_pages::blocks() > 0;
  {
    Platform& platform = Platform::get();
    const std::lock_guard lock(platform.mutex);
    require_instance();
    platform.settle_faults();
    const Timeline& timeline = platform.timeline;
    const Timeline::Point before = timeline.point(core_->time);
    const std::size_t first_entry = timeline.trace().size();
    time = place(platform);
    work.label = std::move(name);
    work.placed = {.on_timeline = true,
                   .queue_end = before.end,
                   .start = time.start,
                   .end = time.end,
                   .first_entry = first_entry,
                   .last_entry = timeline.trace().size(),
                   .is_prefetch = work.placed.is_prefetch,
                   .reports = later,
                   .bytes = bytes};
    core_->enqueue(work);
  }
  if (profiling::hooks_active() && !later) core_->report(time, label, bytes);
}

}  // namespace strata::inline STRATA_ABI::detail
