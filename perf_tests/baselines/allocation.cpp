// SPDX-License-Identifier: Apache-2.0
#include "baselines/allocation.hpp"

#include <cstdlib>

namespace perf {

Sweep allocation_baseline(HostPlace, std::size_t bytes, int calls) {
  return {{"malloc, free", [=] {
             for (int c = 0; c < calls; ++c) {
               void* const memory = std::malloc(bytes);
               asm volatile("" : : "r"(memory) : "memory");  // or the pair is left out
               std::free(memory);
             }
           }}};
}

}  // namespace perf
