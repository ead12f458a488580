# Compile flags. `strata_flags`: of Strata's own sources and programs, never exported.
# `strata_add_public_requirements(target)`: what users of the headers need as well.
# SPDX-License-Identifier: Apache-2.0
add_library(strata_flags INTERFACE)
target_compile_options(strata_flags INTERFACE
  "$<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;-Wpedantic;-Wshadow>" "$<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Wall,-Wextra>")
# g++ 12 takes every inlined `"text" + std::string` for an overlap: https://gcc.gnu.org/PR105651
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  target_compile_options(strata_flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wno-restrict>)
endif()
# GCC looks through all that it knows, a precompiled header included, each time that it collects garbage: 4 to 12 of
# 100 s of processor, for little garbage. Without, a mini-app's file takes 900 MiB in place of 700.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(strata_flags INTERFACE "$<$<COMPILE_LANGUAGE:CXX>:SHELL:--param ggc-min-heapsize=1000000>")
endif()
if(STRATA_WERROR)
  # Not of nvcc: it warns of host code that shares a template with kernels.
  target_compile_options(strata_flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Werror>)
endif()
if(STRATA_ARCH)
  target_compile_options(strata_flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-march=${STRATA_ARCH}>
                                                $<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-march=${STRATA_ARCH}>)
endif()

# g++ 12 does not use gathers where it tunes for no processor in particular, as for one that it does not know, and loads
# value after value in their place only where values have as many bits as offsets. Loops that gather floats by offsets of
# 64 bits then stay scalar: a step of strata-dynamics took 2.7 times as long, elements of strata-thermal 5.2 times. g++ 13
# vectorises them. For sources in float.
set(strata_gather_options)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13 AND STRATA_ARCH)
  include(CheckCXXCompilerFlag)
  check_cxx_compiler_flag(-mtune-ctrl=use_gather STRATA_HAS_USE_GATHER)
  if(STRATA_HAS_USE_GATHER)
    set(strata_gather_options $<$<COMPILE_LANGUAGE:CXX>:-mtune-ctrl=use_gather>)
  endif()
endif()

if(STRATA_SANITIZER)
  if(STRATA_SANITIZER STREQUAL "address")
    # AddressSanitizer and checks find more together than apart.
    set(STRATA_CHECKED_ONLY ON)
    set(strata_sanitizers address,undefined)
    # Tests of pointers that AddressSanitizer sees used anyway, and its own code at each place in place of a call,
    # together nearly double the time to compile.
    set(strata_sanitizer_options -fno-sanitize=null,alignment,object-size,vptr,bounds,pointer-overflow)
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
      list(APPEND strata_sanitizer_options --param=asan-instrumentation-with-call-threshold=0)
    endif()
  else()
    set(strata_sanitizers thread)
    set(strata_sanitizer_options)
  endif()
  # For everything below this directory, so that a program and its libraries agree.
  add_compile_options(-fsanitize=${strata_sanitizers} ${strata_sanitizer_options} -fno-sanitize-recover=all
                      -fno-omit-frame-pointer -g1)
  # g++ takes what sanitizers add for reads of what was not set.
  add_compile_options($<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-maybe-uninitialized>)
  add_link_options(-fsanitize=${strata_sanitizers})
endif()

function(strata_add_public_requirements target scope)
  target_compile_features(${target} ${scope} cxx_std_20)
  # CMake before 3.26 does not know nvcc's flag for C++20, so it is given here, not by CUDA_STANDARD.
  target_compile_options(${target} ${scope}
    "$<$<COMPILE_LANG_AND_ID:CUDA,NVIDIA>:-std=c++20;--expt-relaxed-constexpr;--extended-lambda;-Xcompiler=-fopenmp-simd>")
  # Turns on `#pragma omp simd` only: no OpenMP runtime, no threads.
  target_compile_options(${target} ${scope}
    $<$<COMPILE_LANG_AND_ID:CXX,GNU,Clang,AppleClang,IntelLLVM>:-fopenmp-simd>)
  target_link_libraries(${target} ${scope} Threads::Threads)
endfunction()
