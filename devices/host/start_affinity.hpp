// The affinity that the process had at its start, read before any library could narrow it.
//
// An OpenMP library binds the first thread as it is loaded where OMP_PROC_BIND or the like is set: before
// main(), and before the initialisers of the program. Entries of .preinit_array run earlier still, but
// only those of executables: linkers refuse them in shared libraries. So the entry is in this header, in code
// compiled for an executable. For a program without such code, affinity_evidence.hpp decides by other
// evidence.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/core/config.hpp>

namespace strata::inline STRATA_ABI::detail {

/// Reads the affinity for start_affinity(), the first time it is called; runs before the C++ runtime does.
void read_start_affinity(int argc, char** argv, char** environment) noexcept;

#if defined(__ELF__) && (defined(__PIE__) || !defined(__PIC__)) && !defined(__CUDA_ARCH__)
[[gnu::used,
  gnu::section(".preinit_array")]] static void (*const before_libraries)(int, char**,
                                                                         char**) = read_start_affinity;
#endif

}  // namespace strata::inline STRATA_ABI::detail
