// Figures 21 to 25 of the Kokkos Array paper: time steps of the explicit dynamics mini-application, an
// elastic bar with one end fixed and an initial velocity at the other. What the paper leaves out is filled by
// a linear elastic material in small kernels. ERRATA.md lists what differs from print.
// SPDX-License-Identifier: Apache-2.0
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
// its nodes: Flanagan and Belytschko, Int. J. Numer. Meth. Engng 17 (1981). Cyclic changes of the coordinates
// give the other derivatives.
template <typename Scalar>
STRATA_FUNCTION void comp_grad(const Scalar (&y)[8], const Scalar (&z)[8], Scalar (&grad_x)[8]) {
  constexpr int permutation[8][8] = {
      {0, 1, 2, 3, 4, 5, 6, 7}, {1, 2, 3, 0, 5, 6, 7, 4}, {2, 3, 0, 1, 6, 7, 4, 5}, {3, 0, 1, 2, 7, 4, 5, 6},
      {4, 7, 6, 5, 0, 3, 2, 1}, {5, 4, 7, 6, 1, 0, 3, 2}, {6, 5, 4, 7, 2, 1, 0, 3}, {7, 6, 5, 4, 3, 2, 1, 0}};
  for (int n = 0; n < 8; ++n) {
    Scalar Y[8], Z[8];
    for (int k = 0; k < 8; ++k) {
      Y[k] = y[permutation[n][k]];
      Z[k] = z[permutation[n][k]];
    }
    grad_x[n] =
        (Y[1] * (Z[5] - Z[2] - Z[3] + Z[4]) + Y[2] * (Z[1] - Z[3]) + Y[3] * (Z[2] - Z[7] - Z[4] + Z[1]) +
         Y[4] * (Z[7] - Z[5] - Z[1] + Z[3]) + Y[5] * (Z[4] - Z[1]) + Y[7] * (Z[3] - Z[4])) /
        12;
  }
}

// Base vector m of the four hourglass modes at node n: products of the signs of two or three directions.
STRATA_FUNCTION constexpr int hourglass_mode(int m, int n) {
  int sign = 1;
  for (int d = 0; d < 3; ++d)
    if (d != m) sign *= 2 * strata_tests::hex_corner(n, d) - 1;
  return sign;
}

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
    const Scalar back = *dt / 2;  // to the middle of the step
    for (int n = 0; n < 8; ++n) {
      const int node = element_node_connectivity(element_id, n);
      vx[n] = velocity(node, 0);
      vy[n] = velocity(node, 1);
      vz[n] = velocity(node, 2);
      x[n] = model_coords(node, 0) + displacement(node, 0) - back * vx[n];
      y[n] = model_coords(node, 1) + displacement(node, 1) - back * vy[n];
      z[n] = model_coords(node, 2) + displacement(node, 2) - back * vz[n];
    }
    // Compute element gradient operator, volume, velocity gradient,
    // and hourglass operator.
    comp_grad(y, z, grad_x);
    comp_grad(z, x, grad_y);
    comp_grad(x, y, grad_z);
    const Scalar volume = dot8(x, grad_x);
    velocity_gradient(element_id, 0, vx, grad_x, grad_y, grad_z, volume);
    velocity_gradient(element_id, 1, vy, grad_x, grad_y, grad_z, volume);
    velocity_gradient(element_id, 2, vz, grad_x, grad_y, grad_z, volume);
    for (int m = 0; m < 4; ++m) {
      Scalar mode[8];
      for (int n = 0; n < 8; ++n) mode[n] = static_cast<Scalar>(hourglass_mode(m, n));
      const Scalar mx = dot8(x, mode), my = dot8(y, mode), mz = dot8(z, mode);
      for (int n = 0; n < 8; ++n)
        hgop(element_id, m, n) = mode[n] - (mx * grad_x[n] + my * grad_y[n] + mz * grad_z[n]) / volume;
    }
  }

 private:
  STRATA_FUNCTION
  void velocity_gradient(int element_id, int d, const Scalar (&v)[8], const Scalar (&grad_x)[8],
                         const Scalar (&grad_y)[8], const Scalar (&grad_z)[8], Scalar volume) const {
    vel_grad(element_id, d, 0) = dot8(v, grad_x) / volume;
    vel_grad(element_id, d, 1) = dot8(v, grad_y) / volume;
    vel_grad(element_id, d, 2) = dot8(v, grad_z) / volume;
  }
};

