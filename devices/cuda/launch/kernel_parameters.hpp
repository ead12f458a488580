// Parameters of kernels: their work, or, where it has more bytes than parameters may have, a pointer to it in
// device memory. And what launches of every kind share. Compiled by nvcc only.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <type_traits>

#include <strata/devices/cuda/launch/block_check.hpp>
#include <strata/devices/cuda/launch/launch.hpp>
#include <strata/devices/launch_hints.hpp>

namespace strata::inline STRATA_ABI::detail {

/// Work that lies in device memory. Not to be read before the block has entered.
template <class Work>
struct CudaIndirect : CudaPlaced {
  __device__ const Work& get() const { return *static_cast<const Work*>(work); }
  __device__ void run() const { get().run(); }
};

template <class Work>
inline constexpr bool travels_with_launch = sizeof(Work) <= cuda_parameter_bytes;
// The same with addresses of arrays.
template <class Work>
inline constexpr bool travels_with_arrays = sizeof(Work) + sizeof(ArrayAddresses) <= cuda_parameter_bytes;
template <class Work>
using ParametersOf = std::conditional_t<travels_with_launch<Work>, Work, CudaIndirect<Work>>;

/// The parameter of a kernel: the work itself, or where it is in device memory.
template <class Work>
ParametersOf<Work> parameters_of(CudaLaunch& launch, const Work& work) {
  if constexpr (travels_with_launch<Work>) return work;
  else return {{launch.place(&work, sizeof work), work.check}};
}
template <class Work>
__device__ const Work& work_of(const Work& work) {
  return work;
}
template <class Work>
__device__ const Work& work_of(const CudaIndirect<Work>& indirect) {
  return indirect.get();
}

/// enter_block of a kernel's parameters, which are brought into the multiprocessor's cache of constants, in
/// lines of 64 bytes, while a block waits for the kernel before it. On an H200 sums of 1.09 million took 0.97
/// to 0.99 of the time with it. Blocks that do not wait would only wait for the lines: gradients and
/// rotations of 10^4 hexahedra in double took 1.03 and 1.04 of the time.
template <bool LetsNextStart = true, class Parameters>
__device__ bool enter_with(const Parameters& parameters) {
  return enter_block<LetsNextStart>(parameters.check, [&] {
#if __CUDA_ARCH__ >= 900
    constexpr int lines = static_cast<int>((sizeof(Parameters) + 63) / 64), most = 12;
    const unsigned* const words = reinterpret_cast<const unsigned*>(&parameters);
    unsigned sum = 0;
#pragma unroll
    for (int line = 0; line < (lines < most ? lines : most); ++line) sum ^= words[16 * line];
    // Else there would be no loads: the wait that follows anyway, earlier in one of 2^32 cases.
    if (sum == 1) asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
  });
}

template <class Parameters>
__global__ void cuda_run(const __grid_constant__ Parameters parameters) {
  if (enter_with(parameters)) parameters.run();
}

// The same for up to four arrays that are separate (algorithms/separate_arrays.hpp): compilers believe it of
// parameters only. Of work with fewer arrays the last ones are not used.
template <class Work>
__global__ void cuda_run_separate(const __grid_constant__ Work work, void* __restrict__ a,
                                  void* __restrict__ b, void* __restrict__ c, void* __restrict__ d) {
  if (enter_with(work)) work.on_arrays({{a, b, c, d}}).run();
}

// The same, compiled for launch bounds.
template <class Parameters, int MaxThreads, int MinBlocks>
__global__ void __launch_bounds__(MaxThreads, MinBlocks)
    cuda_bounded_run(const __grid_constant__ Parameters parameters) {
  if (enter_with(parameters)) parameters.run();
}
/// The kernel of either kind.
template <class Parameters, class Static>
constexpr auto cuda_run_function() {
  if constexpr (Static::max_threads == 0) return &cuda_run<Parameters>;
  else return &cuda_bounded_run<Parameters, Static::max_threads, bounded_blocks<Static>>;
}

/// The record of a kernel, one in the program.
template <auto Function>
CudaKernel& cuda_kernel() {
  static CudaKernel kernel{reinterpret_cast<const void*>(Function), {}};
  return kernel;
}

/// Launches with `parameters`, ahead of the end of the kernel before it where that helps; `arrays` are for a
/// kernel of separate ones, `updated_bytes` as in CudaLaunch::goes_ahead.
template <class Parameters>
void cuda_launch(CudaLaunch& launch, CudaKernel& kernel, const CudaGrid& grid, Parameters& parameters,
                 const ArrayAddresses* arrays = nullptr, std::size_t updated_bytes = 0) {
  parameters.check.ahead = launch.goes_ahead(kernel, grid, updated_bytes);
  launch.run(kernel, grid, &parameters, parameters.check.ahead, arrays);
}

}  // namespace strata::inline STRATA_ABI::detail
