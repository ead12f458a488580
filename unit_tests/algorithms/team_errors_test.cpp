// What goes wrong with teams: shapes that a device cannot have, kernels that throw, members that come apart,
// and stacks of members that are left in every way.
// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include <strata/algorithms/team.hpp>

#include "arrays.hpp"
#include "messages.hpp"

namespace {

using namespace strata;
using namespace strata_tests;

template <class D>
class TeamErrors : public ::testing::Test {};
TYPED_TEST_SUITE(TeamErrors, TestDevices, DeviceName);

template <class D>
constexpr bool has_exceptions = std::is_same_v<TeamMember<D>, detail::HostTeamMember>;

struct DoNothing {
  STRATA_FUNCTION void operator()(const auto&) const {}
};

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// ---- shapes

TYPED_TEST(TeamErrors, OfImpossibleShapesComeFromTheLaunchAndSayTheLimit) {
  using D = TypeParam;
  const auto refusal = [](const Teams& work) {
    return message_of<KernelError>([&] { parallel_for("shape", on(D{}), work, DoNothing()); });
  };

  const std::string large = refusal(teams(10, 5000));
  EXPECT_TRUE(has(large, "shape") && has(large, "5000") && has(large, "1024")) << large;
  EXPECT_TRUE(has(refusal(teams(10, 0)), "teams of 0 members")) << refusal(teams(10, 0));
  EXPECT_TRUE(has(refusal(teams(10, -4)), "-4")) << refusal(teams(10, -4));
  EXPECT_TRUE(has(refusal(teams(10, 4).vector(3)), "power of two")) << refusal(teams(10, 4).vector(3));
  EXPECT_TRUE(has(refusal(teams(10, 4).vector(64)), "64")) << refusal(teams(10, 4).vector(64));
  EXPECT_TRUE(has(refusal(teams(10, 4).scratch(0, -8)), "-8")) << refusal(teams(10, 4).scratch(0, -8));
  EXPECT_TRUE(has(large, strata_tests::device_name<D>())) << large;
}

TYPED_TEST(TeamErrors, OfTooMuchScratchMemoryComeFromTheLaunchAndSayTheLimit) {
  using D = TypeParam;
  constexpr index_t much = index_t{1} << 50;
  const auto refusal = [](const Teams& work) {
    return message_of<OutOfMemory>([&] { parallel_for("scratch", on(D{}), work, DoNothing()); });
  };

  for (const int level : {0, 1}) {
    const std::string of_team = refusal(teams(10, 4).scratch(level, much));
    const std::string of_members = refusal(teams(10, 4).scratch(level, 0, much));
    EXPECT_TRUE(has(of_team, "scratch") && has(of_team, std::to_string(much))) << of_team;
    EXPECT_TRUE(has(of_members, "4 members") && has(of_members, std::to_string(much))) << of_members;
  }
}

TEST(TeamErrorsOfWork, NameTheLevelOrNumberThatDoesNotExist) {
  for (const int level : {-1, 2})
    EXPECT_TRUE(has(message_of<KernelError>([=] { static_cast<void>(teams(10).scratch(level, 8)); }),
                    "scratch(" + std::to_string(level) + ")"));
  EXPECT_TRUE(has(message_of<KernelError>([] { static_cast<void>(teams(10).dynamic(-2)); }), "dynamic(-2)"));
  EXPECT_TRUE(has(message_of<KernelError>([] { static_cast<void>(range(10).chunk(-3)); }), "chunk(-3)"));
  EXPECT_TRUE(has(message_of<KernelError>([] { static_cast<void>(range(10).dynamic(-1)); }), "(-1)"));
  EXPECT_TRUE(has(message_of<KernelError>([] {
                    static_cast<void>(mdrange({0, 0}, {9, 9}, {4, -4}));
                  }),
                  "tile extent(-4)"));
}

// ---- kernels that throw; what follows is for devices whose kernels run on host threads

struct KernelFailed : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// What the launch, or the wait after it, throws.
template <class D, class F>
void run_to_end(const F& submit) {
  submit();
  wait(D{});
}

struct CountsItsLife {
  std::atomic<int>& alive;
  explicit CountsItsLife(std::atomic<int>& a) : alive(a) { ++alive; }
  ~CountsItsLife() { --alive; }
  CountsItsLife(const CountsItsLife&) = delete;
  CountsItsLife& operator=(const CountsItsLife&) = delete;
};

// Member `rank` of team `team` throws in round `round`; all others wait for it, then or later.
struct ThrowInTeam {
  index_t team;
  int rank, round;
  std::atomic<int>* alive;