// Structure for computing element stress, stable time step, and element internal forces.
template <typename Scalar, class DeviceType>
struct divergence;
template <typename Scalar, class DeviceType>
struct set_next_time_step;
template <typename Scalar, class DeviceType>
struct finish_step;

// Figures 23, 24 and 25
#define STRATA_MACRO_DEVICE strata::Serial
#include "dynamics_kernels.hpp"
#undef STRATA_MACRO_DEVICE
#define STRATA_MACRO_DEVICE strata::AnyHost
#include "dynamics_kernels.hpp"
#undef STRATA_MACRO_DEVICE
#define STRATA_MACRO_DEVICE strata::Emulated
#include "dynamics_kernels.hpp"
#undef STRATA_MACRO_DEVICE
#if defined(__CUDACC__)
#define STRATA_MACRO_DEVICE strata::Cuda
#include "dynamics_kernels.hpp"
#undef STRATA_MACRO_DEVICE
#endif

}  // namespace paper

using strata::MDArray;
using strata_tests::copy_to;
using strata_tests::hex_corner;
using strata_tests::HexMesh;
using strata_tests::nodes_per_element;

constexpr int nx = 5, ny = 2, nz = 2;
constexpr paper::Material<double> steel{1.2, 0.8, 2.5, 0.02, 0.3};

/// Nodal and element state of the whole bar after some steps, in double precision on the host.
struct State {
  std::vector<double> displacement, velocity, force;  // (node, direction)
  std::vector<double> stress;                         // (element, i, j)
  double dt, prev_dt;
};

// The problem: the bar is at rest but for its free end (plane nx), which moves.
double initial_velocity(const HexMesh& mesh, int node, int d) {
  const auto& planes = mesh.grid[static_cast<std::size_t>(node)];
  return planes[0] < nx ? 0 : d == 0 ? -0.05 : 0.01 * planes[1] - 0.02 * planes[2];
}
bool is_fixed(const HexMesh& mesh, int node) { return mesh.grid[static_cast<std::size_t>(node)][0] == 0; }

/// A plain sequential program: Gauss quadrature for the mean gradients, scatter for the forces.
class Reference {
 public:
  explicit Reference(const HexMesh& mesh, double user_dt) : mesh_(mesh), user_dt_(user_dt) {
    const auto n = static_cast<std::size_t>(mesh.node_count),
               e = static_cast<std::size_t>(mesh.element_count);
    state = {std::vector<double>(3 * n),
             std::vector<double>(3 * n),
             std::vector<double>(3 * n),
             std::vector<double>(9 * e),
             0,
             0};
    mass.resize(n);
    for (int node = 0; node < mesh.node_count; ++node)
      for (int d = 0; d < 3; ++d) state.velocity[at(node, d)] = initial_velocity(mesh, node, d);
    for (int element = 0; element < mesh.element_count; ++element) {
      double x[8][3], gradient[8][3];
      gather(element, 0, x);
      const double volume = integrate_gradient(x, gradient);
      for (int k = 0; k < 8; ++k) mass[at(element_node(element, k), 0) / 3] += steel.density * volume / 8;
    }
  }

  void step() {
    const double old_dt = state.dt;
    std::fill(state.force.begin(), state.force.end(), 0.0);
    double next = 1e32;
    for (int e = 0; e < mesh_.element_count; ++e) next = std::min(next, element_step(e, old_dt));
    state.prev_dt = old_dt;
    state.dt = next;
    for (int node = 0; node < mesh_.node_count; ++node)
      for (int d = 0; d < 3; ++d) {
        const double a = is_fixed(mesh_, node) ? 0 : -state.force[at(node, d)] / mass[at(node, 0) / 3];
        state.velocity[at(node, d)] += (old_dt + next) / 2 * a;
        state.displacement[at(node, d)] += next * state.velocity[at(node, d)];
      }
  }

  State state;
  std::vector<double> mass;

