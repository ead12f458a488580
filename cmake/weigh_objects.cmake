# cmake -DCMAKE_PROJECT_TOP_LEVEL_INCLUDES=.../cmake/weigh_objects.cmake: every compilation adds a line to weight.log in the
# build folder, with its target and its processor seconds (tools/weigh). .ci/run configures so.
# SPDX-License-Identifier: Apache-2.0
set_property(GLOBAL PROPERTY RULE_LAUNCH_COMPILE
             "sh \"${CMAKE_CURRENT_LIST_DIR}/../tools/weigh\" \"${CMAKE_BINARY_DIR}/weight.log\" <TARGET_NAME> <OBJECT>")
