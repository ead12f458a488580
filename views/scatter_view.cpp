// SPDX-License-Identifier: Apache-2.0
#include <string>

#include <strata/core/error.hpp>
#include <strata/views/scatter_view.hpp>

namespace strata::inline STRATA_ABI::detail {

void fail_scatter_worker(const char* label, int worker, int workers) {
  throw WrongDevice("scatter_view \"" + std::string(label) + "\" was made for a device of " +
                    std::to_string(workers) + " workers, and worker " + std::to_string(worker) +
                    " contributes to it: make it for the device of the launch, by scatter_view(on(device), "
                    "target), on oneTBB in the arena of the launch");
}

void fail_scatter_slice(const char* label) {
  throw LayoutError(
      "scatter_view of \"" + std::string(label) +
      "\": it holds some rows of its array only; make the view of an array that holds all it has "
      "indices for, or scatter_view<Operation, ScatterAtomic>");
}

}  // namespace strata::inline STRATA_ABI::detail
