#include <cstdio>
#include <cstring>
#include <string>
#include <utility>

#include <strata/core/allocation_report.hpp>
#include <strata/core/copy_execute.hpp>
#include <strata/core/copy_plan.hpp>
#include <strata/core/error.hpp>
#include <strata/core/runtime.hpp>
#include <strata/devices/emulated/execution.hpp>
#include <strata/devices/emulated/memory.hpp>
#include <strata/devices/emulated/platform.hpp>
#include <strata/devices/host_space.hpp>

namespace strata::inline STRATA_ABI::detail {

// ---- QueueCore

std::shared_ptr<QueueCore> make_core() {
  auto core = std::make_shared<QueueCore>();
  core->self_ = core;
  return core;
}

QueueCore::~QueueCore() {
  if (thread_.joinable()) thread_.detach();
}

void QueueCore::enqueue(Work work) {
  const std::lock_guard lock(mutex_);
  if (!thread_.joinable()) {
    // The thread keeps the core alive: the handle may go while there is work.
    thread_ = std::thread([core = self_.lock()] { core->run_thread(); });
  }
  waiting_.push_back(std::move(work));
  ++enqueued_;
  changed_.notify_all();
}

void QueueCore::run_thread() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return !waiting_.empty() || closed_; });
    if (waiting_.empty()) return;
    Work work = std::move(waiting_.front());
    waiting_.pop_front();
    if (!poison_ || work.always) {
      lock.unlock();
      std::exception_ptr error;
      try {
        work.run();
      } catch (...) {
        error = std::current_exception();
      }
      work = {};  // what the work owns goes before its end is told
      lock.lock();
      if (error && !poison_) poison_ = error;
    }
    ++finished_;
    changed_.notify_all();
  }
}

std::exception_ptr QueueCore::wait() {
  std::unique_lock lock(mutex_);
  const std::uint64_t number = enqueued_;
  changed_.wait(lock, [&] { return finished_ >= number; });
  return std::exchange(poison_, nullptr);
}

bool QueueCore::idle() const {
  const std::lock_guard lock(mutex_);
  return finished_ == enqueued_;
}

std::uint64_t QueueCore::enqueued() const {
  const std::lock_guard lock(mutex_);
  return enqueued_;
}

std::uint64_t QueueCore::finished() const {
  const std::lock_guard lock(mutex_);
  return finished_;
}

void QueueCore::wait_until_finished(std::uint64_t number) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return finished_ >= number; });
}

std::exception_ptr QueueCore::poison() const {
  const std::lock_guard lock(mutex_);
  return poison_;
}

void QueueCore::close(bool join) {
  std::thread thread;
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    changed_.notify_all();
    if (join) thread.swap(thread_);
  }
  if (thread.joinable()) thread.join();
}

// ---- events

namespace {

class EmulatedEvent final : public EventState {
 public:
  bool complete() const override {
    const std::lock_guard lock(mutex_);
    return complete_;
  }
  void wait() override {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return complete_; });
    if (time > 0) {
      Platform& platform = Platform::get();
      const std::lock_guard platform_lock(platform.mutex);
      platform.timeline.host_wait_until(time);
    }
    if (error_) std::rethrow_exception(error_);
  }
  /// For work of other queues: waits in real time only.
  void wait_in_queue() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return complete_; });
    if (error_) std::rethrow_exception(error_);
  }
  void set(std::exception_ptr error) {
    const std::lock_guard lock(mutex_);
    complete_ = true;
    error_ = std::move(error);
    changed_.notify_all();
  }

  double time = 0;  // virtual

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool complete_ = false;
  std::exception_ptr error_;
};

void report_unseen(const std::exception_ptr& error) {
  if (!error) return;
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "strata: an error of queued work that nobody waited for: %s\n", e.what());
  } catch (...) {
    std::fprintf(stderr, "strata: an unknown exception of queued work that nobody waited for\n");
  }
}

// A layout of one's own cannot be kept by value, but its offsets can.
struct LayoutTable {
  LayoutDescriptor layout;
  std::vector<index_t> offsets;

