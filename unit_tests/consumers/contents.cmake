# cmake -DPREFIX=FOLDER -P contents.cmake: what an install has besides the library and its headers.
# SPDX-License-Identifier: Apache-2.0
foreach(file IN ITEMS LICENSE CITATION.cff CHANGELOG.md examples/first.cpp examples/memories.cpp gdb/strata_gdb.py
        lldb/strata_lldb.py)
  if(NOT EXISTS "${PREFIX}/share/strata/${file}")
    message(FATAL_ERROR "the install lacks share/strata/${file}")
  endif()
endforeach()
file(READ "${PREFIX}/share/strata/LICENSE" licence)
if(NOT licence MATCHES "Apache License")
  message(FATAL_ERROR "share/strata/LICENSE is not the licence")
endif()
if(EXISTS "${PREFIX}/share/strata/examples/toy_device" OR EXISTS "${PREFIX}/include/strata/algorithms/umbrella")
  message(FATAL_ERROR "the install has what it should not")
endif()
