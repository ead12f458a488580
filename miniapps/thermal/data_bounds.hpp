// What the data of a problem say of its temperatures: without sources they stay between the least and the
// greatest of what they start from, what is given, and what is outside.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <strata/miniapps/thermal/heat.hpp>
#include <strata/miniapps/thermal/settings.hpp>

namespace strata::inline STRATA_ABI::thermal {

struct DataBounds {
  std::optional<double> low, high;  // none: something may lead beyond any
  bool low_of_sink = false;         ///< the least is 0, where the sink ends
  /// The largest of the data, to which tolerances are in proportion.
  double scale = 0;
};
/// Of a problem in time, whose state begins at `initial`, or of a steady one.
DataBounds bounds_of(const Problem& problem, const std::vector<GivenTemperature>& given,
                     const std::vector<GivenInflow>& inflows, std::optional<double> initial);

/// Whether steps in time keep to the bounds: the solution of the equation does, that of its discretisation
/// may fall below or rise above where steps are too short for the elements.
class BoundsWatch {
 public:
  /// What differs from the bounds by no more than `tolerance` times the scale keeps to them.
  BoundsWatch(const DataBounds& bounds, double tolerance)
      : bounds_(bounds), slack_(tolerance * bounds.scale) {}

  bool has_bounds() const { return bounds_.low || bounds_.high; }
  /// The temperatures after a step.
  void look(index_t step, const TemperatureRange& range);
  /// A sentence for people where some step did not; else empty.
  std::string warning() const;

 private:
  struct Beyond {
    index_t steps = 0, first = 0, worst_step = 0;
    double worst = 0;
  };
  static void count(Beyond& beyond, index_t step, double value, bool is_worse);

  DataBounds bounds_;
  double slack_;
  Beyond below_, above_;
};

}  // namespace strata::inline STRATA_ABI::thermal
