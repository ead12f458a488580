// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdio>
#include <string>

#include <strata/algorithms/streaming/plan/rows.hpp>
#include <strata/algorithms/streaming/plan/stream_plan.hpp>
#include <strata/core/bytes.hpp>

namespace strata::inline STRATA_ABI::detail::streaming {

using Use = StreamArray::Use;

std::string launch_name(const char* what, const StreamProblem& problem) {
  if (!problem.label.empty()) return std::string(what) + " \"" + problem.label + "\"";
  std::string name = what, arrays;
  for (const StreamArray& array : problem.arrays)
    if (!array.label.empty()) arrays += (arrays.empty() ? " over \"" : ", \"") + array.label + "\"";
  return name + arrays;
}

std::string describe(const StreamProblem& problem, const StreamPlan& plan) {
  char line[256];
  std::string text;
  const auto add = [&](const char* format, auto... values) {
    std::snprintf(line, sizeof line, format, values...);
    text += line;
  };
  if (problem.is_sequence())
    add("sequence: %d loops, %d a pass, %d passes of %zu tiles of %lld rows in %s\n", problem.steps,
        plan.pass.steps, plan.passes, plan.pass.tiles.size() / static_cast<std::size_t>(plan.pieces),
        static_cast<long long>(std::min(plan.chunk, std::max<index_t>(rows_of(problem.work), 1))),
        !plan.wraps() ? (std::to_string(plan.slots) + " slots").c_str()
        : plan.pieces > 1
            ? ("buffers that wrap round, copied in " + std::to_string(plan.pieces) + " pieces").c_str()
            : "buffers that wrap round");
  else if (problem.has_states())
    add("%s: %d steps, %d a pass, %d passes of %zu tiles of %lld rows in %d slots\n", name_of(plan.scheduler),
        problem.steps, plan.pass.steps, plan.passes, plan.pass.tiles.size(),
        static_cast<long long>(plan.chunk), plan.slots);
  else
    add("%zu tiles of %lld rows in %d slots\n", plan.last.tiles.size(), static_cast<long long>(plan.chunk),
        plan.slots);
  add("  device %s; to it %s, from it %s, within it %s; predicted %.3g s\n",
      string_from_bytes(plan.device_bytes).c_str(), string_from_bytes(plan.bytes.up).c_str(),
      string_from_bytes(plan.bytes.down).c_str(), string_from_bytes(plan.bytes.moved).c_str(), plan.seconds);
  if (plan.bytes.between > 0)
    add("  from other devices %s, after the first pass\n", string_from_bytes(plan.bytes.between).c_str());
  for (std::size_t a = 0; a < problem.arrays.size(); ++a) {
    const StreamArray& array = problem.arrays[a];
    if (array.use != Use::Whole && plan.window_rows[a] == 0 && array.rows > 0)
      continue;  // not of these loops
    add("  %-16s %s, %s of %lld rows of %s\n", array.label.c_str(),
        array.use == Use::Whole   ? "whole on the device"
        : array.temporary         ? "on the device only"
        : array.use == Use::State ? "old and new values"
        : !writes(array.mode)     ? "read"
        : reads(array.mode)       ? "read and written"
                                  : "written",
        plan.wraps() && array.use != Use::Whole ? "a buffer" : "windows",
        static_cast<long long>(plan.window_rows[a]), string_from_bytes(array.row_bytes).c_str());
  }
  return text;
}

}  // namespace strata::inline STRATA_ABI::detail::streaming
