# Kokkos as a competitor, where find_package finds it: CMAKE_PREFIX_PATH says where. With a Kokkos for CUDA nvcc
# compiles its cases.
# SPDX-License-Identifier: Apache-2.0
option(STRATA_PERF_KOKKOS "Measure Kokkos next to Strata, where it is installed" ON)
if(STRATA_PERF_KOKKOS)
  set(CMAKE_CXX_EXTENSIONS OFF)  # or Kokkos sets it, with a warning
  find_package(Kokkos QUIET)
endif()
if(TARGET Kokkos::kokkos)
  message(STATUS "Performance tests: Kokkos ${Kokkos_VERSION} is a competitor")
  # A library of its own: Kokkos says with which flags its users compile.
  set(kokkos_cases "${CMAKE_CURRENT_LIST_DIR}/kokkos_cases.cpp")
  # The mini-apps' kernels, whose reductions join as Kokkos does since 4.
  set(miniapp_cases)
  if(TARGET strata::fem AND Kokkos_VERSION VERSION_GREATER_EQUAL 4)
    set(miniapp_cases "${CMAKE_CURRENT_LIST_DIR}/thermal_cases.cpp" "${CMAKE_CURRENT_LIST_DIR}/dynamics_cases.cpp")
  else()
    target_sources(strata_perf_common PRIVATE "${CMAKE_CURRENT_LIST_DIR}/no_miniapps.cpp")
  endif()
  add_library(strata_perf_kokkos STATIC ${kokkos_cases} ${miniapp_cases})
  set_target_properties(strata_perf_kokkos PROPERTIES CXX_EXTENSIONS OFF)
  target_include_directories(strata_perf_kokkos PRIVATE "${CMAKE_CURRENT_SOURCE_DIR}")
  # The target of Debian's libtrilinos-kokkos-dev names a directory that is not there.
  get_target_property(directories Kokkos::kokkos INTERFACE_INCLUDE_DIRECTORIES)
  if(directories AND NOT directories MATCHES "\\$<" AND NOT EXISTS "${directories}")
    set_target_properties(Kokkos::kokkos PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "${Kokkos_INCLUDE_DIRS}")
  endif()
  target_compile_features(strata_perf_kokkos PRIVATE cxx_std_20)
  target_link_libraries(strata_perf_kokkos PRIVATE Kokkos::kokkos)
  if(miniapp_cases)
    target_link_libraries(strata_perf_kokkos PRIVATE strata::fem)
    # As dynamics_kernels.cpp and thermal_kernels.cpp.
    set_source_files_properties("${CMAKE_CURRENT_LIST_DIR}/dynamics_cases.cpp" PROPERTIES
      COMPILE_OPTIONS "$<$<COMPILE_LANG_AND_ID:CXX,GNU,Clang,AppleClang>:-fno-math-errno;-ffp-contract=off>;$<$<COMPILE_LANG_AND_ID:CXX,GNU>:--param=max-combine-insns=2>;$<$<COMPILE_LANGUAGE:CUDA>:-fmad=false>")
    set_source_files_properties("${CMAKE_CURRENT_LIST_DIR}/thermal_cases.cpp" PROPERTIES
      COMPILE_OPTIONS "$<$<COMPILE_LANG_AND_ID:CXX,GNU,Clang,AppleClang>:-ffp-contract=off>;$<$<COMPILE_LANGUAGE:CUDA>:-fmad=false>")
  endif()
  if(STRATA_ARCH)
    target_compile_options(strata_perf_kokkos PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-march=${STRATA_ARCH}>
                                                      $<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-march=${STRATA_ARCH}>)
  endif()
  if(STRATA_ENABLE_CUDA AND "CUDA" IN_LIST Kokkos_DEVICES)
    strata_add_kernels(strata_perf_kokkos ${kokkos_cases} ${miniapp_cases})
    target_compile_options(strata_perf_kokkos PRIVATE
      "$<$<COMPILE_LANGUAGE:CUDA>:-std=c++20;--expt-relaxed-constexpr;--extended-lambda>")
  endif()
  target_link_libraries(strata_perf_common PUBLIC strata_perf_kokkos)
else()
  target_sources(strata_perf_common PRIVATE "${CMAKE_CURRENT_LIST_DIR}/no_kokkos.cpp"
                                            "${CMAKE_CURRENT_LIST_DIR}/no_miniapps.cpp")
endif()
