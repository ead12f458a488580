// Launch hints: how a launch runs on a GPU. They wrap the work of a launch, each other and `tagged`, in any
// order:
//
//   parallel_for(launch_bounds<256, 4>(n), kernel);                   // compiled for 4 blocks of 256 threads
//   parallel_for(block_size(128, range(1, n - 1)), kernel);           // blocks of 128 threads
//   parallel_for(prefer_occupancy(50, tagged<Flux>(n)), kernel);      // half the threads at a time
//   parallel_for(marching(mdrange({n0, n1, n2})), with(Stencil{}, x, y));
//   parallel_for(last_index_fastest(mdrange({n0, n1})), functor);
//
// Hints never change results, and every launch accepts all of them. Cuda uses all of them in parallel_for
// over ranges of indices, last_index_fastest in reductions, and launch bounds in reductions and over teams: a
// reduction whose kernel needs many registers gets them by launch_bounds<256, 1>; by default a reduction is
// compiled so that a multiprocessor holds two blocks. With launch bounds a warp of a reduction over a box
// reads along the last index, whatever the layout. Elsewhere hints have no effect. Of two hints of one kind
// the outer one holds.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/algorithms/policy.hpp>
#include <strata/devices/launch_hints.hpp>

namespace strata::inline STRATA_ABI {

/// A work range with hints.
template <class R, class Static>
struct Hinted {
  /// The range, which may have hints itself, and what this one adds.
  R work;
  detail::LaunchHints hints;
};

namespace detail {

template <class R, class Static>
struct WorkOf<Hinted<R, Static>> {
  static constexpr int rank = WorkOf<R>::rank;
  using tag = typename WorkOf<R>::tag;
  static auto get(const Hinted<R, Static>& w) {
    const auto range = WorkOf<R>::get(w.work);
    return HintedRange<std::remove_const_t<decltype(range)>, Static>{range, w.hints};
  }
};

template <class R>
constexpr Hinted<R, StaticHints<>> as_hinted(const R& work) {
  return {work, {}};
}
template <class R, class Static>
constexpr Hinted<R, Static> as_hinted(const Hinted<R, Static>& work) {
  return work;
}
// The same work with other static hints.
template <class NewStatic, class R, class Static>
constexpr Hinted<R, NewStatic> rehinted(const Hinted<R, Static>& work) {
  return {work.work, work.hints};
}
template <class>
struct HintsIn {
  using type = StaticHints<>;
};
template <class R, class Static>
struct HintsIn<Hinted<R, Static>> {
  using type = Static;
};

template <class R>
inline constexpr bool is_box = WorkOf<R>::rank >= 2 && WorkOf<R>::rank < teams_rank;

}  // namespace detail

/// tagged<Tag> of work with hints.
template <class Tag, class R, class Static>
constexpr Hinted<Tagged<Tag, R>, Static> tagged(const Hinted<R, Static>& work) {
  return {tagged<Tag>(work.work), work.hints};
}

/// Compiles the kernel for blocks of at most `MaxThreads` threads, of which a multiprocessor should hold at
/// least `MinBlocks` (0: the compiler decides): the compiler limits registers to make that possible, and
/// spills where it must. Blocks never have more threads.
template <int MaxThreads, int MinBlocks = 0, WorkRange R>
constexpr auto launch_bounds(const R& work) {
  static_assert(MaxThreads >= 32 && MaxThreads <= 1024 && MaxThreads % 32 == 0,
                "strata: launch_bounds: a block has a multiple of 32 threads, from 32 to 1024");
  static_assert(MinBlocks >= 0 && MinBlocks <= 32,
                "strata: launch_bounds: a multiprocessor holds up to 32 blocks; 0 leaves it to the compiler");
  using S = typename detail::HintsIn<R>::type;
  return detail::rehinted<typename S::template with_bounds<MaxThreads, MinBlocks>>(detail::as_hinted(work));
}

/// Blocks of `threads` threads, fewer where the kernel, its launch bounds, or a small range allow no more.
/// Tiles of a multi-dimensional range take precedence. Throws KernelError unless `threads` is a multiple of
/// 32 from 32 to 1024.
template <WorkRange R>
constexpr auto block_size(int threads, const R& work) {
  detail::require_block_size(threads);
  auto hinted = detail::as_hinted(work);
  hinted.hints.block_size = threads;
  return hinted;
}

/// At most about `percent` per cent of the threads that a multiprocessor can hold run at a time, so that each
/// has more of the caches: blocks request shared memory that they do not use. Throws KernelError unless
/// `percent` is 1 to 100.
template <WorkRange R>
constexpr auto prefer_occupancy(int percent, const R& work) {
  detail::require_occupancy(percent);
  auto hinted = detail::as_hinted(work);
  hinted.hints.occupancy = percent;
  return hinted;
}

/// Each thread walks in order over a piece of dimension `Dimension` of a multi-dimensional range, with the
/// other indices fixed, so that elements that neighbours along it share stay in the caches. By default the
/// dimension is the slowest one (the last; the first where the last index is fastest). The range's tile
/// extent in that dimension is the length of the piece, 8 by default. (Without this hint threads of large
/// boxes without tiles have pieces of 4 or 8 of the slowest dimension.)
template <int Dimension = detail::march_slowest, WorkRange R>
constexpr auto marching(const R& work) {
  static_assert(detail::is_box<R>, "strata: marching: the work is a multi-dimensional range, mdrange(...)");
  static_assert(
      !detail::is_box<R> || (Dimension >= detail::march_slowest && Dimension < detail::WorkOf<R>::rank),
      "strata: marching: the range has no such dimension");
  using S = typename detail::HintsIn<R>::type;
  return detail::rehinted<typename S::template with_marching<Dimension>>(detail::as_hinted(work));
}

/// Neighbouring threads get neighbouring values of the last index, as arrays in LayoutRight need, not of the
/// first. Kernels over views (`with`, `launch`) do not need it: the layouts of their views decide. A functor
/// may ask for it by a member `static constexpr bool last_index_fastest = true`.
template <WorkRange R>
constexpr auto last_index_fastest(const R& work) {
  static_assert(detail::is_box<R>,
                "strata: last_index_fastest: the work is a multi-dimensional range, mdrange(...)");
  using S = typename detail::HintsIn<R>::type;
  return detail::rehinted<typename S::with_last_fastest>(detail::as_hinted(work));
}

}  // namespace strata::inline STRATA_ABI
