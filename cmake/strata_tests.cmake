# strata_add_tests(NAME [PATH folder] [ROOMS subfolder ...] [ONLY regex] [WITHOUT regex] [CHECKED] [DEVICES serial threads ...]
#                  [LIBRARIES target ...])
#
# Makes strata_NAME_tests of unit_tests/PATH/*.cpp (PATH is NAME by default) and PATH/ROOM/*_test.cpp, of these ONLY those or all
# WITHOUT those that match a regular expression, and where CHECKED with STRATA_CHECKED_TESTS
# strata_NAME_tests_checked besides; under AddressSanitizer all are checked. LIBRARIES are linked besides Strata, those called
# TARGET_checked to the latter.
# Entries of CTest: NAME.serial, NAME.threads ... (label the device) where the folder has typed tests,
# NAME.rest (label core), NAME.slow (label slow; NAME.slow.serial ... where slow tests are typed). An entry that finds no test of its device fails; of
# slow it is skipped.
# SPDX-License-Identifier: Apache-2.0
cmake_host_system_information(RESULT strata_processors QUERY NUMBER_OF_LOGICAL_CORES)

# The library is optimised as users get it. The many instantiations of the tests compile in half the time without, those
# of the folders below with the little that debugging allows (-Og), those of what optimisers might get wrong with -O1.
# Without any, the tests of streaming would run for 109 s of processor, longer than they then compile faster; with -O1
# they run for 24 s in place of 33, and compile in 110 in place of 90. Those of algorithms run without any for 24 s in place
# of 5, and compile in 89 in place of 158 (with the batches below). What compares boxes, copies and trees with loops over their
# elements computes for longer than it compiles.
set(strata_optimised_tests "^(linear|tiled|streaming|streaming_devices|fused|streaming_plan|thermal|explicit_dynamics|coherent_apps)$|atomic|bits|half|complex|box_property|copy_execute|reduction_tree")
# Six sources are compiled as one (_strata_batch_tests), three of those that take up to 1.5 GiB.
set(strata_large_tests "^(streaming|streaming_devices|fused|linear|tiled)$")
# Checked builds and those under sanitizers run them over the devices that differ most, AddressSanitizer over the one
# whose memory is its own.
set(strata_test_devices_checked "STRATA_TEST_DEVICES_HEADER=\"few_test_devices.hpp\"")
set(strata_few_devices "^(threads|emulated)$")
if(STRATA_SANITIZER STREQUAL "address")
  list(APPEND strata_test_devices_checked STRATA_TEST_ONE_DEVICE=1)
  set(strata_few_devices "^emulated$")
endif()
if(STRATA_SANITIZER)
  set(strata_test_devices "${strata_test_devices_checked}")
else()
  set(strata_test_options $<$<CONFIG:Release>:-O0>)
endif()

# What computes for long, in place of instantiating much: with some optimisation AddressSanitizer runs it in a third of the
# time, and compiles it as fast as what it shares a precompiled header with. Where many templates are instantiated
# optimisation is what takes the time: 45 in place of 22 s of processor for executor_property_test, 24 in place of 8 for
# layout_property_test.
string(CONCAT strata_long_tests
       "core/(box|box_property|complex|copy_execute|copy_plan|half|reduction_tree)_test|"
       "devices/(box_plan|chunk_plan|slab_heap)_test|emulated/(memory|timeline)_test|"
       "views/coherent/plan/[^/]*|coherent/reduction_groups_test|"
       "streaming/plan/[^/]*|streaming/(fused_[a-z]*|left_out|streamed_(across|seams|sequence))_test|"
       "files/mesh_fuzz_test")

