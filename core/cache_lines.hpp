// Fills and copies in whole cache lines, in cache or past it. Part of how copies on hosts are carried out
// (copy_execute); any thread may call these functions, for memory that no other touches.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include <strata/core/config.hpp>

namespace strata::inline STRATA_ABI::detail {

inline constexpr std::size_t line_bytes = 64;

/// Fills of more bytes than this go past the caches: a line is then not read before it is overwritten, which
/// halves what memory moves, and what follows would find only the end of the array in cache. Not so elements
/// of which a line does not hold a whole number, unless all their bytes are equal.
inline constexpr index_t fills_past_cache = index_t{32} << 20;

/// Copies of more bytes than this likewise, in runs of these lengths: of shorter ones too much is not in
/// whole lines, and of longer ones memcpy does so by itself.
inline constexpr index_t copies_past_cache = fills_past_cache;
inline constexpr index_t least_past_cache = 2048, most_past_cache = index_t{64} << 20;

/// memcpy with such stores, where the processor has them; they are done when this returns, for other threads,
/// too.
void copy_past_cache(char* dst, const char* src, std::size_t bytes);

/// Writes the line at `line` to the `count` lines at `dst`, which is aligned to line_bytes. `past_cache`:
/// with stores that do not fetch the lines, where the processor has such; they are done when this returns,
/// for other threads, too.
void fill_lines(char* dst, const char* line, std::size_t count, bool past_cache);

}  // namespace strata::inline STRATA_ABI::detail
