// How far temperatures are from a known solution: the greatest difference at nodes, and the L2 and H1 norms
// by 3 x 3 x 3 Gauss points an element; and the loads of a source that depends on the place. On the host, in
// double, by the usual loops: what they judge is computed in another way (element.hpp).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include <strata/miniapps/fem/host_mesh.hpp>

namespace strata::inline STRATA_ABI::thermal {

/// A known temperature.
class Solution {
 public:
  virtual ~Solution() = default;
  virtual double value(double x, double y, double z) const = 0;
  /// Where norms of gradients are wanted.
  virtual void gradient(double, double, double, double (&g)[3]) const { g[0] = g[1] = g[2] = 0; }
};

/// Its values at the nodes.
std::vector<double> nodal_values(const fem::HostMesh& mesh, const Solution& solution);

/// The greatest difference at a node.
double nodal_error(const fem::HostMesh& mesh, const std::vector<double>& temperatures, const Solution& exact);

/// The norms of the difference; h1 is that of the gradients alone.
struct ErrorNorms {
  double l2, h1;
};
ErrorNorms error_norms(const fem::HostMesh& mesh, const std::vector<double>& temperatures,
                       const Solution& exact);

/// What a source, `factor` times a solution, gives to each node, by 2 x 2 x 2 Gauss points.
std::vector<double> loads_of(const fem::HostMesh& mesh, const Solution& source, double factor);

}  // namespace strata::inline STRATA_ABI::thermal
