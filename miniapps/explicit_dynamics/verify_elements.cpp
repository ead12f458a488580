// Verification of what one element does: identities of its operators, uniform deformation, rotation, simple
// shear.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <random>

#include <strata/miniapps/explicit_dynamics/hexahedron.hpp>
#include <strata/miniapps/explicit_dynamics/verify.hpp>
#include <strata/miniapps/fem/host_mesh.hpp>

namespace strata::inline STRATA_ABI::dynamics {

namespace {

using fem::corner_signs;
using miniapp::check_near;
using miniapp::check_relative;
using miniapp::check_zero;
using Mat = Matrix<double>;
using Vec = Vector<double>;

// The volume by 2 x 2 x 2 Gauss points, which is exact: the determinant has degree 2 in each coordinate.
double gauss_volume(const CornerVectors<double>& at) {
  double sum = 0;
  for (const auto& q : corner_signs) {
    double j[3][3] = {};
    for (int k = 0; k < 8; ++k) {
      const auto& s = corner_signs[k];
      double side[3];
      for (int d = 0; d < 3; ++d) side[d] = 1 + s[d] * q[d] / std::sqrt(3.0);
      const double slope[3] = {s[0] * side[1] * side[2] / 8, side[0] * s[1] * side[2] / 8,
                               side[0] * side[1] * s[2] / 8};
      for (int d = 0; d < 3; ++d) {
        j[d][0] += slope[d] * at.x[k];
        j[d][1] += slope[d] * at.y[k];
        j[d][2] += slope[d] * at.z[k];
      }
    }
    sum += j[0][0] * (j[1][1] * j[2][2] - j[1][2] * j[2][1]) -
           j[0][1] * (j[1][0] * j[2][2] - j[1][2] * j[2][0]) +
           j[0][2] * (j[1][0] * j[2][1] - j[1][1] * j[2][0]);
  }
  return sum;
}

double largest(const Mat& a) {
  double most = 0;
  for (const double x : {a.xx, a.xy, a.xz, a.yx, a.yy, a.yz, a.zx, a.zy, a.zz})
    most = std::max(most, std::abs(x));
  return most;
}
double largest(const std::vector<double>& values) {
  double most = 0;
  for (const double x : values) most = std::max(most, std::abs(x));
  return most;
}
Mat minus(const Mat& a, const Mat& b) {
  return {a.xx - b.xx, a.xy - b.xy, a.xz - b.xz, a.yx - b.yx, a.yy - b.yy,
          a.yz - b.yz, a.zx - b.zx, a.zy - b.zy, a.zz - b.zz};
}
Mat matrix_at(const std::vector<double>& values, std::size_t element) {
  const double* a = values.data() + 9 * element;
  return {a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8]};
}
Symmetric<double> symmetric_at(const std::vector<double>& values, std::size_t element) {
  const double* a = values.data() + 6 * element;
  return {a[0], a[1], a[2], a[3], a[4], a[5]};
}

// The same linear map of the coordinates of every node.
std::vector<double> mapped(const std::vector<double>& coordinates, const Mat& map) {
  std::vector<double> result(coordinates.size());
  for (std::size_t k = 0; k < coordinates.size(); k += 3) {
    const Vec a = product(map, Vec{coordinates[k], coordinates[k + 1], coordinates[k + 2]});
    result[k] = a.x, result[k + 1] = a.y, result[k + 2] = a.z;
  }
  return result;
}

// The rotation by an angle about the direction (1, 2, 3).
Mat rotation_about_axis(double angle) {
  const double n = std::sqrt(14.0);
  const Vec a = std::tan(angle / 2) / n * Vec{1, 2, 3};
  return turned(a, identity<double>());
}

}  // namespace

