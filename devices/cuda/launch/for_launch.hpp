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

/// A launch over a box: chooses among the kernels for it, and launches one.
template <int Rank, class Body>
class CudaBoxLaunch {
  using OnDevice = CudaKernel::OnDevice;

 public:
  CudaBoxLaunch(CudaLaunch& launch, CudaQueue& queue, const BoxAxes<Rank>& axes, const LaunchHints& hints,
                const Body& body)
      : launch_(launch), queue_(queue), axes_(axes), hints_(hints), body_(body) {
    asks_ = hints.block_size > 0;
    for (const index_t tile : axes.tile) asks_ = asks_ || tile > 0;
  }

  /// Launches a CudaBox, `Work`, or one whose items of a walk are one piece of code; false, with nothing
  /// done, where `Work` needs an exact grid and the grid is not.
  template <class Work, class Static>
  bool run() const {
    const OnDevice& plain = on_device<Work, Static>();
    if constexpr (Work::may_unroll) {
      if constexpr (Work::marching != no_axis) {
        using Unrolled = typename Work::unrolled;
        const March march = march_for<Unrolled, Static>(plain, threads_of(plan_of<Work>(plain)));
        if (march != March::None) return run_march<Unrolled, Static>(march);
      } else {
        // Walks of four items: with 64 registers, if the kernel without them has as few; then loads of
        // several items are in flight.
        using Walk = typename Work::unrolled;
        using Bounds = std::conditional_t<Static::max_threads == 0,
                                          typename Static::template with_bounds<1024, 1>, Static>;
        const OnDevice& walk = on_device<Walk, Bounds>();
        const index_t most = asks_ ? plain.most_threads : smaller_of(plain.most_threads, usual_box_threads);
        if (resident(plain) >= resident(walk) && walk.most_threads >= most) {
          if constexpr (Rank > 2 && Static::max_threads == 0)
            if (takes_march<typename Work::unrolled_march, Static>(walk)) {
              using Unrolled = typename Work::unrolled_march;
              const March march = march_for<Unrolled, Static>(plain, usual_box_threads);
              if (march != March::None) return run_march<Unrolled, Static>(march);
            }
          return run_kernel<Walk, Bounds>(walk);
        }
      }
    }
    return run_kernel<Work, Static>(plain);
  }

 private:
  // Which kernel of a march whose items are one piece of code is taken: none, the one without launch bounds,
  // or the one with MarchBounds.
  enum class March { None, Unbounded, Bounded };
  template <class Static>
  using MarchBounds = typename Static::template with_bounds<usual_box_threads, march_blocks>;

  template <class Work, class Static>
  const OnDevice& on_device() const {
    return cuda_kernel_on(queue_, cuda_run_kernel<ParametersOf<Work>, Static>());
  }
  static index_t resident(const OnDevice& on) { return index_t{on.resident_blocks} * on.block; }

  // For blocks of `threads`; `plain` is the kernel of the same march in a loop.
  template <class Work, class Static>
  March march_for(const OnDevice& plain, index_t threads) const {
    if constexpr (Static::max_threads == 0) {
      const auto gains = [&] {
        if constexpr (Rank == 2) return gains_by_march_bounds(Rank, 0);
        else return gains_by_march_bounds(Rank, on_device<Work, Static>().registers);
      };
      if (gains()) {
        const OnDevice& march = on_device<Work, MarchBounds<Static>>();
        if (march.most_threads >= threads && march.local_bytes <= plain.local_bytes) return March::Bounded;
      }
      if constexpr (Rank == 2) return March::None;  // which spares compiling the other one
    }
    if constexpr (Rank > 2 || Static::max_threads > 0) {
      const OnDevice& march = on_device<Work, Static>();
      const bool fits = 2 * resident(march) >= resident(plain) && march.most_threads >= threads;
      return fits ? March::Unbounded : March::None;
    }
  }
  template <class Work, class Static>
  bool run_march(March march) const {
    if constexpr (Static::max_threads == 0) {
      using Bounds = MarchBounds<Static>;
      if (Rank == 2 || march == March::Bounded) return run_kernel<Work, Bounds>(on_device<Work, Bounds>());
    }
    if constexpr (Rank > 2 || Static::max_threads > 0)
      return run_kernel<Work, Static>(on_device<Work, Static>());
  }
  // Whether a launch that asks for nothing marches, in place of walks by the kernel `walk`.
  template <class Work, class Static>
  bool takes_march(const OnDevice& walk) const {
    if (asks_ || hints_.occupancy > 0 || walk.is_light()) return false;
    double items = 1;
    for (const index_t extent : axes_.extent) items *= static_cast<double>(extent);
    return marches_by_default(axes_.extent[Rank - 1], items / static_cast<double>(resident(walk)),
                              walk.registers, on_device<Work, Static>().registers);
  }

  static index_t threads_of(const BoxPlan& plan) {
    return index_t{plan.grid.block[0]} * plan.grid.block[1] * plan.grid.block[2];
  }
  template <class Work>
  index_t idle_of(index_t row) const {
    constexpr int axis = axis_of_grid(0, Work::marching);
    return Work::is_exact ? idle_threads(axes_.lower[axis], axes_.extent[axis], axes_.tile[axis], row) : 0;
  }
  template <class Work>
  BoxPlan plan_of(const OnDevice& kernel) const {
    const index_t row = row_of<Work>(kernel);
    index_t along[Rank];
    for (int a = 0; a < Rank; ++a)
      along[a] = axes_.extent[a] + (a == axis_of_grid(0, Work::marching) ? idle_of<Work>(row) : 0);
    return plan_box({Rank, along, axes_.tile, Work::marching, hints_.block_size, kernel.most_threads,
                     resident(kernel), row, !reads_rows<Body>()});
  }

  template <class Work, class Static>
  bool run_kernel(const OnDevice& kernel) const {
    using Index = typename Work::index_type;
    const BoxPlan plan = plan_of<Work>(kernel);
    if (Work::is_exact && !plan.is_exact) return false;
    Work work{body_,
              {},
              {},
              static_cast<Index>(plan.rows),
              static_cast<Index>(plan.depth),
              static_cast<Index>(plan.piece),
              static_cast<Index>(idle_of<Work>(row_of<Work>(kernel))),
              launch_.check()};
    for (int a = 0; a < Rank; ++a) {
      work.lower[a] = static_cast<Index>(axes_.lower[a]);
      work.extent[a] = static_cast<Index>(axes_.extent[a]);
    }
    cuda_launch_hinted(launch_, queue_, cuda_run_kernel<ParametersOf<Work>, Static>(), plan.grid, hints_,
                       work);
    return true;
  }
  // Threads of a block along the fastest axis. What mostly moves data is fastest in rows of 256 bytes: copies
  // of 504^3 doubles take 0.98 of the time of rows of 64 threads, on an H200, and copies of floats 1.01 of it
  // in rows of 32.
  template <class Work>
  static index_t row_of(const OnDevice& kernel) {
    if constexpr (Work::is_unrolled)
      if (Body::shared_read_bytes == 8 && kernel.is_light()) return 32;
    return usual_row;
  }

  CudaLaunch& launch_;
  CudaQueue& queue_;
  const BoxAxes<Rank>& axes_;
  const LaunchHints& hints_;
  const Body& body_;
  bool asks_;  // for a shape of blocks
};

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
    const CudaBoxLaunch<Rank, Body> box(launch, queue, axes, hints, body);
    if (!axes.fits_32_bits || !box.template run<Exact, Static>()) box.template run<Strided, Static>();
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
