// SPDX-License-Identifier: Apache-2.0
#include <strata/algorithms/linear/tiled/tiled_trsm.hpp>

namespace strata::inline STRATA_ABI::detail {

void check_trsm(const linear::TriangularSystem& system, const TiledShape& a, const TiledShape& b) {
  const char* const name = "linear::trsm";
  check_tiled_square(name, a);
  if (system.triangle == linear::Triangle::Upper) check_tiled_general(name, a);
  check_tiled_general(name, b);
  const bool right = system.side == linear::Side::Right;
  check_tiled_agree(name, a, "columns", a.columns, b, right ? "columns" : "rows", right ? b.columns : b.rows);
}

}  // namespace strata::inline STRATA_ABI::detail