// sum_I B_iI x_jI = V delta_ij, sum_I B_iI = 0, gamma orthogonal to linear fields, V as by Gauss points.
void verify_gradient_identities(Verification& v) {
  std::mt19937 random(7);
  std::uniform_real_distribution<double> moved(-0.25, 0.25);
  double moments = 0, sums = 0, volumes = 0, modes = 0;
  for (int n = 0; n < 1000; ++n) {
    CornerVectors<double> at;
    for (int k = 0; k < 8; ++k) {
      at.x[k] = 0.5 * corner_signs[k][0] + moved(random);
      at.y[k] = 0.5 * corner_signs[k][1] + moved(random);
      at.z[k] = 0.5 * corner_signs[k][2] + moved(random);
    }
    const CornerVectors<double> b = gradient_operator(at);
    const double volume_12 = 12 * volume(at, b);
    const Mat l{dot(at.x, b.x), dot(at.x, b.y), dot(at.x, b.z), dot(at.y, b.x), dot(at.y, b.y),
                dot(at.y, b.z), dot(at.z, b.x), dot(at.z, b.y), dot(at.z, b.z)};
    moments = std::max(moments, largest(minus(l, {volume_12, 0, 0, 0, volume_12, 0, 0, 0, volume_12})) / 12);
    for (const auto* c : {&b.x, &b.y, &b.z}) {
      double sum = 0;
      for (int k = 0; k < 8; ++k) sum += (*c)[k];
      sums = std::max(sums, std::abs(sum) / 12);
    }
    volumes = std::max(volumes, std::abs(volume_12 / 12 - gauss_volume(at)));
    // gamma . x = 0: a velocity field that is linear has no hourglass rates; gamma . 1 = 0 likewise.
    const Mat g{0.3, -0.7, 0.2, 0.9, 0.4, -0.1, -0.5, 0.6, 0.8};
    CornerVectors<double> linear;
    for (int k = 0; k < 8; ++k) {
      const Vec w = product(g, Vec{at.x[k], at.y[k], at.z[k]}) + Vec{0.5, -1, 2};
      linear.x[k] = w.x, linear.y[k] = w.y, linear.z[k] = w.z;
    }
    const ModeVectors<double> rates =
        mode_rates(linear, mode_sums(at), velocity_gradient(linear, b, volume(at, b)));
    for (int a = 0; a < 4; ++a)
      modes = std::max({modes, std::abs(rates.x[a]), std::abs(rates.y[a]), std::abs(rates.z[a])});
  }
  v.add(check_zero("gradient: B_iI x_jI - V delta_ij", moments, 1e-13));
  v.add(check_zero("gradient: sum of B", sums, 1e-13));
  v.add(check_zero("gradient: volume against Gauss points", volumes, 1e-13));
  v.add(check_zero("gradient: hourglass rates of linear fields", modes, 1e-13));
}

// A linear velocity field on a distorted block: L = G (I + dt/2 G)^-1 everywhere, no force within, no
// hourglass.
void verify_patch(Verification& v) {
  Parameters p = v.parameters(0.3);
  p.hourglass_stiffness = 0.05;
  p.hourglass_viscosity = 0.03;
  p.fused = false;  // the fused kernel keeps no velocity gradients
  const double dt = 0.1;
  const Mat g{0.3, -0.2, 0.15, 0.1, -0.25, 0.2, -0.1, 0.05, 0.2};
  const Mat expected = product(
      g, inverse(Mat{1 + dt / 2 * g.xx, dt / 2 * g.xy, dt / 2 * g.xz, dt / 2 * g.yx, 1 + dt / 2 * g.yy,
                     dt / 2 * g.yz, dt / 2 * g.zx, dt / 2 * g.zy, 1 + dt / 2 * g.zz}));
  for (const bool fused : {false, true}) {
    p.fused = fused;
    const auto s = v.make("box:3x3x3:3,3,3:random=0.3", p);
    const std::vector<double> at = s->coordinates(), velocity = mapped(at, g);
    std::vector<double> displacement = velocity;
    for (double& u : displacement) u *= dt;
    s->impose(displacement, velocity, dt);

    if (!fused) {
      const std::vector<double> gradients = s->get(Field::VelocityGradient);
      double difference = 0;
      for (std::size_t e = 0; e < 27; ++e)
        difference = std::max(difference, largest(minus(matrix_at(gradients, e), expected)));
      v.add(check_zero("patch: velocity gradient", difference, v.tolerance(1e-12, 1e-6)));
    }
    const std::vector<double> force = s->get(Field::Force);
    double inner = 0;
    for (std::size_t k = 0; k < at.size(); k += 3)
      if (std::all_of(at.begin() + static_cast<std::ptrdiff_t>(k),
                      at.begin() + static_cast<std::ptrdiff_t>(k + 3),
                      [](double x) { return x > 1e-6 && x < 3 - 1e-6; }))
        inner = std::max({inner, std::abs(force[k]), std::abs(force[k + 1]), std::abs(force[k + 2])});
    const std::string which = fused ? "patch, fused: " : "patch: ";
    v.add(check_zero(which + "forces at inner nodes", inner, v.tolerance(1e-12, 1e-6)));
    v.add(
        check_zero(which + "hourglass forces", largest(s->get(Field::Hourglass)), v.tolerance(1e-12, 1e-6)));
  }
}

