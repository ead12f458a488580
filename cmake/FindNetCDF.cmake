# Finds netCDF's C library: NetCDF_FOUND and the target NetCDF::NetCDF. Set NetCDF_ROOT where it is installed in a
# place of its own.
# SPDX-License-Identifier: Apache-2.0
find_path(NetCDF_INCLUDE_DIR netcdf_mem.h DOC "Where netCDF's netcdf_mem.h is")
find_library(NetCDF_LIBRARY netcdf DOC "netCDF's C library")
mark_as_advanced(NetCDF_INCLUDE_DIR NetCDF_LIBRARY)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(NetCDF REQUIRED_VARS NetCDF_LIBRARY NetCDF_INCLUDE_DIR)

if(NetCDF_FOUND AND NOT TARGET NetCDF::NetCDF)
  add_library(NetCDF::NetCDF UNKNOWN IMPORTED)
  set_target_properties(NetCDF::NetCDF PROPERTIES IMPORTED_LOCATION "${NetCDF_LIBRARY}"
                                                  INTERFACE_INCLUDE_DIRECTORIES "${NetCDF_INCLUDE_DIR}")
endif()
