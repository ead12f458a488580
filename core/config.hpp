// What every header of Strata needs: the index type, the function qualifier and the ABI namespace.
//
// Everything public lives in `namespace strata`, inside an inline namespace that tells checked from
// unchecked builds, so that mixing the two in one program is a link error.
#pragma once

#include <cstddef>
#include <cstdint>

#if __cplusplus < 202002L
#error "Strata needs C++20: compile with -std=c++20 or later"
#endif

#if defined(STRATA_CHECKED) && STRATA_CHECKED
#define STRATA_ABI checked
#else
#define STRATA_ABI unchecked
#endif

// Qualifies every function that a kernel may call on any device.
#if defined(__CUDACC__)
#define STRATA_FUNCTION __host__ __device__
// Before a function for every device that calls functions for hosts only where it is made for a host: nvcc
// warns of each such call otherwise.
#define STRATA_MAY_CALL_HOST _Pragma("nv_exec_check_disable")
#else
#define STRATA_FUNCTION
#define STRATA_MAY_CALL_HOST
#endif

namespace strata::inline STRATA_ABI {

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
