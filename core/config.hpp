// Definitions for every header of Strata: the index type, the function qualifier and the ABI namespace.
//
// Everything public lives in `namespace strata`, inside an inline namespace that distinguishes checked
// from unchecked builds, so that mixing the two in one program is a link error.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#if __cplusplus < 202002L
#error "Strata needs C++20: compile with -std=c++20 or later"
#endif

// STRATA_LIBRARY is a symbol of the library that a file has to be linked with. If the file is linked with the
// other library, the linker's error shows this name.
#if defined(STRATA_CHECKED) && STRATA_CHECKED
#define STRATA_ABI checked
#define STRATA_LIBRARY strata_a_file_compiled_with_STRATA_CHECKED_needs_the_library_strata_checked
#else
#define STRATA_ABI unchecked
#define STRATA_LIBRARY strata_a_file_compiled_without_STRATA_CHECKED_needs_the_library_strata
#endif

// Qualifies every function that a kernel may call on any device.
#if defined(__CUDACC__)
#define STRATA_FUNCTION __host__ __device__
// Before a function for every device that calls host functions only when instantiated for a host: nvcc
// otherwise warns of each such call.
#define STRATA_MAY_CALL_HOST _Pragma("nv_exec_check_disable")
#else
#define STRATA_FUNCTION
#define STRATA_MAY_CALL_HOST
#endif

// After the name of a thread-local variable that kernels read: makes it one load relative to the thread
// pointer in a shared library, too, where a plain one in a header costs a call of `__tls_get_addr`.
// Executables do so anyway; with the attribute there, g++ 12 emits instructions that ld refuses ("TLS
// transition from R_X86_64_GOTTPOFF").
#if defined(__PIC__) && !defined(__PIE__) && !defined(__CUDACC__)  // nvcc 13.0 refuses the attribute
#define STRATA_INITIAL_EXEC __attribute__((tls_model("initial-exec")))
#else
#define STRATA_INITIAL_EXEC
#endif

extern "C" const char STRATA_LIBRARY;

namespace strata::inline STRATA_ABI {

#if !defined(__CUDA_ARCH__)
namespace detail {
// One pointer in the program, never read.
[[gnu::used]] inline const char* const needed_library = &STRATA_LIBRARY;
}  // namespace detail
#endif

/// The type of extents, offsets and work indices: signed, so that base shifts and halos may be negative.
using index_t = std::int64_t;

/// The highest rank of an array.
inline constexpr int max_rank = 8;

/// True where every element access is checked (the target `strata::strata_checked`).
inline constexpr bool checked_build =
#if defined(STRATA_CHECKED) && STRATA_CHECKED
    true;
#else
    false;
#endif

}  // namespace strata::inline STRATA_ABI
