// The limits of the control groups (cgroups, versions 1 and 2) of this process, by which a batch system or a
// container gives it a part of a machine. The system kills a process that uses more memory.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <strata/core/config.hpp>

namespace strata::inline STRATA_ABI::detail {

/// Whole processors that the CPU quotas of a cgroup and its ancestors allow, or 0 without a quota.
/// \param membership the text of /proc/self/cgroup (versions 1 and 2 are understood)
/// \param root       where the cgroup file systems are mounted, /sys/fs/cgroup on a live system: version 2 in
///                   it, or in unified/ beside the controllers of version 1, each in a folder of its name
int quota_processors(const std::string& membership, const std::string& root);

/// Bytes of memory that a cgroup and its ancestors allow, or 0 without a limit. Arguments as above.
index_t limited_memory(const std::string& membership, const std::string& root);

/// The same two of this process, as of the first call.
int quota_processors();
index_t limited_memory();

/// Bytes of memory that this process may use: those of the machine, or fewer by limited_memory(); 0 where the
/// system does not say.
index_t usable_memory();

/// The most bytes that this process can have, by limited_memory() and the swap space of the machine; 0
/// without a limit.
index_t most_memory();

/// Bytes of memory that this process occupies now, without files that can be read again; 0 where the system
/// does not say.
index_t resident_memory();

}  // namespace strata::inline STRATA_ABI::detail
