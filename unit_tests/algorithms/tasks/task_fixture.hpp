// What tests of tasks share: small kernels and functions, and four arrays of which nothing is left over.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

#include "algorithms/tasks/task_programs.hpp"
#include "messages.hpp"

namespace strata_tests {

struct Increment {
  STRATA_FUNCTION void operator()(auto i, auto x) const { x(i) += 1; }
};
struct Add {
  STRATA_FUNCTION void operator()(auto i, auto x, auto y) const { y(i) += x(i); }
};
struct Throwing {
  void operator()(const auto&, const auto&) const { throw std::runtime_error("no luck"); }
};
struct Nothing {
  void operator()(const auto&...) const {}
};
struct OnEmulatedOnly {
  void operator()(const Queue<Emulated>& queue, const auto& x) const {
    parallel_for(on(queue), x.extent(0), with(Increment{}, x));
  }
};

inline void lift_budgets() {
  for (int k = 0; k < Emulated::count(); ++k) coherent::set_budget(Emulated{k}, index_t{1} << 40);
}

class TaskTest : public ::testing::Test {
 protected:
  void SetUp() override { x = new_arrays(); }
  void TearDown() override {
    emulated::clear_faults();
    for (int k = 0; k < Emulated::count(); ++k) {
      EXPECT_NO_THROW(wait(Emulated{k})) << "an error was left over";
    }
    lift_budgets();
  }
  /// "x0" to "x3", of 100 items that are 0.
  static std::vector<Words> new_arrays() {
    std::vector<Words> arrays;
    for (int k = 0; k < 4; ++k) arrays.emplace_back(("x" + std::to_string(k)).c_str(), 100);
    return arrays;
  }
  Word first(int array) const { return x[static_cast<std::size_t>(array)](0); }

  std::vector<Words> x;
};

}  // namespace strata_tests
