// SPDX-License-Identifier: Apache-2.0
#include <string>

#include <strata/core/allocation_report.hpp>
#include <strata/core/error.hpp>
#include <strata/devices/launch_info.hpp>

namespace strata::inline STRATA_ABI::detail {

void fail_wrong_space(const LaunchInfo& info, const char* device, int instance, const Allocation& wrong) {
  throw WrongDevice("kernel " + std::string(info.name()) + " was launched on " + device + "{" +
                    std::to_string(instance) + "}, but its view \"" + wrong.label + "\" lives in " +
                    describe_space(wrong.space) +
                    "; launch it there, or give it a copy made with create_mirror and deep_copy");
}

HookEvent kernel_event(EventKind begin, const LaunchInfo& info, const char* device, int instance,
                       std::uint64_t queue, index_t items) {
  return {.kind = begin,
          .label = info.label,
          .kernel_type = info.kernel_type,
          .tag_type = info.tag_type,
          .device = device,
          .instance = instance,
          .queue = queue,
          .items = items};
}

}  // namespace strata::inline STRATA_ABI::detail
