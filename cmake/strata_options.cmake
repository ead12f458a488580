# Every option of the build. All begin with STRATA_, and as a subproject only the library is built.
option(STRATA_BUILD_TESTS "Build the tests (needs GoogleTest)" ${PROJECT_IS_TOP_LEVEL})
option(STRATA_BUILD_PERF_TESTS "Build the performance tests (needs nlohmann_json)" ${PROJECT_IS_TOP_LEVEL})
option(STRATA_BUILD_EXAMPLES "Build the examples" ${PROJECT_IS_TOP_LEVEL})
option(STRATA_INSTALL "Make the install and export rules" ${PROJECT_IS_TOP_LEVEL})
option(STRATA_CHECKS "Add the checks of tools/check to CTest, under the label check" OFF)
option(STRATA_WERROR "Treat warnings of Strata's own sources as errors" OFF)

set(STRATA_SANITIZER "" CACHE STRING "Sanitizer of this build: address (with undefined), thread, or empty")
set_property(CACHE STRATA_SANITIZER PROPERTY STRINGS "" address thread)
if(NOT STRATA_SANITIZER MATCHES "^(address|thread|)$")
  message(FATAL_ERROR "STRATA_SANITIZER is '${STRATA_SANITIZER}'; it may be address, thread or empty")
endif()

# The instruction set of Strata's own objects and programs. It is never passed on to users of the
# targets; packages set it to the empty string and get the compiler's baseline.
if(PROJECT_IS_TOP_LEVEL)
  set(strata_default_arch native)
else()
  set(strata_default_arch "")
endif()
set(STRATA_ARCH "${strata_default_arch}" CACHE STRING "Value of -march for Strata's own objects; empty: baseline")

# oneTBB reports races to ThreadSanitizer that are none, as its atomics are hidden in its shared library.
find_package(TBB QUIET)
if(TBB_FOUND AND NOT STRATA_SANITIZER STREQUAL "thread")
  set(strata_default_tbb ON)
else()
  set(strata_default_tbb OFF)
endif()
option(STRATA_ENABLE_TBB "Build the device Tbb (needs oneTBB)" ${strata_default_tbb})
if(STRATA_ENABLE_TBB AND STRATA_SANITIZER STREQUAL "thread")
  message(FATAL_ERROR "STRATA_SANITIZER=thread cannot check oneTBB; set STRATA_ENABLE_TBB=OFF")
elseif(STRATA_ENABLE_TBB AND NOT TBB_FOUND)
  message(FATAL_ERROR "STRATA_ENABLE_TBB is ON but oneTBB is not found: install libtbb-dev or set TBB_DIR")
elseif(NOT TBB_FOUND)
  message(STATUS "Strata: without the device Tbb, as oneTBB is not found (install libtbb-dev, or set TBB_DIR)")
elseif(NOT STRATA_ENABLE_TBB)
  message(STATUS "Strata: without the device Tbb (STRATA_ENABLE_TBB=OFF)")
endif()

if(PROJECT_IS_TOP_LEVEL)
  get_property(strata_multi_config GLOBAL PROPERTY GENERATOR_IS_MULTI_CONFIG)
  if(NOT CMAKE_BUILD_TYPE AND NOT strata_multi_config)
    set(CMAKE_BUILD_TYPE Release CACHE STRING "Release, RelWithDebInfo or Debug" FORCE)
  endif()
  set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
  set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin")
  find_program(STRATA_CCACHE ccache)
  mark_as_advanced(STRATA_CCACHE)
  if(STRATA_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
    # The sloppiness is what ccache asks for before it caches the users of a precompiled header.
    set(CMAKE_CXX_COMPILER_LAUNCHER "${CMAKE_COMMAND}" -E env
        "CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime" "${STRATA_CCACHE}")
  endif()
endif()

find_package(Threads REQUIRED)
