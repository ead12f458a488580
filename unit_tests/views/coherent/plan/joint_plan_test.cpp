// JointPlan: random launches on several devices, whose plan is carried out on plain vectors in any order that
// its waits allow: the values are those of the launches one after the other.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <strata/views/coherent/plan/joint_plan.hpp>

#include "core/random.hpp"

namespace {

using namespace strata;
using namespace strata::detail;
using strata_tests::Random;
using Values = std::vector<std::uint64_t>;
using Kind = JointOperation::Kind;

std::size_t at(index_t i) { return static_cast<std::size_t>(i); }
Box line(index_t begin, index_t end) { return Box({begin}, {end}); }
std::vector<Box> region(index_t begin, index_t end, index_t n) {
  begin = std::max(begin, index_t{0});
  end = std::min(end, n);
  return begin < end ? std::vector{line(begin, end)} : std::vector<Box>{};
}

// y(i) = mixed(y(i) where it is read, x(i - left) to x(i + right)), over rows that each part has some of.
struct Launch {
  int x, y;
  bool reads_y;
  index_t left, right;
  std::vector<index_t> cuts;  // part p has rows cuts[p] to cuts[p + 1]
  std::uint64_t salt;

  std::uint64_t value(const Values& xs, const Values& ys, index_t i) const {
    std::uint64_t sum = salt + (reads_y ? 3 * ys[at(i)] : 0);
    for (index_t k = std::max(i - left, index_t{0}); k <= std::min(i + right, std::ssize(xs) - 1); ++k)
      sum = sum * 0x9e3779b97f4a7c15u + xs[at(k)];
    return sum;
  }
  // Of a part, those that need no row of others.
  std::pair<index_t, index_t> early(std::size_t part) const {
    const index_t begin = cuts[part] + left, end = cuts[part + 1] - right;
    return left + right > 0 && begin < end ? std::pair{begin, end} : std::pair{cuts[part], cuts[part]};
  }
  JointLaunch planned(index_t n) const {
    JointLaunch parts;
    for (std::size_t p = 0; p + 1 < cuts.size(); ++p) {
      const auto [first, last] = early(p);
      const auto uses = [&](index_t begin, index_t end) {
        return begin < end ? region(begin - left, end + right, n) : std::vector<Box>{};
      };
      parts.push_back({static_cast<int>(p),
                       static_cast<MemoryId>(p) + 1,
                       {{x, AccessMode::In, uses(cuts[p], cuts[p + 1]), uses(first, last)},
                        {y, reads_y ? AccessMode::InOut : AccessMode::Out, region(cuts[p], cuts[p + 1], n),
                         region(first, last, n)}},
                       first < last});
    }
    return parts;
  }
};

class Program {
 public:
  explicit Program(Random& random) : random_(random) {
    devices_ = static_cast<int>(random_(1, 4));
    n_ = random_(1, 40);
    arrays_ = static_cast<int>(random_(2, 3));
    for (int a = 0; a < arrays_; ++a) {
      truth_.push_back({});
      for (index_t i = 0; i < n_; ++i) truth_.back().push_back(next_++);
      directories_.emplace_back(line(0, n_), MemorySet{host_memory});
      memories_.push_back(std::vector(at(devices_) + 1, Values(at(n_), 0)));
      memories_.back()[host_memory] = truth_.back();
    }
    const index_t count = random_(1, 4);
    for (index_t k = 0; k < count; ++k) launches_.push_back(any_launch());
  }

  // The plans of several steps, each from where the one before has left all.
  void run() {
    const MemoryLinks links(devices_ + 1, {1e-5, 55e9},
                            random_(0, 1) == 0 ? MemoryLink{} : MemoryLink{1e-5, 395e9});
    const index_t repeated = random_(1, 3);
    std::vector<JointLaunch> planned;
    for (index_t k = 0; k < repeated; ++k)
      for (const Launch& launch : launches_) planned.push_back(launch.planned(n_));
    for (int step = 0; step < 3 && !::testing::Test::HasFailure(); ++step) {
      const JointPlan plan = plan_jointly(planned, directories_, std::vector<index_t>(at(arrays_), 8), links);
      const auto before = memories_;
      carry_out(plan);
      for (index_t k = 0; k < repeated; ++k)
        for (const Launch& launch : launches_) do_on_truth(launch);
      check(plan, before, step);
      directories_ = plan.after;
    }
  }

