# cmake -DBUILD=build/host -DSCRATCH=... -DVERSION=0.1.0 -DTBB=ON -P check_packages.cmake
#
# Packs the build as Debian packages, unpacks them into a folder, and uses what is there.
# SPDX-License-Identifier: Apache-2.0
function(run output)
  execute_process(COMMAND ${ARGN} OUTPUT_VARIABLE out ERROR_VARIABLE err RESULT_VARIABLE status)
  if(NOT status EQUAL 0)
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "${command} failed with ${status}:\n${out}${err}")
  endif()
  string(STRIP "${out}" out)
  set(${output} "${out}" PARENT_SCOPE)
endfunction()

function(expect text pattern)
  if(NOT text MATCHES "${pattern}")
    message(FATAL_ERROR "expected ${pattern} in: ${text}")
  endif()
endfunction()

cmake_path(GET CMAKE_COMMAND PARENT_PATH bin)
file(REMOVE_RECURSE "${SCRATCH}")
run(ignored "${bin}/cpack" -G DEB -D CPACK_STRATA_ANY_BUILD=ON --config "${BUILD}/CPackConfig.cmake" -B "${SCRATCH}")

file(GLOB packages "${SCRATCH}/*.deb")
list(LENGTH packages count)
expect("${count}" "^2$")
foreach(package IN LISTS packages)
  run(ignored dpkg-deb -x "${package}" "${SCRATCH}/root")
  run(version dpkg-deb -f "${package}" Version)
  expect("${version}" "^${VERSION}(~git[0-9]+\\.[0-9a-f]+)?$")
endforeach()

file(GLOB dev "${SCRATCH}/libstrata-dev_*.deb")
run(depends dpkg-deb -f "${dev}" Depends)
expect("${depends}" "libstdc\\+\\+-dev")
if(TBB)
  expect("${depends}" "libtbb-dev")
endif()

run(text "${SCRATCH}/root/usr/bin/strata-info" --version)
expect("${text}" "^strata ${VERSION} ")
foreach(file IN ITEMS include/strata/strata.hpp share/doc/strata/copyright share/doc/libstrata-dev/changelog.gz
                      share/man/man1/strata-info.1.gz)
  if(NOT EXISTS "${SCRATCH}/root/usr/${file}")
    message(FATAL_ERROR "the packages lack ${file}")
  endif()
endforeach()

# The CMake package finds its files wherever it is unpacked; what it builds is tested with the install.
file(WRITE "${SCRATCH}/project/CMakeLists.txt" "cmake_minimum_required(VERSION 3.25)\nproject(p LANGUAGES CXX)\n"
     "find_package(strata ${VERSION} REQUIRED COMPONENTS Serial Threads)\n")
run(ignored "${CMAKE_COMMAND}" -S "${SCRATCH}/project" -B "${SCRATCH}/project/build" "-Dstrata_ROOT=${SCRATCH}/root/usr")
