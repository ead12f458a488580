// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>

#include <strata/algorithms/declared_range.hpp>
#include <strata/core/error.hpp>
#include <strata/core/profiling/hooks.hpp>

namespace strata::inline STRATA_ABI::detail {

namespace {

std::string name_of(const LaunchName& launch) {
  return kernel_name(launch.label, launch.kernel_type, launch.tag_type);
}

std::string text_of(const WorkBounds& work) {
  if (work.rank == 1)
    return "range(" + std::to_string(work.lower[0]) + ", " + std::to_string(work.upper[0]) + ")";
  const auto list = [&](const index_t* bounds) {
    std::string text;
    for (int d = 0; d < work.rank; ++d) text += (d > 0 ? ", " : "") + std::to_string(bounds[d]);
    return "{" + text + "}";
  };
  return "mdrange(" + list(work.lower) + ", " + list(work.upper) + ")";
}

// "0", "0 to 3", "0 and 7"
std::string left_out(index_t begin, index_t lower, index_t upper, index_t end) {
  const auto run = [](index_t first, index_t last) {
    return std::to_string(first) + (last - first > 1 ? " to " + std::to_string(last - 1) : "");
  };
  if (lower >= upper) return run(begin, end);
  std::string text;
  if (lower > begin) text = run(begin, std::min(lower, end));
  if (upper < end) text += (text.empty() ? "" : " and ") + run(std::max(upper, begin), end);
  return text;
}

}  // namespace

void fail_beyond(const LaunchName& launch, const WorkBounds& work, const DeclaredArray& array) {
  throw ShapeMismatch("launch of " + name_of(launch) + ": work items [" + std::to_string(work.lower[0]) +
                      ", " + std::to_string(work.upper[0]) + ") have a row each of \"" + array.label +
                      "\", which has " + std::to_string(array.end[0] - array.begin[0]) +
                      " rows; give a range within it, or declare which rows they touch: in(x, rows(f))");
}

void fail_left_out(const LaunchName& launch, const WorkBounds& work, const DeclaredArray& array, int d) {
  const std::string gone = left_out(array.begin[d], work.lower[d], work.upper[d], array.end[d]);
  const bool one = gone.find(' ') == std::string::npos;
  const std::string what = d == 1
                               ? (one ? "column " : "columns ") + gone
                               : (one ? "index " : "indices ") + gone + " of dimension " + std::to_string(d);
  throw ShapeMismatch(
      "launch of " + name_of(launch) + ": " + what + " of \"" + array.label + "\" " + (one ? "is" : "are") +
      " left out by " + text_of(work) +
      ", and what is declared out is undefined where it is not written: declare inout, so that it keeps its "
      "values, or give a region, such as out(x, own), where work items write more than their own element");
}

}  // namespace strata::inline STRATA_ABI::detail