function(strata_add_tests folder)
  cmake_parse_arguments(PARSE_ARGV 1 arg "CHECKED" "PATH;ONLY;WITHOUT" "ROOMS;DEVICES;LIBRARIES")
  _strata_test_sources(sources ${folder} "${arg_PATH}" ${arg_ROOMS})
  if(arg_ONLY)
    list(FILTER sources INCLUDE REGEX "${arg_ONLY}")
  endif()
  if(arg_WITHOUT)
    list(FILTER sources EXCLUDE REGEX "${arg_WITHOUT}")
  endif()
  if(NOT sources)
    message(FATAL_ERROR "strata_add_tests(${folder}): there are no sources in \"${arg_PATH}\"")
  endif()
  # Without entries of their own, typed tests would run under FOLDER.rest: none is ever left out.
  set(devices)
  foreach(source IN LISTS sources)
    file(STRINGS "${source}" typed REGEX "^TYPED_TEST" LIMIT_COUNT 1)
    if(typed)
      set(devices ${arg_DEVICES})
    endif()
  endforeach()
  set(few_devices ${devices})
  list(FILTER few_devices INCLUDE REGEX "${strata_few_devices}")
  if(STRATA_SANITIZER)
    set(devices ${few_devices})
  endif()
  _strata_add_test_program(strata_${folder}_tests "" "${arg_LIBRARIES}" ${sources})
  _strata_add_test_entries(${folder} strata_${folder}_tests "" "${devices}")
  set(optimised_sources)
  foreach(source IN LISTS sources)
    cmake_path(GET source STEM stem)
    set(optimised OFF)
    if(STRATA_SANITIZER STREQUAL "address" AND source MATCHES "(${strata_long_tests})\\.cpp$")
      set(optimised ON)
    elseif(strata_test_options AND stem MATCHES "${strata_optimised_tests}" AND NOT folder MATCHES "${strata_optimised_tests}")
      set(optimised ON)
    endif()
    if(optimised)
      list(APPEND optimised_sources "${source}")
    endif()
  endforeach()
  set(programs strata_${folder}_tests)
  if(arg_CHECKED AND STRATA_CHECKED_TESTS AND NOT STRATA_CHECKED_ONLY)
    _strata_add_test_program(strata_${folder}_tests_checked _checked "${arg_LIBRARIES}" ${sources})
    _strata_add_test_entries(${folder}_checked strata_${folder}_tests_checked checked "${few_devices}")
    list(APPEND programs strata_${folder}_tests_checked)
  endif()
  if(optimised_sources)
    _strata_optimise_tests("${programs}" ${optimised_sources})
  endif()
endfunction()

# Sources that are compiled with -O1, and so without the precompiled header, which is of one level: several as one here,
# as CMake's batches take no source that has options of its own. Under a sanitizer each by itself: there they are
# the long ones.
function(_strata_optimise_tests programs)
  set(sources ${ARGN})
  if(STRATA_UNITY AND NOT STRATA_SANITIZER)
    strata_test_batches(batches 4 ${ARGN})
    set_property(SOURCE ${ARGN} PROPERTY HEADER_FILE_ONLY ON)
    set(sources)
    foreach(batch IN LISTS batches)
      list(LENGTH sources number)
      list(GET programs 0 program)
      string(REPLACE "|" "\"\n#include \"" content "${batch}")
      set(source "${CMAKE_CURRENT_BINARY_DIR}/batches/${program}_optimised_${number}.cpp")
      file(CONFIGURE OUTPUT "${source}" CONTENT "${strata_batch_pragmas}#include \"${content}\"\n")
      list(APPEND sources "${source}")
    endforeach()
    foreach(program IN LISTS programs)
      target_sources(${program} PRIVATE ${sources})
    endforeach()
  endif()
  set_property(SOURCE ${sources} PROPERTY SKIP_PRECOMPILE_HEADERS ON)
  set_property(SOURCE ${sources} APPEND PROPERTY COMPILE_OPTIONS $<$<CONFIG:Release>:-O1>)
endfunction()

# strata_add_cuda_tests(NAME [PATH folder] [CHECKED] [BUILT] [LIBRARIES target ...]): the typed tests of a folder again, by nvcc
# for Cuda, as strata_NAME_tests_cuda; of the folder devices/cuda, all tests. Entry NAME.cuda of CTest, label cuda, skipped where
# there is no GPU; where CHECKED, with checks besides. Without STRATA_BUILD_CUDA_PROGRAMS nvcc only checks them, unless
# BUILT, and where CHECKED with checks alone: that has nearly all of the other's code.
function(strata_add_cuda_tests folder)
  cmake_parse_arguments(PARSE_ARGV 1 arg "CHECKED;BUILT" "PATH" "LIBRARIES")
  set(built OFF)
  if(arg_BUILT OR STRATA_BUILD_CUDA_PROGRAMS)
    set(built ON)
  endif()
  set(variants "_")
  if(arg_CHECKED AND built)
    list(APPEND variants "_checked")
  elseif(arg_CHECKED)
    set(variants "_checked")
  endif()
  _strata_test_sources(all_sources ${folder} "${arg_PATH}")
  set(sources)
  foreach(source IN LISTS all_sources)
    file(STRINGS "${source}" typed REGEX "^TYPED_TEST" LIMIT_COUNT 1)
    if(typed OR (folder STREQUAL "cuda" AND source MATCHES "_test.cpp$"))
      list(APPEND sources "${source}")
    endif()
  endforeach()
  set(filter "*/Cuda.*-*Slow*")
  if(folder STREQUAL "cuda")
    set(filter "*")
  endif()
  foreach(variant IN LISTS variants)
    string(REGEX REPLACE "^_$" "" variant "${variant}")
    set(program strata_${folder}_tests_cuda${variant})
    if(arg_BUILT AND STRATA_UNITY)
      _strata_wrap_batches_for_cuda(wrappers ${program} ${sources})
    elseif(built)
      strata_wrap_for_cuda(wrappers ${sources})
    endif()
    if(built)
      add_executable(${program} devices/cuda/main.cpp ${wrappers})
    else()
      strata_check_batches(${program} cu ${sources})
    endif()
    target_include_directories(${program} PRIVATE "${PROJECT_SOURCE_DIR}/unit_tests")
    target_compile_definitions(${program} PRIVATE "STRATA_TEST_DEVICES_HEADER=\"devices/cuda/cuda_test_devices.hpp\"")
    list(TRANSFORM arg_LIBRARIES APPEND "${variant}" OUTPUT_VARIABLE libraries)
    target_link_libraries(${program} PRIVATE strata_flags strata_tests_shared ${libraries} strata::strata${variant} GTest::gtest)
    target_compile_options(${program} PRIVATE $<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-O1>)
    if(built)
      _strata_add_test_entry(${folder}${variant}.cuda ${program} "${filter}" "cuda")
      set_tests_properties(${folder}${variant}.cuda PROPERTIES SKIP_RETURN_CODE 77
                           FAIL_REGULAR_EXPRESSION "Running 0 tests from")
    endif()
  endforeach()
