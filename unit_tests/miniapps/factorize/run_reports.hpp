// Runs of strata-factorize, and what they report.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <gtest/gtest.h>

#include <strata/miniapps/factorize/matrix_input.hpp>
#include <strata/miniapps/factorize/run.hpp>

namespace strata_tests {

inline strata::miniapp::RunReport report_of(const std::string& device,
                                            const strata::factorize::FactorizeRequest& request) {
  strata::miniapp::RunReport report;
  run_request(device, request, *make_input(request), false, report);
  return report;
}
inline double result_of(const strata::miniapp::RunReport& report, const std::string& name) {
  for (const strata::miniapp::Figure& result : report.results)
    if (result.name == name) return result.value;
  ADD_FAILURE() << "no result " << name;
  return 0;
}

}  // namespace strata_tests
