// Damaged mesh files: every mutation of a good file, or of one that was made to cost its reader much, is
// refused with a MeshError, or gives a mesh whose indices are in range, and no reader takes more time or
// memory than docs/security.md allows. The long runs have Slow in their names.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <random>
#include <set>
#include <string>

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <strata/miniapps/fem/files/hdf5_exodus.hpp>
#include <strata/miniapps/fem/files/read_mesh.hpp>
#include <strata/miniapps/fem/mesh_check.hpp>
#include <strata/miniapps/fem/mesh_error.hpp>

#include "core/random.hpp"
#include "miniapps/fem/files/allocation_limit.hpp"
#include "miniapps/fem/files/crafted_meshes.hpp"
#include "miniapps/fem/files/mesh_fixtures.hpp"

namespace {

using namespace fem_files_testing;

// Of memory while a file is read, as docs/security.md says.
std::size_t most_memory(const std::string& content) { return 256 * content.size() + (std::size_t{1} << 20); }

// A reader that does not end is found by its time, even where five programs share a processor.
constexpr std::chrono::seconds longest{5};

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
    switch (random_(0, 9)) {
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
      case 7:
        copy_line(text, at);
        break;
      case 8:  // a large number of eight bytes, of which some multiple is a small one
        text.replace(at, std::min<std::size_t>(8, text.size() - at),
                     std::string(below(2) == 0 ? "\x20\0\0\0\0\0\0\1" : "\1\0\0\0\0\0\0\x20", 8));
        break;
      default:
        std::swap(text[at], text[below(text.size())]);
    }
  }

  // A line, some times over, somewhere else.
  void copy_line(std::string& text, std::size_t at) {
    const std::size_t before = text.rfind('\n', at);
    const std::size_t begin = before == std::string::npos ? 0 : before + 1;
    const std::size_t end = std::min(text.find('\n', at), text.size() - 1) + 1;
    if (end - begin > 1000) return;
    const std::string line = text.substr(begin, end - begin);
    const std::size_t next = text.find('\n', below(text.size()));
    const std::size_t place = next == std::string::npos ? text.size() : next + 1;
    for (std::size_t times = 1 + below(8); times > 0; --times) text.insert(place, line);
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
                                         "4294967297",
                                         "2305843009213693953",
                                         "6148914691236517206"};
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

void keep_for_inspection(const std::string& name, const std::string& content) {
  const std::string path = testing::TempDir() + "mutation_of_" + name;
  std::ofstream(path, std::ios::binary) << content;
  ADD_FAILURE() << "kept as " << path;
}

struct Outcome {
  bool accepted = false;  // taken for a good mesh
  std::string error;      // why not
  double seconds = 0;     // by the clock
};

Outcome read_mutation(const std::string& name, const std::string& content) {
  const auto begin = std::chrono::steady_clock::now();
  Outcome outcome;
  limit_memory(most_memory(content));
  try {
    const fem::HostMesh mesh = fem::parse_mesh(name, content);
    limit_memory(0);
    expect_consistent(mesh);
    fem::check(mesh);  // has the last word on shapes
    outcome.accepted = true;
  } catch (const fem::MeshError& error) {
    limit_memory(0);
    outcome.error = error.what();
    EXPECT_GT(outcome.error.size(), 10u);
  } catch (const std::bad_alloc&) {
    limit_memory(0);
    ADD_FAILURE() << "asked for " << refused_allocation() << " bytes more for a file of " << content.size();
  }
  const auto taken = std::chrono::steady_clock::now() - begin;
  EXPECT_LT(taken, longest);
  outcome.seconds = std::chrono::duration<double>(taken).count();
  return outcome;
}