 private:
  Launch any_launch() {
    const int x = static_cast<int>(random_(0, arrays_ - 1));
    const int y = (x + static_cast<int>(random_(1, arrays_ - 1))) % arrays_;
    const index_t width = random_(0, 1) == 0 ? 0 : 2;
    Launch launch{x, y, random_(0, 1) == 0, random_(0, width), random_(0, width), {0, n_}, next_++};
    for (int p = 1; p < devices_; ++p) launch.cuts.push_back(random_(0, n_));
    std::sort(launch.cuts.begin(), launch.cuts.end());
    return launch;
  }
  void do_on_truth(const Launch& launch) {
    const Values old = truth_[at(launch.y)];
    for (index_t i = 0; i < n_; ++i) truth_[at(launch.y)][at(i)] = launch.value(truth_[at(launch.x)], old, i);
  }

  void carry_out(const JointPlan& plan) {
    std::vector<std::size_t> order(plan.operations.size());
    std::set<int> done;
    std::vector<std::vector<int>> queues(plan.queues.size());
    for (int k = 0; k < static_cast<int>(order.size()); ++k)
      queues[at(plan.operations[at(k)].queue)].push_back(k);
    while (done.size() < plan.operations.size()) {
      std::vector<std::size_t> ready;
      for (std::size_t q = 0; q < queues.size(); ++q) {
        if (queues[q].empty()) continue;
        const auto& after = plan.operations[at(queues[q].front())].after;
        if (std::all_of(after.begin(), after.end(), [&](int k) { return done.contains(k); }))
          ready.push_back(q);
      }
      ASSERT_FALSE(ready.empty()) << "operations wait for each other";
      std::vector<int>& queue = queues[ready[at(random_(0, std::ssize(ready) - 1))]];
      carry_out(plan.operations[at(queue.front())]);
      done.insert(queue.front());
      queue.erase(queue.begin());
    }
    for (const JointOperation& operation : plan.operations)
      for (const int k : operation.after) {
        EXPECT_TRUE(plan.operations[at(k)].is_awaited);
      }
  }
  void carry_out(const JointOperation& operation) {
    if (operation.kind == Kind::Copy) {
      auto& memories = memories_[at(operation.array)];
      for (index_t i = operation.box.lower(0); i < operation.box.upper(0); ++i)
        memories[at(operation.to)][at(i)] = memories[at(operation.from)][at(i)];
      return;
    }
    const Launch& launch = launches_[at(operation.launch) % launches_.size()];
    const auto part = at(operation.part);
    const Values& x = memories_[at(launch.x)][part + 1];
    Values& y = memories_[at(launch.y)][part + 1];
    const auto [first, last] = launch.early(part);
    for (index_t i = launch.cuts[part]; i < launch.cuts[part + 1]; ++i)
      if (operation.kind == Kind::All || (operation.kind == Kind::Early) == (first <= i && i < last))
        y[at(i)] = launch.value(x, y, i);
  }

  void check(const JointPlan& plan, const std::vector<std::vector<Values>>& before, int step) {
    std::vector<Directory> changed = plan.before;
    for (const JointPlan::Change& change : plan.changes)
      if (change.is_copy) changed[at(change.array)].copied(change.memory, change.box);
      else changed[at(change.array)].written(change.memory, change.box);
    for (int a = 0; a < arrays_; ++a) {
      EXPECT_TRUE(changed[at(a)].same_as(plan.after[at(a)]));
      if (step > 0) {
        EXPECT_TRUE(plan.after[at(a)].same_as(plan.before[at(a)])) << "a second time changes nothing";
      }
      plan.after[at(a)].map().visit(line(0, n_), [&](const Box& box, MemorySet memories) {
        EXPECT_FALSE(memories.empty());
        memories.visit([&](MemoryId m) {
          for (index_t i = box.lower(0); i < box.upper(0); ++i)
            EXPECT_EQ(memories_[at(a)][at(m)][at(i)], truth_[at(a)][at(i)]) << "array " << a << " in " << m;
        });
      });
      for (MemoryId m = 0; m <= devices_; ++m)
        for (index_t i = 0; i < n_; ++i)
          if (memories_[at(a)][at(m)][at(i)] != before[at(a)][at(m)][at(i)]) {
            EXPECT_TRUE(is_touched(plan, a, m, i)) << "element " << i << " of array " << a << " in " << m;
          }
    }
  }
  static bool is_touched(const JointPlan& plan, int array, MemoryId memory, index_t i) {
    for (const JointPlan::Touched& touched : plan.touched)
      if (touched.array == array && touched.memory == memory)
        for (const Box& box : touched.written)
          if (box.lower(0) <= i && i < box.upper(0)) return true;
    return false;
  }

