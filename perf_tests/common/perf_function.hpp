// STRATA_PERF_FUNCTION: on what host and device compute alike, in headers that include none of Strata's.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#if defined(__CUDACC__)
#define STRATA_PERF_FUNCTION __host__ __device__
#else
#define STRATA_PERF_FUNCTION
#endif
