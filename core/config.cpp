#include <strata/core/config.hpp>

const char STRATA_LIBRARY = 0;
