// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include <strata/miniapps/common/report.hpp>
#include <strata/miniapps/thermal/data_bounds.hpp>

namespace strata::inline STRATA_ABI::thermal {

DataBounds bounds_of(const Problem& problem, const std::vector<GivenTemperature>& given,
                     const std::vector<GivenInflow>& inflows, std::optional<double> initial) {
  std::vector<double> data;
  if (initial) data.push_back(*initial);
  for (const GivenTemperature& g : given) data.push_back(g.value);
  bool may_warm = problem.sink < 0, may_cool = false;
  for (const GivenInflow& g : inflows) {
    if (g.inflow.coefficient > 0) data.push_back(g.inflow.outside);
    may_warm = may_warm || g.inflow.flux > 0;
    may_cool = may_cool || g.inflow.flux < 0;
  }
  for (const Material& material : problem.materials) {
    may_warm = may_warm || material.source > 0;
    may_cool = may_cool || material.source < 0;
  }
  DataBounds bounds;
  if (data.empty()) return bounds;
  const auto [low, high] = std::minmax_element(data.begin(), data.end());
  bounds.scale = std::max(std::abs(*low), std::abs(*high));
  // A sink takes heat at any temperature but 0, where it ends; from below 0 it leads away.
  if (problem.sink > 0 && *low < 0) may_cool = true;
  bounds.low_of_sink = problem.sink > 0;
  if (!may_cool) bounds.low = bounds.low_of_sink ? 0.0 : *low;
  if (!may_warm) bounds.high = *high;
  return bounds;
}

void BoundsWatch::count(Beyond& beyond, index_t step, double value, bool is_worse) {
  if (beyond.steps == 0) beyond.first = step;
  if (beyond.steps == 0 || is_worse) {
    beyond.worst = value;
    beyond.worst_step = step;
  }
  ++beyond.steps;
}

void BoundsWatch::look(index_t step, const TemperatureRange& range) {
  if (bounds_.low && range.least < *bounds_.low - slack_)
    count(below_, step, range.least, range.least < below_.worst);
  if (bounds_.high && range.greatest > *bounds_.high + slack_)
    count(above_, step, range.greatest, range.greatest > above_.worst);
}

std::string BoundsWatch::warning() const {
  std::string text;
  const auto add = [&](const Beyond& beyond, const char* where, const char* what, double bound) {
    if (beyond.steps == 0) return;
    text += (text.empty() ? "warning: temperatures " : ", and ") + std::string(where) + " " +
            miniapp::number_text(beyond.worst) + " (step " + std::to_string(beyond.worst_step) + "; " +
            std::to_string(beyond.steps) + " steps from " + std::to_string(beyond.first) + " on), though " +
            what + " " + miniapp::number_text(bound);
  };
  add(below_, "fall to",
      bounds_.low_of_sink ? "--sink takes heat down to"
                          : "the least of the initial, given and outside ones is",
      bounds_.low.value_or(0));
  add(above_, "rise to", "the greatest of the initial, given and outside ones is", bounds_.high.value_or(0));
  if (text.empty()) return text;
  return text +
         ": steps are short for the elements where temperatures change fast; take longer steps (--transient) "
         "or smaller elements there (--refine)";
}

}  // namespace strata::inline STRATA_ABI::thermal
