// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>

#include <strata/core/error.hpp>
#include <strata/devices/launch_hints.hpp>

namespace strata::inline STRATA_ABI::detail {

void require_block_size(int threads) {
  constexpr int warp = 32, most = 1024;
  if (threads >= warp && threads <= most && threads % warp == 0) return;
  const int close = threads < warp ? warp : std::min(threads / warp * warp, most);
  throw KernelError("block_size: blocks of " + std::to_string(threads) +
                    " threads; a block has a multiple of 32 threads, from 32 to 1024: take " +
                    std::to_string(close));
}

void require_occupancy(int percent) {
  if (percent >= 1 && percent <= 100) return;
  throw KernelError("prefer_occupancy: " + std::to_string(percent) +
                    " percent of the threads that a multiprocessor can hold; give 1 to 100");
}

}  // namespace strata::inline STRATA_ABI::detail
