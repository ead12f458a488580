// SPDX-License-Identifier: Apache-2.0
#include <string>

#include <strata/miniapps/fem/mesh_error.hpp>
#include <strata/miniapps/fem/refine.hpp>

namespace strata::inline STRATA_ABI::fem {

void fail_refinement(const std::string& source, index_t elements, int times) {
  if (times < 0)
    throw MeshError("the mesh " + source + " cannot be refined " + std::to_string(times) +
                    " times: give 0 or more");
  throw MeshError("the mesh " + source + " of " + std::to_string(elements) + " elements cannot be refined " +
                  std::to_string(times) + " times: at most " + std::to_string(max_elements) +
                  " elements are numbered; refine it less");
}

}  // namespace strata::inline STRATA_ABI::fem