endfunction()

# As strata_wrap_for_cuda, three sources at a time, of which nvcc takes most of the time for the headers.
function(_strata_wrap_batches_for_cuda result program)
  strata_batches(batches 3 ${ARGN})
  set(wrappers)
  set(number 0)
  foreach(batch IN LISTS batches)
    math(EXPR number "${number} + 1")
    string(REPLACE "|" "\"\n#include \"" content "${batch}")
    set(wrapper "${CMAKE_CURRENT_BINARY_DIR}/batches/${program}_${number}.cu")
    file(CONFIGURE OUTPUT "${wrapper}" CONTENT "#include \"${content}\"\n")
    list(APPEND wrappers "${wrapper}")
  endforeach()
  set(${result} ${wrappers} PARENT_SCOPE)
endfunction()

# The sources of tests in `path`, which is `folder` by default, and in its subfolders named besides.
function(_strata_test_sources result folder path)
  if(NOT path)
    set(path ${folder})
  endif()
  set(patterns "${path}/*.cpp")
  foreach(room IN LISTS ARGN)
    file(GLOB found "${path}/${room}/*_test.cpp")
    if(NOT found)
      message(FATAL_ERROR "strata_add_tests(${folder}): there are no tests in \"${path}/${room}\"")
    endif()
    list(APPEND patterns "${path}/${room}/*_test.cpp")
  endforeach()
  file(GLOB sources CONFIGURE_DEPENDS RELATIVE "${CMAKE_CURRENT_SOURCE_DIR}" ${patterns})
  set(${result} ${sources} PARENT_SCOPE)
endfunction()

function(_strata_add_test_program program variant libraries)
  add_executable(${program} ${ARGN})
  set_target_properties(${program} PROPERTIES CXX_EXTENSIONS OFF)
  target_include_directories(${program} PRIVATE "${PROJECT_SOURCE_DIR}/unit_tests")
  list(TRANSFORM libraries APPEND "${variant}")
  target_link_libraries(${program} PRIVATE strata_flags strata_tests_shared ${libraries} strata::strata${variant} GTest::gtest_main)
  string(REGEX REPLACE "^strata_|_tests(_checked)?$" "" folder ${program})
  set(level 0)
  if(strata_test_options AND folder MATCHES "${strata_optimised_tests}")
    set(level 1)
  endif()
  _strata_test_flags(${program} ${level} "${variant}")
  _strata_precompiled_tests(precompiled ${level} "${variant}")
  target_precompile_headers(${program} REUSE_FROM ${precompiled})
  _strata_batch_tests(${program} ${ARGN})
endfunction()

# Sources that use the same namespaces and so headers, and instantiate much alike, in batches: three of algorithms
# take 8.5 in place of 10.6 s of processor, of coherent arrays 8.1 in place of 10.1. Six take up to 1.1 GiB, four of streaming
# 1.5. Where two clash by a name that tools/source_batches.py does not see, one of them takes another. Batches
# say nothing of local names that are one of another file's namespace, too (-Wshadow); STRATA_UNITY=OFF compiles each
# by itself.
set(strata_batch_pragmas)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  set(strata_severity "warning")
  if(STRATA_WERROR)
    set(strata_severity "error")
  endif()
  string(CONCAT strata_batch_pragmas "#pragma GCC diagnostic ignored \"-Wshadow\"\n"
                                     "#pragma GCC diagnostic ${strata_severity} \"-Wshadow=local\"\n")
