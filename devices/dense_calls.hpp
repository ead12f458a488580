// Calls of BLAS and LAPACK as data, for the code that makes them: libraries of a device or of the host.
//
// As in these libraries, matrices are column-major, element (i, j) at data[i + j * ld].
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/core/config.hpp>

namespace strata::inline STRATA_ABI::detail {

/// C (m x n) = alpha op(A) op(B) + beta C, of which the inner extent is k.
struct GemmCall {
  bool transpose_a, transpose_b;
  index_t m, n, k;
  double alpha;
  const void* a;
  index_t lda;
  const void* b;
  index_t ldb;
  double beta;
  void* c;
  index_t ldc;
};

/// The upper triangle of C (n x n) = alpha A^T A + beta C, A being k x n.
struct SyrkCall {
  index_t n, k;
  double alpha;
  const void* a;
  index_t lda;
  double beta;
  void* c;
  index_t ldc;
};

/// op(A) X = B where A is `on_left`, else X op(A) = B; A is the lower or upper triangle of what is at `a`,
/// with ones on its diagonal where it is `unit`; X (m x n) takes the place of B.
struct TrsmCall {
  bool on_left, transpose, lower, unit;
  index_t m, n;
  const void* a;
  index_t lda;
  void* b;
  index_t ldb;
};

/// B (m x n) = op(A) B where the square A is `on_left`, else B op(A); whoever makes the call has memory for a
/// copy of B.
struct MultiplyCall {
  bool on_left, transpose;
  index_t m, n;
  const void* a;
  index_t lda;
  void* b;
  index_t ldb;
};
/// The product of A with a copy of B, at `copy` without gaps.
inline GemmCall product_with_copy(const MultiplyCall& call, const void* copy) {
  if (call.on_left)
    return {call.transpose, false, call.m, call.n, call.m, 1,       call.a,
            call.lda,       copy,  call.m, 0,      call.b, call.ldb};
  return {false,  call.transpose, call.m,   call.n, call.n, 1,       copy,
          call.m, call.a,         call.lda, 0,      call.b, call.ldb};
}

/// A = U^T U for the upper triangle of A (n x n). `info` lies where A does: 0, or the number, from 1 on, of
/// the leading minor that is not positive.
struct PotrfCall {
  index_t n;
  void* a;
  index_t lda;
  int* info;
};

/// P A = L U for A (m x n, m >= n), both factors in its place, L with ones on its diagonal. `pivots` (n
/// numbers, from 1 on, of the row that was swapped with each row in turn) and `info` (0, or the number of the
/// first pivot that is 0) lie where A does. Without `pivots` (null) P is the identity.
struct GetrfCall {
  index_t m, n;
  void* a;
  index_t lda;
  int* pivots;
  int* info;
};

}  // namespace strata::inline STRATA_ABI::detail