// How many of the mutations were taken for good meshes; look(outcome) sees how each went.
template <class Look>
int fuzz(const std::string& name, const std::string& good, int mutations, const Look& look) {
  Mutator mutated;
  int accepted = 0;
  for (int k = 0; k < mutations; ++k) {
    const std::string content = mutated(good);
    save_for_inspection(content);
    const Outcome outcome = read_mutation(name, content);
    accepted += outcome.accepted ? 1 : 0;
    look(outcome);
    if (testing::Test::HasFailure()) {
      keep_for_inspection(name, content);
      return accepted;
    }
  }
  return accepted;
}
int fuzz(const std::string& name, const std::string& good, int mutations) {
  return fuzz(name, good, mutations, [](const Outcome&) {});
}
// Of a file of fixtures, which is good itself. How they went is printed (unit_tests/tools/exodus_mutants.py
// reads it).
void fuzz(const std::string& file, int mutations) {
  const std::string good = content_of(fixture(file));
  ASSERT_TRUE(read_mutation(file, good).accepted);
  double slowest = 0;
  const int accepted = fuzz(file, good, mutations,
                            [&](const Outcome& outcome) { slowest = std::max(slowest, outcome.seconds); });
  std::printf("%d mutations of %s: %d read, %d refused; the slowest %.2f s\n", mutations, file.c_str(),
              accepted, mutations - accepted, slowest);
  EXPECT_LT(accepted, mutations);
}

class DamagedMesh : public testing::TestWithParam<const char*> {};

TEST_P(DamagedMesh, IsRefusedOrReadAsAConsistentMesh) { fuzz(GetParam(), 1000); }

TEST_P(DamagedMesh, SlowIsRefusedOrReadAsAConsistentMeshInALongRun) { fuzz(GetParam(), 100000); }

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

class DamagedCraftedMesh : public testing::TestWithParam<CraftedMesh> {};

TEST_P(DamagedCraftedMesh, IsRefusedOrReadAsAConsistentMesh) {
  fuzz(GetParam().name, GetParam().make(2000), strata_tests::trials(200));
}

TEST_P(DamagedCraftedMesh, SlowIsRefusedOrReadAsAConsistentMeshInALongRun) {
  fuzz(GetParam().name, GetParam().make(2000), 10000);
}

INSTANTIATE_TEST_SUITE_P(Kinds, DamagedCraftedMesh, testing::ValuesIn(crafted_meshes()),
                         [](const auto& parameter) { return std::string(parameter.param.name); });

// The library has a process of its own, which every mutation starts: hence fewer of them. How these ended is
// printed (unit_tests/tools/exodus_mutants.py reads it).
void fuzz_hdf5(int mutations) {
  if (!fem::detail::has_hdf5_exodus()) GTEST_SKIP() << "this build has no netCDF";
  int crashed = 0, stopped = 0;
  double slowest = 0;

  const std::string good = content_of(fixture("two_blocks_hdf5.e"));
  ASSERT_TRUE(read_mutation("two_blocks_hdf5.e", good).accepted);

  const int accepted = fuzz("two_blocks_hdf5.e", good, mutations, [&](const Outcome& outcome) {
    const auto says = [&](const char* part) { return outcome.error.find(part) != std::string::npos; };
    crashed += says("library ended ") ? 1 : 0;
    stopped += says("library took longer") || says("library gave more") ? 1 : 0;
    slowest = std::max(slowest, outcome.seconds);
  });

  rusage children{};
  getrusage(RUSAGE_CHILDREN, &children);
  std::printf(
      "%d mutations in HDF5: %d read, %d refused; processes that ended by a signal or an error %d, that "
      "were stopped %d; the slowest %.2f s; the largest process %ld MiB\n",
      mutations, accepted, mutations - accepted, crashed, stopped, slowest, children.ru_maxrss / 1024);
  EXPECT_LT(accepted, mutations);
}

TEST(DamagedHdf5, IsRefusedOrReadAsAConsistentMesh) { fuzz_hdf5(strata_tests::is_sanitized ? 40 : 200); }
TEST(DamagedHdf5, SlowIsRefusedOrReadAsAConsistentMeshInALongRun) { fuzz_hdf5(10000); }

}  // namespace
