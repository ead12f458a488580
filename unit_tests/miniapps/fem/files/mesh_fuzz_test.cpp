// Damaged mesh files: every mutation of a good file is refused with a MeshError, or gives a mesh whose
// indices are in range, and no reader allocates much more than the file holds. The long runs have Slow in
// their names.
#include <cmath>
#include <cstdlib>
#include <new>
#include <random>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include <strata/miniapps/fem/files/hdf5_exodus.hpp>
#include <strata/miniapps/fem/files/read_mesh.hpp>
#include <strata/miniapps/fem/mesh_check.hpp>
#include <strata/miniapps/fem/mesh_error.hpp>

#include "core/random.hpp"
#include "miniapps/fem/files/allocation_limit.hpp"
#include "miniapps/fem/files/mesh_fixtures.hpp"

namespace {

using namespace fem_files_testing;

// Of one allocation, while a file of some kilobytes is read.
constexpr std::size_t largest_allocation = std::size_t{8} << 20;

class Mutator {
 public:
  std::string operator()(std::string text) {
    const auto edits = random_(1, 3);
    for (strata::index_t edit = 0; edit < edits && !text.empty(); ++edit) mutate(text);
    return text;
  }

 private:
  std::size_t below(std::size_t end) {
    return static_cast<std::size_t>(random_(0, static_cast<strata::index_t>(end) - 1));
  }

  void mutate(std::string& text) {
    const std::size_t at = below(text.size());
    const std::size_t length = 1 + below(std::min<std::size_t>(32, text.size() - at));
    switch (random_(0, 7)) {
      case 0:
        text[at] = static_cast<char>(text[at] ^ (1 << random_(0, 7)));
        break;
      case 1:
        text[at] = static_cast<char>(random_(0, 255));
        break;
      case 2:
        text.erase(at, length);
        break;
      case 3:
        text.insert(below(text.size()), text.substr(at, length));
        break;
      case 4:
        text.resize(at);
        break;
      case 5:
        replace_number(text, at);
        break;
      case 6:
        text.replace(at, std::min<std::size_t>(4, text.size() - at),
                     below(2) == 0 ? "\xff\xff\xff\xff" : "\x7f\xff\xff\xff");
        break;
      default:
        std::swap(text[at], text[below(text.size())]);
    }
  }

  void replace_number(std::string& text, std::size_t at) {
    static const std::string digits = "0123456789+-.e";
    static const char* const others[] = {"0",
                                         "-1",
                                         "1",
                                         "8",
                                         "2147483648",
                                         "-9223372036854775808",
                                         "9223372036854775807",
                                         "99999999999999999999",
                                         "1e308",
                                         "1e400",
                                         "nan",
                                         "0x10",
                                         "3",
                                         "4294967297"};
    const std::size_t begin = text.find_first_of(digits, at);
    if (begin == std::string::npos) return;
    const std::size_t end = std::min(text.find_first_not_of(digits, begin), text.size());
    text.replace(begin, end - begin, others[below(std::size(others))]);
  }