namespace {

// What forward Euler makes of a stretch V in a turn by 2 pi / steps a step, V' = V + t (A V - V A), with the
// axial matrix A of the axis and t = 2 tan(pi / steps) = dt |w|. The map C: V -> A V - V A has the
// eigenvalues 0, +-i, +-2i: the part V_k of V that is back after 1 / k of a turn becomes (1 + t C)^steps V_k,
// which grows as |1 + i k t|^steps where V should be as it was. C^2 V_k = -k^2 V_k gives the parts, V_2 =
// (C^4 + C^2) V / 12 and V_1 = -(C^4 + 4 C^2) V / 3, and a function of C on each: f(C) V_k = Re f(ik) V_k +
// Im f(ik) C V_k / k.
Mat euler_drift(const Mat& stretch, int steps) {
  const double n = std::sqrt(14.0), t = 2 * std::tan(std::acos(-1.0) / steps);
  const Mat axis{0, -3 / n, 2 / n, 3 / n, 0, -1 / n, -2 / n, 1 / n, 0};
  const auto c = [&](const Mat& v) { return minus(product(axis, v), product(v, axis)); };
  const auto sum = [](double a, const Mat& x, double b, const Mat& y) {
    return Mat{a * x.xx + b * y.xx, a * x.xy + b * y.xy, a * x.xz + b * y.xz,
               a * x.yx + b * y.yx, a * x.yy + b * y.yy, a * x.yz + b * y.yz,
               a * x.zx + b * y.zx, a * x.zy + b * y.zy, a * x.zz + b * y.zz};
  };
  const Mat c2 = c(c(stretch)), c4 = c(c(c2));
  const Mat parts[2] = {sum(-1.0 / 3, c4, -4.0 / 3, c2), sum(1.0 / 12, c4, 1.0 / 12, c2)};
  Mat drift{};
  for (int k = 1; k <= 2; ++k) {
    const Mat& part = parts[k - 1];
    const std::complex<double> f = std::pow(std::complex<double>(1, k * t), steps);
    drift = sum(1, drift, 1, sum(f.real() - 1, part, f.imag() / k, c(part)));
  }
  return drift;
}

// A stressed block turns once about (1, 2, 3); what comes of stress and stretch.
void turn_block(Verification& v, Update update, int steps) {
  Parameters p = v.parameters(0.3);
  p.update = update;
  p.fused = false;
  const auto s = v.make("box:2x2x2:2,2,2:random=0.3", p);
  const std::vector<double> at = s->coordinates();
  const auto elements = static_cast<std::size_t>(s->element_count());
  const Symmetric<double> stress{0.3, -0.2, 0.1, 0.05, -0.15, 0.25};
  const Symmetric<double> stretch{1.1, 1, 0.95, 0, 0, 0};
  std::vector<double> stresses, stretches;
  for (std::size_t e = 0; e < elements; ++e) {
    stresses.insert(stresses.end(), {stress.xx, stress.yy, stress.zz, stress.xy, stress.yz, stress.zx});
    stretches.insert(stretches.end(),
                     {stretch.xx, stretch.yy, stretch.zz, stretch.xy, stretch.yz, stretch.zx});
  }
  s->set(Field::Stress, stresses);
  s->set(Field::Stretch, stretches);

  const double pi = std::acos(-1.0), dt = 1;
  double rate = 0, difference = 0, orthogonal = 0;
  std::vector<double> displacement(at.size(), 0.0);
  for (int n = 1; n <= steps; ++n) {
    const Mat r = rotation_about_axis(2 * pi * n / steps * (1 - 1e-15));
    std::vector<double> next = mapped(at, minus(r, identity<double>())), velocity(at.size());
    for (std::size_t k = 0; k < at.size(); ++k) velocity[k] = (next[k] - displacement[k]) / dt;
    displacement = next;
    s->impose(displacement, velocity, dt);
    if (n % std::max(1, steps / 36) != 0) continue;
    const std::vector<double> l = s->get(Field::VelocityGradient), seen = s->get(Field::Cauchy),
                              turns = s->get(Field::Rotation);
    const Symmetric<double> expected = rotated(r, stress);
    for (std::size_t e = 0; e < elements; ++e) {
      rate = std::max(rate, dt * largest(full(symmetric_part(matrix_at(l, e)))));
      difference = std::max(difference, largest(minus(full(symmetric_at(seen, e)), full(expected))));
      const Mat turn = matrix_at(turns, e);
      orthogonal = std::max(orthogonal, largest(minus(product(turn, transposed(turn)), identity<double>())));
    }
  }
  // Forward Euler lets the stretch drift, by what its parts grow; the other update leaves it alone.
  Mat drift{};
  if (update == Update::First) drift = euler_drift(full(stretch), steps);
  double found = 0, wrong = 0;
  const std::vector<double> turned_once = s->get(Field::Stretch);
  for (std::size_t e = 0; e < elements; ++e) {
    const Mat change = minus(full(symmetric_at(turned_once, e)), full(stretch));
    found = std::max(found, largest(change));
    wrong = std::max(wrong, largest(minus(change, drift)));
  }

  const std::string name = "turn in " + std::to_string(steps) + " steps" +
                           (update == Update::First ? ", first order: " : ", second order: ");
  v.add(check_zero(name + "D dt", rate, v.tolerance(1e-14, 1e-6)));
  v.add(check_zero(name + "stress against R s R^T", difference, v.tolerance(1e-12, 1e-5)));
  v.add(check_zero(name + "R R^T - I", orthogonal, v.tolerance(1e-13, 1e-5)));
  v.add(check_zero(name + "stretch against what the update makes of it", wrong,
                   update == Update::First ? v.tolerance(1e-12, 1e-4) : v.tolerance(1e-13, 1e-4)));
  // Forward Euler's drift for this stretch, to the digits that are given.
  if (update == Update::First)
    v.add(check_near(name + "drift of the stretch", found, steps == 36 ? 0.299 : 0.0130,
                     steps == 36 ? 0.0005 : 0.00005));
}

// Errors of Cauchy stress after simple shear to 1 in some steps, mu = 1/2, lambda = 0.
Vec shear_error(const Verification& v, Update update, int steps) {
  Parameters p = v.parameters();
  p.update = update;
  const auto s = v.make("box:1x1x1", p);
  const std::vector<double> at = s->coordinates();
  const double dt = 1.0 / steps;
  for (int n = 1; n <= steps; ++n)
    s->impose(mapped(at, {0, n * dt, 0, 0, 0, 0, 0, 0, 0}), mapped(at, {0, 1, 0, 0, 0, 0, 0, 0, 0}), dt);
  const std::vector<double> stress = s->get(Field::Cauchy);
  const double b = std::atan(0.5), mu = 0.5, log_cos = std::log(std::cos(b));
  const double exact_12 = 2 * mu * std::cos(2 * b) * (2 * b - 2 * std::tan(2 * b) * log_cos - std::tan(b));
  const double exact_11 =
      4 * mu * (std::cos(2 * b) * log_cos + b * std::sin(2 * b) - std::sin(b) * std::sin(b));
  return {std::abs(stress[0] - exact_11), std::abs(stress[3] - exact_12), std::abs(stress[1] + exact_11)};
}

}  // namespace