  explicit LayoutTable(const LayoutDescriptor& original) : layout(original) {
    if (original.offset == nullptr) return;
    const index_t n = element_count(original);
    offsets.reserve(static_cast<std::size_t>(n));
    index_t index[max_rank + 1] = {};
    for (index_t k = 0; k < n; ++k) {
      offsets.push_back(original.offset(original.mapping, index));
      for (int r = original.rank - 1; r >= 0 && ++index[r] == original.extent[r]; --r) index[r] = 0;
    }
  }
  /// Valid while the table does not move.
  LayoutDescriptor descriptor() const {
    LayoutDescriptor d = layout;
    if (d.offset == nullptr) return d;
    d.mapping = this;
    d.offset = [](const void* raw, const index_t* index) {
      const auto& table = *static_cast<const LayoutTable*>(raw);
      index_t k = 0;
      for (int r = 0; r < table.layout.rank; ++r) k = k * table.layout.extent[r] + index[r];
      return table.offsets[static_cast<std::size_t>(k)];
    };
    return d;
  }
};

}  // namespace

// ---- EmulatedQueue

EmulatedQueue::EmulatedQueue(EmulatedInstance& instance, std::uint64_t id)
    : instance_(instance), id_(id), core_(make_core()) {
  Platform& platform = Platform::get();
  const std::lock_guard lock(platform.mutex);
  time_ = platform.timeline.make_queue(instance.index());
  platform.queues.push_back(this);
}

EmulatedQueue::~EmulatedQueue() {
  Platform& platform = Platform::get();
  {
    const std::lock_guard lock(platform.mutex);
    std::erase(platform.queues, this);
    platform.timeline.release_queue(time_);
  }
  // An error that is there already will not be waited for; one that comes later is reported by the work
  // itself.
  if (core_->idle()) report_unseen(core_->wait());
  else core_->enqueue({[core = core_.get()] { report_unseen(core->poison()); }, true});
  core_->close(false);
}

DeviceInstance& EmulatedQueue::instance() { return instance_; }

void EmulatedQueue::wait() {
  const std::exception_ptr error = core_->wait();
  {
    Platform& platform = Platform::get();
    const std::lock_guard lock(platform.mutex);
    platform.timeline.host_wait(time_);
  }
  if (error) std::rethrow_exception(error);
}

Ref<EventState> EmulatedQueue::record() {
  auto* const event = new EmulatedEvent;
  Ref<EventState> result(event);
  {
    Platform& platform = Platform::get();
    const std::lock_guard lock(platform.mutex);
    event->time = platform.timeline.record(time_);
  }
  core_->enqueue({[event, keep = result, core = core_.get()] { event->set(core->poison()); }, true});
  return result;
}

void EmulatedQueue::wait_for(const Ref<EventState>& event) {
  auto* const emulated = dynamic_cast<EmulatedEvent*>(event.get());
  if (emulated == nullptr) {
    event->wait();
    return;
  }
  {
    Platform& platform = Platform::get();
    const std::lock_guard lock(platform.mutex);
    platform.timeline.wait_event(time_, emulated->time);
  }
  core_->enqueue({[emulated, keep = event] { emulated->wait_in_queue(); }, false});
}

int EmulatedQueue::place(const CopySide& side) const {
  return side.space.kind == EmulatedSpace::kind ? side.space.instance : Timeline::host;
}

char* EmulatedQueue::address(const CopySide& side) const {
  char* const data = static_cast<char*>(side.data);
  const int instance = place(side);
  return instance == Timeline::host ? data : data + Platform::get().memory->offset(instance);
}

void EmulatedQueue::copy(const CopySide& destination, const CopySide& source, std::size_t element_bytes) {
  const int to = place(destination), from = place(source), here = instance_.index();
  for (const CopySide* side : {&destination, &source})
    if (side->space.kind != EmulatedSpace::kind && side->space.kind != HostSpace::kind)
      throw WrongDevice("a copy on Emulated{" + std::to_string(here) + "} cannot reach \"" + side->label +
                        "\" in " + describe_space(side->space) + "; copy through a host mirror");
  if (to != here && from != here)
    throw WrongDevice("a copy on a queue of Emulated{" + std::to_string(here) + "} was given arrays in " +
                      describe_space(destination.space) + " and " + describe_space(source.space) +
                      "; use a queue of an instance that owns one of them");
  std::vector<CopyPiece> pieces = plan_copy(*destination.layout, *source.layout, element_bytes);
  const bool elementwise = !pieces.empty() && pieces.front().kind == CopyKind::element_wise;
  char* const d = address(destination);
  char* const s = address(source);
  if (!elementwise && to == from) {
    if (copies_onto_itself(pieces, d - s)) return;
    if (sides_overlap(pieces, d - s))
      throw CopyError(std::string("deep_copy: parts of \"") + destination.label + "\" overlap in " +
                      describe_space(destination.space) + "; copy through an array of its own");
  }
  bool fails = false;
  {
    Platform& platform = Platform::get();
    const std::lock_guard lock(platform.mutex);
    fails = platform.fails(emulated::Fault::Copy);
    platform.timeline.copy(time_, from, to,
                           static_cast<std::size_t>(element_count(*destination.layout)) * element_bytes,
                           destination.label);
  }
  const std::string what = std::string("copy of \"") + source.label + "\" in " +
                           describe_space(source.space) + " to \"" + destination.label + "\" in " +
                           describe_space(destination.space);
  if (elementwise) {
    auto tables = std::make_shared<std::pair<LayoutTable, LayoutTable>>(LayoutTable(*destination.layout),
                                                                        LayoutTable(*source.layout));
    core_->enqueue({[=] {
      if (fails) throw CopyError(what + " failed (failure injected); the destination is unchanged");
      copy_elementwise(d, tables->first.descriptor(), s, tables->second.descriptor(), element_bytes);
    }});
    return;
  }
  core_->enqueue({[=, pieces = std::move(pieces)] {
    if (fails) throw CopyError(what + " failed (failure injected); the destination is unchanged");
    copy_pieces(d, s, pieces);
  }});
}

