// What strata-factorize does on a device.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <strata/miniapps/common/report.hpp>
#include <strata/miniapps/factorize/matrix_input.hpp>
#include <strata/miniapps/factorize/request.hpp>

namespace strata::inline STRATA_ABI::factorize {

/// Computes what is asked for, of the input, on the device of a name, and fills the report: as far as it
/// came, where it throws. `several`: other devices have their turns, and files their names in them.
void run_request(const std::string& device, const FactorizeRequest& request, const MatrixInput& input,
                 bool several, miniapp::RunReport& report);

/// Floating-point operations, to the leading term; of trsm with so many right-hand sides.
double operations_of(Operation operation, index_t order, index_t rhs);

/// What rounding may leave of a residual over the norm: 4 sqrt(n) epsilon, as errors of sums add up at
/// random; of LU with n epsilon besides, as its factors may be larger than the matrix; of TF32 with 0.01.
///
/// Of trsm, whatever the condition of A: an element of op(A) X - B is the error of a sum of n products, whose
/// partial sums are at most the norm of a row of op(A) times that of a column of X; each rounding leaves
/// epsilon / 2 of one at most, n of them at random sqrt(n) epsilon / 2, and of all elements together this is
/// sqrt(n) epsilon / 2 of |A| |X|.
double residual_limit(Operation operation, index_t order, bool is_double, bool tf32);

}  // namespace strata::inline STRATA_ABI::factorize
