// SPDX-License-Identifier: Apache-2.0
#include <strata/core/error.hpp>
#include <strata/devices/serial/device.hpp>
#include <strata/miniapps/factorize/sparse_matrix.hpp>
#include <strata/miniapps/thermal/make_heat.hpp>

namespace strata::inline STRATA_ABI::factorize {

namespace {

thermal::HeatSystem system_of(const std::string& mesh) {
  thermal::HeatRequest request;
  request.mesh = mesh;
  const auto heat = thermal::make_heat(Serial{}, request);
  heat->give("z<=min", 0.0);
  heat->give("z>=max", 1.0);
  heat->assemble();
  heat->eliminate();
  return heat->system();
}

}  // namespace

std::unique_ptr<MatrixInput> make_thermal(const std::string& mesh) try {
  const thermal::HeatSystem system = system_of(mesh);
  std::vector<SparseEntry> entries;
  const index_t rows = static_cast<index_t>(system.row_map.size()) - 1;
  for (index_t row = 0; row < rows; ++row)
    for (index_t k = system.row_map[static_cast<std::size_t>(row)];
         k < system.row_map[static_cast<std::size_t>(row) + 1]; ++k) {
      // Contributions are added in an order of each row, so that transposed elements differ in last bits.
      const index_t column = system.entries[static_cast<std::size_t>(k)];
      if (column <= row) entries.push_back({row, column, system.values[static_cast<std::size_t>(k)], 0});
    }
  return std::make_unique<SparseMatrix>(rows, "thermal, " + mesh, mesh, true, std::move(entries));
} catch (const OutOfMemory&) {
  throw;
} catch (const Error& error) {
  throw InputError(std::string("--mesh: ") + error.what());
}

}  // namespace strata::inline STRATA_ABI::factorize
