// Fits find the same candidates on every device, in both modes, whoever does which iteration; what they copy,
// and what they refuse.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <strata/miniapps/common/options.hpp>
#include <strata/miniapps/ransac/claims.hpp>
#include <strata/miniapps/ransac/fit_on.hpp>
#include <strata/miniapps/ransac/run.hpp>

#include "messages.hpp"
#include "test_devices.hpp"

namespace {

using namespace strata;
using namespace strata::ransac;
using strata_tests::expect_parts;
using strata_tests::message_of;

constexpr std::uint64_t seed = 11;

Problem problem_with(index_t vectors, index_t iterations, double convergence = 0.75) {
  return make_problem(make_vectors(vectors, seed), iterations, 3, convergence, seed);
}
FitRequest request_for(const Problem& problem) {
  FitRequest request;
  request.problem = &problem;
  request.host = Serial{};
  request.threads = 1;
  request.processors = 16;  // all threads work
  return request;
}
FitOutcome on_serial(const Problem& problem) { return fit_on(Serial{}, request_for(problem)); }

template <class D>
constexpr bool is_host = D::memory_space::host_accessible;

// Every mix of D and each host, in both modes.
template <class D>
void expect_as_serial(const Problem& problem, index_t threads = 3, index_t teams = 0, index_t team_size = 0) {
  const FitOutcome expected = on_serial(problem);
  for (const AnyHost& host : {AnyHost(Serial{}), AnyHost(Threads{})}) {
    FitRequest request = request_for(problem);
    request.host = host;
    request.teams = teams;
    request.team_size = team_size;
    for (const Mix& mix : mixes_of(request, is_host<D>, threads)) {
      SCOPED_TRACE(std::string(mix.name) + ", " + host.device_name());
      const FitOutcome found = fit_on(D{}, mix.request);
      EXPECT_EQ(difference(found, expected), "");
      EXPECT_EQ(found.host.iterations + found.device.iterations, problem.iterations());
    }
  }
}

template <class D>
class RansacFit : public ::testing::Test {};
TYPED_TEST_SUITE(RansacFit, strata_tests::TestDevices, strata_tests::DeviceName);

TYPED_TEST(RansacFit, FindsTheFlow) {
  const Problem problem = problem_with(3000, 200);
  FitRequest request = request_for(problem);
  request.sharing = Sharing::Dynamic;

  const FitOutcome outcome = fit_on(TypeParam{}, request);

  ASSERT_GE(outcome.best.iteration, 0);
  const auto sampled = [&](std::int32_t k) {
    return problem.vectors[static_cast<std::size_t>(problem.samples[static_cast<std::size_t>(k)])];
  };
  const FlowModel found =
      fit_flow(sampled(2 * outcome.best.iteration), sampled(2 * outcome.best.iteration + 1));
  const FlowModel hidden = flow_of(seed);
  EXPECT_NEAR(found.centre_x, hidden.centre_x, 8);
  EXPECT_NEAR(found.centre_y, hidden.centre_y, 8);
  EXPECT_NEAR(found.dilation, hidden.dilation, 0.01);
  EXPECT_NEAR(found.rotation, hidden.rotation, 0.01);
  EXPECT_NEAR(outcome.best.outliers, 1500, 120);
}

TYPED_TEST(RansacFit, FindsTheCandidatesOfSerialInEveryMix) {
  const Problem problem = problem_with(701, 150);
  ASSERT_GT(on_serial(problem).candidates.size(), 10u);
  ASSERT_LT(on_serial(problem).candidates.size(), 140u);
  expect_as_serial<TypeParam>(problem);
}
TYPED_TEST(RansacFit, FindsThemWithTeamsOfMany) {
  expect_as_serial<TypeParam>(problem_with(333, 40), 2, 7, 32);
}
TYPED_TEST(RansacFit, FindsThemWithMoreTeamsAndThreadsThanIterations) {
  expect_as_serial<TypeParam>(problem_with(50, 3), 9, 40);
  expect_as_serial<TypeParam>(problem_with(2, 1), 2);
}
TYPED_TEST(RansacFit, FindsNoneWhereNoFlowIsGoodEnough) {
  const Problem problem = problem_with(500, 50, 0.01);
  EXPECT_TRUE(on_serial(problem).candidates.empty());
  EXPECT_EQ(on_serial(problem).best, (Candidate{-1, -1}));
  expect_as_serial<TypeParam>(problem);
}

TYPED_TEST(RansacFit, PrefersTheFirstOfEquallyGoodFlows) {
  // All vectors are of one flow, and exactly: every pair of different ones determines it.
  std::vector<FlowVector> vectors;
  const FlowModel flow{32, 32, 0.5F, 0.25F, true};
  for (std::int32_t x = 0; x < 64; x += 4)
    for (std::int32_t y = 0; y < 64; y += 4) {
      const FlowPoint end = moved_by(flow, x, y);
      vectors.push_back({x, y, end.x, end.y});
    }
  const Problem problem = make_problem(vectors, 100, 1, 0.75, seed);
  const FitOutcome expected = on_serial(problem);
  ASSERT_GT(expected.candidates.size(), 90u);
  EXPECT_EQ(expected.best, expected.candidates.front());
  EXPECT_EQ(expected.best.outliers, 0);
  expect_as_serial<TypeParam>(problem);
}

TYPED_TEST(RansacFit, RepeatsItself) {
  const Problem problem = problem_with(200, 60);
  const FitOutcome expected = on_serial(problem);
  for (const Mix& mix : mixes_of(request_for(problem), is_host<TypeParam>, 2)) {
    SCOPED_TRACE(mix.name);
    FitRequest request = mix.request;
    request.warm_up = 2;
    request.repetitions = 4;
    const FitOutcome found = fit_on(TypeParam{}, request);
    EXPECT_EQ(difference(found, expected), "");
    EXPECT_EQ(found.seconds.size(), 4u);
  }
}

// ---- copies

// On an accelerator: 16 bytes a vector and 8 an iteration of the device once; 4 bytes and 8 a candidate for
// each fit. Of the study's bytes the results that it copies in, 24 m + 4 for each fit, are left out.
TYPED_TEST(RansacFit, CopiesNoMoreThanTheStudy) {
  constexpr index_t n = 701, m = 150;
  const Problem problem = problem_with(n, m);
  for (const double alpha : {0.0, 0.2, 1.0}) {
    SCOPED_TRACE(alpha);
    FitRequest request = request_for(problem);
    request.alpha = alpha;
    const FitOutcome outcome = fit_on(TypeParam{}, request);
    const bool is_alone = is_host<TypeParam> || alpha == 1;
    const auto of_device = static_cast<std::uint64_t>(
        std::count_if(outcome.candidates.begin(), outcome.candidates.end(),
                      [&](const Candidate& candidate) { return candidate.iteration >= host_end(m, alpha); }));
    const auto left = static_cast<std::uint64_t>(m - host_end(m, alpha));
    const CopiedBytes none;
    EXPECT_EQ(outcome.setup_copies, is_alone ? none : (CopiedBytes{16 * n + 8 * left, 0}));
    EXPECT_EQ(outcome.copies, is_alone ? none : (CopiedBytes{0, 4 + 8 * of_device}));
  }
}
TYPED_TEST(RansacFit, CopiesNothingThatIsOfBoth) {
  const Problem problem = problem_with(701, 150);
  FitRequest request = request_for(problem);
  request.sharing = Sharing::Dynamic;
  const FitOutcome outcome = fit_on(TypeParam{}, request);
  EXPECT_EQ(outcome.setup_copies, CopiedBytes());
  EXPECT_EQ(outcome.copies, CopiedBytes());
}

TEST(RansacShares, AreThoseOfAlpha) {
  const Problem problem = problem_with(100, 1000);
  FitRequest request = request_for(problem);
  for (const double alpha : {0.0, 0.01, 0.2, 0.5, 0.999, 1.0}) {
    request.alpha = alpha;
    const FitOutcome outcome = fit_on(Emulated{}, request);
    EXPECT_EQ(outcome.host.iterations, host_end(1000, alpha));
    EXPECT_EQ(outcome.device.iterations, 1000 - host_end(1000, alpha));
  }
}
TEST(RansacShares, OfHostAndDeviceAreBothThereWhenTheyClaim) {
  const Problem problem = problem_with(2000, 400);
  FitRequest request = request_for(problem);
  request.sharing = Sharing::Dynamic;
  request.host = Threads{};
  request.threads = 2;
  const FitOutcome outcome = fit_on(Emulated{}, request);
  EXPECT_GE(outcome.host.iterations, 2);
  EXPECT_GE(outcome.host.claims, 2);
  EXPECT_EQ(outcome.host.iterations + outcome.device.iterations, 400);
  EXPECT_GE(outcome.device.claims, outcome.device.iterations);
}

TEST(RansacShares, OfAHostAreNoneInFitsThatTheDeviceWouldFinishSooner) {
  const Problem problem = problem_with(10, 100);
  FitRequest request = request_for(problem);
  request.sharing = Sharing::Dynamic;
  EXPECT_GE(fit_on(Emulated{}, request).host.iterations, 1) << "the first fit finds out how fast both are";

  request.warm_up = 5;
  index_t of_host = -1;
  for (int k = 0; k < 200 && of_host != 0; ++k) {  // on a machine that is busy a fit may take long
    const FitOutcome outcome = fit_on(Emulated{}, request);
    of_host = outcome.host.iterations;
    EXPECT_EQ(difference(outcome, on_serial(problem)), "");
  }
  EXPECT_EQ(of_host, 0);
}

// ---- claims

TEST(RansacClaims, AreHalfOfWhatAThreadCanDoUntilTheEnd) {
  // The device does 1000 iterations a second, the thread 10: of the 100 seconds that the rest takes it gets
  // 50.
  EXPECT_EQ(host_claim({100'000, 1000, 1, 0.1, 4}), 500);
  // Never more than its fair part.
  EXPECT_EQ(host_claim({100'000, 10, 1, 1e-6, 4}), 12'500);
}
TEST(RansacClaims, EndWhereTheRestIsOverSooner) {
  EXPECT_EQ(host_claim({10, 1000, 1, 0.1, 4}), 0) << "slower than all of the rest";
  EXPECT_EQ(host_claim({390, 1000, 1, 0.1, 4}), 0) << "held up in its last one, it would hold up all";
  EXPECT_EQ(host_claim({410, 1000, 1, 0.1, 4}), 2);
  EXPECT_EQ(host_claim({100, 1'000'000, 1, 1e-6, 4}), 0) << "a page takes as long to move";
  EXPECT_EQ(host_claim({0, 1000, 1, 0.1, 4}), 0);
  EXPECT_EQ(host_claim({1000, 0, 1, 0.1, 4}), 1) << "of a device that has not begun nothing is known";
}

TEST(RansacClaims, LeaveAProcessorToTheDriver) {
  EXPECT_EQ(threads_beside_device(16, 16), 15);
  EXPECT_EQ(threads_beside_device(8, 16), 8);
  EXPECT_EQ(threads_beside_device(4, 1), 1);
  EXPECT_EQ(threads_beside_device(0, 16), 0);
}

// ---- what is refused

class RansacRefused : public ::testing::Test {
 protected:
  void SetUp() override {
    emulated::Config config = emulated::default_config();
    config.host_atomics = false;
    emulated::configure(config);
  }
  void TearDown() override { emulated::configure(emulated::default_config()); }
};

TEST_F(RansacRefused, WhereAtomicOperationsOfHostAndDeviceWouldRace) {
  const Problem problem = problem_with(50, 10);
  FitRequest request = request_for(problem);
  request.sharing = Sharing::Dynamic;
  request.memory = MemoryMode::Mapped;
  expect_parts(message_of<miniapp::UsageError>([&] { fit_on(Emulated{}, request); }),
               {"--mode dynamic", "\"tickets\", in the memory mode mapped", "has no atomic operations",
                "MemoryMode::Managed", "--mode static shares nothing"});

  request.memory = MemoryMode::Managed;
  EXPECT_EQ(difference(fit_on(Emulated{}, request), on_serial(problem)), "");
}

TEST(RansacDifference, IsFound) {
  FitOutcome expected;
  expected.candidates = {{1, 10}, {5, 7}};
  expected.best = {5, 7};
  const auto differs = [&](std::vector<Candidate> candidates, const Candidate& best) {
    FitOutcome outcome;
    outcome.candidates = std::move(candidates);
    outcome.best = best;
    return difference(outcome, expected);
  };
  EXPECT_EQ(differs({{1, 10}, {5, 7}}, {5, 7}), "");
  expect_parts(differs({{1, 10}, {5, 8}}, {5, 7}), {"candidate 1", "with 8 outliers", "with 7"});
  expect_parts(differs({{1, 10}}, {1, 10}), {"1 candidates, on Serial 2"});
  expect_parts(differs({{1, 10}, {5, 7}}, {1, 10}), {"the best is iteration 1"});
}

TEST(RansacRun, ChecksEveryMixAndReportsWhatDiffers) {
  const Problem problem = problem_with(100, 20);
  const FitRequest request = request_for(problem);
  const FitOnIt good = [](const FitRequest& r) { return fit_on(Emulated{}, r); };
  const FitOnIt bad = [&](const FitRequest& r) {
    FitOutcome outcome = good(r);
    if (r.sharing == Sharing::Dynamic) outcome.candidates.pop_back();
    return outcome;
  };
  const FitOnIt serial = [](const FitRequest& r) { return fit_on(Serial{}, r); };
  miniapp::RunReport passing, failing;

  run_fit(good, request, serial, mixes_of(request, false, 1), passing);
  run_fit(bad, request, serial, mixes_of(request, false, 1), failing);

  EXPECT_TRUE(passing.passed());
  EXPECT_EQ(passing.checks.size(), 6u);
  EXPECT_FALSE(failing.passed());
  EXPECT_EQ(
      std::count_if(failing.checks.begin(), failing.checks.end(), [](const auto& c) { return !c.passed; }),
      2);
}

}  // namespace
