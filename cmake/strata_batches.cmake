# Sources compiled several at a time, with their headers once. Those of a batch declare different names, as far as
# tools/source_batches.py sees when the build is configured; without Python each is compiled by itself.
# SPDX-License-Identifier: Apache-2.0
include_guard(GLOBAL)
find_package(Python3 COMPONENTS Interpreter QUIET)

# strata_batches(RESULT MOST FILE...): a list of batches, each of at most MOST absolute paths with | between.
function(strata_batches result most)
  set(sources)
  foreach(source IN LISTS ARGN)
    cmake_path(ABSOLUTE_PATH source NORMALIZE)
    list(APPEND sources "${source}")
  endforeach()
  list(JOIN sources "\n" lines)
  if(Python3_FOUND)
    execute_process(COMMAND "${Python3_EXECUTABLE}" "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/../tools/source_batches.py" ${most} ${sources}
                    OUTPUT_VARIABLE lines COMMAND_ERROR_IS_FATAL ANY)
  endif()
  string(REGEX MATCHALL "[^\n]+" lines "${lines}")
  set(${result} "${lines}" PARENT_SCOPE)
endfunction()

# strata_test_batches(RESULT MOST FILE...): as strata_batches, of tests that use the same namespaces.
function(strata_test_batches result most)
  set(kinds)
  foreach(source IN LISTS ARGN)
    file(STRINGS "${source}" used REGEX "^using namespace")
    list(SORT used)
    string(MAKE_C_IDENTIFIER "of ${used}" kind)
    list(APPEND kinds ${kind})
    list(APPEND ${kind} "${source}")
  endforeach()
  list(REMOVE_DUPLICATES kinds)
  set(all)
  foreach(kind IN LISTS kinds)
    strata_batches(batches ${most} ${${kind}})
    list(APPEND all ${batches})
  endforeach()
  set(${result} "${all}" PARENT_SCOPE)
endfunction()

# strata_compile_in_batches(TARGET): its sources, which take half the time so. Where two that were given equal names
# since do not compile together, configuring again parts them.
function(strata_compile_in_batches target)
  if(NOT STRATA_UNITY)
    return()
  endif()
  get_target_property(sources ${target} SOURCES)
  strata_batches(batches 6 ${sources})
  strata_set_batches(${target} ${batches})
endfunction()

# strata_set_batches(TARGET BATCH...): sources of the target that strata_batches has put together are compiled together.
function(strata_set_batches target)
  set(number 0)
  foreach(batch IN LISTS ARGN)
    math(EXPR number "${number} + 1")
    string(REPLACE "|" ";" members "${batch}")
    set_property(SOURCE ${members} PROPERTY UNITY_GROUP ${number})
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
endfunction()
