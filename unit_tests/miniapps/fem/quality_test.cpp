// Volumes, scaled Jacobians and bounding boxes.
// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include <strata/miniapps/fem/box.hpp>
#include <strata/miniapps/fem/host_mesh.hpp>
#include <strata/miniapps/fem/quality.hpp>
#include <strata/miniapps/fem/upload.hpp>

#include "meshes.hpp"

namespace {

using namespace strata;
using namespace strata::fem;
using namespace strata_tests;

TEST(HexTopology, HasTheCornersOfExodusSides) {
  for (int face = 0; face < 6; ++face)
    for (int k = 0; k < 4; ++k) {
      const int corner = face_corner(face, k);
      EXPECT_EQ(corner, face_corners[static_cast<std::size_t>(face)][static_cast<std::size_t>(k)]);
      EXPECT_EQ(corner_bit(corner, face_direction(face)), face_side(face));
      EXPECT_EQ(face_at(face_direction(face), face_side(face)), face);
    }
}

TEST(HexTopology, HasTwelveEdgesWithTwoEndsEach) {
  for (int c = 0; c < 8; ++c) {
    EXPECT_EQ(corner_at(corner_bit(c, 0), corner_bit(c, 1), corner_bit(c, 2)), c);
    for (int d = 0; d < 3; ++d) {
      const int across = corner_across(c, d), edge = edge_at(c, d);
      EXPECT_EQ(edge_at(across, d), edge);
      EXPECT_EQ(edge_corner(edge, corner_bit(c, d)), c);
      EXPECT_EQ(edge_corner(edge, corner_bit(across, d)), across);
    }
  }
}

// The corners of a unit cube, moved by f.
template <class F>
void cube(HexCorners& x, const F& f) {
  for (int c = 0; c < 8; ++c) {
    for (int d = 0; d < 3; ++d) x[c][d] = corner_bit(c, d);
    f(x[c]);
  }
}

TEST(HexQuality, OfAParallelepipedIsThatOfItsEdges) {
  HexCorners x;
  cube(x, [](double(&p)[3]) {
    const double y[] = {2 * p[0] + 3 * p[1], 4 * p[1], 5 * p[2] + 7};
    for (int d = 0; d < 3; ++d) p[d] = y[d];
  });

  EXPECT_DOUBLE_EQ(volume(x), 40);
  EXPECT_DOUBLE_EQ(scaled_jacobian(x), 4.0 / 5);
}

TEST(HexQuality, HasTheVolumeOfAFrustum) {
  HexCorners x;
  cube(x, [](double(&p)[3]) {  // a square of edge 1 below, 1/2 above
    p[0] *= 1 - p[2] / 2;
    p[1] *= 1 - p[2] / 2;
  });

  EXPECT_NEAR(volume(x), (1 + 0.5 + 0.25) / 3, 1e-15);
}

TEST(HexQuality, HasTheVolumeThatTheDivergenceTheoremGives) {
  // V = 1/3 of the flux of x through six bilinear faces, each integrated by its own Gauss points.
  HexCorners x;
  int k = 0;
  cube(x, [&](double(&p)[3]) {
    for (double& q : p) q += 0.3 * std::sin(10.0 * ++k);
  });
  double flux = 0;
  const double g = (1 - 1 / std::sqrt(3.0)) / 2;
  for (int face = 0; face < 6; ++face)
    for (const double s : {g, 1 - g})
      for (const double t : {g, 1 - g}) {
        double p[3], u[3], v[3];
        for (int d = 0; d < 3; ++d) {
          const double a = x[face_corner(face, 0)][d], b = x[face_corner(face, 1)][d],
                       c = x[face_corner(face, 2)][d], e = x[face_corner(face, 3)][d];
          p[d] = (1 - s) * (1 - t) * a + s * (1 - t) * b + s * t * c + (1 - s) * t * e;
          u[d] = (1 - t) * (b - a) + t * (c - e);
          v[d] = (1 - s) * (e - a) + s * (c - b);
        }
        flux += 0.25 * (p[0] * (u[1] * v[2] - u[2] * v[1]) + p[1] * (u[2] * v[0] - u[0] * v[2]) +
                        p[2] * (u[0] * v[1] - u[1] * v[0]));
      }

  EXPECT_NEAR(volume(x), flux / 3, 1e-14);
}

TEST(HexQuality, IsNotPositiveForElementsTurnedInsideOut) {
  HexCorners mirrored, crushed, flat;
  cube(mirrored, [](double(&p)[3]) { p[2] = -p[2]; });
  cube(crushed, [](double(&p)[3]) {
    if (p[0] + p[1] + p[2] == 3) p[0] = p[1] = p[2] = 0.1;
  });
  cube(flat, [](double(&p)[3]) { p[2] = 0; });

  EXPECT_DOUBLE_EQ(scaled_jacobian(mirrored), -1);
  EXPECT_LT(scaled_jacobian(crushed), 0);
  EXPECT_GT(volume(crushed), 0);  // which is why the volume alone does not tell
  EXPECT_EQ(scaled_jacobian(flat), 0);
}

TEST(HexQuality, IsNotANumberWhereACoordinateIsNone) {
  HexCorners x;
  cube(x, [](double(&p)[3]) {
    if (p[0] + p[1] + p[2] == 3) p[0] = std::nan("");
  });

  EXPECT_FALSE(scaled_jacobian(x) > 0);
}

template <class D>
class Quality : public ::testing::Test {};
TYPED_TEST_SUITE(Quality, TestDevices, DeviceName);

TYPED_TEST(Quality, OfAMeshNamesItsWorstAndItsSmallestElement) {
  HostMesh host = scattered_brick(4, 4, 4);
  const auto corner = static_cast<std::size_t>(host.elements[63][6]);
  for (double& x : host.coordinates[corner]) x -= 0.4;

  const MeshQuality quality = measure(upload<PlainArrays<TypeParam>>(host));

  EXPECT_EQ(quality.least_scaled_jacobian.location, 63);
  EXPECT_LT(quality.least_scaled_jacobian.value, 0.8);
  EXPECT_GT(quality.least_scaled_jacobian.value, 0.2);
  EXPECT_EQ(quality.least_volume.location, 0);
  EXPECT_NEAR(quality.least_volume.value, 1.0625 * 1.3125 * 1.5625, 1e-14);
  EXPECT_NEAR(quality.greatest_volume, 1.4375 * 1.6875 * 1.8125, 1e-14);
}

TYPED_TEST(Quality, OfADistortedBoxHasTheVolumeOfTheBox) {
  const auto mesh = make_box<PlainArrays<TypeParam>>(parse_box("box:7x8x9:1,2,3:random=0.15"));

  const MeshQuality quality = measure(mesh);

  EXPECT_NEAR(quality.volume, 6, 1e-13);
  EXPECT_GT(quality.least_scaled_jacobian.value, 0.2);
  EXPECT_LT(quality.least_scaled_jacobian.value, 0.99);
}

TYPED_TEST(Quality, KnowsTheBoundingBox) {
  HostMesh host = scattered_brick(2, 3, 4);
  for (auto& x : host.coordinates) x[1] -= 100;

  const BoundingBox box = bounding_box(upload<PlainArrays<TypeParam>>(host));

  EXPECT_EQ(box.low[0], 0);
  EXPECT_EQ(box.high[0], 2.25);
  EXPECT_EQ(box.low[1], -100);
  EXPECT_EQ(box.high[1], -100 + 3 * 1.25 + 9 * 0.0625);
  EXPECT_EQ(box.high[2], 4 * 1.5 + 1);
  EXPECT_EQ(box.largest_edge(), 7);
}

}  // namespace
