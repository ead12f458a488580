// SPDX-License-Identifier: Apache-2.0
#include <strata/core/allocation_report.hpp>
#include <strata/core/profiling/leak_report.hpp>

namespace strata::inline STRATA_ABI {

std::string leak_report(int most) {
  struct Collector {
    int left;
    std::size_t count = 0, bytes = 0;
    std::string lines;
  } all{most, 0, 0, {}};
  visit_allocations(
      [](void* context, const AllocationInfo& info) {
        auto& c = *static_cast<Collector*>(context);
        ++c.count;
        c.bytes += info.bytes;
        if (c.left-- > 0)
          c.lines += "strata:   \"" + std::string(info.label) + "\" " + std::to_string(info.bytes) +
                     " bytes in " + detail::describe_space(info.space) + "\n";
      },
      &all);
  if (all.count == 0) return "strata: leak report: nothing is allocated\n";
  if (all.left < 0) all.lines += "strata:   and " + std::to_string(-all.left) + " smaller ones\n";
  return "strata: leak report: " + std::to_string(all.count) + (all.count == 1 ? " array" : " arrays") +
         " still allocated, " + std::to_string(all.bytes) + " bytes:\n" + all.lines;
}

}  // namespace strata::inline STRATA_ABI
