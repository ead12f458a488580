// SPDX-License-Identifier: Apache-2.0
#include <string>

#include <strata/algorithms/streaming/stream_failure.hpp>
#include <strata/core/error.hpp>

namespace strata::inline STRATA_ABI::detail::streaming {

bool only_first_pass(const StreamJob& job, const StreamTiles& tiles) {
  const StreamPass& first = job.plan.pass_number(0);
  // Seams of even tiles go to the first copies.
  for (const StreamTile& tile : first.tiles)
    for (const StreamCopy& copy : tile.downloads)
      if (job.is_state(static_cast<std::size_t>(copy.array)) && copy.side == 0) return false;
  const long second = static_cast<long>(first.tiles.size());
  if (job.plan.pass.in_place || second >= tiles.count()) return !job.plan.pass.in_place;
  const Ref<EventState>& computed = tiles.done(StreamStage::Compute, second);
  if (!computed) return true;
  try {
    computed->wait();
  } catch (...) {
    return true;  // what failed before it made its download drop, too
  }
  return false;
}

std::string progress_made(const StreamJob& job, const StreamTiles& tiles, long tile) {
  return "slice " + std::to_string(tile / job.plan.pieces) + " of " +
         std::to_string(tiles.count() / job.plan.pieces);
}

std::string changed_arrays(const StreamJob& job, bool first_pass) {
  std::string partly;
  for (std::size_t a = 0; a < job.states.size(); ++a) {
    const StreamArray& array = job.problem.arrays[a];
    if (job.is_state(a) ? !first_pass : writes(array.mode))
      partly += (partly.empty() ? "\"" : ", \"") + array.label + "\"";
  }
  return partly;
}

void fail_streaming(const std::string& where, const std::string& partly) {
  try {
    throw;
  } catch (const std::exception& error) {
    const std::string text = where + ": " + error.what();
    if (partly.empty()) throw Error(text + "\nNo array was changed");
    throw DataLost(text + "\nIn part old and in part new are now the values of " + partly +
                   ": write them anew before they are used");
  }
}

}  // namespace strata::inline STRATA_ABI::detail::streaming
