// check(HostMesh): whether a mesh can be computed with. Pure host functions; no device, no thread.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/miniapps/fem/host_mesh.hpp>

namespace strata::inline STRATA_ABI::fem {

/// Throws MeshError that names, by the file's numbers, the first element, node or set that is wrong, and how
/// many are: no element; more than max_elements; arrays of sizes that do not fit; numbers of nodes, elements,
/// blocks and faces that are out of range or used twice; a node twice in an element; coordinates that are not
/// finite; elements that are inverted or degenerate (scaled Jacobian <= 0); a node of no element; a face of
/// more than two elements, or of two that lie on the same side of it.
void check(const HostMesh& mesh);

}  // namespace strata::inline STRATA_ABI::fem
