# Install rules, the CMake package of the install tree and of the build tree, and pkg-config files. There are three
# components: dev, what programs are compiled and linked with, runtime, the program strata-info, and miniapps.
# SPDX-License-Identifier: Apache-2.0
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(strata_package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/strata")
set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME dev)

# An install has both libraries; ./quickstart test builds one.
install(CODE "
  if(NOT EXISTS \"$<TARGET_FILE:strata_checked>\")
    message(FATAL_ERROR \"strata: an install has the library with checks, too, which is not built: \"
                        \"cmake -DSTRATA_BUILD_CHECKED=ON ${PROJECT_BINARY_DIR}, cmake --build ${PROJECT_BINARY_DIR}, \"
                        \"then install again\")
  endif()")

if(STRATA_BUILD_TOOLS)
  install(TARGETS strata_info RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}" COMPONENT runtime)
endif()

install(TARGETS strata strata_checked EXPORT strata-targets
        ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}" INCLUDES DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
install(EXPORT strata-targets NAMESPACE strata:: DESTINATION "${strata_package_dir}")
export(EXPORT strata-targets NAMESPACE strata:: FILE "${PROJECT_BINARY_DIR}/strata-targets.cmake")

# Headers lie where their in-tree include paths say.
set(strata_header_dir "${CMAKE_INSTALL_INCLUDEDIR}/strata")
get_property(strata_devices GLOBAL PROPERTY strata_devices)
foreach(folder IN ITEMS core views algorithms devices/any_host LISTS strata_devices)
  if(folder IN_LIST strata_devices)
    set(folder devices/${folder})
  endif()
  install(DIRECTORY ${folder}/ DESTINATION "${strata_header_dir}/${folder}" FILES_MATCHING PATTERN "*.hpp"
          PATTERN "umbrella" EXCLUDE)
endforeach()
file(GLOB strata_room_headers CONFIGURE_DEPENDS devices/*.hpp)
install(FILES ${strata_room_headers} DESTINATION "${strata_header_dir}/devices")
install(DIRECTORY devices/host/ DESTINATION "${strata_header_dir}/devices/host" FILES_MATCHING PATTERN "*.hpp")
file(GLOB strata_umbrella_headers CONFIGURE_DEPENDS algorithms/umbrella/*.hpp)
install(FILES ${strata_umbrella_headers} "${strata_generated}/version.hpp" "${strata_generated}/commit.hpp"
        DESTINATION "${strata_header_dir}")

# The licence, what to cite, and programs to begin with; the mini-apps are installed where they were built (strata_add_miniapp).
install(FILES LICENSE CITATION.cff CHANGELOG.md DESTINATION "${CMAKE_INSTALL_DATADIR}/strata")
install(DIRECTORY examples/ DESTINATION "${CMAKE_INSTALL_DATADIR}/strata/examples" FILES_MATCHING PATTERN "*.cpp" PATTERN "*.hpp"
        PATTERN "kokkos" EXCLUDE PATTERN "toy_device" EXCLUDE)
if(STRATA_BUILD_MINIAPPS)
  install(DIRECTORY miniapps/meshes/ DESTINATION "${CMAKE_INSTALL_DATADIR}/strata/meshes" COMPONENT miniapps
          FILES_MATCHING PATTERN "*.vtk" PATTERN "*.msh" PATTERN "README.md")
endif()
# What programs have in them already, to be sourced where gdb may not load it from there.
install(FILES core/strata_gdb.py DESTINATION "${CMAKE_INSTALL_DATADIR}/strata/gdb")
# lldb finds no script in a program.
install(FILES core/strata_lldb.py DESTINATION "${CMAKE_INSTALL_DATADIR}/strata/lldb")

configure_file(cmake/strata-config.cmake.in "${PROJECT_BINARY_DIR}/strata-config.cmake" @ONLY)
write_basic_package_version_file("${PROJECT_BINARY_DIR}/strata-config-version.cmake"
                                 COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/strata-config.cmake" "${PROJECT_BINARY_DIR}/strata-config-version.cmake"
        cmake/strata_add_kernels.cmake cmake/strata_build_type.cmake cmake/FindLiburing.cmake
        DESTINATION "${strata_package_dir}")
configure_file(cmake/strata_add_kernels.cmake "${PROJECT_BINARY_DIR}/strata_add_kernels.cmake" COPYONLY)
configure_file(cmake/strata_build_type.cmake "${PROJECT_BINARY_DIR}/strata_build_type.cmake" COPYONLY)
configure_file(cmake/FindLiburing.cmake "${PROJECT_BINARY_DIR}/FindLiburing.cmake" COPYONLY)

# pkg-config: `strata` and `strata_checked`. The prefix is found from the file's own place.
cmake_path(APPEND CMAKE_INSTALL_LIBDIR pkgconfig OUTPUT_VARIABLE strata_pc_dir)
if(IS_ABSOLUTE "${strata_pc_dir}")
  set(STRATA_PC_PREFIX "${CMAKE_INSTALL_PREFIX}")
else()
  file(RELATIVE_PATH strata_pc_up "/${strata_pc_dir}" "/")
  string(REGEX REPLACE "/$" "" strata_pc_up "${strata_pc_up}")
  set(STRATA_PC_PREFIX "\${pcfiledir}/${strata_pc_up}")
endif()
foreach(dir IN ITEMS LIB INCLUDE)
  cmake_path(ABSOLUTE_PATH CMAKE_INSTALL_${dir}DIR BASE_DIRECTORY "\${prefix}" OUTPUT_VARIABLE STRATA_PC_${dir}DIR)
endforeach()
if(STRATA_ENABLE_TBB)
  set(STRATA_PC_REQUIRES "tbb")
endif()
if(STRATA_ENABLE_CUDA)
  set(STRATA_PC_LIBS " -L${CUDAToolkit_LIBRARY_DIR} -lcudart_static -lrt -ldl")
endif()
if(STRATA_ENABLE_LIBURING)
  string(APPEND STRATA_PC_LIBS " -luring")
endif()
foreach(STRATA_PC_NAME IN ITEMS strata strata_checked)
  if(STRATA_PC_NAME STREQUAL "strata_checked")
    set(STRATA_PC_CFLAGS " -DSTRATA_CHECKED=1")
  endif()
  configure_file(cmake/strata.pc.in "${PROJECT_BINARY_DIR}/${STRATA_PC_NAME}.pc" @ONLY)
  install(FILES "${PROJECT_BINARY_DIR}/${STRATA_PC_NAME}.pc" DESTINATION "${strata_pc_dir}")
endforeach()
