# Warns a project that uses Strata without a build type: its kernels would be compiled without optimisation.
# SPDX-License-Identifier: Apache-2.0
get_property(strata_multi_config GLOBAL PROPERTY GENERATOR_IS_MULTI_CONFIG)
get_property(strata_build_type_told GLOBAL PROPERTY strata_build_type_told)
if(NOT CMAKE_BUILD_TYPE AND NOT strata_multi_config AND NOT CMAKE_CXX_FLAGS MATCHES "-O[1-3sfg]" AND NOT strata_FIND_QUIETLY AND NOT strata_build_type_told)
  set_property(GLOBAL PROPERTY strata_build_type_told ON)
  message(WARNING "CMAKE_BUILD_TYPE is empty: kernels are compiled without optimisation, and run 100 to 400 times slower; "
                  "configure with -DCMAKE_BUILD_TYPE=Release")
endif()
