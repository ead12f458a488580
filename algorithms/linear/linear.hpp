// All of Strata's linear algebra.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/algorithms/linear/conjugate_gradients.hpp>
#include <strata/algorithms/linear/crs.hpp>
#include <strata/algorithms/linear/crs_create.hpp>
#include <strata/algorithms/linear/gram_schmidt.hpp>
#include <strata/algorithms/linear/spmv.hpp>
#include <strata/algorithms/linear/vectors.hpp>
