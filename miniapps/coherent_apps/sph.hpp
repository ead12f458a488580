// Smoothed particle hydrodynamics of a shock tube: dense gas at rest beside thin gas, between walls.
//
// The tube is Sod's: density 1 and pressure 1 left of 0, 0.125 and 0.1 right of it, from -1/2 to 1/2.
// Particles of equal mass move along the first coordinate. Cubic splines, Monaghan's viscosity, pressures
// symmetrised so that pairs keep momentum and energy, leapfrog in time (Monaghan, Annual Review of Astronomy
// and Astrophysics 30, 1992). As in the paper's program every particle looks at all others, by MapArray.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>

#include <strata/algorithms/coherent_launch.hpp>
#include <strata/miniapps/coherent_apps/app.hpp>
#include <strata/miniapps/common/report.hpp>
#include <strata/views/coherent/coherent_array.hpp>

namespace strata::inline STRATA_ABI::coherent_apps {

/// A particle: 25 numbers, as in the paper, of which a tube leaves two of three coordinates at rest.
struct Particle {
  float position[3];
  float velocity[3];
  float half_velocity[3];  ///< half a step before
  float acceleration[3];
  float mass;
  float length;  ///< of smoothing: others count within twice of it
  float density;
  float pressure;
  float sound;        ///< its speed
  float energy;       ///< of heat, in a unit of mass, as what follows
  float half_energy;  ///< half a step before
  float heating;      ///< energy in a unit of time
  float signal;       ///< the fastest approach of a neighbour: how long a step may be
  float neighbours;
  float start;  ///< position at time 0
  float number;
  float is_wall;  ///< 1: keeps its state
};
static_assert(sizeof(Particle) == 100);

/// The tube at time 0.
struct ShockTube {
  static constexpr float gamma = 1.4F;      ///< heat capacities, their ratio
  static constexpr float smoothing = 1.3F;  ///< length of smoothing, in distances of particles
  static constexpr index_t wall = 6;        ///< particles of each
  static constexpr index_t density_ratio = 8;

  explicit ShockTube(index_t particles)
      : n(particles),
        left(particles - particles / (density_ratio + 1)),
        distance(0.5F / static_cast<float>(left)) {}

  index_t n, left;
  float distance;  // of particles on the left, whose density is 1

  STRATA_FUNCTION Particle particle(index_t i) const {
    const bool is_left = i < left;
    Particle p{};
    const float gap = is_left ? distance : static_cast<float>(density_ratio) * distance;
    p.position[0] = (static_cast<float>(i - left) + 0.5F) * gap;
    p.mass = distance;
    p.density = p.mass / gap;
    p.length = smoothing * gap;
    p.pressure = is_left ? 1.0F : 0.1F;
    p.energy = p.pressure / ((gamma - 1) * p.density);
    p.half_energy = p.energy;
    p.sound = std::sqrt(gamma * p.pressure / p.density);
    p.start = p.position[0];
    p.number = static_cast<float>(i);
    p.is_wall = i < wall || i >= n - wall ? 1.0F : 0.0F;
    return p;
  }
  /// A step that is short enough for waves from particle to particle.
  double time_step() const { return 0.2 * static_cast<double>(distance); }

  /// When the shock, which comes first, is near a wall.
  double time_to_walls() const {
    constexpr double shock = 1.7522;
    const auto free = static_cast<double>(n - left - wall - 4);
    return free * density_ratio * static_cast<double>(distance) / shock;
  }

  STRATA_FUNCTION void operator()(index_t i, const auto& particles) const { particles(i) = particle(i); }
};

/// The cubic spline of one dimension, and its slope over the distance.
struct Spline {
  float value, slope_over_distance;

