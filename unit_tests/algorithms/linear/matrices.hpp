// Sparse matrices of the host, and the references that the tests of linear algebra compare with.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include <strata/algorithms/linear/linear.hpp>

#include "algorithms/arrays.hpp"

namespace strata_tests {

using strata::index_t;

template <class T>
struct HostMatrix {
  index_t rows = 0;
  index_t columns = 0;
  std::vector<index_t> row_map{0};
  std::vector<std::int32_t> entries{};
  std::vector<T> values{};

  void add(index_t column, T value) {
    entries.push_back(static_cast<std::int32_t>(column));
    values.push_back(value);
  }
  void end_row() {
    ++rows;
    row_map.push_back(static_cast<index_t>(entries.size()));
  }
};

template <class T, class D>
strata::linear::CrsMatrix<T, D> on_device(const HostMatrix<T>& a) {
  return strata::linear::create_crs<strata::linear::CrsMatrix<T, D>>("A", a.rows, a.columns, a.row_map,
                                                                     a.entries, a.values);
}

/// The Laplacian by central differences on a grid of nx * ny * nz points, 0 outside.
template <class T>
HostMatrix<T> poisson(index_t nx, index_t ny = 1, index_t nz = 1) {
  HostMatrix<T> a;
  a.columns = nx * ny * nz;
  const T centre = static_cast<T>(2 + (ny > 1 ? 2 : 0) + (nz > 1 ? 2 : 0));
  for (index_t z = 0; z < nz; ++z)
    for (index_t y = 0; y < ny; ++y)
      for (index_t x = 0; x < nx; ++x) {
        const index_t i = (z * ny + y) * nx + x;
        if (z > 0) a.add(i - nx * ny, -1);
        if (y > 0) a.add(i - nx, -1);
        if (x > 0) a.add(i - 1, -1);
        a.add(i, centre);
        if (x + 1 < nx) a.add(i + 1, -1);
        if (y + 1 < ny) a.add(i + nx, -1);
        if (z + 1 < nz) a.add(i + nx * ny, -1);
        a.end_row();
      }
  return a;
}

/// Row i gets length(i) entries at places that depend on `seed`.
template <class T, class Length>
HostMatrix<T> random_matrix(index_t rows, index_t columns, unsigned seed, const Length& length) {
  std::mt19937 random(seed);
  HostMatrix<T> a;
  a.columns = columns;
  for (index_t i = 0; i < rows; ++i) {
    index_t left = std::min<index_t>(length(i), columns);
    for (index_t c = 0; c < columns && left > 0; ++c) {
      std::uniform_int_distribution<index_t> among(0, columns - c - 1);
      if (among(random) >= left) continue;
      a.add(c, static_cast<T>(std::uniform_real_distribution<double>(-1, 1)(random)));
      --left;
    }
    a.end_row();
  }
  return a;
}

/// A x and the sum of the magnitudes of its terms, row by row.
struct Product {
  std::vector<long double> value, magnitude;
};
template <class T>
Product multiply(const HostMatrix<T>& a, const std::vector<T>& x) {
  Product p;
  for (index_t i = 0; i < a.rows; ++i) {
    long double sum = 0, magnitude = 0;
    for (auto k = static_cast<std::size_t>(a.row_map[static_cast<std::size_t>(i)]);
         k < static_cast<std::size_t>(a.row_map[static_cast<std::size_t>(i) + 1]); ++k) {
      const long double term =
          static_cast<long double>(a.values[k]) * x[static_cast<std::size_t>(a.entries[k])];
      sum += term;
      magnitude += std::abs(term);
    }
    p.value.push_back(sum);
    p.magnitude.push_back(magnitude);
  }
  return p;
}

/// |b - A x| / |b|
template <class T>
double relative_residual(const HostMatrix<T>& a, const std::vector<T>& x, const std::vector<T>& b) {
  const Product p = multiply(a, x);
  long double rr = 0, bb = 0;
  for (std::size_t i = 0; i < b.size(); ++i) {
    rr += (b[i] - p.value[i]) * (b[i] - p.value[i]);
    bb += static_cast<long double>(b[i]) * b[i];
  }
  return static_cast<double>(std::sqrt(rr / bb));
}

/// Numbers in [-1, 1], the same for every machine.
inline double small_number(index_t i) {
  return static_cast<double>(mix(static_cast<std::uint64_t>(i)) >> 11) * 0x1p-52 - 1;
}

/// Whether two devices' arithmetic agrees to the bit: compilers may contract multiply-adds for GPUs
/// otherwise.
template <class D>
inline constexpr bool same_arithmetic = runs_on_host_threads<D>;

}  // namespace strata_tests
