# strata_add_tests(FOLDER [CHECKED] [DEVICES serial threads ...])
#
# Makes strata_FOLDER_tests of unit_tests/FOLDER/*.cpp, and strata_FOLDER_tests_checked where CHECKED.
# Entries of CTest: FOLDER.serial, FOLDER.threads ... (label the device) where the folder has typed tests,
# FOLDER.rest (label core), FOLDER.slow (label slow). An entry that finds no test of its device fails; of
# slow it is skipped.
cmake_host_system_information(RESULT strata_processors QUERY NUMBER_OF_LOGICAL_CORES)

# The library is optimised as users get it; the many instantiations of the tests compile in half the time.
if(NOT STRATA_SANITIZER)
  set(strata_test_options $<$<CONFIG:Release>:-O2>)
  set(strata_test_options_checked $<$<CONFIG:Release>:-O1>)
endif()

function(strata_add_tests folder)
  cmake_parse_arguments(PARSE_ARGV 1 arg "CHECKED" "" "DEVICES")
  file(GLOB sources CONFIGURE_DEPENDS "${folder}/*.cpp")
  if(NOT sources)
    return()
  endif()
  # Without entries of their own, typed tests would run under FOLDER.rest: none is ever left out.
  set(devices)
  foreach(source IN LISTS sources)
    file(STRINGS "${source}" typed REGEX "^TYPED_TEST" LIMIT_COUNT 1)
    if(typed)
      set(devices ${arg_DEVICES})
    endif()
  endforeach()
  _strata_add_test_program(strata_${folder}_tests "" ${sources})
  _strata_add_test_entries(${folder} strata_${folder}_tests "" "${devices}")
  if(arg_CHECKED)
    _strata_add_test_program(strata_${folder}_tests_checked _checked ${sources})
    _strata_add_test_entries(${folder}_checked strata_${folder}_tests_checked checked "${devices}")
  endif()
endfunction()

function(_strata_add_test_program program variant)
  add_executable(${program} ${ARGN} ${shared_sources})
  set_target_properties(${program} PROPERTIES CXX_EXTENSIONS OFF)
  target_include_directories(${program} PRIVATE "${PROJECT_SOURCE_DIR}/unit_tests")
  target_link_libraries(${program} PRIVATE strata_flags strata::strata${variant} GTest::gtest_main)
  target_compile_options(${program} PRIVATE ${strata_test_options${variant}})
  target_precompile_headers(${program} PRIVATE <gtest/gtest.h>)
endfunction()

function(_strata_add_test_entries name program label devices)
  set(not_rest "*Slow*")
  foreach(device IN LISTS devices)
    string(SUBSTRING ${device} 0 1 initial)
    string(SUBSTRING ${device} 1 -1 others)
    string(TOUPPER ${initial} initial)
    set(pattern "*/${initial}${others}.*")  # typed test suites: Suite/Threads.Test
    string(APPEND not_rest ":${pattern}")
    _strata_add_test_entry(${name}.${device} ${program} "${pattern}-*Slow*" "${device};${label}")
    set_property(TEST ${name}.${device} PROPERTY FAIL_REGULAR_EXPRESSION "Running 0 tests from")
  endforeach()
  _strata_add_test_entry(${name}.rest ${program} "-${not_rest}" "core;${label}")
  _strata_add_test_entry(${name}.slow ${program} "*Slow*" "slow;${label}")
  set_property(TEST ${name}.slow PROPERTY SKIP_REGULAR_EXPRESSION "Running 0 tests from")
endfunction()

function(_strata_add_test_entry name program filter labels)
  add_test(NAME ${name} COMMAND ${program} "--gtest_filter=${filter}")
  # All processors: programs with a thread pool are not run side by side.
  set_tests_properties(${name} PROPERTIES LABELS "${labels}" TIMEOUT 900 PROCESSORS ${strata_processors})
endfunction()
