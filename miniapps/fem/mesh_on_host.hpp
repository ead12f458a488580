// MeshOnHost: a mesh that is made, refined and kept in the host's memory by all its threads, for applications
// whose device cannot hold it. The same bits as a mesh that a device makes.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include <strata/devices/threads/device.hpp>
#include <strata/miniapps/fem/face_areas.hpp>
#include <strata/miniapps/fem/host_mesh.hpp>
#include <strata/miniapps/fem/mesh.hpp>

namespace strata::inline STRATA_ABI::fem {

using MeshOnHost = Mesh<PlainArrays<Threads>>;

/// As load_mesh has it. MeshError, MeshFileError, OutOfMemory.
MeshOnHost load_mesh_on_host(const std::string& spec, int refinements);
/// As select_nodes has it; numbers of nodes, ascending. Error.
std::vector<std::int32_t> select_nodes_on_host(const MeshOnHost& mesh, const std::string& selector);
/// The faces of a selector (select_faces), as shares of their nodes. Error.
NodeAreas node_areas_on_host(const MeshOnHost& mesh, const std::string& selector);
/// As writers take it.
HostMesh host_mesh_of(const MeshOnHost& mesh);

}  // namespace strata::inline STRATA_ABI::fem
