// Regions of boxes at places that are no grids: rows, in slices and in sequences as in launches.
// SPDX-License-Identifier: Apache-2.0
#include <strata/algorithms/sequence/sequence.hpp>
#include <strata/algorithms/streaming/streamed.hpp>
#include <strata/algorithms/streaming/streamed_iterate.hpp>

#include "views/coherent/executor_fixture.hpp"

namespace {

using namespace coherent_testing;
using Plane = CoherentArray<std::int64_t, rank<2>, LayoutRight>;
constexpr index_t n = 400, m = 30;

struct Place {
  STRATA_FUNCTION void operator()(index_t i, index_t j, auto x) const { x(i, j) = (17 * i + 5 * j) % 1009; }
};
struct Stencil {
  STRATA_FUNCTION void operator()(index_t i, index_t j, auto u, auto v) const {
    v(i, j) = (u(i, j) + 3 * u(i - 1, j - 2) + 5 * u(i + 1, j + 2)) % 1009;
  }
};

class BoxesElsewhere : public CoherentTest {
 protected:
  // Steps from u to v and back, by `run`.
  template <class Edge, class F>
  static std::vector<std::int64_t> values_after(const Edge& edge, const F& run) {
    const Plane u("u", n, m), v("v", n, m);
    launch(on(Serial{}), mdrange({n, m}), Place{}, out(u));
    launch(on(Serial{}), mdrange({n, m}), Place{}, out(v));
    constexpr bool inside = std::is_same_v<Edge, edge::None>;
    const auto work = inside ? mdrange({1, 2}, {n - 1, m - 2}) : mdrange({n, m});
    const auto box = halo({1, 2}, {1, 2}, edge);
    for (int step = 0; step < 3; ++step) run(work, u, v, box);
    std::vector<std::int64_t> all;
    const auto x = u.read(), y = v.read();
    for (index_t i = 0; i < n; ++i)
      for (index_t j = 0; j < m; ++j) all.push_back(1009 * x(i, j) + y(i, j));
    return all;
  }
  template <class Edge>
  static void check(const Edge& edge) {
    const auto launched = [](const auto& where) {
      return [&where](const auto& work, const Plane& u, const Plane& v, const auto& box) {
        launch(where, work, Stencil{}, in(u, box), inout(v));
        launch(where, work, Stencil{}, in(v, box), inout(u, own_element));
      };
    };
    const auto expected = values_after(edge, launched(on(Serial{})));
    EXPECT_EQ(values_after(edge, launched(streamed(Emulated{0}, 60000))), expected);
    EXPECT_EQ(values_after(edge, launched(across(Emulated{0}, Emulated{1}))), expected);
    const auto sequence = [](const auto& work, const Plane& u, const Plane& v, const auto& box) {
      Sequence steps("steps", across(Emulated{0}, Emulated{1}));
      steps.loop("there", work, Stencil{}, in(u, box), inout(v));
      steps.loop("back", work, Stencil{}, in(v, box), inout(u, own_element));
      steps.run(1);
    };
    EXPECT_EQ(values_after(edge, sequence), expected);
  }
};

TEST_F(BoxesElsewhere, AreRowsWithoutEdges) { check(edge::none); }
TEST_F(BoxesElsewhere, AreRowsOfARing) { check(edge::cyclic); }

TEST_F(BoxesElsewhere, AreTheRowsThatStepsRead) {
  const auto after = [](const auto& where, const auto& region) {
    const Plane u("u", n, m);
    launch(on(Serial{}), mdrange({n, m}), Place{}, out(u));
    streamed_iterate(where, mdrange({n, m}), 4, Stencil{}, state(u, region));
    std::vector<std::int64_t> all;
    const auto x = u.read();
    for (index_t i = 0; i < n; ++i)
      for (index_t j = 0; j < m; ++j) all.push_back(x(i, j));
    return all;
  };
  const auto where = streamed(Emulated{0}, 100000);
  EXPECT_EQ(after(where, halo({1, 2}, {1, 2}, edge::cyclic)), after(where, halo(1, 1, edge::cyclic)));
}

TEST_F(BoxesElsewhere, MayNotNameMoreThanTheArrayHasInSlicesEither) {
  const Plane u("u", n, m), v("v", n, m);
  const CoherentArray<std::int64_t, rank<1>> line("line", n);
  const auto where = streamed(Emulated{0}, 60000);
  const auto refusal = [&](const auto& access) {
    return message_of<ShapeMismatch>([&] { launch(where, mdrange({n, m}), Stencil{}, access, inout(v)); });
  };
  const auto far = halo({1, m + 1}, {1, 1}, edge::cyclic);
  EXPECT_TRUE(has(refusal(in(u, far)), "at most 30 neighbours in dimension 1"));
  EXPECT_TRUE(has(refusal(in(u, halo({1, 1, 1}, {1, 1, 1}))), "a halo of 3 dimensions"));
  EXPECT_TRUE(has(message_of<ShapeMismatch>([&] { state(u, far); }), "in dimension 1"));
  EXPECT_TRUE(has(message_of<ShapeMismatch>([&] {
                    state(line, halo({1, 1}, {1, 1}));
                  }),
                  "a halo of 2 dimensions"));
}

struct SumOfThreeRows {
  STRATA_FUNCTION void operator()(index_t i, auto x, auto y) const {
    y(i) = x(i - 1) + 3 * x(i) + 5 * x(i + 1);
  }
};
// Slices of work items beyond the array have its nearest row.
TEST_F(BoxesElsewhere, DuplicatesOfAShortArrayAreItsLastRowInSlices) {
  for (const index_t rows : {1, 2, 10}) {
    const CoherentArray<std::int64_t, rank<1>> x("x", rows), y("y", 1000), known("known", 1000);
    launch(on(Serial{}), rows, Iota{7}, out(x));
    const auto near = halo(1, 1, edge::duplicate);
    launch(on(Serial{}), 1000, SumOfThreeRows{}, in(x, near), out(known));
    launch(streamed(Emulated{0}, 60000).chunk(64), 1000, SumOfThreeRows{}, in(x, near), out(y));
    EXPECT_EQ(values(y), values(known)) << rows;
  }
}

}  // namespace