 private:
  static std::size_t at(int node, int d) { return static_cast<std::size_t>(3 * node + d); }
  int element_node(int e, int n) const { return mesh_.element_node_identifier(e, n); }

  // Coordinates at a time `back` before the end of the last step.
  void gather(int e, double back, double (&x)[8][3]) const {
    for (int n = 0; n < 8; ++n)
      for (int d = 0; d < 3; ++d) {
        const int node = element_node(e, n);
        x[n][d] = mesh_.node_coordinates(node, d) + state.displacement[at(node, d)] -
                  back * state.velocity[at(node, d)];
      }
  }

  // Integrals of the shape functions' gradients; returns the volume. The integrand is a polynomial of degree
  // 2 in each local coordinate, so that 2 x 2 x 2 Gauss points are exact.
  static double integrate_gradient(const double (&x)[8][3], double (&gradient)[8][3]) {
    const double point = 1 / std::sqrt(3.0);
    double volume = 0;
    for (auto& row : gradient) row[0] = row[1] = row[2] = 0;
    for (int q = 0; q < 8; ++q) {
      double slope[8][3], j[3][3] = {};
      for (int n = 0; n < 8; ++n) {
        double sign[3], side[3];
        for (int d = 0; d < 3; ++d) {
          sign[d] = hex_corner(n, d) ? 1 : -1;
          side[d] = 1 + sign[d] * (hex_corner(q, d) ? point : -point);
        }
        slope[n][0] = sign[0] * side[1] * side[2] / 8;
        slope[n][1] = side[0] * sign[1] * side[2] / 8;
        slope[n][2] = side[0] * side[1] * sign[2] / 8;
        for (int d = 0; d < 3; ++d)
          for (int c = 0; c < 3; ++c) j[d][c] += slope[n][d] * x[n][c];
      }
      const auto cofactor = [&](int d, int c) {
        const int d1 = (d + 1) % 3, d2 = (d + 2) % 3, c1 = (c + 1) % 3, c2 = (c + 2) % 3;
        return j[d1][c1] * j[d2][c2] - j[d1][c2] * j[d2][c1];
      };
      for (int d = 0; d < 3; ++d) {
        volume += j[0][d] * cofactor(0, d);
        for (int n = 0; n < 8; ++n)
          for (int c = 0; c < 3; ++c) gradient[n][c] += slope[n][d] * cofactor(d, c);
      }
    }
    return volume;
  }

  // Stress, forces and stable time step of one element.
  double element_step(int e, double old_dt) {
    double x[8][3], middle[8][3], end[8][3], rate[3][3] = {};
    gather(e, old_dt / 2, x);
    const double middle_volume = integrate_gradient(x, middle);
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < 3; ++j)
        for (int n = 0; n < 8; ++n)
          rate[i][j] += state.velocity[at(element_node(e, n), i)] * middle[n][j] / middle_volume;
    double hourglass[4][8];
    for (int m = 0; m < 4; ++m)
      for (int n = 0; n < 8; ++n) {
        hourglass[m][n] = paper::hourglass_mode(m, n);
        for (int d = 0; d < 3; ++d)
          for (int k = 0; k < 8; ++k)
            hourglass[m][n] -= middle[n][d] / middle_volume * x[k][d] * paper::hourglass_mode(m, k);
      }
    double* const stress = &state.stress[static_cast<std::size_t>(9 * e)];
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < 3; ++j) {
        stress[3 * i + j] += old_dt * steel.mu * (rate[i][j] + rate[j][i]);
        if (i == j) stress[3 * i + j] += old_dt * steel.lambda * (rate[0][0] + rate[1][1] + rate[2][2]);
      }
    gather(e, 0, x);
    const double volume = integrate_gradient(x, end);
    for (int n = 0; n < 8; ++n)
      for (int d = 0; d < 3; ++d) {
        double& force = state.force[at(element_node(e, n), d)];
        for (int j = 0; j < 3; ++j) force += stress[3 * d + j] * end[n][j];
        for (int m = 0; m < 4; ++m)
          for (int k = 0; k < 8; ++k)
            force += steel.hourglass * hourglass[m][n] * hourglass[m][k] *
                     state.velocity[at(element_node(e, k), d)];
      }
    if (user_dt_ > 0) return user_dt_;
    return steel.safety * std::cbrt(volume) / std::sqrt((steel.lambda + 2 * steel.mu) / steel.density);
  }

  const HexMesh& mesh_;
  double user_dt_;
};