  strata_tests::Random random_;
};

// What every mesh of a reader fulfils, whatever was in the file.
void expect_consistent(const fem::HostMesh& mesh) {
  const auto in = [](std::int64_t index, std::size_t size) {
    return index >= 0 && index < static_cast<std::int64_t>(size);
  };
  const std::size_t nodes = mesh.coordinates.size(), elements = mesh.elements.size();
  ASSERT_GT(elements, 0u);
  ASSERT_EQ(mesh.element_blocks.size(), elements);
  ASSERT_TRUE(mesh.node_ids.empty() || mesh.node_ids.size() == nodes);
  ASSERT_TRUE(mesh.element_ids.empty() || mesh.element_ids.size() == elements);
  std::vector<char> used(nodes);
  for (const auto& element : mesh.elements) {
    for (const std::int32_t node : element) {
      ASSERT_TRUE(in(node, nodes));
      used[static_cast<std::size_t>(node)] = 1;
    }
  }
  for (const char is_used : used) ASSERT_TRUE(is_used);
  for (const auto& x : mesh.coordinates)
    ASSERT_TRUE(std::isfinite(x[0]) && std::isfinite(x[1]) && std::isfinite(x[2]));
  for (const std::int32_t block : mesh.element_blocks) ASSERT_TRUE(in(block, mesh.blocks.size()));
  for (const auto& set : mesh.side_sets) {
    ASSERT_FALSE(set.elements.empty());
    ASSERT_EQ(set.elements.size(), set.faces.size());
    for (const std::int32_t element : set.elements) ASSERT_TRUE(in(element, elements));
    for (const std::int8_t face : set.faces) ASSERT_TRUE(in(face, 6));
  }
  for (const auto& set : mesh.node_sets) {
    ASSERT_FALSE(set.nodes.empty());
    for (const std::int32_t node : set.nodes) ASSERT_TRUE(in(node, nodes));
  }
}

void save_for_inspection(const std::string& content) {
  if (const char* path = std::getenv("STRATA_FUZZ_SAVE")) std::ofstream(path, std::ios::binary) << content;
}

// How many of the mutations were taken for good meshes.
int fuzz(const std::string& file, int mutations) {
  const std::string good = content_of(fixture(file));
  Mutator mutated;
  int accepted = 0;
  for (int k = 0; k < mutations; ++k) {
    const std::string content = mutated(good);
    save_for_inspection(content);
    try {
      limit_allocations(largest_allocation);
      const fem::HostMesh mesh = fem::parse_mesh(file, content);
      limit_allocations(0);
      expect_consistent(mesh);
      fem::check(mesh);  // has the last word on shapes
      ++accepted;
    } catch (const fem::MeshError& error) {
      limit_allocations(0);
      EXPECT_GT(std::string(error.what()).size(), 10u);
    } catch (const std::bad_alloc&) {
      limit_allocations(0);
      ADD_FAILURE() << "asked for " << refused_allocation() << " bytes at once for a file of "
                    << content.size();
    }
    if (testing::Test::HasFailure()) {
      std::ofstream(testing::TempDir() + "mutation_of_" + file, std::ios::binary) << content;
      ADD_FAILURE() << "mutation " << k << ", kept as " << testing::TempDir() << "mutation_of_" << file;
      return accepted;
    }
  }
  return accepted;
}

class DamagedMesh : public testing::TestWithParam<const char*> {};

TEST_P(DamagedMesh, IsRefusedOrReadAsAConsistentMesh) { EXPECT_LT(fuzz(GetParam(), 1000), 1000); }

TEST_P(DamagedMesh, SlowIsRefusedOrReadAsAConsistentMeshInALongRun) {
  EXPECT_LT(fuzz(GetParam(), 100000), 100000);
}

std::string test_name(const testing::TestParamInfo<const char*>& parameter) {
  std::string name = parameter.param;
  std::replace(name.begin(), name.end(), '.', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Formats, DamagedMesh,
                         testing::Values("two_blocks_22.msh", "two_blocks_22_binary.msh", "two_blocks_41.msh",
                                         "two_blocks_41_binary.msh", "two_blocks.vtk",
                                         "two_blocks_binary.vtk", "two_blocks_meshio51.vtk",
                                         "two_blocks_meshio51_binary.vtk", "two_blocks.mesh",
                                         "two_blocks.mfem.mesh", "two_blocks_nodes.mfem.mesh",
                                         "two_blocks.inp", "two_blocks.e"),
                         test_name);

// The library has a process of its own, which every mutation starts: hence fewer of them.
TEST(DamagedHdf5, IsRefusedOrReadAsAConsistentMesh) {
  if (!fem::detail::has_hdf5_exodus()) GTEST_SKIP() << "this build has no netCDF";

  const int mutations = strata_tests::is_sanitized ? 40 : 200;
  EXPECT_LT(fuzz("two_blocks_hdf5.e", mutations), mutations);
}

TEST(DamagedHdf5, SlowIsRefusedOrReadAsAConsistentMeshInALongRun) {
  if (!fem::detail::has_hdf5_exodus()) GTEST_SKIP() << "this build has no netCDF";

  EXPECT_LT(fuzz("two_blocks_hdf5.e", 2000), 2000);
}

}  // namespace
