// Which rows devices keep for each other: as data, against what passes read.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include <strata/algorithms/streaming/plan/seam_plan.hpp>

namespace {

using namespace strata;
using namespace strata::detail;
using namespace strata::detail::streaming;

using Rows = ResidentRows;
const auto everywhere = [](std::size_t, std::size_t) { return true; };

std::vector<std::vector<index_t>> as_lists(const std::vector<SeamPlan::Source>& sources) {
  std::vector<std::vector<index_t>> all;
  for (const SeamPlan::Source& s : sources)
    all.push_back(s.run == SeamPlan::from_host
                      ? std::vector<index_t>{-1, s.rows.begin, s.rows.end}
                      : std::vector<index_t>{s.run, s.end, s.rows.begin, s.rows.end});
  return all;
}
using Lists = std::vector<std::vector<index_t>>;

TEST(SeamPlan, NeighboursKeepWhatIsReadOfTheirEnds) {
  const SeamPlan plan(30, false, {{{0, 10}, {0, 13}}, {{10, 20}, {8, 23}}, {{20, 30}, {18, 30}}}, everywhere);

  EXPECT_EQ(plan.kept(0)[0].end, 0);  // nobody is before it
  EXPECT_EQ(plan.kept(0)[1].begin, 8);
  EXPECT_EQ(plan.kept(1)[0].end, 13);
  EXPECT_EQ(plan.kept(1)[1].begin, 18);
  EXPECT_EQ(plan.kept(2)[0].end, 23);
  EXPECT_EQ(plan.kept(2)[1].begin, 30);
  EXPECT_EQ(as_lists(plan.sources(1, {8, 23})), (Lists{{0, 1, 8, 10}, {-1, 10, 20}, {2, 0, 20, 23}}));
  EXPECT_EQ(as_lists(plan.sources(1, {9, 12})), (Lists{{0, 1, 9, 10}, {-1, 10, 12}}));
  EXPECT_EQ(as_lists(plan.sources(0, {5, 10})), (Lists{{-1, 5, 10}}));
}
TEST(SeamPlan, AroundARingTheEndsAreNeighbours) {
  const SeamPlan plan(30, true, {{{0, 15}, {-3, 17}}, {{15, 30}, {12, 32}}}, everywhere);

  EXPECT_EQ(plan.kept(0)[0].end, 2);
  EXPECT_EQ(plan.kept(0)[1].begin, 12);
  EXPECT_EQ(plan.kept(1)[0].end, 17);
  EXPECT_EQ(plan.kept(1)[1].begin, 27);
  EXPECT_EQ(as_lists(plan.sources(0, {27, 30})), (Lists{{1, 1, 27, 30}}));
  EXPECT_EQ(as_lists(plan.sources(1, {0, 2})), (Lists{{0, 0, 0, 2}}));
}
TEST(SeamPlan, PartsThatAreShortAreKeptAsAWhole) {
  const SeamPlan plan(24, false, {{{0, 10}, {0, 17}}, {{10, 12}, {3, 19}}, {{12, 24}, {5, 24}}}, everywhere);

  EXPECT_EQ(plan.kept(1)[0].begin, 10);
  EXPECT_EQ(plan.kept(1)[0].end, 12);
  EXPECT_EQ(plan.kept(1)[1].begin, plan.kept(1)[1].end);
  EXPECT_EQ(plan.kept(0)[1].begin, 3);
  EXPECT_EQ(plan.kept(2)[0].end, 19);
  EXPECT_EQ(as_lists(plan.sources(0, {9, 17})), (Lists{{-1, 9, 10}, {1, 0, 10, 12}, {2, 0, 12, 17}}));
}
TEST(SeamPlan, WithoutAWayTheHostHasTheRows) {
  const auto beside_the_first = [](std::size_t from, std::size_t to) { return from != 0 && to != 0; };
  const std::vector<SeamPlan::Run> runs{{{0, 10}, {0, 13}}, {{10, 20}, {8, 23}}, {{20, 30}, {18, 30}}};
  const SeamPlan plan(30, false, runs, beside_the_first);

  EXPECT_EQ(plan.kept(0)[1].begin, 10);
  EXPECT_EQ(plan.kept(1)[0].end, 10);
  EXPECT_EQ(as_lists(plan.sources(1, {8, 23})), (Lists{{-1, 8, 20}, {2, 0, 20, 23}}));
  EXPECT_TRUE(SeamPlan(30, false, runs, [](std::size_t, std::size_t) { return false; }).empty());
}

// Passes of random problems: each row that a run uploads comes once, from who has it.
StreamProblem problem_of(index_t rows, index_t left, index_t right, bool cyclic, index_t align) {
  StreamProblem problem;
  problem.label = "steps";
  problem.work = cyclic ? Rows{0, rows} : Rows{left, rows - right};
  problem.align = align;
  StreamArray array;
  array.label = "u";
  array.use = StreamArray::Use::State;
  array.rows = rows;
  array.row_bytes = 8;
  array.left = left;
  array.right = right;
  array.cyclic = cyclic;
  problem.arrays = {array};
  return problem;
}
TEST(SeamPlan, RowsBeyondAPartAllComeFromThoseWhoKeepThem) {
  for (unsigned seed = 0; seed < 400; ++seed) {
    std::mt19937 random(seed);
    const auto pick = [&](int low, int high) {
      return low + static_cast<int>(random() % static_cast<unsigned>(high - low + 1));
    };
    const index_t left = pick(0, 3), right = pick(0, 3), align = pick(1, 3);
    const bool cyclic = random() % 2 == 0;
    const int steps = pick(1, 5), count = pick(2, 4);
    const StreamScheduler scheduler = random() % 2 == 0 ? StreamScheduler::Carry : StreamScheduler::Overlap;
    std::vector<index_t> cuts{0};
    for (int k = 0; k < count; ++k) cuts.push_back(cuts.back() + pick(1, 30) * align);
    const index_t rows = cuts.back();
    if (rows < left + right + 1) continue;
    std::vector<StreamProblem> problems;
    std::vector<SeamPlan::Run> runs;
    for (int k = 0; k < count; ++k) {
      problems.push_back(problem_of(rows, left, right, cyclic, align));
      problems.back().part = {cuts[static_cast<std::size_t>(k)], cuts[static_cast<std::size_t>(k) + 1]};
      runs.push_back({problems.back().part, rows_read(problems.back(), scheduler, steps)});
    }
    const SeamPlan plan(rows, cyclic, runs, everywhere);
    for (std::size_t k = 0; k < runs.size(); ++k) {
      const index_t chunk = align * pick(1, 10);
      const StreamPass pass = scheduler == StreamScheduler::Carry ? carry_pass(problems[k], chunk, steps)
                                                                  : overlap_pass(problems[k], chunk, steps);
      index_t between = 0;
      for (const StreamTile& tile : pass.tiles)
        for (const StreamCopy& copy : tile.uploads) {
          index_t next = copy.rows.begin;
          for (const SeamPlan::Source& source : plan.sources(k, copy.rows)) {
            ASSERT_EQ(source.rows.begin, next) << seed;
            next = source.rows.end;
            for (index_t row = source.rows.begin; row < source.rows.end; ++row) {
              const bool own = row >= runs[k].part.begin && row < runs[k].part.end;
              ASSERT_EQ(own, source.run == SeamPlan::from_host) << seed << ": row " << row;
              if (own) continue;
              ++between;
              const auto j = static_cast<std::size_t>(source.run);
              ASSERT_NE(j, k);
              const Rows kept = plan.kept(j)[static_cast<std::size_t>(source.end)];
              ASSERT_TRUE(row >= kept.begin && row < kept.end) << seed << ": row " << row;
              ASSERT_TRUE(kept.begin >= runs[j].part.begin && kept.end <= runs[j].part.end) << seed;
            }
          }
          ASSERT_EQ(next, copy.rows.end) << seed;
        }
      EXPECT_EQ(plan.empty() ? 0 : plan.bytes_between(k, problems[k], pass), 8 * between);
      // What goes home is what is kept, once.
      for (const Rows kept : plan.empty() ? std::array<Rows, 2>{} : plan.kept(k)) {
        index_t home = 0;
        for (const StreamTile& tile : pass.tiles)
          for (const StreamCopy& copy : tile.downloads)
            home += std::max<index_t>(
                0, std::min(kept.end, copy.rows.end) - std::max(kept.begin, copy.rows.begin));
        EXPECT_EQ(home, kept.end - kept.begin) << seed;
      }
    }
  }
}

}  // namespace
