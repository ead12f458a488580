#include <string>

#include <strata/core/allocation_report.hpp>
#include <strata/core/error.hpp>
#include <strata/devices/launch_info.hpp>

namespace strata::inline STRATA_ABI::detail {

void fail_wrong_space(const LaunchInfo& info, const char* device, int instance, const Allocation& wrong) {
  const HookEvent name{.kind = EventKind::Mark,
                       .label = info.label,
                       .kernel_type = info.kernel_type,
                       .tag_type = info.tag_type};
  throw WrongDevice("kernel " + std::string(kernel_name(name)) + " was launched on " + device + "{" +
                    std::to_string(instance) + "}, but its view \"" + wrong.label + "\" lives in " +
                    describe_space(wrong.space) +
                    "; launch it there, or give it a copy made with create_mirror and deep_copy");
}

void KernelScope::start(EventKind begin, const LaunchInfo& info, const char* device, int instance,
                        std::uint64_t queue, index_t items) {
  id_ = next_event_id();
  begin_ = begin;
  info_ = info;
  device_ = device;
  instance_ = instance;
  queue_ = queue;
  items_ = items;
  emit({.kind = begin,
        .label = info.label,
        .kernel_type = info.kernel_type,
        .tag_type = info.tag_type,
        .device = device,
        .instance = instance,
        .queue = queue,
        .id = id_,
        .items = items});
}

void KernelScope::stop() {
  const EventKind end = begin_ == EventKind::BeginFor      ? EventKind::EndFor
                        : begin_ == EventKind::BeginReduce ? EventKind::EndReduce
                                                           : EventKind::EndScan;
  emit({.kind = end,
        .label = info_.label,
        .kernel_type = info_.kernel_type,
        .tag_type = info_.tag_type,
        .device = device_,
        .instance = instance_,
        .queue = queue_,
        .id = id_,
        .items = items_});
}

}  // namespace strata::inline STRATA_ABI::detail
