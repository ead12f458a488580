// What tests of tiled matrices share: matrices of the host to compare with, and runs at random places.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include <strata/algorithms/linear/tiled/tiled_options.hpp>
#include <strata/algorithms/tasks/plan/schedulers.hpp>

#include "core/random.hpp"
#include "test_devices.hpp"

namespace strata_tests {

using namespace strata;

/// A matrix on the host, in doubles.
struct Dense {
  index_t rows, columns;
  std::vector<double> values;

  Dense(index_t m, index_t n) : rows(m), columns(n), values(static_cast<std::size_t>(m * n)) {}
  double& operator()(index_t i, index_t j) { return values[static_cast<std::size_t>(i * columns + j)]; }
  double operator()(index_t i, index_t j) const { return values[static_cast<std::size_t>(i * columns + j)]; }
};

inline Dense random_dense(Random& draw, index_t m, index_t n) {
  Dense a(m, n);
  for (double& x : a.values) x = static_cast<double>(draw(-512, 512)) / 512;  // exact in float
  return a;
}
/// Its diagonal outweighs the rest of each row.
inline Dense random_positive(Random& draw, index_t n) {
  Dense a = random_dense(draw, n, n);
  for (index_t i = 0; i < n; ++i) {
    for (index_t j = 0; j < i; ++j) a(j, i) = a(i, j);
    a(i, i) = static_cast<double>(n) + 1;
  }
  return a;
}
/// a + factor b c, or b c^T
inline void add_product(Dense& a, double factor, const Dense& b, const Dense& c, bool transpose) {
  for (index_t i = 0; i < a.rows; ++i)
    for (index_t k = 0; k < b.columns; ++k)
      for (index_t j = 0; j < a.columns; ++j) a(i, j) += factor * b(i, k) * (transpose ? c(j, k) : c(k, j));
}

template <class T>
void fill(const TiledMatrix<T>& to, const Dense& from) {
  to.fill([&](index_t i, index_t j) { return from(i, j); });
}
template <class T>
Dense values_of(const TiledMatrix<T>& a) {
  Dense values(a.rows(), a.columns());
  a.read([&](index_t i, index_t j, T value) { values(i, j) = static_cast<double>(value); });
  return values;
}
/// Of all elements of two matrices of one shape.
template <class T>
bool have_same_bits(const TiledMatrix<T>& a, const TiledMatrix<T>& b) {
  bool same = true;
  a.read([&](index_t i, index_t j, T value) {
    const auto tile = b.tile(i / b.tile_order(), j / b.tile_order()).read();
    const T other = tile(i % b.tile_order(), j % b.tile_order());
    same = same && std::memcmp(&value, &other, sizeof(T)) == 0;
  });
  return same;
}

/// NaN counts as infinitely far.
inline double distance(const Dense& a, const Dense& b, bool lower = false) {
  double most = 0;
  for (index_t i = 0; i < a.rows; ++i)
    for (index_t j = 0; j < (lower ? i + 1 : a.columns); ++j) {
      const double apart = std::abs(a(i, j) - b(i, j));
      most = std::isnan(apart) ? std::numeric_limits<double>::infinity() : std::max(most, apart);
    }
  return most;
}
/// What rounding may add up to in sums of n terms whose size is about `size`; `tf32`: that of their factors
/// to 11 bits, too, where terms are about `factors`, which adds up at random.
template <class T>
double tolerance(index_t n, double size, bool tf32 = false, double factors = 1) {
  const double terms = static_cast<double>(n + 4);
  const double of_factors = tf32 && sizeof(T) == 4 ? 8 * std::sqrt(terms) * std::exp2(-11) * factors : 0;
  return 4 * terms * static_cast<double>(std::numeric_limits<T>::epsilon()) * size + of_factors;
}

inline index_t random_tile(Random& draw) { return draw(8, 64); }

/// Tests on a device, and across it and another one, under budgets.
template <class D>
class OverPlaces : public ::testing::Test {
 protected:
  void TearDown() override { set_budgets(index_t{1} << 40); }

  static void set_budgets(index_t bytes) {
    for (int k = 0; k < Emulated::count(); ++k) coherent::set_budget(Emulated{k}, bytes);
    if constexpr (!std::is_same_v<D, AnyHost> && !detail::HostType<D>) coherent::set_budget(D{}, bytes);
  }

  /// Places, schedulers and their windows, libraries, TF32, and budgets from three tiles or `least_bytes` on.
  /// Whether factors may have been rounded to TF32, which hosts do not do, asked or not.
  template <class F>
  static bool run_somewhere(Random& draw, index_t tile_bytes, const F& run, index_t least_bytes = 0) {
    const std::vector<std::string> names = tasks::scheduler_names();
    linear::TiledOptions options;
    options.run.scheduler = names[static_cast<std::size_t>(draw(0, static_cast<index_t>(names.size()) - 1))];
    options.run.queues = static_cast<int>(draw(1, 4));
    if (draw(0, 3) == 0) options.run.window = static_cast<int>(draw(5, 60));
    if (draw(0, 2) > 0) options.invert_diagonal = draw(0, 1) == 0;
    const bool can_use_libraries = !std::is_same_v<D, AnyHost> || linear::has_host_blas();
    if (!can_use_libraries || draw(0, 1) == 0) options.backend = linear::Backend::Strata;
    constexpr bool has_library_of_device = linear::has_vendor<D>();
    options.tf32 = draw(0, 2) == 0;
    const index_t least = std::max(3 * tile_bytes, least_bytes);
    set_budgets(draw(0, 2) == 0 ? least : least + 3 * tile_bytes * draw(0, 5));
    if (draw(0, 2) == 0) run(across(D{}, Emulated{1}), options);
    else run(on(D{}), options);
    return has_library_of_device && options.tf32 && options.backend == linear::Backend::Vendor;
  }
};
}  // namespace strata_tests
