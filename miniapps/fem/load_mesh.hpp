// load_mesh: the mesh that a user names, on a device: `box:10x11x22` (box_spec.hpp) or the path of a file
// (files/), checked (mesh_check.hpp) and refined (refine.hpp).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <strata/miniapps/fem/box.hpp>
#include <strata/miniapps/fem/host_mesh.hpp>
#include <strata/miniapps/fem/refine.hpp>
#include <strata/miniapps/fem/upload.hpp>

namespace strata::inline STRATA_ABI::fem {

/// Reads a file and checks what it holds. MeshFileError, MeshError.
HostMesh read_checked_mesh(const std::string& path);

/// The mesh of `spec`, each element cut into 8 `refinements` times. MeshError and MeshFileError say what is
/// wrong with the description, the file or the mesh, OutOfMemory that it does not fit.
template <class Arrays>
Mesh<Arrays> load_mesh(const std::string& spec, int refinements = 0,
                       const typename Arrays::device_type& device = {}) {
  const Mesh<Arrays> mesh = is_box(spec) ? make_box<Arrays>(parse_box(spec), device)
                                         : upload<Arrays>(read_checked_mesh(spec), device);
  return refine(mesh, refinements);
}

}  // namespace strata::inline STRATA_ABI::fem
