# Finds HDF5's C library, the one that netCDF's uses: HDF5Library_FOUND and the target HDF5Library::HDF5Library. CMake's
# own FindHDF5 asks for C as a language. Set HDF5Library_ROOT where it is installed in a place of its own.
# SPDX-License-Identifier: Apache-2.0
find_path(HDF5Library_INCLUDE_DIR hdf5.h PATH_SUFFIXES hdf5/serial DOC "Where HDF5's hdf5.h is")
find_library(HDF5Library_LIBRARY NAMES hdf5 hdf5_serial PATH_SUFFIXES hdf5/serial DOC "HDF5's C library")
mark_as_advanced(HDF5Library_INCLUDE_DIR HDF5Library_LIBRARY)

# A parallel HDF5 includes mpi.h, which need not be there.
if(HDF5Library_INCLUDE_DIR AND HDF5Library_LIBRARY)
  include(CheckCXXSourceCompiles)
  set(CMAKE_REQUIRED_INCLUDES ${HDF5Library_INCLUDE_DIR})
  set(CMAKE_REQUIRED_LIBRARIES ${HDF5Library_LIBRARY})
  check_cxx_source_compiles("#include <hdf5.h>\nint main() { return H5open(); }" HDF5Library_WORKS)
  unset(CMAKE_REQUIRED_INCLUDES)
  unset(CMAKE_REQUIRED_LIBRARIES)
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(HDF5Library
  REQUIRED_VARS HDF5Library_LIBRARY HDF5Library_INCLUDE_DIR HDF5Library_WORKS)

if(HDF5Library_FOUND AND NOT TARGET HDF5Library::HDF5Library)
  add_library(HDF5Library::HDF5Library UNKNOWN IMPORTED)
  set_target_properties(HDF5Library::HDF5Library PROPERTIES IMPORTED_LOCATION "${HDF5Library_LIBRARY}"
                                                            INTERFACE_INCLUDE_DIRECTORIES "${HDF5Library_INCLUDE_DIR}")
endif()
