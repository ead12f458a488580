// Sequence: loops over coherent arrays that are declared once and run many times; docs/coherent_arrays.md.
// For sequences that stream include <strata/streaming.hpp>.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/algorithms/sequence/sequence.hpp>
#include <strata/strata.hpp>
