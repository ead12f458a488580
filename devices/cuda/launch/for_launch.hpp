// Launches of parallel_for: which kernel, grid and blocks. Compiled by nvcc only.
//
// The size of a block is the occupancy calculator's for the kernel, asked once for each device; hints
// (launch_hints.hpp) override it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/core/min_max.hpp>
#include <strata/devices/cuda/launch/for_kernels.hpp>
#include <strata/devices/cuda/launch/kernel_parameters.hpp>
#include <strata/devices/cuda/launch/warp.hpp>
#include <strata/devices/launch_hints.hpp>

namespace strata::inline STRATA_ABI::detail {

/// The kernel that calls run() of its parameters, for the launch bounds of `Static`.
template <class Parameters, class Static>
CudaKernel& cuda_run_kernel() {
  return cuda_kernel<cuda_run_function<Parameters, Static>()>();
}

/// cuda_launch with the hints that concern any grid.
template <class Work>
void cuda_launch_hinted(CudaLaunch& launch, CudaQueue& queue, CudaKernel& kernel, CudaGrid grid,
                        const LaunchHints& hints, const Work& work) {
  if (hints.occupancy > 0)
    grid.shared_bytes = cuda_shared_for_occupancy(queue, kernel, grid, hints.occupancy);
  auto parameters = parameters_of(launch, work);
  cuda_launch(launch, kernel, grid, parameters);
}

/// A range of `Rank` dimensions in the order of a launch's axes.
template <int Rank>
struct BoxAxes {
  index_t lower[Rank];
  index_t extent[Rank];
  index_t tile[Rank];
  bool fits_32_bits = true;  // every index lies in [0, 2^31)

  BoxAxes(const TileRange<Rank>& range, bool last_fastest) {
    for (int d = 0; d < Rank; ++d) {
      const int axis = last_fastest ? Rank - 1 - d : d;
      lower[axis] = range.lower[d];
      extent[axis] = range.upper[d] - range.lower[d];
      tile[axis] = range.tile[d];
      fits_32_bits = fits_32_bits && range.lower[d] >= 0 && range.upper[d] <= INT32_MAX;
    }
  }
};

/// The axis of Static::marching.
template <class Static, int Rank>
constexpr int marched_axis(bool last_fastest) {
  if (Static::marching == no_marching) return no_axis;
  if (Static::marching == march_slowest) return Rank - 1;
  return last_fastest ? Rank - 1 - Static::marching : Static::marching;
}

/// Launches a CudaBox, `Work`; false, with nothing done, where `Work` needs an exact grid and the grid is
/// not.
template <class Work, class Static, int Rank, class Body>
bool cuda_run_box(CudaLaunch& launch, CudaQueue& queue, const BoxAxes<Rank>& axes, const LaunchHints& hints,
                  const Body& body) {
  using Index = typename Work::index_type;
  CudaKernel& kernel = cuda_run_kernel<ParametersOf<Work>, Static>();
  const CudaKernel::OnDevice& on_device = cuda_kernel_on(queue, kernel);
  if constexpr (Work::may_unroll) {
    // Walks of four items: with 64 registers, if the kernel without them has as few; then loads of several
    // items are in flight. Marches of eight: if half as many threads fit.
    using Bounds = std::conditional_t<Static::max_threads == 0 && Work::marching == no_axis,
                                      typename Static::template with_bounds<1024, 1>, Static>;
    CudaKernel& unrolled = cuda_run_kernel<ParametersOf<typename Work::unrolled>, Bounds>();
    const CudaKernel::OnDevice& on_unrolled = cuda_kernel_on(queue, unrolled);
    const auto threads = [](const CudaKernel::OnDevice& on) { return on.resident_blocks * on.block; };
    const bool fits = Work::marching == no_axis ? threads(on_device) >= threads(on_unrolled)
                                                : 2 * threads(on_unrolled) >= threads(on_device);
    bool asks = hints.block_size > 0;
    for (const index_t tile : axes.tile) asks = asks || tile > 0;
    const int most = asks ? on_device.most_threads : smaller_of(on_device.most_threads, usual_box_threads);
    if (fits && on_unrolled.most_threads >= most)
      return cuda_run_box<typename Work::unrolled, Bounds>(launch, queue, axes, hints, body);
  }
  constexpr int axis_x = axis_of_grid(0, Work::marching);
  const index_t idle =
      Work::is_exact ? idle_threads(axes.lower[axis_x], axes.extent[axis_x], axes.tile[axis_x]) : 0;
  index_t threads[Rank];
  for (int a = 0; a < Rank; ++a) threads[a] = axes.extent[a] + (a == axis_x ? idle : 0);
  const BoxPlan plan =
      plan_box({Rank, threads, axes.tile, Work::marching, hints.block_size, on_device.most_threads,
                index_t{on_device.resident_blocks} * on_device.block});
  if (Work::is_exact && !plan.is_exact) return false;
  Work work{body,
            {},
            {},
            static_cast<Index>(plan.rows),
            static_cast<Index>(plan.depth),
            static_cast<Index>(plan.piece),
            static_cast<Index>(idle),
            launch.check()};
  for (int a = 0; a < Rank; ++a) {
    work.lower[a] = static_cast<Index>(axes.lower[a]);
    work.extent[a] = static_cast<Index>(axes.extent[a]);
  }
  cuda_launch_hinted(launch, queue, kernel, plan.grid, hints, work);
  return true;
}

// Of items that read and write whole rows: without launch bounds the compiler saves registers for more
// threads on a multiprocessor, and loads a part of a row after the first results; bounds of 512 threads leave
// each 128 registers. Blocks are small, as one keeps the registers of all its threads until the last of them
// is done.
// Where the program gives hints, these hold.
inline constexpr int wide_threads = 512, wide_block = 64;
template <class R, class Body>
inline constexpr bool takes_wide_bounds = has_wide_items<Body>() && std::is_same_v<R, ChunkRange>;
template <class R, class Body>
using RangeHints =
    std::conditional_t<takes_wide_bounds<R, Body>,
                       typename HintsOf<R>::static_hints::template with_bounds<wide_threads, 1>,
                       typename HintsOf<R>::static_hints>;

struct CudaForLaunch {
  /// `R` is ChunkRange, or that with hints.
  template <class R, class Body>
  static void for_range(const LaunchInfo& info, const R& range, const Body& body) {
    using Static = typename HintsOf<R>::static_hints;
    using Work = CudaFor<Body>;
    if constexpr (may_be_separate<Body>() && travels_with_arrays<Work> && Static::max_threads == 0) {
      if (body.are_separate()) {
        const ArrayAddresses arrays = body.arrays();
        for_items<Work>(info, cuda_kernel<&cuda_run_separate<Work>>(), range, body, &arrays);
      } else {  // no loads in flight together, and so one item a thread, which compiles faster
        for_items<CudaFor<Body, 1>>(info, cuda_run_kernel<CudaFor<Body, 1>, Static>(), range, body);
      }
    } else {
      for_items<Work>(info, cuda_run_kernel<ParametersOf<Work>, RangeHints<R, Body>>(), range, body, nullptr,
                      takes_wide_bounds<R, Body> ? wide_block : 0);
    }
  }

