// Residuals of results, by products with random vectors: the difference E of two matrices has |E v| / |v| =
// |E| / sqrt(n) in the mean, with the norm of Frobenius, and no matrix is needed to multiply with it. That of
// 20 rows and more is estimated to a few percent by four vectors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/miniapps/common/report.hpp>
#include <strata/miniapps/factorize/elements.hpp>
#include <strata/miniapps/factorize/operations.hpp>

namespace strata::inline STRATA_ABI::factorize {

/// The matrices of a run: what was computed, and of what.
template <class T>
struct Computed {
  const FactorizeRequest& request;
  const MatrixInput& input;
  const MatrixInput* right = nullptr;  ///< of gemm and trsm: B
  const TiledMatrix<T>& result;        ///< factors, the product, or X
};

/// Adds checks and results to the report: the residual of the product, the factors or X, and for factors that
/// of a system which is solved by them.
template <class T>
void verify(const Computed<T>& computed, Operations<T>& operations, miniapp::RunReport& report);

}  // namespace strata::inline STRATA_ABI::factorize
