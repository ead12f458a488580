// SPDX-License-Identifier: Apache-2.0
#include <strata/miniapps/fem/files/read_mesh.hpp>
#include <strata/miniapps/fem/load_mesh.hpp>
#include <strata/miniapps/fem/mesh_check.hpp>

namespace strata::inline STRATA_ABI::fem {

HostMesh read_checked_mesh(const std::string& path) {
  HostMesh mesh = read_mesh(path);
  check(mesh);
  return mesh;
}

}  // namespace strata::inline STRATA_ABI::fem
