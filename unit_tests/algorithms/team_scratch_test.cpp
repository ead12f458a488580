// Scratch memory of teams and of their members, of both levels.
// SPDX-License-Identifier: Apache-2.0
#include <cstdint>

#include "team_suite.hpp"

namespace {

using namespace strata;
using namespace strata_tests;

template <class D>
class TeamScratch : public ::testing::Test {};
TYPED_TEST_SUITE(TeamScratch, TestDevices, DeviceName);

// Fills several arrays of team and member, and counts the elements that are not as written after a barrier.
template <int Level>
struct UseScratch {
  static constexpr index_t shared = 37, own = 11;

  static constexpr index_t team_bytes() {
    return scratch_bytes<char>(3) + scratch_bytes<double>(shared * 2) + scratch_bytes<int>(5 * 8);
  }
  static constexpr index_t member_bytes() { return scratch_bytes<float>(own) + scratch_bytes<index_t>(2); }

  STRATA_FUNCTION void operator()(const auto& member, auto wrong) const {
    char* const letters = member.template scratch<char>(Level, 3);
    const auto table = scratch_view<double>(member, Level, shared, 2);
    const auto fixed = scratch_view<int, 8>(member, Level, 5);
    const auto mine = own_scratch_view<float>(member, Level, own);
    index_t* const pair = member.template own_scratch<index_t>(Level, 2);
    const auto seed = static_cast<double>(member.league_rank());
    const int rank = member.team_rank();

    parallel_for(team_vector_range(member, shared), [&](index_t i) {
      table(i, 0) = seed + static_cast<double>(i);
      table(i, 1) = seed - static_cast<double>(i);
    });
    parallel_for(team_vector_range(member, 40),
                 [&](index_t k) { fixed(k / 8, k % 8) = static_cast<int>(k); });
    parallel_for(vector_range(member, own), [&](index_t i) { mine(i) = static_cast<float>(rank * 100 + i); });
    single(per_member(member), [&] { pair[0] = pair[1] = rank; });
    single(per_team(member), [&] { letters[0] = letters[1] = letters[2] = 'x'; });
    member.barrier();

    int bad = letters[0] == 'x' && letters[2] == 'x' ? 0 : 1;
    for (index_t i = 0; i < shared; ++i)
      bad += table(i, 0) != seed + static_cast<double>(i) || table(i, 1) != seed - static_cast<double>(i);
    for (int k = 0; k < 40; ++k) bad += fixed(k / 8, k % 8) != k;
    for (index_t i = 0; i < own; ++i) bad += mine(i) != static_cast<float>(rank * 100 + i);
    bad += pair[0] != rank || pair[1] != rank;
    bad += fixed.extent(1) != 8 || table.extent(0) != shared || mine.extent(0) != own;
    bad += reinterpret_cast<std::uintptr_t>(table.data()) % alignof(double) != 0 ||
           reinterpret_cast<std::uintptr_t>(pair) % alignof(index_t) != 0;
    single(per_member(member), [&] { wrong(member.league_rank(), rank) = bad; });
  }
};

template <class D, int Level>
void expect_scratch_memory() {
  using Kernel = UseScratch<Level>;
  for (const Shape shape : shapes) {
    const auto wrong = create<Matrix<int, D>>("wrong", 300, shape.members);
    deep_copy(wrong, -1);

    if (!launched(shape, [&] {
          parallel_for(teams(300, shape.members)
                           .vector(shape.lanes)
                           .scratch(Level, Kernel::team_bytes(), Kernel::member_bytes()),
                       with(Kernel(), wrong));
        }))
      continue;

    for (const auto& team : rows_of(wrong))
      for (const int count : team) ASSERT_EQ(count, 0) << name_of(shape);
  }
}

TYPED_TEST(TeamScratch, HasScratchMemoryOfLevelZero) { expect_scratch_memory<TypeParam, 0>(); }
TYPED_TEST(TeamScratch, HasScratchMemoryOfLevelOne) { expect_scratch_memory<TypeParam, 1>(); }

// More than a GPU's blocks have without asking, and level 1 larger than all of level 0.
struct FillLargeScratch {
  index_t fast, large;
  STRATA_FUNCTION void operator()(const auto& member, auto sums) const {
    const auto a = scratch_view<index_t>(member, 0, fast);
    const auto b = scratch_view<index_t>(member, 1, large);
    const index_t team = member.league_rank();
    parallel_for(team_vector_range(member, fast), [&](index_t i) { a(i) = team; });
    parallel_for(team_vector_range(member, large), [&](index_t i) { b(i) = team + i; });
    member.barrier();
    index_t sum;
    parallel_reduce(
        team_vector_range(member, large), [&](index_t i, index_t& s) { s += b(i) + a(i % fast); }, sum);
    single(per_team(member), [&] { sums(team) = sum; });
  }
};

TYPED_TEST(TeamScratch, HasMuchScratchMemoryOfBothLevelsForMoreTeamsThanRunAtATime) {
  using D = TypeParam;
  constexpr index_t league = 400, fast = 12000, large = 40000;
  const auto sums = create<Vector<index_t, D>>("sums", league);

  parallel_for(teams(league, 4)
                   .vector(32)
                   .scratch(0, scratch_bytes<index_t>(fast))
                   .scratch(1, scratch_bytes<index_t>(large)),
               with(FillLargeScratch{fast, large}, sums));

  const auto values = values_of(sums);
  for (index_t team = 0; team < league; ++team)
    ASSERT_EQ(values[static_cast<std::size_t>(team)], large * (large - 1) / 2 + 2 * team * large);
}

}  // namespace
