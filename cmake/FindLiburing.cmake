# find_package(Liburing): the target Liburing::uring, by liburing's header and library.
# SPDX-License-Identifier: Apache-2.0
find_path(LIBURING_INCLUDE_DIR liburing.h DOC "Where liburing.h is")
find_library(LIBURING_LIBRARY uring DOC "liburing's library")
mark_as_advanced(LIBURING_INCLUDE_DIR LIBURING_LIBRARY)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Liburing REQUIRED_VARS LIBURING_LIBRARY LIBURING_INCLUDE_DIR)
if(Liburing_FOUND AND NOT TARGET Liburing::uring)
  add_library(Liburing::uring UNKNOWN IMPORTED)
  set_target_properties(Liburing::uring PROPERTIES IMPORTED_LOCATION "${LIBURING_LIBRARY}"
                        INTERFACE_INCLUDE_DIRECTORIES "${LIBURING_INCLUDE_DIR}")
endif()
