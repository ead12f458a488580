// Out-of-line throwing functions, so that headers on the hot path need neither <string> nor <stdexcept>.
#pragma once

#include <strata/core/config.hpp>

namespace strata::inline STRATA_ABI::detail {

/// Throws ExtentError: extent `value` of dimension `dimension` is negative or not the static one.
[[noreturn]] void fail_extent(int dimension, index_t value, const char* reason);
/// Throws ExtentError: the product of the extents does not fit the index type of the layout.
[[noreturn]] void fail_extents_overflow(const index_t* extents, int rank, const char* index_type);
/// Throws ExtentError: the array has rank `rank`, the call needs `wanted`.
[[noreturn]] void fail_rank(int rank, int wanted, const char* what);
/// Throws LayoutError with `reason`; `value` and `modulus` are the numbers that do not fit.
[[noreturn]] void fail_layout(const char* reason, index_t value, index_t modulus);
/// Throws ShapeMismatch naming both labels and shapes.
[[noreturn]] void fail_shapes(const char* what, const char* left_label, const index_t* left, int left_rank,
                              const char* right_label, const index_t* right, int right_rank);

}  // namespace strata::inline STRATA_ABI::detail
