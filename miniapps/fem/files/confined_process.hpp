// Runs a function in a process of its own that can compute and hand back bytes, and nothing else: for
// libraries that read files of anybody and are known to crash, loop or ask for all memory on damaged ones.
//
// The process opens no file, starts no other, and talks to nobody, where the kernel has seccomp (Linux);
// limits of time and memory hold everywhere. It ends with the thread that waits for it. Nothing is left in
// the file system.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include <strata/core/config.hpp>

namespace strata::inline STRATA_ABI::fem::detail {

struct ConfinedLimits {
  double processor_seconds = 10;  ///< rounded up to whole seconds
  double wall_seconds = 30;
  std::size_t memory = std::size_t{1} << 30;  ///< bytes, besides what the program uses now
  std::size_t output = std::size_t{1} << 30;  ///< bytes
};

struct ConfinedResult {
  /// What `work` handed back; of a process that failed, whatever came before.
  std::string output;
  /// What `work` returned; -1 where the process ended in another way.
  int status = -1;
  /// Why, for messages: "ended by signal 11", "took longer than 30 s"; empty where `work` returned.
  std::string failure;
};

/// Calls work(write) there; write(bytes) hands bytes back. `work` finds all memory as it is now, changes
/// nothing of it here, and returns 0 to 100. Exceptions of it are failures. std::system_error where no
/// process can be started.
ConfinedResult run_confined(
    const ConfinedLimits& limits,
    const std::function<int(const std::function<void(const std::string&)>& write)>& work);

/// Whether the kernel denies files to such a process.
bool confinement_denies_files();

}  // namespace strata::inline STRATA_ABI::fem::detail
