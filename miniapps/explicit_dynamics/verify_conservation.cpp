// Verification of what a step keeps exactly: energy, momentum, impulse; and of the fused kernel against the
// three.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <random>

#include <strata/miniapps/explicit_dynamics/verify.hpp>

namespace strata::inline STRATA_ABI::dynamics {

namespace {

using miniapp::check_near;
using miniapp::check_zero;

/// Velocities without any order, up to v0.
void shake(Dynamics& s, double v0) {
  std::mt19937 random(11);
  std::uniform_real_distribution<double> any(-v0, v0);
  std::vector<double> v(static_cast<std::size_t>(3 * s.node_count()));
  for (double& x : v) x = any(random);
  s.set(Field::Velocity, v);
}

/// All forces at once.
Parameters full_parameters(const Verification& v) {
  Parameters p = v.parameters(0.3);
  p.hourglass_stiffness = 0.05;
  p.hourglass_viscosity = 0.03;
  p.bulk_linear = 0.06;
  p.bulk_quadratic = 1.2;
  return p;
}

double largest_momentum(Dynamics& s) {
  const std::vector<double> v = s.get(Field::Velocity), m = s.get(Field::Mass);
  double sum = 0;
  for (std::size_t k = 0; k < v.size(); ++k) sum += m[k / 3] * std::abs(v[k]);
  return sum;
}

/// How far the work on the elements is from the mean of the energies that stresses store before and after,
/// relative to the energy of the begin.
double stored_energy_error(const Verification& v, int elements) {
  const std::string n = std::to_string(elements), h = std::to_string(1.0 / elements);
  const auto s = v.make("box:" + n + "x1x1:1," + h + "," + h, v.parameters());
  s->fix("x>=max", all_directions);
  std::vector<double> speed = s->coordinates();
  for (std::size_t k = 0; k < speed.size(); k += 3) {
    speed[k] = 1e-6 * std::cos(std::acos(-1.0) / 2 * speed[k]);
    speed[k + 1] = speed[k + 2] = 0;
  }
  s->set(Field::Velocity, speed);
  const double begin = s->energies().kinetic;
  double error = 0, work = 0, elastic = 0;
  while (s->clock().time < 4) {
    s->advance(1);
    const Energies e = s->energies();
    // `work` is of half a step before the stresses that this step found, `elastic` of half a step before it.
    error = std::max(error, std::abs(work - (elastic + e.elastic) / 2));
    work = e.work, elastic = e.elastic;
  }
  return error / begin;
}

}  // namespace

// Kinetic energy at half steps and the work sum (dt + dt_prev) / 2 f . (v_old + v_new) / 2 exchange exactly.
void verify_energy(Verification& v) {
  const auto s = v.make("box:6x4x4:3,2,2:random=0.25", full_parameters(v));
  s->fix("x>=max", all_directions);
  s->set_velocity("all", 0.02, 0.01, 0);
  const double begin = s->energies().total();
  s->advance(1000);
  s->wait();
  const Energies end = s->energies();
  v.add(check_zero("energy: change in 1000 steps, relative", (end.total() - begin) / begin,
                   v.tolerance(1e-12, 1e-5)));
  v.add(miniapp::check_between("energy: stored and spent in hourglass modes over the work",
                               (end.elastic + end.hourglass) / end.work, 0, 1.05));
}

// The difference is of order 2; expected to the two digits that are given.
void verify_stored_energy(Verification& v) {
  v.add(check_near("energy: work against stored energy, 16 elements", stored_energy_error(v, 16), 1.3e-3,
                   5e-5));
  v.add(check_near("energy: work against stored energy, 32 elements", stored_energy_error(v, 32), 3.3e-4,
                   5e-6));
}
void verify_stored_energy_fine(Verification& v) {
  v.add(check_near("energy: work against stored energy, 64 elements", stored_energy_error(v, 64), 8.1e-5,
                   5e-7));
}

void verify_momentum(Verification& v) {
  const auto s = v.make("box:4x4x4:2,2,2:random=0.25", full_parameters(v));
  shake(*s, 0.02);
  const Energies begin = s->energies();
  const double scale = largest_momentum(*s);
  s->advance(100);
  s->wait();
  const Energies end = s->energies();
  double change = 0;
  for (int d = 0; d < 3; ++d)
    change = std::max(change, std::abs(end.momentum[d] - begin.momentum[d]) / scale);
  v.add(
      check_zero("momentum of a free body: change in 100 steps, relative", change, v.tolerance(1e-13, 1e-7)));
}

void verify_reaction(Verification& v) {
  const auto s = v.make("box:6x3x3:2,1,1:random=0.25", full_parameters(v));
  shake(*s, 0.02);
  s->fix("x>=max", all_directions);
  s->fix("y<=min", 2);
  const Energies begin = s->energies();
  const double scale = largest_momentum(*s);
  s->advance(200);
  s->wait();
  const Energies end = s->energies();
  double difference = 0;
  for (int d = 0; d < 3; ++d)
    difference =
        std::max(difference, std::abs(end.momentum[d] - begin.momentum[d] - end.reaction[d]) / scale);
  v.add(check_zero("reaction impulse against the change of momentum, relative", difference,
                   v.tolerance(1e-10, 1e-7)));
}

void verify_fused(Verification& v) {
  for (const Update update : {Update::First, Update::Second}) {
    std::vector<double> found[2];
    for (const bool fused : {false, true}) {
      Parameters p = full_parameters(v);
      p.update = update;
      p.fused = fused;
      const auto s = v.make("box:5x3x4:random=0.2", p);
      s->fix("x>=max", all_directions);
      shake(*s, 0.05);
      s->advance(100);
      s->wait();
      found[fused] = s->get(Field::Displacement);
    }
    double difference = 0, largest = 0;
    for (std::size_t k = 0; k < found[0].size(); ++k) {
      difference = std::max(difference, std::abs(found[0][k] - found[1][k]));
      largest = std::max(largest, std::abs(found[0][k]));
    }
    v.add(check_zero(std::string("three kernels against one, ") +
                         (update == Update::First ? "first" : "second") +
                         " order: displacements after 100 steps",
                     difference / largest, v.tolerance(1e-10, 1e-4)));
  }
}

}  // namespace strata::inline STRATA_ABI::dynamics
