// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include <strata/core/error.hpp>
#include <strata/devices/emulated/execution.hpp>
#include <strata/devices/emulated/instance.hpp>
#include <strata/devices/emulated/platform.hpp>
#include <strata/devices/recording.hpp>

namespace strata::inline STRATA_ABI::detail {

namespace {

using SharedKernel = std::shared_ptr<const HeldTask>;
void enqueue(EventKind kind, const LaunchInfo& info, const SharedKernel& kernel, EmulatedQueue& queue);

class RecordedKernel final : public RecordedStep {
 public:
  RecordedKernel(EventKind kind, const LaunchInfo& info, const SharedKernel& kernel)
      : kind_(kind),
        label_(info.label),
        kernel_type_(info.kernel_type),
        tag_type_(info.tag_type),
        kernel_(kernel) {}
  void run(QueueState& queue) const override {
    const Capture no_views{EmulatedSpace::kind};
    enqueue(kind_, {label_.c_str(), kernel_type_, &queue, -1, &no_views, tag_type_}, kernel_,
            static_cast<EmulatedQueue&>(queue));
  }

 private:
  EventKind kind_;
  std::string label_;
  const char* kernel_type_;
  const char* tag_type_;
  SharedKernel kernel_;
};

}  // namespace

void enqueue_emulated(EventKind kind, const LaunchInfo& info, HeldTask kernel, bool wait) {
  const auto shared = std::make_shared<const HeldTask>(std::move(kernel));
  const Capture& views = *info.views;
  const int views_on = views.instance;
  int instance = views_on >= 0 ? views_on : 0;
  if (info.queue != nullptr) instance = info.queue->instance().index();
  else if (info.instance >= 0) instance = info.instance;
  // The first view may already be wrong for the place asked for; then `wrong` is relative to that view.
  if (views_on >= 0 && views_on != instance) fail_wrong_space(info, "Emulated", instance, *views.first);
  if (views.wrong != nullptr) fail_wrong_space(info, "Emulated", instance, *views.wrong);

  EmulatedInstance& target = Platform::get().instance(instance);
  EmulatedQueue& queue = info.queue ? static_cast<EmulatedQueue&>(*info.queue) : target.queue();
  if (current_recording != nullptr) {
    Platform& platform = Platform::get();
    const std::lock_guard lock(platform.mutex);
    if (platform.fails(emulated::Fault::Allocation))
      throw OutOfMemory("a graph needs memory of its own on Emulated{" + std::to_string(instance) +
                        "} (failure injected)");
  }
  if (current_recording != nullptr)
    return record_step(info, queue, wait, new RecordedKernel(kind, info, shared));
  if (wait) require_outside_kernels("a launch that waits");
  enqueue(kind, info, shared, queue);
  if (wait) queue.wait();
}

namespace {

void enqueue(EventKind kind, const LaunchInfo& info, const SharedKernel& kernel, EmulatedQueue& queue) {
  auto& target = static_cast<EmulatedInstance&>(queue.instance());
  const int instance = target.index();
  const KernelScope scope(kind, info, "Emulated", instance, queue.id(), kernel->items());
  // The caller's label may not live as long as the work.
  const auto label = std::make_shared<const std::string>(info.name());
  queue.launch(label->c_str(), kernel->items(), [kernel, label, info, &target] {
    LaunchInfo kept = info;
    kept.label = label->c_str();
    kept.queue = nullptr;
    kept.views = nullptr;
    // Also what no worker is needed for, a small reduction or its end, runs in the instance's memory.
    const EmulatedWorkerScope worker(*Platform::get().memory, target.index());
    (*kernel)(target.runner(), kept);
  });
}

}  // namespace

}  // namespace strata::inline STRATA_ABI::detail
