// SPDX-License-Identifier: Apache-2.0
#include <strata/core/config.hpp>

const char STRATA_LIBRARY = 0;
