// BoxSpec: the description of a box of hexahedra, as users write it.
//
//   box:NXxNYxNZ[:LX,LY,LZ][:wave=A][:random=F]
//
// NX * NY * NZ elements; edges LX, LY, LZ from the origin on, by default NX, NY, NZ (elements are unit
// cubes). `wave` moves every node by A sin(2 pi x/LX) sin(2 pi y/LY) sin(2 pi z/LZ) times the edges of the
// box, as manufactured solutions on distorted meshes want it; `random` moves each inner node by up to F times
// the edge of an element in each direction, the same on every device.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include <strata/core/config.hpp>

namespace strata::inline STRATA_ABI::fem {

/// A box; make_box (box.hpp) makes the mesh.
struct BoxSpec {
  index_t elements[3] = {1, 1, 1};
  double lengths[3] = {1, 1, 1};
  double wave = 0;    // of the edges of the box; from 0.137 on elements turn inside out
  double random = 0;  // of the edges of an element; up to 0.16 is always safe

  index_t element_count() const { return elements[0] * elements[1] * elements[2]; }
  index_t node_count() const { return (elements[0] + 1) * (elements[1] + 1) * (elements[2] + 1); }
};

/// Whether `text` begins with "box:".
bool is_box(std::string_view text);
/// Reads a description; MeshError says what is wrong with it.
BoxSpec parse_box(std::string_view text);
/// The description, as parse_box reads it.
std::string to_string(const BoxSpec& box);
/// MeshError unless there are 1 to max_elements elements with positive edges.
void check(const BoxSpec& box);

}  // namespace strata::inline STRATA_ABI::fem