/// The same by the paper's functors on a device.
template <class Scalar, class Device>
class Simulation {
  using IntArray = MDArray<int, Device>;
  using Array = MDArray<Scalar, Device>;
  using Time = strata::Value<Scalar, Device>;

 public:
  Simulation(const HexMesh& mesh, const std::vector<double>& masses, double user_dt)
      : mesh_(mesh),
        user_dt_(static_cast<Scalar>(user_dt)),
        connectivity_(copy_to<IntArray>(mesh.element_node_identifier)),
        node_elem_offset_(copy_to<IntArray>(mesh.node_element_offset)),
        node_elem_ids_(copy_to<IntArray>(mesh.node_element_identifier)),
        fixed_(strata::create_mdarray<IntArray>(mesh.node_count)),
        node_coordinates_(copy_to<MDArray<double, Device>>(mesh.node_coordinates)),
        model_coords_(nodal()),
        displacement_(nodal()),
        velocity_(nodal()),
        internal_force_(nodal()),
        acceleration_(nodal()),
        nodal_mass_(strata::create_mdarray<Array>(mesh.node_count)),
        vel_grad_(strata::create_mdarray<Array>(mesh.element_count, 3, 3)),
        stress_(strata::create_mdarray<Array>(mesh.element_count, 3, 3)),
        hgop_(strata::create_mdarray<Array>(mesh.element_count, 4, 8)),
        element_force_(strata::create_mdarray<Array>(mesh.element_count, 3, 8)),
        dt_(strata::create_value<Time>()),
        prev_dt_(strata::create_value<Time>()) {
    const auto flags = strata::create_mirror(fixed_);
    const auto mass = strata::create_mirror(nodal_mass_);
    const auto velocity = strata::create_mirror(velocity_), model = strata::create_mirror(model_coords_);
    for (int n = 0; n < mesh.node_count; ++n) {
      flags(n) = is_fixed(mesh, n);
      mass(n) = static_cast<Scalar>(masses[static_cast<std::size_t>(n)]);
      for (int d = 0; d < 3; ++d) {
        velocity(n, d) = static_cast<Scalar>(initial_velocity(mesh, n, d));
        model(n, d) = static_cast<Scalar>(mesh.node_coordinates(n, d));
      }
    }
    deep_copy(fixed_, flags);
    deep_copy(nodal_mass_, mass);
    deep_copy(velocity_, velocity);
    deep_copy(model_coords_, model);
  }

  // One pass of the time step loop of the paper's table 2.
  void step() {
    using device_type = Device;
    const int num_elements = mesh_.element_count;
    strata::parallel_for(
        num_elements, paper::grad_hgop<Scalar, device_type>{connectivity_, node_coordinates_, model_coords_,
                                                            displacement_, velocity_, vel_grad_, hgop_, dt_});
    // Figure 22
    strata::parallel_reduce(num_elements,
                            paper::divergence<Scalar, device_type>{
                                connectivity_, model_coords_, displacement_, velocity_, vel_grad_, hgop_,
                                stress_, element_force_, material(), user_dt_, dt_},
                            paper::set_next_time_step<Scalar, device_type>{prev_dt_, dt_});
    strata::parallel_for(mesh_.node_count,
                         paper::finish_step<Scalar, device_type>{
                             node_elem_offset_, node_elem_ids_, fixed_, element_force_, nodal_mass_,
                             internal_force_, acceleration_, velocity_, displacement_, prev_dt_, dt_});
  }

  State state() const {
    return {flat(displacement_),
            flat(velocity_),
            flat(internal_force_),
            flat(stress_),
            static_cast<double>(*strata_tests::on_host(dt_)),
            static_cast<double>(*strata_tests::on_host(prev_dt_))};
  }

