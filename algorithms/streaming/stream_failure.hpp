// Texts for errors of streamed launches: the progress, and the state of the arrays.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <strata/algorithms/streaming/stream_tiles.hpp>

namespace strata::inline STRATA_ABI::detail::streaming {

/// Rethrows the current exception as that of a launch, with the state of the arrays; `partly`: the quoted
/// labels of those that are part old, part new.
[[noreturn]] void fail_streaming(const std::string& where, const std::string& partly);

/// Of a run that failed: whether its first pass was the only one that wrote to the host, and only to the
/// second copies of states.
bool only_first_pass(const StreamJob& job, const StreamTiles& tiles);
/// The labels of the arrays that are part old, part new; states are not where `first_pass` says so.
std::string changed_arrays(const StreamJob& job, bool first_pass);
/// "slice 3 of 32", of the tile that was being enqueued.
std::string progress_made(const StreamJob& job, const StreamTiles& tiles, long tile);

}  // namespace strata::inline STRATA_ABI::detail::streaming
