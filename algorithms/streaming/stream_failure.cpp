#include <string>

#include <strata/algorithms/streaming/stream_run.hpp>
#include <strata/core/error.hpp>

namespace strata::inline STRATA_ABI::detail {

// Whether the first pass was the only one that wrote to the host: to the second copies of states, then.
bool StreamRun::only_first_pass() const {
  // Seams of even tiles go to the first copies.
  for (const StreamTile& tile : plan_.pass_number(0).tiles)
    for (const StreamCopy& copy : tile.downloads)
      if (is_state(static_cast<std::size_t>(copy.array)) && copy.side == 0) return false;
  const std::size_t second = plan_.pass_number(0).tiles.size();
  if (plan_.pass.in_place || second >= stages_.size()) return !plan_.pass.in_place;
  const Ref<EventState>& computed = stages_[second].done[static_cast<std::size_t>(StreamStage::Compute)];
  if (!computed) return true;
  try {
    computed->wait();
  } catch (...) {
    return true;  // what failed before it made its download drop, too
  }
  return false;
}

std::string StreamRun::progress_made() const {
  return "slice " + std::to_string(tile_ / plan_.pieces) + " of " +
         std::to_string(stages_.size() / static_cast<std::size_t>(plan_.pieces));
}

std::string StreamRun::changed_arrays(bool first_pass) const {
  std::string partly;
  for (std::size_t a = 0; a < operands_.size(); ++a)
    if (is_state(a) ? !first_pass : writes(problem_.arrays[a].mode))
      partly += (partly.empty() ? "\"" : ", \"") + problem_.arrays[a].label + "\"";
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

}  // namespace strata::inline STRATA_ABI::detail
