// N bodies, each pulled by all others: MapArray in turn between two arrays of their states.
//
// The steps of Stoermer and Verlet need two states, x[k+1] = 2 x[k] - x[k-1] + dt^2 a(x[k]), and the new one
// takes the place of the older: a launch reads one array everywhere, and of the other its own element.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>

#include <strata/algorithms/coherent_launch.hpp>
#include <strata/algorithms/random.hpp>
#include <strata/miniapps/coherent_apps/app.hpp>
#include <strata/miniapps/common/report.hpp>
#include <strata/views/coherent/coherent_array.hpp>

namespace strata::inline STRATA_ABI::coherent_apps {

/// A body, in units in which the constant of gravitation is 1: 11 numbers, as in the paper.
struct Body {
  double position[3];      ///< at the end of the last step
  double velocity[3];      ///< at its beginning, as all that follows
  double acceleration[3];  ///< by the other bodies
  double mass;
  double potential;  ///< of the other bodies
};
static_assert(sizeof(Body) == 88);

/// The numbers of bodies, one after the other.
template <class Bodies>
std::vector<double> numbers_of(const Bodies& bodies, index_t n) {
  std::vector<double> numbers;
  for (index_t i = 0; i < n; ++i) {
    const Body b = bodies(i);
    for (const auto& vector : {b.position, b.velocity, b.acceleration})
      numbers.insert(numbers.end(), vector, vector + 3);
    numbers.insert(numbers.end(), {b.mass, b.potential});
  }
  return numbers;
}

/// Bodies of equal mass, together 1, in a ball of radius 1 that turns as a whole.
struct MakeBodies {
  static constexpr double spin = 0.5;  // radians in a unit of time
  index_t bodies;

  STRATA_FUNCTION Body body(index_t i) const {
    // Points of a cube, until one lies in the ball: no function that devices round differently.
    RandomStream stream(seed, i);
    Body b{};
    double square = 0;
    do {
      square = 0;
      for (double& x : b.position) {
        x = 2 * stream.next().uniform<double>() - 1;
        square += x * x;
      }
    } while (square > 1);
    b.velocity[0] = -spin * b.position[1];
    b.velocity[1] = spin * b.position[0];
    b.mass = 1.0 / static_cast<double>(bodies);
    return b;
  }
  STRATA_FUNCTION void operator()(index_t i, const auto& made) const { made(i) = body(i); }

 private:
  static constexpr std::uint64_t seed = 2016;
};

/// 1 / sqrt(x), x > 0.
STRATA_FUNCTION inline double inverse_root(double x) {
#if defined(__CUDA_ARCH__)
  // An approximation of 20 bits and two steps of Newton's method, without the branches of rsqrt(), so that
  // lanes run side by side.
  double y;
  asm("rsqrt.approx.ftz.f64 %0, %1;" : "=d"(y) : "d"(x));
  const double half = 0.5 * x;
  y = fma(y, fma(-half * y, y, 0.5), y);
  return fma(y, fma(-half * y, y, 0.5), y);
#else
  return 1 / std::sqrt(x);
#endif
}

/// A step: kernel(i, now, older), of which `older` becomes the next state.
struct MoveBodies {
  double dt;
  bool is_first;  ///< `older` holds the state of `now`, whose velocities are those to begin with

  /// Bodies that are nearer than this pull little more than at this distance.
  static constexpr double softening = 0.05;
  /// Every so-many-eth body has sums of its own: hosts compute them side by side, threads of GPUs one after
  /// the other without waiting for results.
#if defined(__CUDA_ARCH__)
  static constexpr int lanes = 16;
#else
  static constexpr int lanes = 8;
#endif
  /// Threads of GPUs in a block, few for the many registers of the lanes.
  static constexpr int threads = 128;

