// SPDX-License-Identifier: Apache-2.0
#include <string>

#include <strata/miniapps/fem/mesh_error.hpp>
#include <strata/miniapps/fem/node_graph.hpp>

namespace strata::inline STRATA_ABI::fem {

void fail_graph_size(const std::string& source, index_t entries) {
  throw MeshError("the matrix of the mesh " + source + " would have " + std::to_string(entries) +
                  " entries, which 32-bit offsets cannot count: refine it less");
}

}  // namespace strata::inline STRATA_ABI::fem
