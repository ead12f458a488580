// The order in which a scan joins its values: it depends only on the range, so that a scan gives the same
// bits on hosts and GPUs, whole, split over devices or streamed in slices, with any number of threads.
//
//   run     16 items, joined one after the other                          a thread of a GPU
//   block   32 runs; their sums are scanned in steps of 1, 2, 4, 8, 16    a warp
//   tile    16 blocks, joined one after the other                         a thread block
//   range   tiles, aligned to the *global* index, joined one after the other from the start value
//
// The sum before an item is ((C + B) + R) + the items before it in its run, one after the other: C that
// before its tile, B of the blocks before its own in the tile, R of the runs before its own in the block; a
// tile's first block has no B, a block's first run no R. Runs and blocks are counted from the first item of
// the range in the tile, so only the last of either may be short.
//
// Only C is a chain through the whole range, of one join a tile. Whoever knows C of any tile finds a later
// one by joining the tiles between, in their order, and gets the bits that the chain gives: blocks of a GPU
// look back for it (devices/cuda/launch/scan_states.hpp), and a scan may be cut between tiles with C as all
// it hands on. Where joins are exact, as of integers, no order shows, and hosts take the items as they come.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <type_traits>

#include <strata/core/reduction_tree.hpp>

namespace strata::inline STRATA_ABI::detail {

inline constexpr int scan_run = 16;                      // items
inline constexpr int scan_runs = 32;                     // of a block
inline constexpr int scan_blocks = 16;                   // of a tile
inline constexpr int scan_block = scan_run * scan_runs;  // items
inline constexpr int scan_tile_log2 = 13;
inline constexpr int scan_tile = scan_block * scan_blocks;  // items
static_assert(scan_tile == 1 << scan_tile_log2);

/// Whether values of type T join to the same bits in any order.
template <class T>
inline constexpr bool joins_exactly = std::is_integral_v<T>;

/// Items between the places where a scan of T values may be cut: multiples of it.
template <class T>
inline constexpr index_t scan_cut = joins_exactly<T> ? reduction_block : index_t{scan_tile};

/// The tiles [first, last) that a range of work items touches.
STRATA_FUNCTION constexpr BlockRange tiles_of_scan(index_t begin, index_t end) {
  return aligned_nodes<scan_tile_log2>(begin, end);
}
/// The items of the range [begin, end) that lie in tile `tile`.
STRATA_FUNCTION constexpr BlockItems items_of_scan_tile(index_t tile, index_t begin, index_t end) {
  return items_of_node<scan_tile_log2>(tile, begin, end);
}

/// The runs that `items` items of a tile make.
STRATA_FUNCTION constexpr index_t scan_runs_of(index_t items) { return (items + scan_run - 1) / scan_run; }

/// The sums of a block's runs become those up to and with each; `join(a, b)` means a = a + b. What the lanes
/// of a warp do at the same time.
template <class T, class Join>
constexpr void scan_run_sums(T* sum, int count, const Join& join) {
  for (int distance = 1; distance < count; distance *= 2)
    for (int l = count - 1; l >= distance; --l) {
      T below = sum[l - distance];
      join(below, sum[l]);
      sum[l] = below;
    }
}

/// Whether a kernel of a scan, called with its value and ScanStore in place of `final`, only stores the
/// value: of the items before its own, or with its own.
enum class ScanStores { Nothing, Before, Through };
struct ScanStore {};

}  // namespace strata::inline STRATA_ABI::detail
