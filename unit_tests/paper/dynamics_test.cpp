// Figures 21 to 25 of the Kokkos Array paper: time steps of the explicit dynamics mini-application, an elastic
// bar with one end fixed and an initial velocity at the other. What the paper leaves out is filled by a linear
// elastic material in small kernels. ERRATA.md lists what differs from print.
#include <cmath>
#include <vector>

#include "hex_mesh.hpp"

namespace {
namespace paper {

template <typename Scalar>
struct Material {
  Scalar lambda, mu, density;
  Scalar hourglass;  // viscosity of the hourglass modes
  Scalar safety;     // of the stable time step
};

template <typename Scalar>
STRATA_FUNCTION Scalar dot8(const Scalar (&a)[8], const Scalar (&b)[8]) {
  Scalar sum = 0;
  for (int n = 0; n < 8; ++n) sum += a[n] * b[n];
  return sum;
}

// The integral of the x derivative of each shape function over the element, from the y and z coordinates of
// its nodes: Flanagan and Belytschko, Int. J. Numer. Meth. Engng 17 (1981), equation 79; the rows are its
// permutations of node numbers.
template <typename Scalar>
STRATA_FUNCTION void comp_grad(const Scalar (&y)[8], const Scalar (&z)[8], Scalar (&grad_x)[8]) {
  constexpr int p[8][8] = {{0, 1, 2, 3, 4, 5, 6, 7}, {1, 2, 3, 0, 5, 6, 7, 4}, {2, 3, 0, 1, 6, 7, 4, 5},
                           {3, 0, 1, 2, 7, 4, 5, 6}, {4, 7, 6, 5, 0, 3, 2, 1}, {5, 4, 7, 6, 1, 0, 3, 2},
                           {6, 5, 4, 7, 2, 1, 0, 3}, {7, 6, 5, 4, 3, 2, 1, 0}};
  for (int n = 0; n < 8; ++n) {
    const int* const q = p[n];
    grad_x[n] = (y[q[1]] * ((z[q[5]] - z[q[2]]) - (z[q[3]] - z[q[4]])) + y[q[2]] * (z[q[1]] - z[q[3]]) +
                 y[q[3]] * ((z[q[2]] - z[q[7]]) - (z[q[4]] - z[q[1]])) +
                 y[q[4]] * ((z[q[7]] - z[q[5]]) - (z[q[1]] - z[q[3]])) + y[q[5]] * (z[q[4]] - z[q[1]]) +
                 y[q[7]] * (z[q[3]] - z[q[4]])) /
                12;
  }
}

// The base vectors of the four hourglass modes.
inline constexpr int hourglass_mode[4][8] = {{1, 1, -1, -1, -1, -1, 1, 1},
                                             {1, -1, -1, 1, -1, 1, 1, -1},
                                             {1, -1, 1, -1, 1, -1, 1, -1},
                                             {-1, 1, -1, 1, 1, -1, 1, -1}};

// Figure 21
template <typename Scalar, class Device>
struct grad_hgop {
 public:
  typedef Device device_type;
  strata::MDArray<int, Device> element_node_connectivity;
  strata::MDArray<double, Device> node_coordinates;
  strata::MDArray<Scalar, Device> model_coords;
  strata::MDArray<Scalar, Device> displacement;
  strata::MDArray<Scalar, Device> velocity;
  strata::MDArray<Scalar, Device> vel_grad;
  strata::MDArray<Scalar, Device> hgop;
  strata::Value<Scalar, Device> dt;

  STRATA_FUNCTION
  void operator()(int element_id) const {
    // Declare local data for frequent access to reduce
    // global memory reads and writes.
    Scalar x[8], y[8], z[8];                 // nodal coordinates
    Scalar vx[8], vy[8], vz[8];              // nodal velocities
    Scalar grad_x[8], grad_y[8], grad_z[8];  // gradient_operator

    // Gather this element's nodal coordinates and velocities.
    for (int n = 0; n < 8; ++n) {
      const int node = element_node_connectivity(element_id, n);
      Scalar* const position[3] = {&x[n], &y[n], &z[n]};
      Scalar* const rate[3] = {&vx[n], &vy[n], &vz[n]};
      for (int d = 0; d < 3; ++d) {
        model_coords_of(node, d);
        *rate[d] = velocity(node, d);
        *position[d] = static_cast<Scalar>(node_coordinates(node, d)) + displacement(node, d) -
                       *dt / 2 * velocity(node, d);  // the middle of the step
      }
    }
    // Compute element gradient operator, volume, velocity gradient,
    // and hourglass operator.
    comp_grad(y, z, grad_x);
    comp_grad(z, x, grad_y);
    comp_grad(x, y, grad_z);
    const Scalar volume = dot8(x, grad_x);
    const Scalar(&v)[3][8] = {vx, vy, vz};
  }
};

}  // namespace paper
}  // namespace
