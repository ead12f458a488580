#include <memory>
#include <string>

#include <strata/devices/emulated/execution.hpp>
#include <strata/devices/emulated/instance.hpp>
#include <strata/devices/emulated/platform.hpp>

namespace strata::inline STRATA_ABI::detail {

void enqueue_emulated(EventKind kind, const LaunchInfo& info, EmulatedKernel* kernel, index_t items,
                      bool wait) {
  const std::shared_ptr<EmulatedKernel> owned(kernel);
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
  if (wait) require_outside_kernels("a launch that waits");
  const KernelScope scope(kind, info, "Emulated", instance, queue.id(), items);
  // The caller's label may not live as long as the work.
  const HookEvent named{.kind = kind, .label = info.label, .kernel_type = info.kernel_type};
  const auto label = std::make_shared<const std::string>(kernel_name(named));
  queue.launch(label->c_str(), items, [owned, label, info, &target] {
    LaunchInfo kept = info;
    kept.label = label->c_str();
    kept.queue = nullptr;
    kept.views = nullptr;
    // Also what no worker is needed for, a small reduction or its end, runs in the instance's memory.
    const EmulatedWorkerScope worker(*Platform::get().memory, target.index());
    owned->run(target.runner(), kept);
  });
  if (wait) queue.wait();
}

}  // namespace strata::inline STRATA_ABI::detail
