# strata_check_sources(TARGET FILE...)
#
# An OBJECT library whose sources the compilers check and leave there: errors and warnings in seconds where code would
# take minutes, for what this machine cannot run or need not. Flags come as usual, from what the target is linked with.
#
# nvcc -ptx -fdevice-syntax-only is the pass for the GPU up to its code. It reads the whole file, host functions and
# what they instantiate as well, so it finds a launch that calls a constructor which is gone. It leaves out what is
# under `#if !defined(__CUDA_ARCH__)`, the host compiler's pass over the rest, ptxas and the linker: programs that are
# built and the tests of the host's devices have those.
# SPDX-License-Identifier: Apache-2.0
include_guard(GLOBAL)
include(strata_batches)
set_property(GLOBAL APPEND PROPERTY JOB_POOLS strata_nvcc=2)
function(strata_check_sources target)
  add_library(${target} OBJECT ${ARGN})
  set_target_properties(${target} PROPERTIES CXX_EXTENSIONS OFF OPTIMIZE_DEPENDENCIES ON)
  target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-fsyntax-only>
                                           $<$<COMPILE_LANGUAGE:CUDA>:-fdevice-syntax-only>)
  # ccache keeps neither. g++ writes no object: one that is empty says when the source was checked.
  set(launcher "sh;${PROJECT_SOURCE_DIR}/cmake/check_sources.sh")
  set_target_properties(${target} PROPERTIES CUDA_COMPILER_LAUNCHER "${launcher}" CXX_COMPILER_LAUNCHER "${launcher}")
  # PTX is of one architecture. nvcc takes up to 2 GiB for a file.
  if(STRATA_ENABLE_CUDA)
    string(REGEX MATCH "[0-9]+[af]?" architecture "${CMAKE_CUDA_ARCHITECTURES};90")
    set_target_properties(${target} PROPERTIES CUDA_PTX_COMPILATION ON CUDA_ARCHITECTURES "${architecture}-virtual"
                                               JOB_POOL_COMPILE strata_nvcc)
  endif()
endfunction()

# strata_check_batches(TARGET cpp|cu FILE...): as strata_check_sources, of several sources at once, by g++ or nvcc, which
# take most of the time for the headers. Should names of a batch clash nonetheless, its sources are checked one by one.
function(strata_check_batches target suffix)
  strata_batches(lines 4 ${ARGN})
  set(batches)
  set(number 0)
  foreach(line IN LISTS lines)
    string(REPLACE "|" ";" members "${line}")
    set(content "")
    foreach(source IN LISTS members)
      math(EXPR number "${number} + 1")
      file(STRINGS "${source}" main REGEX "^int main" LIMIT_COUNT 1)
      if(main)
        string(APPEND content "#undef main\n#define main main_${number}\n")
      endif()
      string(APPEND content "#include \"${source}\"\n")
    endforeach()
    set(batch "${CMAKE_CURRENT_BINARY_DIR}/batches/${target}_${number}.${suffix}")
    file(CONFIGURE OUTPUT "${batch}" CONTENT "${content}")
    list(APPEND batches "${batch}")
  endforeach()
  strata_check_sources(${target} ${batches})
endfunction()

# strata_wrap_for_cuda(RESULT FILE...): files of CUDA C++ that include these; a source has one language in a directory.
function(strata_wrap_for_cuda result)
  set(wrappers)
  foreach(source IN LISTS ARGN)
    cmake_path(ABSOLUTE_PATH source NORMALIZE)
    cmake_path(RELATIVE_PATH source BASE_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}" OUTPUT_VARIABLE name)
    set(wrapper "${CMAKE_CURRENT_BINARY_DIR}/cuda/${name}")
    cmake_path(REPLACE_EXTENSION wrapper LAST_ONLY cu)
    file(CONFIGURE OUTPUT "${wrapper}" CONTENT "#include \"${source}\"\n")
    list(APPEND wrappers "${wrapper}")
  endforeach()
  set(${result} ${wrappers} PARENT_SCOPE)
endfunction()

# strata_check_for_cuda(TARGET FILE...): nvcc checks files of CUDA C++ with the options and libraries of TARGET, as
# TARGET_cuda_check.
function(strata_check_for_cuda target)
  set(check ${target}_cuda_check)
  strata_check_sources(${check} ${ARGN})
  target_link_libraries(${check} PRIVATE $<TARGET_PROPERTY:${target},LINK_LIBRARIES>)
  target_compile_options(${check} PRIVATE $<TARGET_PROPERTY:${target},COMPILE_OPTIONS>
                                          $<$<CUDA_COMPILER_ID:NVIDIA>:-Werror=cross-execution-space-call>)
endfunction()

# strata_add_program_kernels(TARGET FILE...): as strata_add_kernels; where programs are built without Cuda
# (STRATA_BUILD_CUDA_PROGRAMS), they stay C++ files, and nvcc checks them besides.
function(strata_add_program_kernels target)
  if(NOT STRATA_ENABLE_CUDA OR STRATA_BUILD_CUDA_PROGRAMS)
    strata_add_kernels(${target} ${ARGN})
  else()
    strata_wrap_for_cuda(wrappers ${ARGN})
    strata_check_for_cuda(${target} ${wrappers})
  endif()
endfunction()
