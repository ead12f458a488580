// Dense matrices of tiles, also larger than a device or than memory: Cholesky factors, LU factors, products,
// solutions; docs/linear_tiled.md.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/algorithms/linear/tiled/tiled_cholesky.hpp>
#include <strata/algorithms/linear/tiled/tiled_files.hpp>
#include <strata/algorithms/linear/tiled/tiled_lu.hpp>
#include <strata/algorithms/linear/tiled/tiled_product.hpp>
#include <strata/algorithms/linear/tiled/tiled_trsm.hpp>
#include <strata/strata.hpp>