  Random& random_;
  int devices_, arrays_;
  index_t n_;
  std::uint64_t next_ = 1;
  std::vector<Values> truth_;
  std::vector<std::vector<Values>> memories_;  // of an array, in a memory
  std::vector<Directory> directories_;
  std::vector<Launch> launches_;
};

TEST(JointPlan, InAnyOrderThatItAllowsHasTheValuesOfItsLaunches) {
  Random random;
  const int programs = strata_tests::trials(1000);
  for (int k = 0; k < programs && !HasFailure(); ++k) {
    SCOPED_TRACE("program " + std::to_string(k));
    Program(random).run();
  }
}

// Two devices, u to v and back.
std::vector<JointLaunch> stencil_step(index_t n) {
  const Launch there{0, 1, false, 1, 1, {0, n / 2, n}, 0}, back{1, 0, false, 1, 1, {0, n / 2, n}, 0};
  return {there.planned(n), back.planned(n)};
}
TEST(JointPlan, OfAStencilStepCopiesHalosAndLaunchesWhatNeedsNoneFirst) {
  const index_t n = 100;
  std::vector<Directory> directories(2, Directory(line(0, n), MemorySet{host_memory}));
  for (int a = 0; a < 2; ++a) {
    directories[at(a)].written(1, line(0, n / 2));
    directories[at(a)].written(2, line(n / 2, n));
  }
  const MemoryLinks links(3, {1e-5, 55e9}, {1e-5, 395e9});
  const auto plan = [&] { return plan_jointly(stencil_step(n), directories, {8, 8}, links); };
  directories = plan().after;

  const JointPlan step = plan();

  const auto count = [&](Kind kind) {
    return std::count_if(step.operations.begin(), step.operations.end(),
                         [&](const JointOperation& o) { return o.kind == kind; });
  };
  EXPECT_EQ(count(Kind::Copy), 4);  // a row each way, twice; the last kernel's rows were copied for the first
  EXPECT_EQ(count(Kind::Early), 4);
  EXPECT_EQ(count(Kind::Rest), 4);
  EXPECT_EQ(count(Kind::All), 0);
  for (int a = 0; a < 2; ++a) EXPECT_TRUE(step.after[at(a)].same_as(step.before[at(a)]));
}
// A value that the first device makes and all read, or one of many bytes; maybe with work that needs none of
// it first.
JointPlan plan_of_shared_value(index_t bytes, bool has_early) {
  const MemoryLinks links(4, {1e-5, 55e9}, {1e-5, 395e9});
  const std::vector<Directory> directories(1, Directory(line(0, 1), MemorySet{host_memory}));
  JointLaunch make, take;
  make.push_back({0, 1, {{0, AccessMode::Out, {line(0, 1)}, {}}}, false});
  for (int p = 0; p < 3; ++p)
    take.push_back({p, static_cast<MemoryId>(p + 1), {{0, AccessMode::In, {line(0, 1)}, {}}}, has_early});
  return plan_jointly({make, take}, directories, {bytes}, links);
}
TEST(JointPlan, ShortCopiesFollowTheirMakerOnItsQueueUnlessWorkHidesThem) {
  const auto queues_of = [](const JointPlan& plan) {
    std::vector<JointQueue> queues;
    for (const JointOperation& o : plan.operations)
      if (o.kind == Kind::Copy) {
        EXPECT_EQ(o.from, 1) << "the copies begin together: none waits for another device's";
        queues.push_back(plan.queues[at(o.queue)]);
      }
    return queues;
  };
  using Queue = JointQueue::Kind;
  const JointQueue maker{Queue::Kernels, 0};
  EXPECT_EQ(queues_of(plan_of_shared_value(64, false)), (std::vector{maker, maker}));
  EXPECT_EQ(queues_of(plan_of_shared_value(64, true)),
            (std::vector{JointQueue{Queue::Peer, 2}, JointQueue{Queue::Peer, 3}}));
  const JointPlan large = plan_of_shared_value(index_t{1} << 30, false);
  for (const JointOperation& o : large.operations)
    if (o.kind == Kind::Copy) {
      EXPECT_EQ(large.queues[at(o.queue)].kind, Queue::Peer);
    }
}
TEST(JointPlan, OfManyStepsChangesNoMoreThanThatOfOne) {
  const index_t n = 100;
  const std::vector<Directory> directories(2, Directory(line(0, n), MemorySet{host_memory}));
  const MemoryLinks links(3, {1e-5, 55e9}, {1e-5, 395e9});
  std::vector<JointLaunch> steps;
  const auto changes_of = [&](int count) {
    steps.clear();
    for (int k = 0; k < count; ++k)
      for (const JointLaunch& launch : stencil_step(n)) steps.push_back(launch);
    return plan_jointly(steps, directories, {8, 8}, links).changes.size();
  };

  EXPECT_EQ(changes_of(16), changes_of(2));
}

}  // namespace
