// Flows, the vectors that are made of one, files of vectors, and what is refused.
// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>
#include <sstream>

#include <strata/miniapps/common/options.hpp>
#include <strata/miniapps/ransac/problem.hpp>

#include "messages.hpp"

namespace {

using namespace strata;
using namespace strata::ransac;
using miniapp::UsageError;
using strata_tests::expect_parts;
using strata_tests::message_of;

// ---- flows

FlowVector vector_of(const FlowModel& flow, std::int32_t x, std::int32_t y) {
  const FlowPoint end = moved_by(flow, x, y);
  return {x, y, end.x, end.y};
}

TEST(RansacFlow, IsThatOfTwoOfItsVectors) {
  // Quarters, and points from which all products are whole.
  const FlowModel flow{320, 240, 0.25F, -0.5F, true};

  const FlowModel found = fit_flow(vector_of(flow, 324, 260), vector_of(flow, 300, 200));

  ASSERT_TRUE(found.exists);
  EXPECT_EQ(found.centre_x, 320);
  EXPECT_EQ(found.centre_y, 240);
  EXPECT_EQ(found.dilation, 0.25F);
  EXPECT_EQ(found.rotation, -0.5F);
}

TEST(RansacFlow, DoesNotExistWhereTwoVectorsBeginOrMoveAlike) {
  EXPECT_FALSE(fit_flow({1, 2, 3, 4}, {1, 2, 7, 9}).exists);
  EXPECT_FALSE(fit_flow({1, 2, 3, 4}, {5, 5, 7, 7}).exists);
  EXPECT_TRUE(fit_flow({1, 2, 3, 4}, {5, 5, 7, 8}).exists);
}

TEST(RansacFlow, OfTheLargestCoordinatesIsThatOfLongArithmetic) {
  constexpr std::int32_t most = largest_coordinate;
  for (const std::int32_t a : {-most, most - 1, most})
    for (const std::int32_t b : {-most, 1 - most, most}) {
      const FlowVector p{a, b, -a, most}, q{-b, a, b, -most};
      using Wide = long double;
      const Wide ux = Wide(p.to_x) - p.x, uy = Wide(p.to_y) - p.y, vx = Wide(q.to_x) - q.x,
                 vy = Wide(q.to_y) - q.y;
      const Wide moved = (ux - vx) * (ux - vx) + (uy - vy) * (uy - vy);
      const FlowModel found = fit_flow(p, q);
      if (!found.exists) continue;
      // The form of the study, which is another one.
      const Wide x =
          (ux * (-vx * p.x + ux * q.x - vx * q.x + vy * p.y - vy * q.y) +
           uy * (-vy * p.x + uy * q.x - vy * q.x - vx * p.y + vx * q.y) + p.x * (vy * vy + vx * vx)) /
          moved;
      const Wide y =
          (vx * (uy * p.x - uy * q.x - ux * p.y + vx * p.y - ux * q.y) +
           vy * (-ux * p.x + ux * q.x - uy * p.y + vy * p.y - uy * q.y) + q.y * (ux * ux + uy * uy)) /
          moved;
      EXPECT_NEAR(found.centre_x, static_cast<double>(x), 1e-6 * (1 + std::abs(static_cast<double>(x))));
      EXPECT_NEAR(found.centre_y, static_cast<double>(y), 1e-6 * (1 + std::abs(static_cast<double>(y))));
      EXPECT_NO_FATAL_FAILURE(is_outlier(p, found, 3));
    }
}

TEST(RansacFlow, HasWholePartsOfNumbersOfAnySize) {
  EXPECT_EQ(whole_part(2.9F), 2);
  EXPECT_EQ(whole_part(-2.9F), -2);
  EXPECT_EQ(whole_part(1e30F), 1 << 29);
  EXPECT_EQ(whole_part(-1e30F), -(1 << 29));
}

TEST(RansacFlow, HasAnOutlierWhereAnEndIsAnErrorOff) {
  const FlowModel rest{0, 0, 0, 0, true};
  EXPECT_FALSE(is_outlier({5, 5, 7, 3}, rest, 3));
  EXPECT_TRUE(is_outlier({5, 5, 8, 5}, rest, 3));
  EXPECT_TRUE(is_outlier({5, 5, 5, 2}, rest, 3));
}

TEST(RansacFlow, HidesInTheVectorsThatAreMade) {
  constexpr index_t n = 20000;
  const std::vector<FlowVector> vectors = make_vectors(n, 7);

  index_t outliers = 0;
  for (const FlowVector& v : vectors) outliers += is_outlier(v, flow_of(7), 3) ? 1 : 0;

  EXPECT_NEAR(static_cast<double>(outliers) / n, 0.5, 0.02);
  const auto same = [](const FlowVector& a, const FlowVector& b) {
    return a.x == b.x && a.y == b.y && a.to_x == b.to_x && a.to_y == b.to_y;
  };
  EXPECT_TRUE(std::equal(vectors.begin(), vectors.end(), make_vectors(n, 7).begin(), same));
  EXPECT_FALSE(std::equal(vectors.begin(), vectors.end(), make_vectors(n, 8).begin(), same));
}

// ---- problems

TEST(RansacProblem, TakesFewerOutliersThanTheShareAsCandidates) {
  const auto limit = [](index_t n, double convergence) {
    return make_problem(make_vectors(n, 1), 1, 3, convergence, 1).limit;
  };
  EXPECT_EQ(limit(5922, 0.75), 4442);  // 4441 < 4441.5
  EXPECT_EQ(limit(4, 0.75), 3);        // 2 < 3
  EXPECT_EQ(limit(4, 1), 4);
}

TEST(RansacProblem, DrawsTwoOfTheVectorsForEachIteration) {
  const Problem problem = make_problem(make_vectors(10, 1), 5000, 3, 0.75, 1);
  std::vector<int> times(10);
  ASSERT_EQ(problem.samples.size(), 10000u);
  EXPECT_EQ(problem.iterations(), 5000);
  for (const std::int32_t k : problem.samples) ++times.at(static_cast<std::size_t>(k));
  for (const int n : times) EXPECT_NEAR(n, 1000, 150);
}

TEST(RansacProblem, RefusesFiguresOutOfRange) {
  const auto message = [](index_t iterations, index_t error, double convergence) {
    return message_of<UsageError>(
        [&] { make_problem(make_vectors(10, 1), iterations, error, convergence, 1); });
  };
  for (const index_t m : {index_t{-1}, index_t{0}, most_iterations + 1})
    expect_parts(message(m, 3, 0.75), {"--iterations " + std::to_string(m), "give 1 to 10000000"});
  for (const index_t e : {index_t{-1}, index_t{0}, largest_error + 1})
    expect_parts(message(1, e, 0.75), {"--error " + std::to_string(e), "1 to 1048576"});
  for (const double c : {-0.5, 0.0, 1.01, std::numeric_limits<double>::quiet_NaN()})
    expect_parts(message(1, 3, c), {"--convergence", "above 0 and at most 1"});
  EXPECT_THROW(make_vectors(1, 1), UsageError);
  EXPECT_THROW(make_vectors(most_vectors + 1, 1), UsageError);
  EXPECT_THROW(make_problem({{1, 2, 3, 4}}, 1, 3, 0.75, 1), UsageError);
}

// ---- files

std::vector<FlowVector> vectors_in(const std::string& text) {
  std::istringstream stream(text);
  return read_vectors(stream, "flow.csv");
}
void expect_refused(const std::string& text, std::initializer_list<std::string> parts) {
  SCOPED_TRACE(text);
  expect_parts(message_of<UsageError>([&] { vectors_in(text); }), parts);
}

TEST(RansacFile, HasAVectorALine) {
  const std::vector<FlowVector> vectors =
      vectors_in("x, y, vx, vy\r\n1,2,3,4\r\n\n  -5 ,\t6, 262144,-262144");
  ASSERT_EQ(vectors.size(), 2u);
  EXPECT_EQ(vectors[0].to_y, 4);
  EXPECT_EQ(vectors[1].x, -5);
  EXPECT_EQ(vectors[1].y, 6);
  EXPECT_EQ(vectors[1].to_x, 262144);
  EXPECT_EQ(vectors[1].to_y, -262144);
}

TEST(RansacFile, WithTooFewVectorsIsRefused) {
  expect_refused("", {"flow.csv, line 0", "after 0 vectors", "at least 2"});
  expect_refused("x,y,vx,vy\n1,2,3,4\n", {"flow.csv, line 2", "after 1 vector:"});
}

TEST(RansacFile, WithNumbersThatAreTooLargeIsRefused) {
  expect_refused("1,2,3,4\n1,2,262145,4\n", {"flow.csv, line 2", "\"262145\" is too large", "-262144 to"});
  expect_refused("1,2,3,4\n\n1,2,-262145,4\n", {"line 3", "too large"});
  expect_refused("1,2,3,99999999999999999999\n", {"line 1", "too large"});
}

TEST(RansacFile, WithWhatIsNoIntegerIsRefused) {
  for (const std::string bad : {"nan", "NaN", "inf", "1.5", "1e3", "0x10", "7x", "", " ", "+"})
    expect_refused("1,2,3,4\n5,6,7," + bad + "\n", {"flow.csv, line 2", "is no integer"});
  expect_refused("nan,nan,nan,nan\n1,2,3,4\n5,6,7,8\n", {"line 1", "\"nan\" is no integer"});
  expect_refused("1,2,3,4\nx,y,vx,vy\n5,6,7,8\n", {"line 2", "\"x\" is no integer"});
}

TEST(RansacFile, WithOtherThanFourColumnsIsRefused) {
  expect_refused("1,2,3\n", {"line 1", "there are 3 columns", "four, x,y,x',y'"});
  expect_refused("1,2,3,4\n1,2,3,4,5\n", {"line 2", "there are 5 columns"});
  expect_refused("1;2;3;4\n", {"line 1", "there are 1 columns"});
  expect_refused("x,y\n1,2,3,4\n", {"line 1", "there are 2 columns"});
}

TEST(RansacFile, ThatIsNotThereIsRefused) {
  expect_parts(message_of<UsageError>([] { read_vectors("/nowhere/flow.csv"); }),
               {"/nowhere/flow.csv", "cannot be read"});
}

}  // namespace
