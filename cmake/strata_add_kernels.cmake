# strata_add_kernels(target file...)
#
# Names the source files of `target` whose kernels are launched on Cuda: nvcc compiles them, and they become
# sources of the target if they are not yet. Without Cuda in this build of Strata they stay C++ files, so that a
# project needs one list for both. Call it in the directory that defines the target.
#
# A call of a host's function in one for all devices, of which nvcc only warns, and makes nothing, is an error.
# SPDX-License-Identifier: Apache-2.0
function(strata_add_kernels target)
  get_target_property(sources ${target} SOURCES)
  foreach(file IN LISTS ARGN)
    if(NOT file IN_LIST sources)
      target_sources(${target} PRIVATE ${file})
    endif()
  endforeach()
  if(NOT STRATA_HAS_CUDA AND NOT STRATA_ENABLE_CUDA)
    return()
  endif()
  if(NOT CMAKE_CUDA_COMPILER_LOADED)  # here: a subproject that enabled it did so for itself
    message(FATAL_ERROR "strata_add_kernels(${target}): this build of Strata has the device Cuda, and the project "
                        "has not enabled the language: enable_language(CUDA), with nvcc on the PATH")
  endif()
  set_property(SOURCE ${ARGN} PROPERTY LANGUAGE CUDA)
  set_property(SOURCE ${ARGN} APPEND PROPERTY COMPILE_OPTIONS
               $<$<CUDA_COMPILER_ID:NVIDIA>:-Werror=cross-execution-space-call>)
endfunction()
