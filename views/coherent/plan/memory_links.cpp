// SPDX-License-Identifier: Apache-2.0
#include <string>

#include <strata/core/error.hpp>
#include <strata/views/coherent/plan/memory_links.hpp>

namespace strata::inline STRATA_ABI::detail {

MemoryLinks::MemoryLinks(int memories, MemoryLink host_link, MemoryLink peer) : count_(memories) {
  if (memories < 1 || memories > most_memories)
    throw NoSuchDevice("coherent arrays over " + std::to_string(memories) +
                       " memories were asked for; there can be from 1 to " + std::to_string(most_memories) +
                       ", the host's being one");
  links_.resize(static_cast<std::size_t>(memories) * static_cast<std::size_t>(memories));
  for (MemoryId from = 0; from < memories; ++from)
    for (MemoryId to = 0; to < memories; ++to)
      if (from != to) set(from, to, from == host_memory || to == host_memory ? host_link : peer);
}

}  // namespace strata::inline STRATA_ABI::detail
