# build/compile_args/TARGET.txt: the compile command of a user of each target, one argument a line, for
# the must-not-compile tests and tools/check.
# SPDX-License-Identifier: Apache-2.0
get_property(strata_folders GLOBAL PROPERTY strata_folders)
list(TRANSFORM strata_folders PREPEND strata_ OUTPUT_VARIABLE strata_targets)
foreach(folder IN LISTS strata_targets)
  list(APPEND strata_targets ${folder}_checked)
endforeach()
foreach(target IN LISTS strata_targets ITEMS strata strata_checked)
  set(includes "$<REMOVE_DUPLICATES:$<TARGET_PROPERTY:${target},INTERFACE_INCLUDE_DIRECTORIES>>")
  set(definitions "$<REMOVE_DUPLICATES:$<TARGET_PROPERTY:${target},INTERFACE_COMPILE_DEFINITIONS>>")
  string(CONCAT content "${CMAKE_CXX_COMPILER}\n-std=c++20\n-fopenmp-simd\n"
         "-I$<JOIN:${includes},\n-I>\n" "$<$<BOOL:${definitions}>:-D$<JOIN:${definitions},\n-D>\n>")
  file(GENERATE OUTPUT "${PROJECT_BINARY_DIR}/compile_args/${target}.txt" CONTENT "${content}")
  if(STRATA_ENABLE_CUDA)
    # Of a user whose build takes Strata for headers of the system, which hides nvcc's warnings.
    string(CONCAT content "${CMAKE_CUDA_COMPILER}\n-std=c++20\n--expt-relaxed-constexpr\n--extended-lambda\n"
           "-isystem=$<JOIN:${includes},\n-isystem=>\n"
           "$<$<BOOL:${definitions}>:-D$<JOIN:${definitions},\n-D>\n>")
    file(GENERATE OUTPUT "${PROJECT_BINARY_DIR}/compile_args/${target}_nvcc.txt" CONTENT "${content}")
  endif()
endforeach()
