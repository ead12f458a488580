// What the tests of teams share: shapes of teams, and launches of shapes that a GPU may not have.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include <strata/algorithms/team.hpp>

#include "arrays.hpp"

namespace strata_tests {

template <class T, class D>
using Matrix = strata::MDArray<T, D, strata::rank<2>>;

template <class T, class D>
std::vector<std::vector<T>> rows_of(const Matrix<T, D>& x) {
  strata::wait(D{});
  const auto host = on_host(x);
  std::vector<std::vector<T>> rows(static_cast<std::size_t>(host.extent(0)));
  for (strata::index_t i = 0; i < host.extent(0); ++i)
    for (strata::index_t j = 0; j < host.extent(1); ++j)
      rows[static_cast<std::size_t>(i)].push_back(host(i, j));
  return rows;
}

// Of teams: below, at and above the warps of a GPU.
struct Shape {
  strata::index_t members;
  strata::index_t lanes;
};
inline constexpr Shape shapes[] = {{1, 1}, {1, 8}, {4, 1}, {5, 4}, {8, 2}, {32, 1}, {7, 32}, {32, 32}};

inline std::string name_of(Shape shape) {
  return std::to_string(shape.members) + " members of " + std::to_string(shape.lanes) + " lanes";
}

// Runs the launch, unless a GPU's kernel needs too many registers for so large a team. 256 threads always
// fit.
template <class F>
bool launched(Shape shape, const F& launch) {
  try {
    launch();
    return true;
  } catch (const strata::KernelError& error) {
    if (shape.members * shape.lanes <= 256 ||
        std::string(error.what()).find("registers") == std::string::npos)
      throw;
    return false;
  }
}

}  // namespace strata_tests
