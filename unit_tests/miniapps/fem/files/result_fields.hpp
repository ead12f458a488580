// What the tests of results share: a mesh, fields of it, and what a folder holds.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <vector>

#include <strata/miniapps/fem/files/read_mesh.hpp>
#include <strata/miniapps/fem/files/result_writer.hpp>

#include "miniapps/fem/files/mesh_fixtures.hpp"

namespace fem_files_testing {

inline fem::HostMesh two_blocks() { return fem::read_mesh(fixture("two_blocks.e")); }

inline fem::Field field(const char* name, std::size_t size, int components, double begin,
                        bool of_elements = false) {
  fem::Field result{name, components, of_elements, {}};
  for (std::size_t k = 0; k < size * static_cast<std::size_t>(components); ++k) {
    result.values.push_back(begin + static_cast<double>(k) / 3);
  }
  return result;
}

inline std::vector<fem::Field> fields_of(const fem::HostMesh& mesh, double begin = 0) {
  return {field("u", mesh.coordinates.size(), 3, begin),
          field("temperature", mesh.coordinates.size(), 1, begin + 100),
          field("energy", mesh.elements.size(), 1, begin + 1000, true)};
}

// But for the locks of writers that live.
inline std::size_t files_in(const TemporaryFolder& folder) {
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path()))
    files += entry.path().extension() == ".lock" ? 0 : 1;
  return files;
}

}  // namespace fem_files_testing
