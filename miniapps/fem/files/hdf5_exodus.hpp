// Exodus II files in HDF5 (netCDF-4), by way of netCDF's library, where this build has it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <strata/miniapps/fem/files/mesh_text.hpp>

namespace strata::inline STRATA_ABI::fem::detail {

/// The same file in classic netCDF, without its time steps. The library works in a process of its own, as
/// damaged files crash it or make it ask for all memory. MeshFileError without the library, or if there can
/// be no other process; MeshError if the library fails on the file.
std::string classic_from_hdf5(const MeshText& text);

/// Whether this build has the library.
bool has_hdf5_exodus();

}  // namespace strata::inline STRATA_ABI::fem::detail
