// Lets the copy engine of core run on the threads of a device.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/core/copy_execute.hpp>
#include <strata/devices/host/drivers.hpp>

namespace strata::inline STRATA_ABI::detail {

/// The copy engine's view of `runner`, which must outlive it.
inline ChunkRunner chunk_runner(const Runner& runner) {
  const auto run = [](const void* pool, index_t n, ChunkRunner::Chunk chunk, const void* context) {
    struct Call {
      ChunkRunner::Chunk chunk;
      const void* context;
    } const call{chunk, context};
    const auto& team = *static_cast<const Runner*>(pool);
    team.run(team.context, ChunkRange{0, n},
             {[](const void* raw, index_t begin, index_t end, int) {
                const auto& c = *static_cast<const Call*>(raw);
                c.chunk(c.context, begin, end);
              },
              &call});
  };
  return {run, &runner};
}

}  // namespace strata::inline STRATA_ABI::detail
