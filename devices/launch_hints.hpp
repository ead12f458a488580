// Hints of a launch (<strata/algorithms/launch_hints.hpp>) as devices get them, with its range. A hint never
// changes a result; a device without a use for hints takes the plain range, to which a range with hints
// converts.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/core/config.hpp>

namespace strata::inline STRATA_ABI::detail {

/// Of StaticHints::marching: no dimension, or the slowest one.
inline constexpr int no_marching = -2;
inline constexpr int march_slowest = -1;

/// Hints that choose among instantiations of a kernel.
template <int MaxThreads = 0, int MinBlocks = 0, int Marching = no_marching, bool LastFastest = false>
struct StaticHints {
  static constexpr int max_threads = MaxThreads;     // of a block; 0: any
  static constexpr int min_blocks = MinBlocks;       // to be resident on a multiprocessor; 0: any
  static constexpr int marching = Marching;          // the dimension along which a thread walks
  static constexpr bool last_fastest = LastFastest;  // neighbouring threads have neighbouring last indices

  template <int Threads, int Blocks>
  using with_bounds = StaticHints<Threads, Blocks, Marching, LastFastest>;
  template <int Dimension>
  using with_marching = StaticHints<MaxThreads, MinBlocks, Dimension, LastFastest>;
  using with_last_fastest = StaticHints<MaxThreads, MinBlocks, Marching, true>;
};

// The least number of blocks of a multiprocessor, for launch bounds; 1 lets the compiler use all registers.
template <class Static>
inline constexpr int bounded_blocks = Static::min_blocks > 0 ? Static::min_blocks : 1;

/// Hints with values at run time; 0: the device chooses.
struct LaunchHints {
  int block_size = 0;  // threads
  int occupancy = 0;   // percent of the threads that a multiprocessor can hold
};

/// A range of a launch (ChunkRange, TileRange, TeamShape) with hints.
template <class R, class Static>
struct HintedRange : R {
  using static_hints = Static;
  LaunchHints hints;
};

template <class R>
struct HintsOf {
  using static_hints = StaticHints<>;
  static constexpr LaunchHints get(const R&) { return {}; }
};
template <class R, class Static>
struct HintsOf<HintedRange<R, Static>> {
  using static_hints = Static;
  static constexpr LaunchHints get(const HintedRange<R, Static>& range) { return range.hints; }
};

/// Throws KernelError unless a block of a GPU can have so many threads: a multiple of 32, at most 1024.
void require_block_size(int threads);
/// Throws KernelError unless 1 <= percent <= 100.
void require_occupancy(int percent);

}  // namespace strata::inline STRATA_ABI::detail
