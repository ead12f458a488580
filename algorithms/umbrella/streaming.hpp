// Arrays larger than a device, or than memory: launches, reductions, scans, steps of stencils and sequences
// over streamed(device, budget); docs/out_of_core.md.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/algorithms/streaming/fixed_row.hpp>
#include <strata/algorithms/streaming/fused_steps.hpp>
#include <strata/algorithms/streaming/streamed.hpp>
#include <strata/algorithms/streaming/streamed_iterate.hpp>
#include <strata/algorithms/streaming/streamed_iterate_reduce.hpp>
#include <strata/algorithms/streaming/streamed_reduce.hpp>
#include <strata/algorithms/streaming/streamed_sequence.hpp>
#include <strata/strata.hpp>
