// Calls of BLAS and LAPACK as data, for the code that makes them: libraries of a device or of the host.
//
// As in these libraries, matrices are column-major, element (i, j) at data[i + j * ld].
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

/// op(A) X = B where A is `on_left`, else X op(A) = B; A is upper triangular, X (m x n) takes the place of B.
struct TrsmCall {
  bool on_left, transpose;
  index_t m, n;
  const void* a;
  index_t lda;
  void* b;
  index_t ldb;
};

/// B (m x n) = op(A) B, A being m x m; whoever makes the call has memory for a copy of B.
struct MultiplyCall {
  bool transpose;
  index_t m, n;
  const void* a;
  index_t lda;
  void* b;
  index_t ldb;
};
/// The product of A with a copy of B, at `copy` without gaps.
inline GemmCall product_with_copy(const MultiplyCall& call, const void* copy) {
  return {call.transpose, false, call.m, call.n, call.m, 1,       call.a,
          call.lda,       copy,  call.m, 0,      call.b, call.ldb};
}

/// A = U^T U for the upper triangle of A (n x n). `info` lies where A does: 0, or the number, from 1 on, of
/// the leading minor that is not positive.
struct PotrfCall {
  index_t n;
  void* a;
  index_t lda;
  int* info;
};

}  // namespace strata::inline STRATA_ABI::detail
