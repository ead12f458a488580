// read_mesh: a mesh of eight-node hexahedra from a file. The content says which format it is, not the name:
// Exodus II, Gmsh 2.2 and 4.1, legacy VTK, MEDIT, MFEM v1.0, Abaqus. No library is
// needed.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include <strata/miniapps/fem/host_mesh.hpp>

namespace strata::inline STRATA_ABI::fem {

/// Reads a mesh. Quadrilaterals of the file that belong to a set become side sets; sets without a name are
/// called by their number. Nodes keep the order and the numbers of the file; those that belong to no element
/// are left out, and HostMesh::remarks says so. Whether the elements can be computed with is for check() to
/// say. MeshFileError if the file cannot be read or its format needs a library that this build lacks,
/// MeshError if its content is no such mesh; no other exception but std::bad_alloc.
HostMesh read_mesh(const std::string& path);

/// The same of text or bytes in memory; `name` stands in messages.
HostMesh parse_mesh(std::string name, std::string content);

/// The formats that are read, for help texts.
std::string_view readable_formats();

}  // namespace strata::inline STRATA_ABI::fem