void verify_objectivity(Verification& v) {
  for (const Update update : {Update::First, Update::Second})
    for (const int steps : {36, 360}) turn_block(v, update, steps);
}

// The Green-Naghdi rate in simple shear: T12 = 2 mu cos 2b (2b - 2 tan 2b ln cos b - tan b), T11 = 4 mu (cos
// 2b ln cos b + b sin 2b - sin^2 b), b = atan(shear / 2) (Dienes, Acta Mechanica 32, 1979). It shows every
// wrong sign of the rotation update.
void verify_simple_shear(Verification& v) {
  const Vec a = shear_error(v, Update::First, 50), b = shear_error(v, Update::First, 100),
            c = shear_error(v, Update::First, 200);
  const double digits = v.tolerance(2e-3, 5e-3);  // the three digits that are given
  v.add(check_relative("simple shear, first order: error of T11, 50 steps", a.x, 3.07e-3, digits));
  v.add(check_relative("simple shear, first order: error of T11, 100 steps", b.x, 1.53e-3, digits));
  v.add(check_relative("simple shear, first order: error of T11, 200 steps", c.x, 7.64e-4, digits));
  v.add(check_near("simple shear, first order: order of T11", std::log2(a.x / b.x), 1, 0.01));
  v.add(check_near("simple shear, first order: order of T11, 200 steps", std::log2(b.x / c.x), 1, 0.01));
  const Vec d = shear_error(v, Update::Second, 50), e = shear_error(v, Update::Second, 100);
  if (v.is_float) {  // the orders drown in rounding
    v.add(check_zero("simple shear, second order: error of T11, 50 steps", d.x, 2e-5));
    return;
  }
  v.add(check_relative("simple shear, second order: error of T11, 50 steps", d.x, 8.86e-6, 2e-3));
  v.add(check_relative("simple shear, second order: error of T11, 100 steps", e.x, 2.217e-6, 2e-3));
  v.add(check_near("simple shear, second order: order of T11", std::log2(d.x / e.x), 2, 0.01));
  v.add(check_near("simple shear, second order: order of T12", std::log2(d.y / e.y), 2, 0.01));
}

}  // namespace strata::inline STRATA_ABI::dynamics