  /// `R` is TileRange<Rank>, or that with hints.
  template <int Rank, class R, class Body>
  static void for_box(const LaunchInfo& info, const R& hinted, const Body& body) {
    using Static = typename HintsOf<R>::static_hints;
    constexpr bool last_fastest = Static::last_fastest || is_last_index_fastest<Body>();
    constexpr int marching = marched_axis<Static, Rank>(last_fastest);
    const TileRange<Rank>& range = hinted;
    const LaunchHints hints = HintsOf<R>::get(hinted);
    CudaQueue& queue = cuda_queue_for(info);
    CudaLaunch launch(queue, EventKind::BeginFor, info, range.items());
    if (range.items() == 0) return;
    const BoxAxes<Rank> axes(range, last_fastest);
    using Exact = CudaBox<Rank, last_fastest, marching, std::uint32_t, Body>;
    using Strided = CudaBox<Rank, last_fastest, marching, index_t, Body>;
    if (!axes.fits_32_bits || !cuda_run_box<Exact, Static>(launch, queue, axes, hints, body))
      cuda_run_box<Strided, Static>(launch, queue, axes, hints, body);
  }

 private:
  template <class Work, class R, class Body>
  static void for_items(const LaunchInfo& info, CudaKernel& kernel, const R& range, const Body& body,
                        const ArrayAddresses* arrays = nullptr, int block_size = 0) {
    Work work{{}, body};
    LaunchHints hints = HintsOf<R>::get(range);
    if (hints.block_size == 0) hints.block_size = block_size;
    cuda_launch_items(info, kernel, range, hints, Work::thread_items, work, sizeof work, arrays);
  }
};

}  // namespace strata::inline STRATA_ABI::detail
