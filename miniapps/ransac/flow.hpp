// First-order flow: vectors that turn around a centre and move away from it,
//
//   x' = x + (x - xc) D - (y - yc) R
//   y' = y + (y - yc) D + (x - xc) R
//
// with the dilation D and the rotation R. Two vectors give the four parameters; how far all others end from
// where these put them says how good they are. As in Gomez-Luna et al., "Chai: Collaborative heterogeneous
// applications for integrated-architectures" (ISPASS 2017).
//
// Coordinates are integers, so that numerators and denominators are exact, and every parameter is one
// division. Compiled without contraction to multiply-adds, all devices compute the same bits.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <strata/algorithms/team.hpp>
#include <strata/core/config.hpp>

namespace strata::inline STRATA_ABI::ransac {

/// A vector: where it begins and where it ends.
struct alignas(16) FlowVector {
  std::int32_t x, y, to_x, to_y;
};
/// The largest absolute value of a coordinate: products of three, and sums of four of them, fit 64 bits.
inline constexpr std::int32_t largest_coordinate = 1 << 18;

/// The parameters of a flow.
struct FlowModel {
  float centre_x = 0, centre_y = 0, dilation = 0, rotation = 0;
  bool exists = false;  ///< not, where two vectors that should determine it begin or move alike
};

/// The flow of which both are vectors.
STRATA_FUNCTION inline FlowModel fit_flow(const FlowVector& p, const FlowVector& q) {
  using Int = std::int64_t;
  const Int px = p.x, py = p.y, qx = q.x, qy = q.y;
  const Int ux = p.to_x - px, uy = p.to_y - py, vx = q.to_x - qx, vy = q.to_y - qy;
  const Int dx = px - qx, dy = py - qy, du = ux - vx, dv = uy - vy;
  const Int moved = du * du + dv * dv, apart = dx * dx + dy * dy;
  if (moved == 0 || apart == 0) return {};
  const Int uu = ux * ux + uy * uy, vv = vx * vx + vy * vy;
  const Int dot = ux * vx + uy * vy, cross = ux * vy - uy * vx;
  const auto ratio = [](Int a, Int b) { return static_cast<float>(a) / static_cast<float>(b); };
  return {ratio(px * vv + qx * uu - (px + qx) * dot + dy * cross, moved),
          ratio(py * vv + qy * uu - (py + qy) * dot - dx * cross, moved), ratio(dx * du + dy * dv, apart),
          ratio(dx * dv - dy * du, apart), true};
}

/// The integer part of a number; of very large ones, which on some devices are undefined, a limit.
STRATA_FUNCTION inline std::int32_t whole_part(float value) {
  constexpr float limit = 1 << 29;  // the sums below fit 32 bits
#if defined(__CUDA_ARCH__)
  return static_cast<std::int32_t>(fmaxf(-limit, fminf(limit, value)));  // an instruction each
#else
  const float at_most = value > limit ? limit : value;
  return static_cast<std::int32_t>(at_most < -limit ? -limit : at_most);
#endif
}

/// Where the flow puts the end of a vector that begins at (x, y).
struct FlowPoint {
  std::int32_t x, y;
};
STRATA_FUNCTION inline FlowPoint moved_by(const FlowModel& flow, std::int32_t x, std::int32_t y) {
  const float dx = static_cast<float>(x) - flow.centre_x, dy = static_cast<float>(y) - flow.centre_y;
  return {x + whole_part(dx * flow.dilation) - whole_part(dy * flow.rotation),
          y + whole_part(dy * flow.dilation) + whole_part(dx * flow.rotation)};
}

/// Whether the end is `error` or more from where the flow puts it, in x or in y.
STRATA_FUNCTION inline bool is_outlier(const FlowVector& v, const FlowModel& flow, std::int32_t error) {
  const FlowPoint end = moved_by(flow, v.x, v.y);
  const std::int32_t ex = end.x - v.to_x, ey = end.y - v.to_y;
  return ex >= error || ex <= -error || ey >= error || ey <= -error;
}

/// Iteration i, by a team: one member fits the flow to the two vectors that it samples, all count. The
/// outliers among all vectors, or -1 where there is no such flow; every member gets the number.
template <detail::Member M>
STRATA_FUNCTION std::int32_t outliers_of(const M& member, index_t i, const auto& vectors, const auto& samples,
                                         std::int32_t error) {
  FlowModel flow;
  single(
      per_team(member),
      [&](FlowModel& fitted) { fitted = fit_flow(vectors(samples(2 * i)), vectors(samples(2 * i + 1))); },
      flow);
  std::int32_t outliers = -1;
  if (!flow.exists) return outliers;
#if defined(__CUDA_ARCH__)
  constexpr int at_once = 4;  // loads under way, and arithmetic of one beside that of the others
#else
  constexpr int at_once = 1;
#endif
  const index_t size = vectors.extent(0), part = size / at_once;
  parallel_reduce(
      team_vector_range(member, part),
      [&](index_t k, std::int32_t& sum) {
        for (int a = 0; a < at_once; ++a) sum += is_outlier(vectors(k + a * part), flow, error) ? 1 : 0;
      },
      outliers);
  for (index_t k = at_once * part; k < size; ++k) outliers += is_outlier(vectors(k), flow, error) ? 1 : 0;
  return outliers;
}

/// An iteration whose flow has few outliers.
struct Candidate {
  std::int32_t iteration, outliers;
  friend bool operator==(const Candidate&, const Candidate&) = default;
};
/// Fewer outliers are better, of as many the smallest iteration.
STRATA_FUNCTION inline bool is_better(const Candidate& a, const Candidate& b) {
  return a.outliers != b.outliers ? a.outliers < b.outliers : a.iteration < b.iteration;
}

}  // namespace strata::inline STRATA_ABI::ransac
