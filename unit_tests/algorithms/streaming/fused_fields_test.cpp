// Several steps in one launch over fields of three dimensions, and over several fields.
// SPDX-License-Identifier: Apache-2.0
#include <strata/core/error.hpp>

#include "fused_fixture.hpp"

namespace {

using namespace stream_test;

// Weights depend on the place and the direction, so that a wrong index shows.
struct CubeStep {
  static constexpr int reach = 1;
  STRATA_FUNCTION void operator()(index_t i, index_t j, index_t k, const auto& old, const auto& next) const {
    next(i, j, k) = 0.3 * old(i, j, k) + 0.2 * old(i - 1, j, k) + 0.1 * old(i + 1, j, k) +
                    0.15 * old(i, j - 1, k) + 0.05 * old(i, j + 1, k) + 0.13 * old(i, j, k - 1) +
                    0.07 * old(i, j, k + 1);
  }
};
struct CubeCorners {
  static constexpr int reach = 1;
  STRATA_FUNCTION void operator()(index_t i, index_t j, index_t k, const auto& old, const auto& next) const {
    next(i, j, k) = 0.4 * old(i, j, k) + 0.3 * old(i - 1, j - 1, k + 1) + 0.2 * old(i + 1, j + 1, k - 1) +
                    0.1 * old(i, j + 1, k + 1);
  }
};
struct Waves {  // two fields, of different types, and a coefficient
  static constexpr int reach = 1;
  STRATA_FUNCTION void operator()(index_t i, index_t j, const auto& u, const auto& new_u, const auto& v,
                                  const auto& new_v, const auto& k) const {
    new_u(i, j) = u(i, j) + 0.1f * static_cast<float>(v(i + 1, j) - v(i, j)) * k(i, j + 1);
    new_v(i, j) =
        v(i, j) + 0.1 * static_cast<double>(u(i, j) - u(i - 1, j)) + 0.01 * static_cast<double>(k(i - 1, j));
  }
};

template <class D>
class FusedFields : public ::testing::Test {};
TYPED_TEST_SUITE(FusedFields, strata_tests::TestDevices, strata_tests::DeviceName);

TYPED_TEST(FusedFields, OfACube) {
  expect_bits_of_core<TypeParam, 3>(mdrange({1, 1, 1}, {39, 33, 69}), 9, {2, 4}, 24, CubeStep{}, halo(1, 1),
                                    index_t{40}, index_t{34}, index_t{70});
  expect_bits_of_core<TypeParam, 3>(mdrange({2, 3, 1}, {30, 30, 29}), 4, {2, 4}, 24, CubeCorners{},
                                    halo(1, 1), index_t{31}, index_t{32}, index_t{33});
}
TYPED_TEST(FusedFields, OfSeveralFieldsAndCoefficients) {
  const index_t n = 120, m = 70;
  const int steps = 11;
  using Double = CoherentArray<double, rank<2>, LayoutRight>;
  using Float = CoherentArray<float, rank<2>, LayoutRight>;
  Float u0("u0", n, m), u1("u1", n, m), k("k", n, m);
  Double v0("v0", n, m), v1("v1", n, m);
  for (const auto* array : {&u0, &u1, &k}) fill(*array);
  for (const auto* array : {&v0, &v1}) fill(*array);
  const auto work = mdrange({1, 1}, {n - 1, m - 1});
  for (int s = 0; s < steps; ++s) {
    launch(on(TypeParam{}), work, Waves{}, in(u0, halo(1, 1)), inout(u1), in(v0, halo(1, 1)), inout(v1),
           in(k, halo(1, 1)));
    std::swap(u0, u1);
    std::swap(v0, v1);
  }
  for (const StreamScheduler scheduler : all_schedulers) {
    const Float u("u", n, m);
    const Double v("v", n, m);
    fill(u);
    fill(v);
    auto where = streamed(TypeParam{}, 1 << 24).scheduler(scheduler).steps_per_launch(4);
    if (scheduler != StreamScheduler::Automatic) where = where.chunk(40).steps_per_pass(8);
    streamed_iterate(where, work, steps, Waves{}, state(u, halo(1, 0)), state(v, halo(0, 1)),
                     in(k, halo(1, 0)));
    const auto close = [](const auto& got, const auto& expected, double tolerance) {
      for (std::size_t e = 0; e < got.size(); ++e)
        if (!(std::abs(static_cast<double>(got[e] - expected[e])) <= tolerance)) return false;
      return true;
    };
    const bool is_exact = contraction<TypeParam> == 0;
    EXPECT_TRUE(close(values(u), values(u0), is_exact ? 0 : 1e-5)) << name_of(scheduler);
    EXPECT_TRUE(close(values(v), values(v0), is_exact ? 0 : 1e-6)) << name_of(scheduler);
  }
}

}  // namespace
