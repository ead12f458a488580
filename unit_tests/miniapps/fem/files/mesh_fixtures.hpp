// The mesh of fixtures/two_blocks.geo, which all files of that folder hold, and what tests ask of it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>

#include <gtest/gtest.h>

#include <strata/miniapps/fem/host_mesh.hpp>

namespace fem_files_testing {

namespace fem = strata::fem;

inline std::filesystem::path tests_folder() { return std::filesystem::path(__FILE__).parent_path(); }
inline std::filesystem::path source_folder() { return tests_folder() / "../../../.."; }

inline std::string fixture(const std::string& name) { return (tests_folder() / "fixtures" / name).string(); }
inline std::string part_path(const std::string& name) {
  return (source_folder() / "miniapps" / "meshes" / name).string();
}

inline std::string content_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error(path + " cannot be read; tests run in the folder that was built");
  std::ostringstream content;
  content << file.rdbuf();
  return content.str();
}

// A folder of this test, removed with it.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "strata_fem_XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) std::abort();
    path_ = name;
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  std::string operator/(const std::string& name) const { return (path_ / name).string(); }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

// Of the diagonals of the element: its volume where it is a brick along the axes.
inline double brick_volume(const fem::HostMesh& mesh, std::size_t element) {
  const auto& nodes = mesh.elements[element];
  const auto& a = mesh.coordinates[static_cast<std::size_t>(nodes[0])];
  const auto& b = mesh.coordinates[static_cast<std::size_t>(nodes[6])];
  const auto& c = mesh.coordinates[static_cast<std::size_t>(nodes[1])];
  const auto& d = mesh.coordinates[static_cast<std::size_t>(nodes[3])];
  // The base may be turned about z: area by the cross product of its sides.
  const double area = (c[0] - a[0]) * (d[1] - a[1]) - (c[1] - a[1]) * (d[0] - a[0]);
  return area * (b[2] - a[2]);
}

inline double bricks_volume(const fem::HostMesh& mesh) {
  double volume = 0;
  for (std::size_t e = 0; e < mesh.elements.size(); ++e) volume += brick_volume(mesh, e);
  return volume;
}

inline const fem::SideSet* side_set(const fem::HostMesh& mesh, const std::string& name) {
  for (const auto& set : mesh.side_sets) {
    if (set.name == name) return &set;
  }
  return nullptr;
}

inline const fem::NodeSet* node_set(const fem::HostMesh& mesh, const std::string& name) {
  for (const auto& set : mesh.node_sets) {
    if (set.name == name) return &set;
  }
  return nullptr;
}

// The set has 4 sides, all their corners at height z.
inline void expect_level(const fem::HostMesh& mesh, const std::string& name, double z) {
  const fem::SideSet* set = side_set(mesh, name);
  ASSERT_NE(set, nullptr) << name;
  ASSERT_EQ(set->elements.size(), 4u) << name;
  ASSERT_EQ(set->faces.size(), 4u) << name;
  std::set<std::int32_t> nodes;
  for (std::size_t k = 0; k < 4; ++k) {
    for (const int corner : fem::face_corners[static_cast<std::size_t>(set->faces[k])]) {
      nodes.insert(
          mesh.elements[static_cast<std::size_t>(set->elements[k])][static_cast<std::size_t>(corner)]);
    }
  }
  EXPECT_EQ(nodes.size(), 9u) << name;
  for (const std::int32_t node : nodes)
    EXPECT_EQ(mesh.coordinates[static_cast<std::size_t>(node)][2], z) << name;
}

// Size, volume and range of two_blocks.geo; elements listed block by block.
inline void expect_two_blocks(const fem::HostMesh& mesh, std::size_t blocks = 2) {
  ASSERT_EQ(mesh.coordinates.size(), 36u);
  ASSERT_EQ(mesh.elements.size(), 12u);
  ASSERT_EQ(mesh.element_blocks.size(), 12u);
  ASSERT_EQ(mesh.blocks.size(), blocks);
  EXPECT_NEAR(bricks_volume(mesh), 3.0, 1e-14);
  for (std::size_t e = 0; e < 12; ++e) EXPECT_NEAR(brick_volume(mesh, e), 0.25, 1e-15);
  for (std::size_t e = 0; blocks == 2 && e < 12; ++e) EXPECT_EQ(mesh.element_blocks[e], e < 8 ? 0 : 1);
  for (std::size_t axis = 0; axis < 3; ++axis) {
    double largest = 0;
    for (const auto& x : mesh.coordinates) largest = std::max(largest, x[axis]);
    EXPECT_EQ(largest, (std::array{2.0, 1.0, 1.5})[axis]);
  }
}

}  // namespace fem_files_testing
