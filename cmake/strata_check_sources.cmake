# strata_check_sources(TARGET FILE...)
#
# An OBJECT library whose sources the compilers check and leave there: errors and warnings in seconds where code would
# take minutes, for what this machine cannot run or need not. Flags come as usual, from what the target is linked with.
#
# nvcc -ptx -fdevice-syntax-only is the pass for the GPU up to its code. It reads the whole file, host functions and
# what they instantiate as well, so it finds a launch that calls a constructor which is gone. It leaves out what is
# under `#if !defined(__CUDA_ARCH__)`, the host compiler's pass over the rest, ptxas and the linker: programs that are
# built and the tests of the host's devices have those.
include_guard(GLOBAL)
set_property(GLOBAL APPEND PROPERTY JOB_POOLS strata_nvcc=2)
function(strata_check_sources target)
  add_library(${target} OBJECT ${ARGN})
  set_target_properties(${target} PROPERTIES CXX_EXTENSIONS OFF OPTIMIZE_DEPENDENCIES ON)
  target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-fsyntax-only>
                                           $<$<COMPILE_LANGUAGE:CUDA>:-fdevice-syntax-only>)
  # ccache keeps neither. g++ writes no object: one that is empty says when the source was checked.
  set_target_properties(${target} PROPERTIES CUDA_COMPILER_LAUNCHER ""
                        CXX_COMPILER_LAUNCHER "sh;${PROJECT_SOURCE_DIR}/cmake/touch_object.sh")
  # PTX is of one architecture. nvcc takes up to 2 GiB for a file.
  if(STRATA_ENABLE_CUDA)
    string(REGEX MATCH "[0-9]+[af]?" architecture "${CMAKE_CUDA_ARCHITECTURES};90")
    set_target_properties(${target} PROPERTIES CUDA_PTX_COMPILATION ON CUDA_ARCHITECTURES "${architecture}-virtual"
                                               JOB_POOL_COMPILE strata_nvcc)
  endif()
endfunction()

# strata_add_program_kernels(TARGET file...)
#
# As strata_add_kernels, for programs that are run where they are built. Where those of Cuda are not
# (STRATA_CUDA_PROGRAMS), the files stay C++ without that device, and nvcc checks them as part of the target
# TARGET_cuda_check.
function(strata_add_program_kernels target)
  if(NOT STRATA_ENABLE_CUDA OR STRATA_CUDA_PROGRAMS)
    strata_add_kernels(${target} ${ARGN})
    return()
  endif()
  set(wrappers)
  foreach(source IN LISTS ARGN)
    # A source belongs to one language in a directory: nvcc gets it by way of a file that includes it.
    cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}")
    cmake_path(GET source STEM stem)
    set(wrapper "${CMAKE_CURRENT_BINARY_DIR}/${target}_${stem}_check.cu")
    file(CONFIGURE OUTPUT "${wrapper}" CONTENT "#include \"${source}\"\n")
    list(APPEND wrappers "${wrapper}")
  endforeach()
  _strata_check_for_cuda(${target} ${wrappers})
endfunction()

# Adds files to TARGET_cuda_check, whose flags and libraries are those of the target.
function(_strata_check_for_cuda target)
  set(check ${target}_cuda_check)
  if(TARGET ${check})
    target_sources(${check} PRIVATE ${ARGN})
    return()
  endif()
  strata_check_sources(${check} ${ARGN})
  target_link_libraries(${check} PRIVATE $<TARGET_PROPERTY:${target},LINK_LIBRARIES>)
  target_compile_options(${check} PRIVATE $<TARGET_PROPERTY:${target},COMPILE_OPTIONS>)
endfunction()
