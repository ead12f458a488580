# <strata/version.hpp>: version and what was built in; changes only when they do.
# <strata/commit.hpp>: the commit; only what prints it includes it, so that a commit rebuilds little.
# SPDX-License-Identifier: Apache-2.0
set(strata_include_root "${PROJECT_BINARY_DIR}/include")
set(strata_generated "${strata_include_root}/generated/strata")

if(STRATA_ENABLE_TBB)
  set(STRATA_HAS_TBB 1)
else()
  set(STRATA_HAS_TBB 0)
endif()
if(STRATA_ENABLE_CUDA)
  set(STRATA_HAS_CUDA 1)
else()
  set(STRATA_HAS_CUDA 0)
endif()
configure_file(cmake/version.hpp.in "${strata_generated}/version.hpp" @ONLY)

# Of a tree whose commit Git does not know, or not rightly, -DSTRATA_COMMIT=... says it.
set(strata_given_commit "${STRATA_COMMIT}")
set(STRATA_COMMIT "unknown")
find_package(Git QUIET)
if(strata_given_commit)
  set(STRATA_COMMIT "${strata_given_commit}")
elseif(GIT_FOUND AND EXISTS "${PROJECT_SOURCE_DIR}/.git")
  execute_process(COMMAND "${GIT_EXECUTABLE}" rev-parse --verify --short=12 HEAD
                  WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}"
                  OUTPUT_VARIABLE strata_commit RESULT_VARIABLE strata_git_result
                  OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  if(strata_git_result EQUAL 0)
    set(STRATA_COMMIT "${strata_commit}")
    # A new commit appends to this log, and so configures again.
    execute_process(COMMAND "${GIT_EXECUTABLE}" rev-parse --git-path logs/HEAD
                    WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}"
                    OUTPUT_VARIABLE strata_git_log OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    cmake_path(ABSOLUTE_PATH strata_git_log BASE_DIRECTORY "${PROJECT_SOURCE_DIR}")
    if(EXISTS "${strata_git_log}")
      set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${strata_git_log}")
    endif()
  endif()
endif()
configure_file(cmake/commit.hpp.in "${strata_generated}/commit.hpp" @ONLY)

# <strata/strata_gdb.inc>: the script for gdb as text for the assembler, a line for each of its lines (core/debugger.cpp).
# Characters that lists of CMake would take for their own do not come into it: the file is one string.
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/core/strata_gdb.py")
file(READ "${PROJECT_SOURCE_DIR}/core/strata_gdb.py" STRATA_GDB_TEXT)
string(REPLACE "\\" "\\\\" STRATA_GDB_TEXT "${STRATA_GDB_TEXT}")
string(REPLACE "\"" "\\\"" STRATA_GDB_TEXT "${STRATA_GDB_TEXT}")
string(REPLACE "\n" "\\n\"\n.ascii \"" STRATA_GDB_TEXT "${STRATA_GDB_TEXT}")
configure_file(cmake/strata_gdb.inc.in "${strata_generated}/strata_gdb.inc" @ONLY)
