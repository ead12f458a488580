// What libFuzzer calls with bytes of its own: the reader STRATA_FUZZED_READER. Run it with a folder for what
// it finds and the fixtures as examples, and with the limits that docs/security.md gives for files of 64 KB:
//   strata_fuzz_gmsh found unit_tests/miniapps/fem/files/fixtures -max_len=65536 -timeout=5
//   -rss_limit_mb=1024
// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <string>

#include <strata/miniapps/fem/files/formats.hpp>
#include <strata/miniapps/fem/mesh_error.hpp>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  strata::fem::detail::MeshText text("mesh", std::string(reinterpret_cast<const char*>(data), size));
  try {
    strata::fem::detail::STRATA_FUZZED_READER(text);
  } catch (const strata::fem::MeshError&) {
  }
  return 0;
}
