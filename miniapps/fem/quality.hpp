// measure and bounding_box: how good the elements of a mesh are, and where it lies. On the device.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/algorithms/parallel_reduce.hpp>
#include <strata/algorithms/reducers.hpp>
#include <strata/miniapps/fem/hex_quality.hpp>
#include <strata/miniapps/fem/mesh.hpp>

namespace strata::inline STRATA_ABI::fem {

/// The edges of the box around a mesh.
struct BoundingBox {
  double low[3];
  double high[3];

  double largest_edge() const {
    double largest = 0;
    for (int d = 0; d < 3; ++d) largest = high[d] - low[d] > largest ? high[d] - low[d] : largest;
    return largest;
  }
};

/// What measure finds. Of equal elements the first counts.
struct MeshQuality {
  double volume = 0;
  ValueLocation<double> least_scaled_jacobian{};  // and its element
  ValueLocation<double> least_volume{};
  double greatest_volume = 0;
};

namespace detail {

/// The corners of element e.
STRATA_FUNCTION void gather_corners(index_t e, const auto& nodes, const auto& coordinates, HexCorners& x) {
  for (int c = 0; c < 8; ++c)
    for (int d = 0; d < 3; ++d) x[c][d] = coordinates(nodes(e, c), d);
}

struct MeasureElement {
  STRATA_FUNCTION void operator()(index_t e, auto nodes, auto coordinates, double& sum,
                                  ValueLocation<double>& least_scaled, ValueLocation<double>& least,
                                  double& greatest) const {
    HexCorners x;
    gather_corners(e, nodes, coordinates, x);
    const double v = volume(x), scaled = scaled_jacobian(x);
    sum += v;
    if (scaled < least_scaled.value) least_scaled = {scaled, e};
    if (v < least.value) least = {v, e};
    if (v > greatest) greatest = v;
  }
};

struct JoinPosition {
  int direction;
  STRATA_FUNCTION void operator()(index_t n, auto coordinates, MinMaxValue<double>& bounds) const {
    const double x = coordinates(n, direction);
    if (x < bounds.min) bounds.min = x;
    if (x > bounds.max) bounds.max = x;
  }
};

}  // namespace detail

/// Volumes and the least scaled Jacobian (hex_quality.hpp). Waits.
template <class Arrays>
MeshQuality measure(const Mesh<Arrays>& mesh) {
  MeshQuality quality;
  parallel_reduce("measure elements", on(mesh.device), mesh.element_count(),
                  with(detail::MeasureElement{}, mesh.element_nodes, mesh.coordinates), Sum(quality.volume),
                  MinLoc(quality.least_scaled_jacobian), MinLoc(quality.least_volume),
                  Max(quality.greatest_volume));
  return quality;
}

/// The box around all nodes. Waits.
template <class Arrays>
BoundingBox bounding_box(const Mesh<Arrays>& mesh) {
  BoundingBox box{};
  for (int d = 0; d < 3; ++d) {
    MinMaxValue<double> bounds{};
    parallel_reduce("bounding box", on(mesh.device), mesh.node_count(),
                    with(detail::JoinPosition{d}, mesh.coordinates), MinMax(bounds));
    box.low[d] = bounds.min;
    box.high[d] = bounds.max;
  }
  return box;
}

}  // namespace strata::inline STRATA_ABI::fem
