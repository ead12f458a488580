// How the linked library was built: from which commit, by which compiler, for which devices. It may differ
// from the headers of a program that was compiled earlier.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include <strata/core/config.hpp>

namespace strata::inline STRATA_ABI {

/// How the library was built.
struct BuildInfo {
  std::string version;   ///< such as "0.1.0"
  std::string commit;    ///< its first digits; "unknown" where it was not built from a git checkout
  std::string compiler;  ///< of the host code, such as "g++ 12.2.0"
  bool checked;          ///< whether it is strata::strata_checked
  std::vector<std::string> backends;  ///< the types of device that are built in, such as "Serial" and "Cuda"
};

/// How this library was built. The reference is valid to the end of the program; any thread may call it.
const BuildInfo& build_info();

/// The same as one line without an end: "strata 0.1.0 (commit 0123456789ab, g++ 12.2.0): Serial, Threads,
/// Emulated".
std::string version_text();

}  // namespace strata::inline STRATA_ABI
