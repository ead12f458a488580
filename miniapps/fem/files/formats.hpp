// The readers of single formats: what read_mesh() chooses from. Each reads all of `text`.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/miniapps/fem/files/mesh_text.hpp>
#include <strata/miniapps/fem/host_mesh.hpp>

namespace strata::inline STRATA_ABI::fem::detail {

HostMesh read_gmsh(MeshText& text);
HostMesh read_legacy_vtk(MeshText& text);
HostMesh read_medit(MeshText& text);
HostMesh read_mfem(MeshText& text);
HostMesh read_abaqus(MeshText& text);
/// MeshFileError if it is in HDF5 and this build has no library for that.
HostMesh read_exodus(MeshText& text);

}  // namespace strata::inline STRATA_ABI::fem::detail
