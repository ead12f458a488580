// Which processors this process may use, and how a thread is bound to one of them.
//
// The mask is the one that the process inherited from its launcher (taskset, a batch system, a container),
// not the one that libraries set for its first thread: start_affinity.hpp and affinity_evidence.hpp say how
// it is found, once, when Strata is loaded. Functions here change the mask of the calling thread only. All
// are safe to call from any thread. Where the system has no affinity (not Linux), there is one anonymous mask
// and binding does nothing.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include <strata/core/config.hpp>

namespace strata::inline STRATA_ABI::detail {

/// The processors this process inherited, ascending; never empty.
const std::vector<int>& inherited_processors();

/// How many threads the process can run at once: the inherited processors, but no more than whole processors
/// of the cgroup's CPU quota; at least 1. Calls warn_of_lost_processors().
int usable_processors();

/// The first call warns on stderr if the process may have inherited more processors than could be found, and
/// names the variable that is to blame. Called by devices at their first use.
void warn_of_lost_processors();

/// The mask that the process started with, before any library was loaded, ascending; empty where no code of
/// the executable read it.
std::vector<int> start_affinity();

/// The processors the calling thread may run on now, ascending; empty where that cannot be asked.
std::vector<int> processors_of_this_thread();

/// The same of another thread, or of the first thread of another process, by its number.
std::vector<int> processors_of(int thread);

/// The processor the calling thread is on now, or -1 where that cannot be asked.
int processor_of_this_thread();

/// The number of the memory that is near to that processor; 0 where that is not known.
int memory_node_of_this_thread();

/// Lets the calling thread run on these processors only. Returns false if the system refuses (the processor
/// was taken from the process meanwhile, or there is no affinity here); the thread then runs on as before.
bool bind_this_thread(const std::vector<int>& processors);

}  // namespace strata::inline STRATA_ABI::detail
