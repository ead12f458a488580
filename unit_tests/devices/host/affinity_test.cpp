// The processors that a worker pool binds its threads to, and how many of them a process may use.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <strata/core/error.hpp>
#include <strata/devices/host/affinity.hpp>
#include <strata/devices/host/affinity_evidence.hpp>
#include <strata/version.hpp>

#include "worker_pools.hpp"

#if defined(__linux__)
#include <unistd.h>
#endif

namespace {

using namespace strata_tests;

TEST(Affinity, HasAsManyWorkersByDefaultAsUsableProcessors) {
  const WorkerPool pool({});

  EXPECT_EQ(pool.size(), strata::detail::usable_processors());
  EXPECT_GE(pool.size(), 1);
  EXPECT_LE(static_cast<std::size_t>(pool.size()), strata::detail::inherited_processors().size());
}

#if defined(__linux__)

TEST(Affinity, PinsEachWorkerToOneInheritedProcessorAndNeverTheCaller) {
  const std::vector<int>& inherited = strata::detail::inherited_processors();
  const std::vector<int> caller_before = strata::detail::processors_of_this_thread();
  WorkerPool pool({.workers = static_cast<int>(inherited.size()), .pin = true});
  std::vector<std::vector<int>> masks(inherited.size());

  pool.run({0, pool.size()}, erase([&](index_t, index_t, int worker) {
             masks[static_cast<std::size_t>(worker)] = strata::detail::processors_of_this_thread();
           }));

  EXPECT_EQ(masks[0], caller_before);
  std::set<int> taken;
  for (std::size_t w = 1; w < masks.size(); ++w) {
    ASSERT_EQ(masks[w].size(), 1U) << "worker " << w;
    EXPECT_TRUE(std::binary_search(inherited.begin(), inherited.end(), masks[w][0]));
    EXPECT_TRUE(taken.insert(masks[w][0]).second) << "two workers on processor " << masks[w][0];
  }
}

TEST(Affinity, LetsUnpinnedWorkersUseAllInheritedProcessorsThoughTheirMakerIsBound) {
  const std::vector<int>& inherited = strata::detail::inherited_processors();
  std::vector<int> mask;

  std::thread([&] {
    ASSERT_TRUE(strata::detail::bind_this_thread({inherited.back()}));
    WorkerPool pool({.workers = 2});
    pool.run({0, 2}, erase([&](index_t, index_t, int worker) {
               if (worker == 1) mask = strata::detail::processors_of_this_thread();
             }));
    EXPECT_EQ(strata::detail::processors_of_this_thread(), std::vector<int>{inherited.back()});
  }).join();

  EXPECT_EQ(mask, inherited);
}

TEST(Affinity, RefusesToBindToNothingOrToAProcessorThatDoesNotExist) {
  const std::vector<int> before = strata::detail::processors_of_this_thread();

  EXPECT_FALSE(strata::detail::bind_this_thread({}));
  EXPECT_FALSE(strata::detail::bind_this_thread({100'000}));

  EXPECT_EQ(strata::detail::processors_of_this_thread(), before);
}

#endif

// ---- where a library has bound the first thread

using strata::detail::AffinityEvidence;
using strata::detail::decide_affinity;
using strata::detail::ProcessAffinity;
using Processors = std::vector<int>;

void expect_found(const AffinityEvidence& evidence, const Processors& expected) {
  const ProcessAffinity found = decide_affinity(evidence);

  EXPECT_EQ(found.processors, expected);
  EXPECT_EQ(found.warning, "");
}

TEST(AffinityEvidence, MaskAtTheStartDecidesWhereItIsKnown) {
  expect_found({.at_start = {0, 1, 2, 3}, .now = {0}, .variable = "OMP_PROC_BIND=close"}, {0, 1, 2, 3});
  expect_found({.at_start = {2}, .now = {2}, .parent = {0, 1, 2, 3}, .variable = "OMP_PROC_BIND=close"}, {2});
}

TEST(AffinityEvidence, MaskNowDecidesWhereNothingBindsThreads) {
  expect_found({.now = {1, 3}, .parent = {0, 1, 2, 3}}, {1, 3});
  expect_found({.now = {}, .variable = "OMP_PROC_BIND=close"}, {});
}

TEST(AffinityEvidence, PlacesOfOpenMPAreThoseItFoundBeforeItBound) {
  AffinityEvidence evidence{.now = {4}, .variable = "OMP_PROC_BIND=spread", .openmp_processors = 3};
  evidence.openmp_places = {4, 5, 6};

  expect_found(evidence, {4, 5, 6});
}

TEST(AffinityEvidence, ATasksetIsRespectedThoughAVariableIsSet) {
  AffinityEvidence evidence{.now = {0}, .variable = "OMP_PROC_BIND=spread", .openmp_processors = 1};
  evidence.parent = {0, 1};
  evidence.openmp_places = {0};

  expect_found(evidence, {0});
}

TEST(AffinityEvidence, TheParentStandsInForPlacesThatLeaveProcessorsOut) {
  AffinityEvidence evidence{.now = {0}, .variable = "OMP_PLACES={0},{1}", .openmp_processors = 4};
  evidence.parent = {0, 1, 2, 3};
  evidence.openmp_places = {0, 1};

  expect_found(evidence, {0, 1, 2, 3});
}

TEST(AffinityEvidence, FewerThanTheProcessMayUseComeWithAWarningThatNamesTheVariable) {
  AffinityEvidence evidence{.now = {0}, .variable = "OMP_PLACES={0},{1}", .openmp_processors = 4};
  evidence.openmp_places = {0, 1};
  const ProcessAffinity of_places = decide_affinity(evidence);
  const ProcessAffinity of_mask =
      decide_affinity({.now = {0}, .parent = {0, 1, 2}, .variable = "KMP_AFFINITY=compact"});

  EXPECT_EQ(of_places.processors, (Processors{0, 1}));
  EXPECT_NE(of_places.warning.find("OMP_PLACES={0},{1} is set"), std::string::npos) << of_places.warning;
  EXPECT_NE(of_places.warning.find("1 of at least 4 processors"), std::string::npos) << of_places.warning;
  EXPECT_EQ(of_mask.processors, Processors{0});
  EXPECT_NE(of_mask.warning.find("KMP_AFFINITY=compact is set"), std::string::npos) << of_mask.warning;
  EXPECT_NE(of_mask.warning.find("1 of at least 3 processors"), std::string::npos) << of_mask.warning;
}

// Whatever is known: the first thread's own processors are never left out, and without a warning no processor
// that the OpenMP library is known to have found.
TEST(AffinityEvidence, NeverGivesFewerProcessorsThanAreKnownWithoutAWarning) {
  const std::vector<Processors> masks = {{}, {0}, {0, 1}, {0, 1, 2, 3}};
  for (const Processors& now : masks)
    for (const Processors& parent : masks)
      for (const Processors& places : masks)
        for (const int found : {0, 1, 2, 4})
          for (const char* variable : {"", "OMP_PROC_BIND=close"}) {
            if (now.empty() || (found > 0 && static_cast<std::size_t>(found) < places.size())) continue;
            AffinityEvidence evidence{.now = now, .parent = parent, .variable = variable};
            evidence.openmp_processors = found;
            if (found > 0) evidence.openmp_places = places;

            const ProcessAffinity affinity = decide_affinity(evidence);

            EXPECT_TRUE(std::includes(affinity.processors.begin(), affinity.processors.end(), now.begin(),
                                      now.end()));
            const bool binds = *variable != 0;
            if (binds && affinity.warning.empty()) {
              EXPECT_GE(affinity.processors.size(), static_cast<std::size_t>(found));
            }
            if (!binds) {
              EXPECT_EQ(affinity.processors, now);
            }
          }
}

TEST(AffinityEvidence, KnowsTheVariablesThatBindThreads) {
  using strata::detail::binding_variable;

  EXPECT_EQ(binding_variable([](const char*) -> const char* { return nullptr; }), "");
  EXPECT_EQ(binding_variable([](const char*) { return "False"; }), "");
  EXPECT_EQ(binding_variable([](const char*) { return "Spread"; }), "OMP_PROC_BIND=Spread");
  EXPECT_EQ(binding_variable([](const char* name) -> const char* {
              return std::string_view(name) == "KMP_AFFINITY" ? "none" : nullptr;
            }),
            "");
  EXPECT_EQ(binding_variable([](const char* name) -> const char* {
              return std::string_view(name) == "OMP_PLACES" ? "cores" : nullptr;
            }),
            "OMP_PLACES=cores");
}

#if defined(STRATA_BOUND_EXECUTABLE)

struct Bound {
  std::string variables;  // of the environment
  bool on_one = false;    // started on one processor, as by taskset
};

// What the program prints, on both streams.
std::string output_of(const char* program, const Bound& how) {
  std::string output;
  std::thread([&] {
    if (how.on_one) strata::detail::bind_this_thread({strata::detail::inherited_processors().front()});
    const std::string clean =
        "exec env -u OMP_PROC_BIND -u OMP_PLACES -u GOMP_CPU_AFFINITY -u STRATA_THREADS ";
    const std::string command = clean + how.variables + " '" + program + "' 2>&1";
    std::FILE* const pipe = popen(command.c_str(), "r");
    if (pipe == nullptr) return;
    char text[256];
    while (std::fgets(text, sizeof text, pipe) != nullptr) output += text;
    pclose(pipe);
  }).join();
  return output;
}

// Of a program that may use `processors` processors, or `of_threads` of them at once.
std::string expected_output(std::size_t processors, std::size_t of_threads) {
  const std::string all = std::to_string(processors), quota = std::to_string(of_threads);
  std::string expected = "OpenMP " + all + "\nThreads " + quota + " " + quota + "\n";
#if STRATA_HAS_TBB
  expected += "Tbb " + all + " " + all + "\n";
#endif
  return expected;
}

class BoundPrograms : public ::testing::TestWithParam<const char*> {};

TEST_P(BoundPrograms, UseAllProcessorsWhereOpenMPHasBoundTheFirstThread) {
  const std::size_t processors = strata::detail::inherited_processors().size();
  const auto threads = static_cast<std::size_t>(strata::detail::usable_processors());
  for (const char* variables : {"", "OMP_PROC_BIND=spread OMP_PLACES=threads", "OMP_PROC_BIND=close"})
    EXPECT_EQ(output_of(GetParam(), {variables}), expected_output(processors, threads)) << variables;
}

TEST_P(BoundPrograms, KeepToTheProcessorThatTheyWereStartedOn) {
  for (const char* variables : {"", "OMP_PROC_BIND=spread OMP_PLACES=threads"})
    EXPECT_EQ(output_of(GetParam(), {variables, true}), expected_output(1, 1)) << variables;
}

#if defined(STRATA_BOUND_TBB)
// Its parent has more processors, and nothing says whether it was started on one of them or bound to it.
TEST(BoundTbbPrograms, NameTheVariableWhereProcessorsMayBeLost) {
  if (strata::detail::inherited_processors().size() < 2) GTEST_SKIP() << "there is one processor";
  const std::string processors = std::to_string(strata::detail::inherited_processors().size());
  EXPECT_EQ(output_of(STRATA_BOUND_TBB, {"", true}), "Tbb 1 1\n");
  const std::string output = output_of(STRATA_BOUND_TBB, {"OMP_PROC_BIND=close", true});
  EXPECT_EQ(output.substr(0, output.find(';')),
            "strata: warning: OMP_PROC_BIND=close is set, and the first thread is bound to 1 of at least " +
                processors + " processors");
  EXPECT_EQ(output.substr(output.find('\n') + 1), "Tbb 1 1\n") << "once";
}
#endif

INSTANTIATE_TEST_SUITE_P(Affinity, BoundPrograms,
                         ::testing::Values(STRATA_BOUND_EXECUTABLE, STRATA_BOUND_SHARED_CODE),
                         [](const auto& param) {
                           return std::string(param.index == 0 ? "Executable" : "SharedCode");
                         });

#endif

}  // namespace
