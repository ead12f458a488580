// BoomerAmg in a build without hypre.
// SPDX-License-Identifier: Apache-2.0
#include <strata/core/error.hpp>
#include <strata/miniapps/thermal/boomeramg.hpp>

namespace strata::inline STRATA_ABI::thermal {

std::string boomeramg_lack() {
  return "this build has no hypre, whose BoomerAMG it is: install libhypre-dev (or set HYPRE_DIR) and MPI, "
         "and build again with STRATA_ENABLE_HYPRE=ON; or take --preconditioner chebyshev";
}

struct BoomerAmg::Solver {};

template <class T>
BoomerAmg::BoomerAmg(index_t, const index_t*, const std::int32_t*, const T*) {
  throw SettingError("BoomerAmg: " + boomeramg_lack());
}
BoomerAmg::~BoomerAmg() = default;

template <class T>
void BoomerAmg::apply(const T*, T*) const {}

template BoomerAmg::BoomerAmg(index_t, const index_t*, const std::int32_t*, const float*);
template BoomerAmg::BoomerAmg(index_t, const index_t*, const std::int32_t*, const double*);
template void BoomerAmg::apply(const float*, float*) const;
template void BoomerAmg::apply(const double*, double*) const;

}  // namespace strata::inline STRATA_ABI::thermal
