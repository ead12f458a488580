// SPDX-License-Identifier: Apache-2.0
#include <strata/miniapps/thermal/heat.hpp>

namespace strata::inline STRATA_ABI::thermal {

ProblemOfBlocks uniform(const Material& material, double beta, double sink) {
  return [=](const std::vector<std::string>& names, const std::vector<std::int64_t>&) {
    Problem problem{std::vector<Material>(names.size(), material)};
    problem.beta = beta;
    problem.sink = sink;
    return problem;
  };
}

double HeatState::imbalance() const {
  double sum = source - sink - stored;
  for (const double flow : flows) sum += flow;
  for (const double flow : inflows) sum += flow;
  return sum;
}

}  // namespace strata::inline STRATA_ABI::thermal
