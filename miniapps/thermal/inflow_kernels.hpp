// The kernels of heat that comes in through faces: flux and convection (parameters.hpp, Inflow).
//
// Both are shared out among the nodes of faces, each by the integral of its shape function. For convection
// that is a lumped form: node i takes film(i) (outside - T_i), so that the matrix gets film(i) on its
// diagonal and nothing else. Its graph stays as it is, no entry beside the diagonal turns positive, and the
// order of the method stays that of trilinear elements.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/core/config.hpp>

namespace strata::inline STRATA_ABI::thermal {

/// b += what comes in at temperature 0.
struct AddInflow {
  STRATA_FUNCTION void operator()(auto i, auto inflow, auto b) const { b(i) += inflow(i); }
};
/// b += what comes in at the state.
struct AddInflowOfState {
  STRATA_FUNCTION void operator()(auto i, auto inflow, auto film, auto temperature, auto b) const {
    b(i) += inflow(i) - film(i) * temperature(i);
  }
};

/// What convection adds to the diagonal of the matrix: of a Newton step, whose unknowns are those of
/// element_system.hpp, over 1 + beta T, unless the conductivity is frozen.
template <class T>
struct FilmOfStep {
  T beta;  // 0: frozen, too
  STRATA_FUNCTION void operator()(auto i, auto film, auto temperature, auto diagonal) const {
    const T own = film(i);
    diagonal(i) = beta == T(0) ? own : own / (T(1) + beta * temperature(i));
  }
};

}  // namespace strata::inline STRATA_ABI::thermal
