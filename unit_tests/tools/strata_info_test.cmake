# cmake -DPROGRAM=strata-info -DVERSION=0.1.0 -DBACKENDS="Serial;..." [-DSANITIZER=address] -P strata_info_test.cmake
#
# What the program strata-info prints, in its three forms, and how it fails.
# SPDX-License-Identifier: Apache-2.0
function(run expected_status output)
  execute_process(COMMAND "${PROGRAM}" ${ARGN} OUTPUT_VARIABLE out ERROR_VARIABLE err RESULT_VARIABLE status)
  if(NOT status STREQUAL expected_status)
    message(SEND_ERROR "strata-info ${ARGN} ended with ${status}, not ${expected_status}:\n${out}${err}")
  endif()
  set(${output} "${out}${err}" PARENT_SCOPE)
endfunction()

function(expect text pattern)
  if(NOT text MATCHES "${pattern}")
    message(SEND_ERROR "expected ${pattern} in:\n${text}")
  endif()
endfunction()

string(REPLACE "." "\\." version_pattern "${VERSION}")
run(0 text --version)
expect("${text}" "^strata ${version_pattern} \\(commit [0-9a-z]+, [^)]*\\): Serial, Threads, [A-Za-z, ]*Emulated[A-Za-z, ]*\n$")

set(ENV{STRATA_EMULATED_COUNT} 3)
run(0 text)
expect("${text}" "\ndevices:\n  Serial{0}: memory Host, ")
expect("${text}" "\n  Emulated{2}: memory Emulated, ")
expect("${text}" "\n  emulated_count = 3 \\(environment\\)\n")

# JSON that CMake reads, with a value that needs quoting.
run(0 text --json "--strata-tools-args=a \"quoted\" name" --strata-threads 1)
string(JSON read GET "${text}" version)
expect("${read}" "^${version_pattern}$")
string(JSON count LENGTH "${text}" backends)
list(LENGTH BACKENDS expected)
expect("${count}" "^${expected}$")
string(JSON read GET "${text}" devices 0 capacity)
expect("${read}" "^[1-9][0-9]+$")
string(JSON count LENGTH "${text}" settings)
math(EXPR last "${count} - 1")
foreach(k RANGE ${last})
  string(JSON name GET "${text}" settings ${k} name)
  string(JSON value GET "${text}" settings ${k} value)
  string(JSON source GET "${text}" settings ${k} source)
  set(setting_${name} "${value} by ${source}")
endforeach()
expect("${setting_threads}" "^1 by command line$")
expect("${setting_emulated_count}" "^3 by environment$")
expect("${setting_tools_args}" "^a \"quoted\" name by command line$")
expect("${setting_pin}" "^true by default$")

run(2 text --no-such-option)
expect("${text}" "strata-info: .*--no-such-option.*strata-info --json")
set(ENV{STRATA_EMULATED_COUNT} many)
run(1 text)
expect("${text}" "^strata-info: .*STRATA_EMULATED_COUNT")
run(0 text --version)  # also where a setting is wrong

# Devices that the limits of a shell do not let start are listed with the limit, and the others as they are.
unset(ENV{STRATA_EMULATED_COUNT})
find_program(shell sh)
if(shell)
  set(limits "-f 1000")
  if(NOT SANITIZER)  # which takes terabytes of addresses
    list(APPEND limits "-v 2000000")
  endif()
  foreach(limit IN LISTS limits)
    execute_process(COMMAND "${shell}" -c "ulimit ${limit} && exec '${PROGRAM}'" OUTPUT_VARIABLE text ERROR_VARIABLE text
                    RESULT_VARIABLE status)
    if(NOT status EQUAL 0)
      message(SEND_ERROR "strata-info under ulimit ${limit} ended with ${status}:\n${text}")
    endif()
    expect("${text}" "\n  Serial{0}: memory Host, ")
    string(REGEX REPLACE " .*" "" option "${limit}")
    expect("${text}" "\n  Emulated{0}: cannot be used: [^\n]*\\(ulimit ${option}\\)")
  endforeach()
endif()
