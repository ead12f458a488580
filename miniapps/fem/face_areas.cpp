// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include <strata/miniapps/fem/face_areas.hpp>

namespace strata::inline STRATA_ABI::fem {

namespace {

// The share of each corner in the area of a bilinear face, corners being at (0, 0), (1, 0), (1, 1), (0, 1).
std::array<double, 4> shares_of(const std::array<double, 12>& x) {
  std::array<double, 4> shares{};
  const double low = 0.5 - 0.5 / std::sqrt(3.0), points[] = {low, 1 - low};
  for (const double u : points)
    for (const double v : points) {
      double along[3], across[3];
      for (std::size_t d = 0; d < 3; ++d) {
        along[d] = (1 - v) * (x[3 + d] - x[d]) + v * (x[6 + d] - x[9 + d]);
        across[d] = (1 - u) * (x[9 + d] - x[d]) + u * (x[6 + d] - x[3 + d]);
      }
      const double normal[] = {along[1] * across[2] - along[2] * across[1],
                               along[2] * across[0] - along[0] * across[2],
                               along[0] * across[1] - along[1] * across[0]};
      const double area =
          std::sqrt(normal[0] * normal[0] + normal[1] * normal[1] + normal[2] * normal[2]) / 4;
      shares[0] += area * (1 - u) * (1 - v);
      shares[1] += area * u * (1 - v);
      shares[2] += area * u * v;
      shares[3] += area * (1 - u) * v;
    }
  return shares;
}

}  // namespace

double NodeAreas::total() const {
  double sum = 0;
  for (const double area : areas) sum += area;
  return sum;
}

NodeAreas node_areas(const HostFaces& faces) {
  NodeAreas result;
  for (const auto& nodes : faces.nodes) result.nodes.insert(result.nodes.end(), nodes.begin(), nodes.end());
  std::sort(result.nodes.begin(), result.nodes.end());
  result.nodes.erase(std::unique(result.nodes.begin(), result.nodes.end()), result.nodes.end());
  result.areas.resize(result.nodes.size());
  for (std::size_t q = 0; q < faces.nodes.size(); ++q) {
    const std::array<double, 4> shares = shares_of(faces.coordinates[q]);
    for (std::size_t k = 0; k < 4; ++k) {
      const auto at = std::lower_bound(result.nodes.begin(), result.nodes.end(), faces.nodes[q][k]);
      result.areas[static_cast<std::size_t>(at - result.nodes.begin())] += shares[k];
    }
  }
  return result;
}

}  // namespace strata::inline STRATA_ABI::fem
