# Compile flags. `strata_flags`: of Strata's own sources and programs, never exported.
# `strata_add_public_requirements(target)`: what users of the headers need as well.
add_library(strata_flags INTERFACE)
target_compile_options(strata_flags INTERFACE -Wall -Wextra -Wpedantic -Wshadow)
# g++ 12 takes every inlined `"text" + std::string` for an overlap: https://gcc.gnu.org/PR105651
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  target_compile_options(strata_flags INTERFACE -Wno-restrict)
endif()
if(STRATA_WERROR)
  target_compile_options(strata_flags INTERFACE -Werror)
endif()
if(STRATA_ARCH)
  target_compile_options(strata_flags INTERFACE "-march=${STRATA_ARCH}")
endif()

if(STRATA_SANITIZER)
  if(STRATA_SANITIZER STREQUAL "address")
    set(strata_sanitizers address,undefined)
  else()
    set(strata_sanitizers thread)
  endif()
  # For everything below this directory, so that a program and its libraries agree.
  add_compile_options(-fsanitize=${strata_sanitizers} -fno-sanitize-recover=all -fno-omit-frame-pointer -g1)
  add_link_options(-fsanitize=${strata_sanitizers})
endif()

function(strata_add_public_requirements target scope)
  target_compile_features(${target} ${scope} cxx_std_20)
  # Turns on `#pragma omp simd` only: no OpenMP runtime, no threads.
  target_compile_options(${target} ${scope}
    $<$<COMPILE_LANG_AND_ID:CXX,GNU,Clang,AppleClang,IntelLLVM>:-fopenmp-simd>)
  target_link_libraries(${target} ${scope} Threads::Threads)
endfunction()
