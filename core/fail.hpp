// Out-of-line throwing functions, so that headers on the hot path need neither <string> nor <stdexcept>.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/core/config.hpp>

namespace strata::inline STRATA_ABI::detail {

/// Throws ExtentError: extent `value` of dimension `dimension` is negative or not the static one.
[[noreturn]] void throw_extent(int dimension, index_t value, const char* reason);
/// Throws ExtentError: the product of the extents does not fit the index type of the layout.
[[noreturn]] void throw_extents_overflow(const index_t* extents, int rank, const char* index_type);
/// Throws ExtentError: the array has rank `rank`, the call needs `wanted`.
[[noreturn]] void throw_rank(int rank, int wanted, const char* what);
/// Throws LayoutError with `reason`; `value` and `modulus` are the numbers that do not fit.
[[noreturn]] void throw_layout(const char* reason, index_t value, index_t modulus);
/// Throws LayoutError: a view with a stride of `stride` is converted to a layout that would have `wanted`.
[[noreturn]] void throw_stride(const char* layout, index_t stride, index_t wanted);
/// Throws LayoutError: rows of LayoutRight whose length the type fixes are `stride` elements apart.
[[noreturn]] void throw_row_stride(index_t stride);
/// Throws LayoutError: part [first, last) of dimension `dimension` does not lie in its [begin, end), or not
/// in the resident rows.
[[noreturn]] void throw_part(const char* label, int dimension, index_t first, index_t last, index_t begin,
                             index_t end);
/// Throws ShapeMismatch naming both labels and shapes.
[[noreturn]] void fail_shapes(const char* what, const char* left_label, const index_t* left, int left_rank,
                              const char* right_label, const index_t* right, int right_rank);

/// Throws KernelError: a launch was asked for `call(value)`; `allowed` says what is possible.
[[noreturn]] void throw_work(const char* call, index_t value, const char* allowed);

// The same for functions that kernels call too: device code has no exceptions and stops.
#if defined(__CUDA_ARCH__)
#define STRATA_THROW_OR_TRAP(...) __trap()
#else
#define STRATA_THROW_OR_TRAP(...) __VA_ARGS__
#endif

[[noreturn]] STRATA_FUNCTION inline void fail_extent([[maybe_unused]] int dimension,
                                                     [[maybe_unused]] index_t value,
                                                     [[maybe_unused]] const char* reason) {
  STRATA_THROW_OR_TRAP(throw_extent(dimension, value, reason));
}
[[noreturn]] STRATA_FUNCTION inline void fail_extents_overflow([[maybe_unused]] const index_t* extents,
                                                               [[maybe_unused]] int rank,
                                                               [[maybe_unused]] const char* index_type) {
  STRATA_THROW_OR_TRAP(throw_extents_overflow(extents, rank, index_type));
}
[[noreturn]] STRATA_FUNCTION inline void fail_rank([[maybe_unused]] int rank, [[maybe_unused]] int wanted,
                                                   [[maybe_unused]] const char* what) {
  STRATA_THROW_OR_TRAP(throw_rank(rank, wanted, what));
}
[[noreturn]] STRATA_FUNCTION inline void fail_layout([[maybe_unused]] const char* reason,
                                                     [[maybe_unused]] index_t value,
                                                     [[maybe_unused]] index_t modulus) {
  STRATA_THROW_OR_TRAP(throw_layout(reason, value, modulus));
}
[[noreturn]] STRATA_FUNCTION inline void fail_stride([[maybe_unused]] const char* layout,
                                                     [[maybe_unused]] index_t stride,
                                                     [[maybe_unused]] index_t wanted) {
  STRATA_THROW_OR_TRAP(throw_stride(layout, stride, wanted));
}

[[noreturn]] STRATA_FUNCTION inline void fail_row_stride([[maybe_unused]] index_t stride) {
  STRATA_THROW_OR_TRAP(throw_row_stride(stride));
}
[[noreturn]] STRATA_FUNCTION inline void fail_work([[maybe_unused]] const char* call,
                                                   [[maybe_unused]] index_t value,
                                                   [[maybe_unused]] const char* allowed) {
  STRATA_THROW_OR_TRAP(throw_work(call, value, allowed));
}

#undef STRATA_THROW_OR_TRAP

}  // namespace strata::inline STRATA_ABI::detail