void EmulatedQueue::fill(const CopySide& destination, const void* value, std::size_t element_bytes) {
  if (place(destination) != instance_.index())
    throw WrongDevice("a fill on a queue of Emulated{" + std::to_string(instance_.index()) +
                      "} was given \"" + destination.label + "\" in " + describe_space(destination.space) +
                      "; use a queue of the instance that owns it");
  char* const d = address(destination);
  const auto* const bytes = static_cast<const char*>(value);
  std::vector<char> copy(bytes, bytes + element_bytes);
  {
    Platform& platform = Platform::get();
    const std::lock_guard lock(platform.mutex);
    platform.timeline.copy(time_, instance_.index(), instance_.index(),
                           static_cast<std::size_t>(element_count(*destination.layout)) * element_bytes,
                           destination.label);
  }
  auto table = std::make_shared<LayoutTable>(*destination.layout);
  core_->enqueue(
      {[=, copy = std::move(copy)] { fill_on_host(d, table->descriptor(), copy.data(), element_bytes); }});
}

void EmulatedQueue::launch(const char* label, index_t items, std::function<void()> run) {
  bool fails = false;
  {
    Platform& platform = Platform::get();
    const std::lock_guard lock(platform.mutex);
    fails = platform.fails(emulated::Fault::Kernel);
    platform.timeline.kernel(time_, static_cast<double>(items) * platform.config.seconds_per_item, label);
  }
  if (fails)
    core_->enqueue({[name = std::string(label), index = instance_.index()] {
      throw KernelError("kernel " + name + " on Emulated{" + std::to_string(index) +
                        "} failed (failure injected); it did not run");
    }});
  else core_->enqueue({std::move(run)});
}

void enqueue_emulated(EventKind kind, const LaunchInfo& info, const Capture& capture, EmulatedKernel* kernel,
                      index_t items, bool wait) {
  std::shared_ptr<EmulatedKernel> owned(kernel);
  const int views_on = capture.instance;
  int instance = views_on >= 0 ? views_on : 0;
  if (info.queue != nullptr) instance = info.queue->instance().index();
  else if (info.instance >= 0) instance = info.instance;
  if (capture.wrong != nullptr) fail_wrong_space(info, "Emulated", instance, *capture.wrong);
  if (views_on >= 0 && views_on != instance) fail_wrong_space(info, "Emulated", instance, *capture.first);

  EmulatedInstance& target = Platform::get().instance(instance);
  EmulatedQueue& queue = info.queue ? static_cast<EmulatedQueue&>(*info.queue) : target.queue();
  const KernelScope scope(kind, info, "Emulated", instance, queue.id(), items);
  // The caller's label may not live as long as the work.
  const HookEvent named{.kind = kind, .label = info.label, .kernel_type = info.kernel_type};
  auto label = std::make_shared<std::string>(kernel_name(named));
  queue.launch(label->c_str(), items, [owned, label, info, &target] {
    LaunchInfo kept = info;
    kept.label = label->c_str();
    kept.queue = nullptr;
    // This thread too is the device: it ends reductions and runs their finalize functors.
    const EmulatedWorkerScope device_memory(*Platform::get().memory, target.index());
    owned->run(target.runner(), kept);
  });
  if (wait) queue.wait();
}

}  // namespace strata::inline STRATA_ABI::detail
