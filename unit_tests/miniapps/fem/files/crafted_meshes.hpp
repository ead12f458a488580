// Mesh files made to cost their reader as much as possible: the texts of which each byte stands for many, and
// the plain ones of which each byte makes the most. Every kind of mesh_cost_test.cpp and mesh_fuzz_test.cpp.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <ostream>
#include <string>
#include <vector>

namespace fem_files_testing {

struct CraftedMesh {
  const char* name;
  std::string (*make)(std::size_t bytes);  // a file of about that size
};
// Test names are made of these.
inline void PrintTo(const CraftedMesh& mesh, std::ostream* out) { *out << mesh.name; }

const std::vector<CraftedMesh>& crafted_meshes();

}  // namespace fem_files_testing
