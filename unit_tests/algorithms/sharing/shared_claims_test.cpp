// Which parts of a range devices claim: simulated launches without devices.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include <strata/algorithms/sharing/shared_claims.hpp>

#include "core/random.hpp"

namespace {

using strata::index_t;
using strata::ResidentRows;
using strata::detail::sharing::SharedClaims;
using strata_tests::Random;

struct Part {
  std::size_t worker;
  ResidentRows rows;
  double begin, end;
};

// Workers of these true speeds, of which each takes the next part when it has done one.
std::vector<Part> simulate(SharedClaims& claims, const std::vector<double>& speeds) {
  std::vector<double> free_at(speeds.size(), 0);
  std::vector<Part> parts;
  std::vector<int> flying(speeds.size(), -1);
  double now = 0;
  while (!claims.is_over()) {
    for (std::size_t k = 0; k < speeds.size(); ++k) {
      if (flying[k] >= 0) continue;
      const ResidentRows rows = claims.take(k);
      if (rows.begin == rows.end) continue;
      flying[k] = static_cast<int>(parts.size());
      parts.push_back({k, rows, now, now + static_cast<double>(rows.end - rows.begin) / speeds[k]});
    }
    int first = -1;
    for (const int p : flying)
      if (p >= 0 && (first < 0 || parts[std::size_t(p)].end < parts[std::size_t(first)].end)) first = p;
    if (first < 0) {
      ADD_FAILURE() << "nobody takes what is left";
      return parts;
    }
    const Part& part = parts[std::size_t(first)];
    now = part.end;
    claims.ended(part.worker, part.rows, part.end - part.begin);
    flying[part.worker] = -1;
  }
  return parts;
}

void expect_cover(std::vector<Part> parts, ResidentRows range) {
  std::sort(parts.begin(), parts.end(),
            [](const Part& a, const Part& b) { return a.rows.begin < b.rows.begin; });
  index_t at = range.begin;
  for (const Part& part : parts) {
    EXPECT_EQ(part.rows.begin, at);
    EXPECT_LT(part.rows.begin, part.rows.end);
    at = part.rows.end;
  }
  EXPECT_EQ(at, std::max(range.begin, range.end));
}

double time_of(const std::vector<Part>& parts) {
  double end = 0;
  for (const Part& part : parts) end = std::max(end, part.end);
  return end;
}

TEST(SharedClaims, OfKnownSpeedsEndTogether) {
  SharedClaims claims({0, 1'000'000}, 1, false, {}, {{1e-3, 1e6}, {1e-4, 9e6}});

  const auto parts = simulate(claims, {1e6, 9e6});

  expect_cover(parts, {0, 1'000'000});
  EXPECT_LE(time_of(parts), 0.1 + 1e-3);
  EXPECT_LT(parts.size(), 60U);
}

TEST(SharedClaims, OfUnknownSpeedsEndWithinATenthOfTheBest) {
  for (const double slow : {1e4, 1e5, 5e5, 1e6}) {
    SCOPED_TRACE(slow);
    SharedClaims claims({0, 1'000'000}, 1, false, {}, {{1e-3, 0}, {1e-4, 0}});

    const auto parts = simulate(claims, {slow, 1e6});

    expect_cover(parts, {0, 1'000'000});
    EXPECT_LE(time_of(parts), 1.1 * 1e6 / (slow + 1e6));
  }
}

TEST(SharedClaims, OfASlowDeviceDoNotKeepTheFastOneWaiting) {
  // All of it takes the fast one 2 ms, the slow one a second: its least claim of 1 ms is 1000 items.
  SharedClaims claims({0, 2000}, 1, false, {}, {{1e-3, 2e3}, {1e-4, 1e6}});

  const auto parts = simulate(claims, {2e3, 1e6});

  expect_cover(parts, {0, 2000});
  EXPECT_LE(time_of(parts), 2e-3 * 1.05);
}

TEST(SharedClaims, AreNoSmallerThanTheLeastButForTheLast) {
  SharedClaims claims({0, 100'000}, 1, false, {}, {{1e-3, 1e6}, {1e-3, 1e6}});
  const auto parts = simulate(claims, {1e6, 1e6});
  int small = 0;
  for (const Part& part : parts) small += part.rows.end - part.rows.begin < 1000;
  EXPECT_LE(small, 3);  // where a home ends, and the end
}

TEST(SharedClaims, AreCutAtMultiplesOfTheIndexAlsoBelowZero) {
  SharedClaims claims({-1003, 5001}, 64, false, {}, {{0, 1e4}, {0, 1e4}, {0, 0}});
  const auto parts = simulate(claims, {1e4, 3e4, 2e4});
  expect_cover(parts, {-1003, 5001});
  for (const Part& part : parts) {
    EXPECT_TRUE(part.rows.begin == -1003 || part.rows.begin % 64 == 0) << part.rows.begin;
    EXPECT_TRUE(part.rows.end == 5001 || part.rows.end % 64 == 0) << part.rows.end;
  }
}

TEST(SharedClaims, OfEachDeviceAreMostlyOneRunOfRows) {
  SharedClaims claims({0, 1'000'000}, 1, false, {}, {{1e-3, 1e6}, {1e-4, 9e6}});
  const auto parts = simulate(claims, {1e6, 9e6});
  for (std::size_t k = 0; k < 2; ++k) {
    index_t items = 0, first = 1'000'000, last = 0;
    for (const Part& part : parts)
      if (part.worker == k) {
        items += part.rows.end - part.rows.begin;
        first = std::min(first, part.rows.begin);
        last = std::max(last, part.rows.end);
      }
    EXPECT_LE(last - first, items + items / 4) << k;
  }
}

TEST(SharedClaims, ThatAreGivenBackAreTakenByOthers) {
  SharedClaims claims({0, 1000}, 1, false, {}, {{1e-3, 1e3}, {1e-3, 1e3}});
  const ResidentRows part = claims.take(0);
  claims.give_back(0, part);
  claims.retire(0);
  EXPECT_TRUE(claims.is_retired(0));
  EXPECT_EQ(claims.take(0).end, 0);

  const auto parts = simulate(claims, {1e3, 1e3});

  expect_cover(parts, {0, 1000});
  for (const Part& p : parts) EXPECT_EQ(p.worker, 1U);
  EXPECT_TRUE(claims.open().empty());
}

TEST(SharedClaims, AreOpenAsRunsUntilTheyAreTaken) {
  SharedClaims claims({0, 1000}, 1, false, {1, 0}, {{1e-3, 1e5}, {1e-3, 1e5}});
  const ResidentRows part = claims.take(0);
  ASSERT_EQ(claims.open().size(), 1U);
  EXPECT_EQ(claims.open()[0].begin, part.end);
  EXPECT_EQ(claims.open()[0].end, 1000);
  EXPECT_FALSE(claims.is_over());
}

TEST(SharedClaims, OfAnyWorkersAndRangesCoverTheRange) {
  Random random;
  for (int trial = 0; trial < strata_tests::trials(2000); ++trial) {
    SCOPED_TRACE(trial);
    const index_t first = random(-5000, 5000), count = random(0, 20000);
    const index_t align = random(0, 3) == 0 ? random(2, 512) : 1;
    std::vector<SharedClaims::Worker> workers;
    std::vector<double> speeds;
    for (index_t k = random(1, 5); k > 0; --k) {
      speeds.push_back(std::pow(10.0, static_cast<double>(random(2, 7))));
      workers.push_back({static_cast<double>(random(0, 2)) * 1e-3, random(0, 1) == 1 ? speeds.back() : 0});
    }
    std::vector<double> weights;
    if (random(0, 2) == 0) {
      for (std::size_t k = 0; k < workers.size(); ++k) weights.push_back(static_cast<double>(random(0, 9)));
      weights[0] += 1;
    }
    SharedClaims claims({first, first + count}, align, random(0, 1) == 1, weights, workers);
    expect_cover(simulate(claims, speeds), {first, first + count});
  }
}

}  // namespace
