// Who takes part in a shared launch, and where: without devices.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

#include <strata/algorithms/sharing/share_plan.hpp>

#include "core/random.hpp"

namespace {

using namespace strata;
using detail::sharing::DeviceCost;
using detail::sharing::LaunchRecord;
using detail::sharing::plan_shares;
using detail::sharing::SharePlan;
using detail::sharing::ShareRequest;
using Kind = SharePlan::Kind;

DeviceCost cost(double launch_seconds, double speed) {
  DeviceCost cost;
  for (const index_t items : {1000, 100'000, 100'000, 100'000, 100'000})
    cost.add(items, launch_seconds + static_cast<double>(items) / speed);
  return cost;
}
LaunchRecord record_of(std::vector<DeviceCost> devices) {
  LaunchRecord record;
  record.alone.resize(devices.size());
  record.alone_took.resize(devices.size());
  record.devices = std::move(devices);
  return record;
}
// Of n items, each of which costs a device `move` seconds of copies.
ShareRequest request_of(index_t n, std::vector<double> move) {
  ShareRequest request;
  request.range = {0, n};
  request.lying.resize(move.size(), ResidentRows{0, 0});
  request.move_seconds = [move](std::size_t k, ResidentRows items) {
    return move[k] * static_cast<double>(items.end - items.begin);
  };
  return request;
}
index_t size_of(const SharePlan::Device& device) { return device.home.end - device.home.begin; }
void expect_cover(const SharePlan& plan, index_t n) {
  index_t at = 0;
  for (const SharePlan::Device& device : plan.devices) {
    if (size_of(device) == 0) continue;
    EXPECT_EQ(device.home.begin, at);
    at = device.home.end;
  }
  EXPECT_EQ(at, n);
}

// ---- what devices cost

TEST(DeviceCost, IsALineThroughPartsOfTwoSizes) {
  const DeviceCost known = cost(1e-3, 1e8);
  EXPECT_NEAR(known.launch_seconds(), 1e-3, 1e-6);
  EXPECT_NEAR(known.speed(), 1e8, 1e5);
  EXPECT_NEAR(known.seconds(1'000'000), 11e-3, 1e-4);
  EXPECT_LT(known.deviation(), 0.01);
}

TEST(DeviceCost, OfOneSizeIsProportional) {
  DeviceCost known;
  EXPECT_FALSE(known.is_known());
  known.add(1000, 1e-3);
  EXPECT_EQ(known.launch_seconds(), 0);
  EXPECT_DOUBLE_EQ(known.speed(), 1e6);
  EXPECT_EQ(known.deviation(), 1) << "nothing was foretold";
}

TEST(DeviceCost, FollowsChanges) {
  DeviceCost known = cost(0, 1e6);
  for (int k = 0; k < 10; ++k) known.add(100'000, 0.2);
  EXPECT_NEAR(known.seconds(100'000), 0.2, 0.01);
}

TEST(DeviceCost, ForgetsALargePartThatWasHeldUp) {
  DeviceCost known;
  known.add(64, 27e-3);
  known.add(1, 2e-6);
  EXPECT_NEAR(known.seconds(1000), 2e-3, 1e-6);
  known.add(8, 1.6e-5);
  EXPECT_NEAR(known.seconds(1000), 2e-3, 1e-5);
}

TEST(DeviceCost, OfAFirstPartThatTookLongerThanALargerOneIsThatOfTheLarger) {
  DeviceCost known;
  known.add(100, 1e-2);
  known.add(800, 1e-4);
  EXPECT_EQ(known.launch_seconds(), 0);
  EXPECT_DOUBLE_EQ(known.speed(), 8e6);
}

TEST(DeviceCost, ThatIsGuessedGivesWayToWhatIsMeasured) {
  DeviceCost known;
  known.guess(5e5);
  EXPECT_DOUBLE_EQ(known.seconds(1000), 2e-3);
  known.add(1000, 1e-3);
  known.guess(7);
  EXPECT_DOUBLE_EQ(known.speed(), 1e6);
}

// ---- plans

TEST(SharePlan, WithoutSpeedsIsASearchFromWhereRowsLie) {
  ShareRequest request = request_of(1000, {0, 0});
  EXPECT_EQ(plan_shares(request, record_of({{}, {}})).devices[0].home.end, 500);
  request.lying = {{0, 250}, {250, 1000}};
  const SharePlan plan = plan_shares(request, record_of({{}, {}}));
  EXPECT_EQ(plan.kind, Kind::Search);
  EXPECT_EQ(plan.devices[0].home.end, 250);
  expect_cover(plan, 1000);
}

TEST(SharePlan, OfDevicesWithAllRowsEndsThemTogether) {
  const LaunchRecord record = record_of({cost(0, 1e6), cost(0, 3e6)});
  const SharePlan plan = plan_shares(request_of(100'000, {0, 0}), record);
  EXPECT_EQ(plan.kind, Kind::Shared);
  EXPECT_NEAR(static_cast<double>(size_of(plan.devices[0])), 25'000, 50);
  EXPECT_NEAR(plan.seconds, 0.025, 1e-4);
  EXPECT_GT(plan.devices[0].sure, 0.95);
  expect_cover(plan, 100'000);
}

TEST(SharePlan, LeavesOutADeviceThatGainsNothing) {
  // A host of a 2000th of the speed; one whose copies take longer than the work; one that takes as long for
  // any part as the other one for all.
  const auto alone_of = [](DeviceCost host, double move) {
    const SharePlan plan = plan_shares(request_of(100'000, {move, 0}), record_of({host, cost(1e-6, 1e8)}));
    EXPECT_EQ(plan.kind, Kind::Alone);
    EXPECT_EQ(plan.first, 1U);
    EXPECT_FALSE(plan.devices[0].takes_part);
    EXPECT_EQ(plan.devices[1].sure, 1);
    EXPECT_NEAR(plan.seconds, 1e-3, 1e-5);
    expect_cover(plan, 100'000);
  };
  alone_of(cost(0, 5e4), 0);
  alone_of(cost(0, 1e8), 1e-6);
  alone_of(cost(2e-3, 1e12), 0);
}

TEST(SharePlan, TakesADeviceInForRowsThatItHas) {
  // All lies on the first: the second one, as fast, would copy half of it there and back.
  ShareRequest request = request_of(100'000, {0, 4e-8});
  request.lying = {{0, 100'000}, {0, 0}};
  const LaunchRecord record = record_of({cost(0, 1e8), cost(0, 1e8)});
  const SharePlan some = plan_shares(request, record);
  EXPECT_EQ(some.kind, Kind::Shared);
  EXPECT_GT(size_of(some.devices[0]), size_of(some.devices[1]));
  EXPECT_LT(some.seconds, 0.9e-3);
  request.move_seconds = [](std::size_t k, ResidentRows items) { return k == 1 && items.end > 0 ? 1e-3 : 0; };
  EXPECT_EQ(plan_shares(request, record).kind, Kind::Alone);
}

TEST(SharePlan, KeepsRowsWhereTheyLieIfThatIsAsGood) {
  ShareRequest request = request_of(100'000, {0, 0});
  request.lying = {{0, 50'500}, {50'500, 100'000}};
  const SharePlan plan = plan_shares(request, record_of({cost(0, 1e8), cost(0, 1e8)}));
  EXPECT_EQ(plan.kind, Kind::Shared);
  EXPECT_EQ(plan.devices[0].home.end, 50'500);
}

TEST(SharePlan, BelievesHowLongLaunchesTookMoreThanWhatIsForetold) {
  LaunchRecord record = record_of({cost(0, 1e8), cost(0, 1e8)});
  const ShareRequest request = request_of(100'000, {0, 0});
  record.shared.note(1, 2.5);
  EXPECT_EQ(plan_shares(request, record).kind, Kind::Alone);
  record.shared.note(1, 1.1);
  EXPECT_EQ(plan_shares(request, record).kind, Kind::Shared) << "one launch may have been held up";
  record.shared.note(1, 2.5);
  EXPECT_EQ(plan_shares(request, record).kind, Kind::Alone);
  record.repeats = LaunchRecord::first_try;
  EXPECT_EQ(plan_shares(request, record).kind, Kind::Shared) << "it is tried again";
}

TEST(SharePlan, BelievesHowLongOneDeviceTookForAllMoreThanWhatItsPartsTook) {
  // Parts of a host that also feeds a GPU, of whose parts each takes as long as the whole.
  LaunchRecord record = record_of({cost(0, 4e7), cost(1.5e-3, 1e8)});
  const ShareRequest request = request_of(100'000, {0, 0});
  EXPECT_EQ(plan_shares(request, record).kind, Kind::Shared);
  record.alone_took[0].note(100'000, 1.2e-3);
  EXPECT_EQ(plan_shares(request, record).kind, Kind::Alone);
  EXPECT_EQ(plan_shares(request, record).first, 0U);
  EXPECT_EQ(plan_shares(request_of(200'000, {0, 0}), record).kind, Kind::Shared) << "of another size";
}

TEST(SharePlan, BelievesHowLongSharedLaunchesTook) {
  // Within a tenth of what is foretold, nothing is shared that was not; what took less is.
  LaunchRecord record = record_of({cost(0, 5e6), cost(0, 1e8)});
  const ShareRequest request = request_of(100'000, {0, 0});
  EXPECT_EQ(plan_shares(request, record).kind, Kind::Alone) << "it may gain 5 %";
  record = record_of({cost(0, 2e7), cost(0, 1e8)});
  EXPECT_EQ(plan_shares(request, record).kind, Kind::Shared) << "it may gain 17 %";
  for (int k = 0; k < 3; ++k) record.shared_took.note(100'000, 1.4e-3);
  EXPECT_EQ(plan_shares(request, record).kind, Kind::Alone);
  record.repeats = LaunchRecord::first_try;
  EXPECT_EQ(plan_shares(request, record).kind, Kind::Shared) << "it is tried again";
  record.repeats = 0;
  for (int k = 0; k < 3; ++k) record.shared_took.note(100'000, 0.95e-3);
  EXPECT_EQ(plan_shares(request, record).kind, Kind::Shared);
}

TEST(SharePlan, AddsCopiesThatSharedLaunchesDidNotNeed) {
  LaunchRecord record = record_of({cost(0, 1e8), cost(0, 1e8)});
  for (int k = 0; k < 3; ++k) record.shared_took.note(100'000, 0.5e-3);
  EXPECT_EQ(plan_shares(request_of(100'000, {0, 0}), record).kind, Kind::Shared);
  EXPECT_EQ(plan_shares(request_of(100'000, {0, 6e-8}), record).kind, Kind::Alone);
  record.shared_moving = 0.8e-3;
  EXPECT_EQ(plan_shares(request_of(100'000, {0, 6e-8}), record).kind, Kind::Shared)
      << "they were in the time";
}

TEST(SharePlan, TriesOneDeviceAloneAgain) {
  LaunchRecord record = record_of({cost(0, 1e8), cost(0, 1e8)});
  record.shares = record.until_alone;
  EXPECT_EQ(plan_shares(request_of(100'000, {0, 0}), record).kind, Kind::Alone);
  ShareRequest lies = request_of(100'000, {0, 0});
  lies.lying = {{0, 50'000}, {50'000, 100'000}};
  lies.move_seconds = [](std::size_t k, ResidentRows items) {  // to where rows do not lie
    const bool is_at_home = k == 0 ? items.end <= 50'000 : items.begin >= 50'000;
    return is_at_home ? 0 : 1e-2;
  };
  EXPECT_EQ(plan_shares(lies, record).kind, Kind::Shared) << "its copies cost more than several launches";
}

TEST(SharePlan, TriesADeviceThatWasLeftOutAgainWithASmallPart) {
  LaunchRecord record = record_of({cost(0, 1e6), cost(0, 1e8)});
  const ShareRequest request = request_of(100'000, {0, 0});
  record.repeats = LaunchRecord::first_try - 1;
  EXPECT_EQ(plan_shares(request, record).kind, Kind::Alone);
  record.repeats = LaunchRecord::first_try;
  const SharePlan plan = plan_shares(request, record);
  EXPECT_EQ(plan.kind, Kind::Try);
  EXPECT_TRUE(plan.devices[0].takes_part);
  EXPECT_GT(size_of(plan.devices[0]), 0);
  EXPECT_LE(plan.devices[0].seconds, plan.seconds / 2) << "it does not hold up the other one";
  expect_cover(plan, 100'000);
}

TEST(SharePlan, LeavesOutADeviceThatNeverGotAPart) {
  LaunchRecord record = record_of({{}, cost(0, 1e8)});
  const ShareRequest request = request_of(100'000, {0, 0});
  EXPECT_EQ(plan_shares(request, record).kind, Kind::Search);
  record.searches = 3;
  EXPECT_EQ(plan_shares(request, record).kind, Kind::Alone);
  record.repeats = LaunchRecord::first_try;
  const SharePlan plan = plan_shares(request, record);
  EXPECT_EQ(plan.kind, Kind::Try);
  EXPECT_EQ(size_of(plan.devices[0]), 1);
}

TEST(SharePlan, BeginsWhereTheUserSays) {
  ShareRequest request = request_of(1000, {0, 0});
  request.weights = {1, 9};
  const SharePlan plan = plan_shares(request, record_of({cost(0, 1e6), cost(0, 1e6)}));
  EXPECT_EQ(plan.kind, Kind::Search);
  EXPECT_EQ(plan.devices[0].home.end, 100);
}

TEST(SharePlan, OfAnyDevicesCoversTheRangeInTheirOrderAndTakesNoLongerThanTheBest) {
  strata_tests::Random random;
  for (int trial = 0; trial < strata_tests::trials(2000); ++trial) {
    SCOPED_TRACE(trial);
    std::vector<DeviceCost> costs;
    std::vector<double> move;
    for (index_t k = random(1, 4); k > 0; --k) {
      costs.push_back(random(0, 9) == 0 ? DeviceCost()
                                        : cost(1e-6 * static_cast<double>(random(0, 500)),
                                               1e6 * static_cast<double>(random(1, 1000))));
      move.push_back(random(0, 1) == 0 ? 0 : 1e-9 * static_cast<double>(random(0, 100)));
    }
    LaunchRecord record = record_of(costs);
    record.searches = static_cast<int>(random(0, 3));
    record.repeats = static_cast<int>(random(0, 5));
    ShareRequest request = request_of(random(0, 1'000'000), move);
    request.unit = random(0, 1) == 0 ? 1 : random(1, 512);
    for (ResidentRows& run : request.lying) {
      run.begin = random(0, request.range.end);
      run.end = random(run.begin, request.range.end);
    }

    const SharePlan plan = plan_shares(request, record);

    expect_cover(plan, request.range.end);
    if (plan.kind != Kind::Alone && plan.kind != Kind::Shared) continue;
    double best = 0;
    for (std::size_t k = 0; k < costs.size(); ++k) {
      if (!costs[k].is_known()) continue;
      const double takes = costs[k].seconds(request.range.end) + request.move_seconds(k, request.range);
      if (best == 0 || takes < best) best = takes;
    }
    EXPECT_LE(plan.seconds, best * (1 + 1e-9));
  }
}

// ---- what is remembered

TEST(LaunchHistory, KeepsTheLaunchesUsedLast) {
  detail::sharing::LaunchHistory history;
  LaunchRecord record = history.find(1, 2);
  EXPECT_EQ(record.devices.size(), 2U);
  record.searches = 7;
  history.keep(1, record);
  EXPECT_EQ(history.find(1, 2).searches, 7);
  EXPECT_EQ(history.find(1, 3).searches, 0) << "of other devices";
  for (std::uint64_t k = 2; k < 1000; ++k) {
    history.keep(k, history.find(k, 2));
    history.find(1, 2);
  }
  EXPECT_EQ(history.find(1, 2).searches, 7);
  history.clear();
  EXPECT_EQ(history.find(1, 2).searches, 0);
}

}  // namespace
