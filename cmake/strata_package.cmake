# `cpack` in the build folder makes the packages strata (the program strata-info) and libstrata-dev (headers, static
# libraries, CMake package, pkg-config files) of Debian and Ubuntu, or an archive with `cpack -G TGZ`.
#
# Packages are for other machines than the one that builds them: cpack refuses to pack objects of a machine's own
# instruction set. `cmake --preset package` configures a build for them, and `cpack --preset package` packs it.
# SPDX-License-Identifier: Apache-2.0
set(STRATA_PACKAGE_MAINTAINER "Strata maintainers <strata@localhost>" CACHE STRING
    "Who answers for the packages: Name <address>")
mark_as_advanced(STRATA_PACKAGE_MAINTAINER)

# 0.1.0 for the commit with the tag v0.1.0; 0.1.0~git20260102.0123456789ab, which is older, for those on the way there.
set(strata_package_version "${PROJECT_VERSION}")
string(TIMESTAMP strata_package_date "%a, %d %b %Y %H:%M:%S +0000" UTC)
if(NOT STRATA_COMMIT STREQUAL "unknown")
  execute_process(COMMAND "${GIT_EXECUTABLE}" log -1 --format=%cd=%cD --date=format:%Y%m%d
                  WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}"
                  OUTPUT_VARIABLE strata_commit_date OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  execute_process(COMMAND "${GIT_EXECUTABLE}" tag --points-at HEAD --list "v${PROJECT_VERSION}"
                  WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}"
                  OUTPUT_VARIABLE strata_release_tag OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  string(REGEX MATCH "^([0-9]+)=(.*)$" strata_commit_date "${strata_commit_date}")
  set(strata_package_date "${CMAKE_MATCH_2}")
  if(NOT strata_release_tag)
    string(APPEND strata_package_version "~git${CMAKE_MATCH_1}.${STRATA_COMMIT}")
  endif()
endif()

# What Debian wants in every package: licence, changelog and news; and a manual page of every program.
find_program(STRATA_GZIP gzip)
mark_as_advanced(STRATA_GZIP)
if(STRATA_GZIP)
  set(strata_package_files "${PROJECT_BINARY_DIR}/packaging")
  configure_file(packaging/debian/changelog.in "${strata_package_files}/changelog" @ONLY)
  configure_file(CHANGELOG.md "${strata_package_files}/NEWS" COPYONLY)
  configure_file(packaging/debian/strata-info.1 "${strata_package_files}/strata-info.1" COPYONLY)
  execute_process(COMMAND "${STRATA_GZIP}" -9nfk changelog NEWS strata-info.1
                  WORKING_DIRECTORY "${strata_package_files}" COMMAND_ERROR_IS_FATAL ANY)
  foreach(strata_pair IN ITEMS runtime:strata dev:libstrata-dev)
    string(REGEX MATCH "^([a-z]+):(.+)$" strata_pair "${strata_pair}")
    install(FILES packaging/debian/copyright "${strata_package_files}/changelog.gz" "${strata_package_files}/NEWS.gz"
            DESTINATION "${CMAKE_INSTALL_DATADIR}/doc/${CMAKE_MATCH_2}" COMPONENT ${CMAKE_MATCH_1} EXCLUDE_FROM_ALL)
  endforeach()
  install(FILES "${strata_package_files}/strata-info.1.gz" DESTINATION "${CMAKE_INSTALL_MANDIR}/man1"
          COMPONENT runtime EXCLUDE_FROM_ALL)
endif()

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME strata)
set(CPACK_PACKAGE_CONTACT "${STRATA_PACKAGE_MAINTAINER}")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "performance-portable kernels over views of layered memory")
set(CPACK_PACKAGE_FILE_NAME "strata-${strata_package_version}-${CMAKE_SYSTEM_PROCESSOR}")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_RESOURCE_FILE_LICENSE "${PROJECT_SOURCE_DIR}/LICENSE")
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL dev)
if(STRATA_BUILD_TOOLS)
  list(APPEND CPACK_COMPONENTS_ALL runtime)
endif()
set(CPACK_ARCHIVE_COMPONENT_INSTALL ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_VERSION "${strata_package_version}")
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION TRUE)

set(CPACK_DEBIAN_RUNTIME_PACKAGE_NAME strata)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SECTION utils)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_RUNTIME_DESCRIPTION "The program strata-info prints the version of Strata, the devices that it
finds on a machine, with their memory, and the settings in force.")

set(CPACK_DEBIAN_DEV_PACKAGE_NAME libstrata-dev)
set(CPACK_DEBIAN_DEV_PACKAGE_SECTION libdevel)
set(strata_dev_depends "libstdc++-12-dev | libstdc++-dev")
if(STRATA_ENABLE_TBB)
  list(APPEND strata_dev_depends libtbb-dev)
endif()
if(STRATA_ENABLE_LIBURING)
  list(APPEND strata_dev_depends liburing-dev)
endif()
list(JOIN strata_dev_depends ", " CPACK_DEBIAN_DEV_PACKAGE_DEPENDS)
set(CPACK_DEBIAN_DEV_PACKAGE_RECOMMENDS "cmake (>= 3.25)")
set(CPACK_DEBIAN_DEV_PACKAGE_SUGGESTS "strata (= ${strata_package_version}), pkg-config")
set(CPACK_DEBIAN_DEV_DESCRIPTION "Strata is a C++20 layer in which a computation is written once, as a kernel
over multidimensional array views, and runs unchanged on a serial host, a
thread pool, oneTBB, an emulated accelerator or CUDA devices.

This package has the headers, the static libraries, with and without checked
accesses, the CMake package and the pkg-config files.")

configure_file(cmake/strata_cpack_check.cmake.in "${PROJECT_BINARY_DIR}/strata_cpack_check.cmake" @ONLY)
set(CPACK_PROJECT_CONFIG_FILE "${PROJECT_BINARY_DIR}/strata_cpack_check.cmake")
include(CPack)
