// SPDX-License-Identifier: Apache-2.0
#include <strata/core/error.hpp>
#include <strata/views/coherent/plan/region_map.hpp>

namespace strata::inline STRATA_ABI::detail {

void fail_region_map() {
  throw OutOfMemory(
      "the host ran out of memory while it noted which parts of an array are current where: the array cannot "
      "be used any "
      "more; free memory on the host, or use fewer and larger parts");
}

}  // namespace strata::inline STRATA_ABI::detail
