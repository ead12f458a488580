// Products and factors of dense matrices by cuBLAS and cuSOLVER: libraries.hpp says how these are loaded and
// called. Calls return after enqueueing; each uses the queue's scratch memory.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/devices/cuda/primitives/libraries.hpp>
#include <strata/devices/dense_calls.hpp>

namespace strata::inline STRATA_ABI::detail {

/// `tf32`: products of floats may round their factors to 10 bits of mantissa, sums stay in float.
void cuda_library_run(const LaunchInfo& info, CudaReal real, bool tf32, const GemmCall& call);
void cuda_library_run(const LaunchInfo& info, CudaReal real, bool tf32, const SyrkCall& call);
void cuda_library_run(const LaunchInfo& info, CudaReal real, bool tf32, const TrsmCall& call);
void cuda_library_run(const LaunchInfo& info, CudaReal real, bool tf32, const MultiplyCall& call);
/// Extents are below 2^31; never in TF32.
void cuda_library_run(const LaunchInfo& info, CudaReal real, bool tf32, const PotrfCall& call);
/// Likewise.
void cuda_library_run(const LaunchInfo& info, CudaReal real, bool tf32, const GetrfCall& call);

}  // namespace strata::inline STRATA_ABI::detail
