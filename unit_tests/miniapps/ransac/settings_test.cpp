// What strata-ransac is asked for.
// SPDX-License-Identifier: Apache-2.0
#include <strata/miniapps/ransac/settings.hpp>

#include "messages.hpp"

namespace {

using namespace strata;
using namespace strata::ransac;
using miniapp::UsageError;
using strata_tests::expect_parts;
using strata_tests::message_of;

RansacSettings with(const std::string& mode, const std::string& host, const std::string& alpha) {
  RansacSettings settings;
  settings.mode = mode;
  settings.host = host;
  settings.alpha = alpha;
  return settings;
}

TEST(RansacSettings, GiveTheHostAHundredthUnlessSaidOtherwise) {
  EXPECT_EQ(request_of(with("static", "threads", "")).alpha, 0.01);
  EXPECT_EQ(request_of(with("static", "none", "")).alpha, 0);
  EXPECT_EQ(request_of(with("static", "threads", "1")).alpha, 1);
  EXPECT_EQ(request_of(with("static", "none", "0")).alpha, 0);
  EXPECT_EQ(request_of(with("static", "none", "0")).sharing, Sharing::Static);
  EXPECT_EQ(request_of(with("dynamic", "threads", "")).sharing, Sharing::Dynamic);
}

TEST(RansacSettings, RefuseSharesThatThereAreNot) {
  const auto message = [](const RansacSettings& s) { return message_of<UsageError>([&] { request_of(s); }); };
  for (const std::string alpha : {"-0.01", "1.01", "nan", "1e9"})
    expect_parts(message(with("static", "threads", alpha)), {"--alpha", alpha});
  expect_parts(message(with("static", "threads", "1.01")), {"from 0", "to 1"});
  expect_parts(message(with("static", "threads", "half")), {"--alpha", "half"});
  expect_parts(message(with("dynamic", "threads", "0.5")), {"--alpha 0.5", "--mode static", "claimed"});
  expect_parts(message(with("static", "none", "0.5")), {"--alpha 0.5", "takes no part", "--host threads"});
}

TEST(RansacSettings, RefuseCountsOutOfRange) {
  const auto refused = [](index_t RansacSettings::*member, index_t value, const std::string& option) {
    RansacSettings settings;
    settings.*member = value;
    expect_parts(message_of<UsageError>([&] { request_of(settings); }),
                 {option + " " + std::to_string(value), "give"});
  };
  refused(&RansacSettings::threads, -1, "--threads");
  refused(&RansacSettings::threads, 1025, "--threads");
  refused(&RansacSettings::teams, -1, "--teams");
  refused(&RansacSettings::team_size, 1025, "--team-size");
  refused(&RansacSettings::repetitions, 0, "--repetitions");
  refused(&RansacSettings::warm_up, -1, "--warm-up");
}

TEST(RansacSettings, MakeAsManyVectorsAsTheScaleSays) {
  RansacSettings settings;
  settings.vectors = 30;
  settings.scale = "10";
  EXPECT_EQ(problem_of(settings).vectors.size(), 300u);
  settings.scale = "100";
  settings.vectors = most_vectors / 100 + 1;
  expect_parts(message_of<UsageError>([&] { problem_of(settings); }),
               {"--vectors 100001", "give 2 to 100000", "100 times"});
}

}  // namespace
