// expect: an element access has more indices than this view can have dimensions
// SPDX-License-Identifier: Apache-2.0
#include <strata/strata.hpp>

double get(const strata::MDArray<double, strata::Serial>& x) { return x(0, 0, 0, 0, 0, 0, 0, 0, 0); }