  void operator()(const auto& member) const {
    const CountsItsLife here(*alive);
    for (int r = 0; r < 3; ++r) {
      const auto text = std::make_unique<std::string>("round " + std::to_string(r));
      if (member.league_rank() == team && member.team_rank() == rank && r == round)
        throw KernelFailed("team " + std::to_string(team) + ", " + *text);
      member.barrier();
      int sum;
      parallel_reduce(
          team_range(member, 10), [](index_t, int& s) { ++s; }, sum);
    }
  }
};

TYPED_TEST(TeamErrors, OfOneMemberEndTheTeamAndUnwindTheMembersThatWait) {
  using D = TypeParam;
  if constexpr (!has_exceptions<D>) {
    GTEST_SKIP() << "kernels on this device cannot throw";
  } else {
    std::atomic<int> alive = 0;
    for (const int members : {1, 4, 32})
      for (const int rank : {0, members / 2, members - 1})
        for (const int round : {0, 2}) {
          const ThrowInTeam kernel{5, rank, round, &alive};

          const std::string message = message_of<KernelFailed>(
              [&] { run_to_end<D>([&] { parallel_for(on(D{}), teams(40, members), kernel); }); });

          EXPECT_EQ(message, "team 5, round " + std::to_string(round));
          EXPECT_EQ(alive, 0) << members << " " << rank << " " << round;
        }
    const auto seen = create<Vector<int, D>>("seen", 40);
    parallel_for(teams(40, 32), with(
                                    [](const auto& member, auto x) {
                                      member.barrier();
                                      single(per_team(member), [&] { x(member.league_rank()) += 1; });
                                    },
                                    seen));
    EXPECT_EQ(values_of(seen), std::vector<int>(40, 1));
  }
}

TYPED_TEST(TeamErrors, OfALeaguesReductionLeaveTheResultAlone) {
  using D = TypeParam;
  if constexpr (!has_exceptions<D>) {
    GTEST_SKIP() << "kernels on this device cannot throw";
  } else {
    double sum = -7;

    EXPECT_THROW(parallel_reduce(
                     on(D{}), teams(700, 4),
                     [](const auto& member, double& s) {
                       if (member.league_rank() == 600 && member.team_rank() == 3) throw KernelFailed("600");
                       member.barrier();
                       s += 1;
                     },
                     Sum(sum)),
                 KernelFailed);

    EXPECT_EQ(sum, -7);
  }
}

TYPED_TEST(TeamErrors, AreToldWhenMembersComeApart) {
  using D = TypeParam;
  if constexpr (!has_exceptions<D>) {
    GTEST_SKIP() << "members that come apart on this device are undefined";
  } else {
    std::atomic<int> alive = 0;
    std::atomic<int>* const count = &alive;
    const auto failure = [](const auto& kernel) {
      return message_of<KernelError>(
          [&] { run_to_end<D>([&] { parallel_for(on(D{}), teams(3, 4), kernel); }); });
    };

    for (const int early : {0, 2, 3}) {
      const std::string returned = failure([=](const auto& member) {
        const CountsItsLife here(*count);
        if (member.team_rank() != early) member.barrier();
      });
      EXPECT_TRUE(has(returned, "came apart") && has(returned, "of 4, 3 wait")) << returned;
    }
    const std::string elsewhere = failure([=](const auto& member) {
      const CountsItsLife here(*count);
      int value = 1;
      if (member.team_rank() < 2) member.barrier();
      else broadcast(member, value);
    });
    EXPECT_TRUE(has(elsewhere, "in another call")) << elsewhere;
    EXPECT_EQ(alive, 0);
  }
}

TYPED_TEST(TeamErrors, OfScratchMemoryThatWasNotDeclaredAreThrownByTheKernel) {
  using D = TypeParam;
  if constexpr (!has_exceptions<D>) {
    GTEST_SKIP() << "kernels on this device cannot throw";
  } else {
    const auto failure = [](const Teams& work, const auto& kernel) {
      return message_of<OutOfMemory>([&] { run_to_end<D>([&] { parallel_for(on(D{}), work, kernel); }); });
    };

    EXPECT_TRUE(has(message_of<KernelError>([&] {
                      run_to_end<D>([] {
                        parallel_for(on(D{}), teams(2).scratch(1, 64), [](const auto& member) {
                          static_cast<void>(member.template scratch<char>(2, 1));
                        });
                      });
                    }),
                    "level 2"));
    const std::string none = failure(
        teams(3, 4), [](const auto& member) { static_cast<void>(member.template scratch<double>(0, 1)); });
    EXPECT_TRUE(has(none, "8 bytes") && has(none, "0 are left")) << none;
    const std::string own = failure(teams(3).scratch(1, 1000, 64), [](const auto& member) {
      static_cast<void>(member.template own_scratch<char>(1, 60));
      static_cast<void>(member.template own_scratch<char>(1, 10));
    });
    EXPECT_TRUE(has(own, "10 bytes") && has(own, "4 are left") && has(own, "of a member")) << own;
  }
}

TYPED_TEST(TeamErrors, OfIndicesOutsideScratchArraysAreFoundInCheckedBuilds) {
  using D = TypeParam;
  if constexpr (!has_exceptions<D> || !checked_build) {
    GTEST_SKIP() << "for checked builds and host threads";
  } else {
    const std::string found = message_of<OutOfBounds>([] {
      run_to_end<D>([] {
        parallel_for("outside", on(D{}), teams(3, 4).scratch(0, scratch_bytes<int>(4)),
                     [](const auto& member) {
                       const auto place = scratch_view<int>(member, 0, 4);
                       place(member.team_rank() + 1) = 1;
                     });
      });
    });
    EXPECT_TRUE(has(found, "outside") && has(found, "index (4)")) << found;
  }
}

// ---- stacks

// Members wait while they handle an exception of their own, which must still be theirs afterwards.
TYPED_TEST(TeamErrors, BeingHandledStayWithTheirMemberAcrossBarriers) {
  using D = TypeParam;
  if constexpr (!has_exceptions<D>) {
    GTEST_SKIP() << "kernels on this device cannot throw";
  } else {
    std::atomic<int> mixed_up = 0;
    std::atomic<int>* const count = &mixed_up;

    run_to_end<D>([&] {
      parallel_for(on(D{}), teams(20, 8), [=](const auto& member) {
        const std::string own = "member " + std::to_string(member.team_rank());
        try {
          try {
            throw KernelFailed(own);
          } catch (const KernelFailed&) {
            member.barrier();
            throw;
          }
        } catch (const std::exception& error) {
          member.barrier();
          *count += error.what() == own && std::uncaught_exceptions() == 0 ? 0 : 1;
        }
      });
    });

    EXPECT_EQ(mixed_up, 0);
  }
}

TYPED_TEST(TeamErrors, DoNotComeFromLaunchesWithinTeamsOrFromManyThreads) {
  using D = TypeParam;
  if constexpr (!has_exceptions<D> || is_asynchronous<D>) {
    GTEST_SKIP() << "launches within kernels are for host devices";
  } else {
    std::vector<std::vector<int>> sums(4, std::vector<int>(30));
    std::vector<std::thread> threads;
    for (auto& own : sums)
      threads.emplace_back([&own] {
        parallel_for(on(D{}), teams(30, 4), [&own](const auto& member) {
          member.barrier();
          int inner = 0;
          parallel_reduce(
              on(Serial{}), teams(5, 3),
              [](const auto& nested, int& s) {
                nested.barrier();
                s += nested.team_rank();
              },
              Sum(inner));
          int all;
          parallel_reduce(
              team_range(member, 4), [&](index_t, int& s) { s += inner; }, all);
          single(per_team(member), [&] { own[static_cast<std::size_t>(member.league_rank())] = all; });
        });
      });
    for (std::thread& thread : threads) thread.join();

    for (const auto& own : sums) EXPECT_EQ(own, std::vector<int>(30, 4 * 15));
  }
}

}  // namespace