  STRATA_FUNCTION void operator()(index_t i, const auto& now, const auto& older) const {
    const Body self = now(i);
    double a0[lanes] = {}, a1[lanes] = {}, a2[lanes] = {}, potential[lanes] = {};
    const index_t bodies = now.extent(0), whole = bodies - bodies % lanes;
    for (index_t first = 0; first < whole; first += lanes) {
#if defined(__CUDA_ARCH__)
#pragma unroll
      for (int k = 0; k < lanes; ++k) add_pull(self, now(first + k), a0[k], a1[k], a2[k], potential[k]);
#else
      double r0[lanes], r1[lanes], r2[lanes], mass[lanes];
      for (int k = 0; k < lanes; ++k) {  // of places 88 bytes apart, which no compiler vectorises
        const Body& other = now(first + k);
        r0[k] = other.position[0] - self.position[0];
        r1[k] = other.position[1] - self.position[1];
        r2[k] = other.position[2] - self.position[2];
        mass[k] = other.mass;
      }
#pragma omp simd
      for (int k = 0; k < lanes; ++k)
        add_pull(r0[k], r1[k], r2[k], mass[k], a0[k], a1[k], a2[k], potential[k]);
#endif
    }
    for (index_t j = whole; j < bodies; ++j) add_pull(self, now(j), a0[0], a1[0], a2[0], potential[0]);

    double a[3] = {sum_of(a0), sum_of(a1), sum_of(a2)};
    const Body before = older(i);
    Body next = self;
    for (int d = 0; d < 3; ++d) {
      const double x = self.position[d];
      if (is_first) {
        next.position[d] = x + dt * (self.velocity[d] + 0.5 * dt * a[d]);
      } else {
        next.position[d] = x + (x - before.position[d]) + dt * dt * a[d];
        next.velocity[d] = (next.position[d] - before.position[d]) / (2 * dt);
      }
      next.acceleration[d] = a[d];
    }
    // The sum has the body itself in it.
    next.potential = self.mass / softening - sum_of(potential);
    older(i) = next;
  }

 private:
  STRATA_FUNCTION static void add_pull(const Body& self, const Body& other, double& a0, double& a1,
                                       double& a2, double& potential) {
    add_pull(other.position[0] - self.position[0], other.position[1] - self.position[1],
             other.position[2] - self.position[2], other.mass, a0, a1, a2, potential);
  }
  // Of a body at a distance.
  STRATA_FUNCTION static void add_pull(double r0, double r1, double r2, double mass, double& a0, double& a1,
                                       double& a2, double& potential) {
    const double inverse = inverse_root(softening * softening + r0 * r0 + r1 * r1 + r2 * r2);
    const double pull = mass * inverse, weight = pull * inverse * inverse;
    a0 += weight * r0;
    a1 += weight * r1;
    a2 += weight * r2;
    potential += pull;
  }
  STRATA_FUNCTION static double sum_of(const double (&parts)[lanes]) {
    double sum = 0;
    for (const double part : parts) sum += part;
    return sum;
  }
};

/// The values are the 11 numbers of each body after 2 `steps` steps in time.
template <class Where, class Memory>
AppOutcome run_nbody(const Where& where, const Memory& memory, const AppRequest& request) {
  AppOutcome outcome;
  const double start = miniapp::now_seconds();
  const index_t n = request.n;
  CoherentArray<Body, rank<1>> v0("v0", n, uninitialized, memory, *request.memory),
      v1("v1", n, uninitialized, memory, *request.memory);
  launch(where.named("nbody: generate"), n, MakeBodies{n}, out(v0));
  launch(where.named("nbody: generate"), n, MakeBodies{n}, out(v1));
  outcome.setup_seconds = miniapp::now_seconds() - start;

  const double dt = time_step_of(request);
  for (index_t step = 0; step < request.steps; ++step) {
    const auto work = block_size(MoveBodies::threads, launch_bounds<MoveBodies::threads, 1>(n));
    launch(where.named("nbody: move"), work, MoveBodies{dt, step == 0}, in(v0, everything), inout(v1));
    launch(where.named("nbody: move"), work, MoveBodies{dt, false}, in(v1, everything), inout(v0));
  }
  const auto bodies = v0.read();
  outcome.run_seconds = miniapp::now_seconds() - start - outcome.setup_seconds;

  outcome.launches = 2 * request.steps;
  outcome.values = numbers_of(bodies, n);
  for (const auto& counters : {v0.counters(), v1.counters()}) outcome.traffic += counters;
  return outcome;
}

}  // namespace strata::inline STRATA_ABI::coherent_apps