 private:
  static paper::Material<Scalar> material() {
    return {static_cast<Scalar>(steel.lambda), static_cast<Scalar>(steel.mu),
            static_cast<Scalar>(steel.density), static_cast<Scalar>(steel.hourglass),
            static_cast<Scalar>(steel.safety)};
  }
  Array nodal() const { return strata::create_mdarray<Array>(mesh_.node_count, 3); }
  static std::vector<double> flat(const Array& array) {
    const auto host = strata_tests::on_host(array);
    std::vector<double> all;
    for (int i = 0; i < host.extent(0); ++i)
      for (int j = 0; j < 3; ++j) {
        if (host.rank() == 2) all.push_back(static_cast<double>(host(i, j)));
        else
          for (int k = 0; k < 3; ++k) all.push_back(static_cast<double>(host(i, j, k)));
      }
    return all;
  }

  const HexMesh& mesh_;
  Scalar user_dt_;
  IntArray connectivity_, node_elem_offset_, node_elem_ids_, fixed_;
  MDArray<double, Device> node_coordinates_;
  Array model_coords_, displacement_, velocity_, internal_force_, acceleration_, nodal_mass_;
  Array vel_grad_, stress_, hgop_, element_force_;
  Time dt_, prev_dt_;
};

void expect_near(const std::vector<double>& found, const std::vector<double>& expected, double tolerance,
                 const char* what) {
  ASSERT_EQ(found.size(), expected.size()) << what;
  double largest = 0;
  for (const double value : expected) largest = std::max(largest, std::abs(value));
  EXPECT_GT(largest, 0) << what << " did not change";
  for (std::size_t i = 0; i < found.size(); ++i)
    ASSERT_NEAR(found[i], expected[i], tolerance * largest) << what << ' ' << i;
}

template <class Device>
class PaperDynamics : public ::testing::Test {
 protected:
  const HexMesh bar = strata_tests::make_hex_mesh(nx, ny, nz);

  template <class Scalar>
  void compare(int steps, double user_dt, double tolerance) const {
    Reference reference(bar, user_dt);
    Simulation<Scalar, Device> simulation(bar, reference.mass, user_dt);
    for (int s = 0; s < steps; ++s) {
      reference.step();
      simulation.step();
    }
    const State found = simulation.state();
    EXPECT_NEAR(found.dt, reference.state.dt, tolerance * reference.state.dt);
    EXPECT_NEAR(found.prev_dt, reference.state.prev_dt, tolerance * reference.state.prev_dt);
    expect_near(found.displacement, reference.state.displacement, tolerance, "displacement");
    expect_near(found.velocity, reference.state.velocity, tolerance, "velocity");
    expect_near(found.force, reference.state.force, tolerance, "force");
    expect_near(found.stress, reference.state.stress, tolerance, "stress");
  }
};
TYPED_TEST_SUITE(PaperDynamics, strata_tests::TestDevices, strata_tests::DeviceName);

TYPED_TEST(PaperDynamics, Figures21To25StepTheBarLikeASerialReference) {
  this->template compare<double>(2, 0, 1e-12);
  this->template compare<double>(25, 0, 1e-11);
}

TYPED_TEST(PaperDynamics, Figures21To25WorkInSinglePrecision) { this->template compare<float>(10, 0, 1e-3); }

TYPED_TEST(PaperDynamics, TheTimeStepOfTheUserIsTaken) { this->template compare<double>(5, 0.01, 1e-12); }

TYPED_TEST(PaperDynamics, AllDevicesAgreeWithSerial) {
  const std::vector<double> mass = Reference(this->bar, 0).mass;
  Simulation<double, strata::Serial> serial(this->bar, mass, 0);
  Simulation<double, TypeParam> device(this->bar, mass, 0);
  for (int s = 0; s < 10; ++s) {
    serial.step();
    device.step();
  }

  const State expected = serial.state(), found = device.state();

  // To rounding only: compilers may contract the kernels of two devices differently.
  EXPECT_NEAR(found.dt, expected.dt, 1e-14);
  expect_near(found.displacement, expected.displacement, 1e-13, "displacement");
  expect_near(found.velocity, expected.velocity, 1e-13, "velocity");
  expect_near(found.stress, expected.stress, 1e-13, "stress");
}

}  // namespace
