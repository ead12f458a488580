// What a mesh file may cost its reader: time and memory in proportion to its size, whatever is in it.
// SPDX-License-Identifier: Apache-2.0
#include <ctime>
#include <new>
#include <string>

#include <gtest/gtest.h>

#include <strata/miniapps/fem/files/read_mesh.hpp>
#include <strata/miniapps/fem/mesh_error.hpp>

#include "core/random.hpp"
#include "miniapps/fem/files/allocation_limit.hpp"
#include "miniapps/fem/files/crafted_meshes.hpp"
#include "miniapps/fem/files/mesh_fixtures.hpp"

namespace {

using namespace fem_files_testing;

// As docs/security.md says: of each byte of the file, and of any file.
constexpr std::size_t memory_per_byte = 256, memory_of_any = std::size_t{1} << 20;
constexpr double seconds_per_byte = 2e-6, seconds_of_any = 0.05;

double processor_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

class CraftedMeshFile : public testing::TestWithParam<CraftedMesh> {};

TEST_P(CraftedMeshFile, TakesTimeAndMemoryInProportionToItsSize) {
  const std::string content = GetParam().make(std::size_t{256} << 10);
  const double begin = processor_seconds();

  std::string message;
  limit_memory(memory_per_byte * content.size() + memory_of_any);
  try {
    fem::parse_mesh(GetParam().name, content);
  } catch (const fem::MeshError& error) {
    message = error.what();
  } catch (const std::bad_alloc&) {
    ADD_FAILURE() << "needs more than " << memory_per_byte << " times the " << content.size() << " bytes";
  }
  limit_memory(0);

  const double seconds = processor_seconds() - begin;
  EXPECT_LT(seconds, (strata_tests::is_sanitized ? 20 : 1) *
                         (seconds_per_byte * static_cast<double>(content.size()) + seconds_of_any));
  EXPECT_LT(message.size(), 1000u);
  const auto bytes = static_cast<double>(content.size());
  std::printf("%s: %.0f bytes, %.1f bytes and %.0f ns each; %s\n", GetParam().name, bytes,
              static_cast<double>(peak_memory()) / bytes, 1e9 * seconds / bytes, message.c_str());
}

INSTANTIATE_TEST_SUITE_P(Kinds, CraftedMeshFile, testing::ValuesIn(crafted_meshes()),
                         [](const auto& parameter) { return std::string(parameter.param.name); });

}  // namespace