endif()
function(_strata_batch_tests program)
  string(REGEX REPLACE "^strata_|_tests(_checked)?$" "" folder ${program})
  if(NOT STRATA_UNITY)
    return()
  endif()
  set(most 6)
  if(folder MATCHES "${strata_large_tests}")
    set(most 3)
  endif()
  strata_test_batches(batches ${most} ${ARGN})
  strata_set_batches(${program} ${batches})
  set_target_properties(${program} PROPERTIES UNITY_BUILD_CODE_BEFORE_INCLUDE "${strata_batch_pragmas}")
endfunction()

function(_strata_test_flags target level variant)
  if(level)
    target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-Og>)
  else()
    target_compile_options(${target} PRIVATE ${strata_test_options})
  endif()
  target_compile_definitions(${target} PRIVATE ${strata_test_devices${variant}})
endfunction()

# A target with all that typed tests include, compiled once for the programs of a level of optimisation.
function(_strata_precompiled_tests result level variant)
  set(target strata_tests_precompiled_${level}${variant})
  set(${result} ${target} PARENT_SCOPE)
  if(TARGET ${target})
    return()
  endif()
  file(CONFIGURE OUTPUT precompiled_tests.cpp CONTENT "// What is precompiled needs a source.\n")
  add_library(${target} OBJECT "${CMAKE_CURRENT_BINARY_DIR}/precompiled_tests.cpp")
  set_target_properties(${target} PROPERTIES CXX_EXTENSIONS OFF EXCLUDE_FROM_ALL ON)
  target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}/unit_tests")
  target_link_libraries(${target} PRIVATE strata_flags strata::strata${variant} GTest::gtest)
  _strata_test_flags(${target} ${level} "${variant}")
  target_precompile_headers(${target} PRIVATE test_devices.hpp)
endfunction()

# Typed tests know the host devices as one, AnyHost, and are run for each with the setting host_device.
function(_strata_add_test_entries name program label devices)
  set(not_rest "*Slow*")
  set(hosts "^(serial|threads|tbb)$")
  get_target_property(sources ${program} SOURCES)
  set(slow_typed)
  foreach(source IN LISTS sources)
    file(STRINGS "${source}" found REGEX "^TYPED_TEST.*Slow" LIMIT_COUNT 1)
    list(APPEND slow_typed ${found})
  endforeach()
  foreach(device IN LISTS devices)
    if(device MATCHES "${hosts}")
      set(pattern "*/AnyHost.*")  # typed test suites: Suite/AnyHost.Test
    else()
      string(SUBSTRING ${device} 0 1 initial)
      string(SUBSTRING ${device} 1 -1 others)
      string(TOUPPER ${initial} initial)
      set(pattern "*/${initial}${others}.*")
    endif()
    string(APPEND not_rest ":${pattern}")
    _strata_add_test_entry(${name}.${device} ${program} "${pattern}-*Slow*" "${device};${label}")
    set_property(TEST ${name}.${device} PROPERTY FAIL_REGULAR_EXPRESSION "Running 0 tests from")
    if(device MATCHES "${hosts}")
      set_property(TEST ${name}.${device} PROPERTY ENVIRONMENT STRATA_HOST_DEVICE=${device})
      if(slow_typed AND NOT device STREQUAL "threads")  # with which FOLDER.slow runs them
        _strata_add_test_entry(${name}.slow.${device} ${program} "*/AnyHost.*Slow*" "slow;${label}")
        set_property(TEST ${name}.slow.${device} PROPERTY ENVIRONMENT STRATA_HOST_DEVICE=${device})
      endif()
    endif()
  endforeach()
  _strata_add_test_entry(${name}.rest ${program} "-${not_rest}" "core;${label}")
  _strata_add_test_entry(${name}.slow ${program} "*Slow*" "slow;${label}")
  set_property(TEST ${name}.slow PROPERTY SKIP_REGULAR_EXPRESSION "Running 0 tests from")
endfunction()

function(_strata_add_test_entry name program filter labels)
  add_test(NAME ${name} COMMAND ${program} "--gtest_filter=${filter}")
  # Entries whose kernels keep all processors busy, or a GPU, are not run side by side; the others use one processor, and
  # wait much. Under AddressSanitizer all run on Emulated.
  set(processors 1)
  if(name MATCHES "\\.(threads|tbb|cuda|async)$|^devices\\.rest$" AND NOT STRATA_SANITIZER STREQUAL "address")
    set(processors ${strata_processors})
  endif()
  set_tests_properties(${name} PROPERTIES LABELS "${labels}" TIMEOUT 900 PROCESSORS ${processors})
endfunction()
