// SPDX-License-Identifier: Apache-2.0
#include <strata/core/profiling/event_name.hpp>

namespace strata::inline STRATA_ABI::detail::profiling {

std::string event_name(const HookEvent& event) {
  switch (event.kind) {
    case EventKind::BeginCopy:
      return event.source_data == nullptr ? "fill " + std::string(event.label)
                                          : "copy " + std::string(event.source_label) + " to " + event.label;
    case EventKind::BeginInitialize:
      return "initialize " + std::string(event.label);
    case EventKind::BeginFor:
    case EventKind::BeginReduce:
    case EventKind::BeginScan:
      return kernel_name(event);
    default:
      return event.label;
  }
}

}  // namespace strata::inline STRATA_ABI::detail::profiling
