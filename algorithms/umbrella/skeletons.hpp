// Patterns around a function of elements, over coherent arrays: map, reduce, scan, map_overlap;
// docs/coherent_arrays.md.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/algorithms/skeletons/skeletons.hpp>
#include <strata/strata.hpp>
