// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include <strata/miniapps/thermal/error_norms.hpp>

namespace strata::inline STRATA_ABI::thermal {

namespace {

using fem::corner_signs;

// An element at one point of its reference cube.
struct ElementPoint {
  double shape[8];        // of the corners
  double gradient[8][3];  // of these, in space
  double x[3];
  double volume;  // det J

  ElementPoint(const fem::HostMesh& mesh, const std::array<std::int32_t, 8>& nodes, const double (&at)[3]) {
    double local[8][3], j[3][3] = {};
    std::fill(x, x + 3, 0.0);
    for (std::size_t c = 0; c < 8; ++c) {
      double half[3];
      for (int a = 0; a < 3; ++a) half[a] = 0.5 * (1 + corner_signs[c][a] * at[a]);
      shape[c] = half[0] * half[1] * half[2];
      for (int a = 0; a < 3; ++a)
        local[c][a] = 0.5 * corner_signs[c][a] * half[(a + 1) % 3] * half[(a + 2) % 3];
      const auto& corner = mesh.coordinates[static_cast<std::size_t>(nodes[c])];
      for (std::size_t d = 0; d < 3; ++d) {
        x[d] += shape[c] * corner[d];
        for (int a = 0; a < 3; ++a) j[a][d] += local[c][a] * corner[d];
      }
    }
    double cofactor[3][3];
    for (int a = 0; a < 3; ++a)
      for (int d = 0; d < 3; ++d)
        cofactor[a][d] = j[(a + 1) % 3][(d + 1) % 3] * j[(a + 2) % 3][(d + 2) % 3] -
                         j[(a + 1) % 3][(d + 2) % 3] * j[(a + 2) % 3][(d + 1) % 3];
    volume = j[0][0] * cofactor[0][0] + j[0][1] * cofactor[0][1] + j[0][2] * cofactor[0][2];
    for (int c = 0; c < 8; ++c)
      for (int d = 0; d < 3; ++d) {
        gradient[c][d] = 0;
        for (int a = 0; a < 3; ++a) gradient[c][d] += cofactor[a][d] / volume * local[c][a];
      }
  }
};

}  // namespace

std::vector<double> nodal_values(const fem::HostMesh& mesh, const Solution& solution) {
  std::vector<double> values;
  for (const auto& x : mesh.coordinates) values.push_back(solution.value(x[0], x[1], x[2]));
  return values;
}

double nodal_error(const fem::HostMesh& mesh, const std::vector<double>& temperatures,
                   const Solution& exact) {
  const std::vector<double> values = nodal_values(mesh, exact);
  double most = temperatures.size() == values.size() ? 0 : std::nan("");
  for (std::size_t n = 0; n < values.size() && !std::isnan(most); ++n) {
    const double own = std::abs(temperatures[n] - values[n]);
    if (!(own <= most)) most = own;  // NaN stays
  }
  return most;
}

ErrorNorms error_norms(const fem::HostMesh& mesh, const std::vector<double>& temperatures,
                       const Solution& exact) {
  const double points[3] = {-std::sqrt(0.6), 0, std::sqrt(0.6)}, weights[3] = {5.0 / 9, 8.0 / 9, 5.0 / 9};
  ErrorNorms squares{0, 0};
  for (const auto& nodes : mesh.elements)
    for (int q = 0; q < 27; ++q) {
      const double at[3] = {points[q % 3], points[q / 3 % 3], points[q / 9]};
      const ElementPoint point(mesh, nodes, at);
      const double volume = weights[q % 3] * weights[q / 3 % 3] * weights[q / 9] * point.volume;
      double difference = -exact.value(point.x[0], point.x[1], point.x[2]), slope[3];
      exact.gradient(point.x[0], point.x[1], point.x[2], slope);
      for (std::size_t c = 0; c < 8; ++c) {
        const double t = temperatures[static_cast<std::size_t>(nodes[c])];
        difference += point.shape[c] * t;
        for (int d = 0; d < 3; ++d) slope[d] -= point.gradient[c][d] * t;
      }
      squares.l2 += volume * difference * difference;
      for (const double s : slope) squares.h1 += volume * s * s;
    }
  return {std::sqrt(squares.l2), std::sqrt(squares.h1)};
}

std::vector<double> loads_of(const fem::HostMesh& mesh, const Solution& source, double factor) {
  std::vector<double> loads(mesh.coordinates.size());
  const double g = 1 / std::sqrt(3.0);
  for (const auto& nodes : mesh.elements)
    for (const auto& signs : corner_signs) {
      const double at[3] = {g * signs[0], g * signs[1], g * signs[2]};
      const ElementPoint point(mesh, nodes, at);
      const double heat = factor * point.volume * source.value(point.x[0], point.x[1], point.x[2]);
      for (std::size_t c = 0; c < 8; ++c) loads[static_cast<std::size_t>(nodes[c])] += point.shape[c] * heat;
    }
  return loads;
}

}  // namespace strata::inline STRATA_ABI::thermal