  STRATA_FUNCTION Spline(float distance, float length) {
    const float q = distance / length, scale = (2.0F / 3.0F) / length, rest = 2 - q;
    if (q < 1) {
      value = scale * (1 - 1.5F * q * q + 0.75F * q * q * q);
      slope_over_distance = scale * (2.25F * q - 3) / (length * length);
    } else if (q < 2) {
      value = scale * 0.25F * rest * rest * rest;
      slope_over_distance = -scale * 0.75F * rest * rest / (length * distance);
    } else {
      value = slope_over_distance = 0;
    }
  }
};
STRATA_FUNCTION inline float square_of_distance(const Particle& a, const Particle& b) {
  float square = 0;
  for (int d = 0; d < 3; ++d) {
    const float along = a.position[d] - b.position[d];
    square += along * along;
  }
  return square;
}

/// Calls f(j, other, distance) for the particles that are nearer than twice length_with(other). Few are: all
/// are looked at in groups, without a branch, so that their loads do not wait for each other.
STRATA_FUNCTION inline void for_near(const Particle& self, const auto& particles, const auto& length_with,
                                     const auto& f) {
  constexpr int group = 8;
  const index_t n = particles.extent(0);
  for (index_t first = 0; first < n; first += group) {
    float square[group], reach[group];
    for (int k = 0; k < group; ++k) {
      const Particle other = particles(first + k < n ? first + k : n - 1);
      square[k] = square_of_distance(self, other);
      reach[k] = first + k < n ? 2 * length_with(other) : 0;
    }
    for (int k = 0; k < group; ++k)
      if (square[k] < reach[k] * reach[k]) f(first + k, particles(first + k), std::sqrt(square[k]));
  }
}

/// The second array begins as the first.
struct CopyParticles {
  STRATA_FUNCTION void operator()(index_t i, const auto& from, const auto& to) const { to(i) = from(i); }
};

/// Densities, and what follows from them: kernel(i, now, older), of which `older` becomes the state.
struct FindDensities {
  STRATA_FUNCTION void operator()(index_t i, const auto& now, const auto& older) const {
    Particle self = now(i);
    if (self.is_wall == 0) {
      // The density of the step before says how far to look.
      const float length = ShockTube::smoothing * self.mass / older(i).density;
      float density = 0, neighbours = 0;
      for_near(
          self, now, [=](const Particle&) { return length; },
          [&](index_t, const Particle& other, float distance) {
            density += other.mass * Spline(distance, length).value;
            neighbours += 1;
          });
      self.length = length;
      self.density = density;
      self.neighbours = neighbours;
      self.pressure = (ShockTube::gamma - 1) * density * self.energy;
      self.sound = std::sqrt(ShockTube::gamma * self.pressure / density);
    }
    older(i) = self;
  }
};

/// Accelerations and heating, likewise.
struct FindForces {
  STRATA_FUNCTION void operator()(index_t i, const auto& now, const auto& older) const {
    Particle self = now(i);
    if (self.is_wall == 0) {
      float acceleration[3] = {}, heating = 0, signal = self.sound;
      const auto length_with = [&](const Particle& other) { return 0.5F * (self.length + other.length); };
      for_near(self, now, length_with, [&](index_t j, const Particle& other, float distance) {
        if (j == i) return;
        const float length = length_with(other);
        float approach = 0;
        for (int d = 0; d < 3; ++d)
          approach += (self.velocity[d] - other.velocity[d]) * (self.position[d] - other.position[d]);
        const float viscous = viscosity(self, other, approach, length, distance);
        const float push = self.pressure / (self.density * self.density) +
                           other.pressure / (other.density * other.density) + viscous;
        const float weight = other.mass * push * Spline(distance, length).slope_over_distance;
        for (int d = 0; d < 3; ++d) acceleration[d] -= weight * (self.position[d] - other.position[d]);
        heating += 0.5F * weight * approach;
        signal = std::fmax(signal, self.sound - std::fmin(0.0F, approach / distance));
      });
      for (int d = 0; d < 3; ++d) self.acceleration[d] = acceleration[d];
      self.heating = heating;
      self.signal = signal;
    }
    older(i) = self;
  }

 private:
  // Monaghan's, with alpha = 1 and beta = 2: of particles that come closer.
  STRATA_FUNCTION static float viscosity(const Particle& self, const Particle& other, float approach,
                                         float length, float distance) {
    if (!(approach < 0)) return 0;
    const float speed = length * approach / (distance * distance + 0.01F * length * length);
    const float sound = 0.5F * (self.sound + other.sound), density = 0.5F * (self.density + other.density);
    return (2 * speed - sound) * speed / density;
  }
};

/// A step in time, in place: velocities and energies go from half step to half step, positions in between.
struct MoveParticles {
  float dt;
  bool is_first;  ///< the half step before is time 0

  STRATA_FUNCTION void operator()(index_t i, const auto& particles) const {
    Particle p = particles(i);
    if (p.is_wall != 0) return;
    const float since = is_first ? 0.5F * dt : dt;
    for (int d = 0; d < 3; ++d) {
      p.half_velocity[d] += since * p.acceleration[d];
      p.position[d] += dt * p.half_velocity[d];
      p.velocity[d] = p.half_velocity[d] + 0.5F * dt * p.acceleration[d];
    }
    p.half_energy += since * p.heating;
    p.energy = p.half_energy + 0.5F * dt * p.heating;
    particles(i) = p;
  }
};

/// The values are position, velocity, density, pressure and energy of each particle after `steps` steps.
template <class Where, class Memory>
AppOutcome run_sph(const Where& where, const Memory& memory, const AppRequest& request) {
  AppOutcome outcome;
  const double start = miniapp::now_seconds();
  const index_t n = request.n;
  CoherentArray<Particle, rank<1>> f1("f1", n, uninitialized, memory, *request.memory),
      f2("f2", n, uninitialized, memory, *request.memory);
  launch(where.named("sph: generate"), n, ShockTube(n), out(f1));
  launch(where.named("sph: copy"), n, CopyParticles{}, in(f1), out(f2));
  launch(where.named("sph: densities"), n, FindDensities{}, in(f2, everything), inout(f1));
  outcome.setup_seconds = miniapp::now_seconds() - start;

  const auto dt = static_cast<float>(time_step_of(request));
  for (index_t step = 0; step < request.steps; ++step) {
    launch(where.named("sph: densities"), n, FindDensities{}, in(f1, everything), inout(f2));
    launch(where.named("sph: forces"), n, FindForces{}, in(f2, everything), inout(f1));
    launch(where.named("sph: move"), n, MoveParticles{dt, step == 0}, inout(f1));
  }
  const auto particles = f1.read();
  outcome.run_seconds = miniapp::now_seconds() - start - outcome.setup_seconds;

  outcome.launches = 3 * request.steps;
  for (index_t i = 0; i < n; ++i) {
    const Particle p = particles(i);
    for (const float value : {p.position[0], p.velocity[0], p.density, p.pressure, p.energy})
      outcome.values.push_back(value);
  }
  for (const auto& counters : {f1.counters(), f2.counters()}) outcome.traffic += counters;
  return outcome;
}

}  // namespace strata::inline STRATA_ABI::coherent_apps
