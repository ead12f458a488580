// Linear algebra over views: vectors, sparse matrices in compressed rows, conjugate gradients, Gram-Schmidt.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/algorithms/linear/chebyshev.hpp>
#include <strata/algorithms/linear/linear.hpp>
#include <strata/strata.hpp>
