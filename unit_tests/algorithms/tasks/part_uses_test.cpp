// Uses of parts of an array: each task waits for those that a search through all of them finds.
// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include <gtest/gtest.h>

#include <strata/algorithms/tasks/part_uses.hpp>

#include "core/random.hpp"

namespace {

using namespace strata;
using detail::ArrayPart;
using detail::PartUses;
using detail::TaskUse;
using detail::writes;
using strata_tests::Random;

// The same by looking at all.
class AllUses {
 public:
  std::vector<tasks::TaskId> add(tasks::TaskId task, const TaskUse& use) {
    std::vector<tasks::TaskId> before;
    std::vector<Use> kept;
    for (const Use& other : uses_) {
      if ((writes(use.mode) || other.is_writing) && overlap(other.part, use.part))
        before.push_back(other.task);
      if (!(writes(use.mode) && detail::covers(use.part, other.part) && overlap(other.part, use.part)))
        kept.push_back(other);
    }
    uses_ = std::move(kept);
    uses_.push_back({task, use.part, writes(use.mode)});
    return before;
  }

 private:
  struct Use {
    tasks::TaskId task;
    ArrayPart part;
    bool is_writing;
  };
  std::vector<Use> uses_;
};

Box random_box(Random& draw) {
  const index_t a = draw(0, 99), b = draw(0, 19);
  return Box({a, b}, {draw(a, 100), draw(b, 20)});
}

TEST(PartUses, FindWhatTasksHaveToWaitFor) {
  Random draw;
  for (int trial = 0; trial < strata_tests::trials(100); ++trial) {
    PartUses uses;
    AllUses all;
    const index_t count = draw(1, 300);
    for (tasks::TaskId task = 0; task < static_cast<tasks::TaskId>(count); ++task) {
      TaskUse use{{}, static_cast<AccessMode>(draw(0, 2)), {random_box(draw), {}}, false, false};
      if (draw(0, 3) == 0)
        if (const Box more = random_box(draw); !overlap(use.part, {more, {}})) use.part.add(more);
      ASSERT_EQ(uses.add(task, use), all.add(task, use)) << task;
    }
  }
}

TEST(PartUses, ForgetWhatIsOverwritten) {
  PartUses uses;
  TaskUse use{{}, AccessMode::In, {Box({0}, {10}), {}}, false, false};
  for (tasks::TaskId task = 0; task < 1000; ++task) {
    use.mode = task % 3 == 2 ? AccessMode::Out : AccessMode::In;
    uses.add(task, use);
    ASSERT_LE(uses.size(), 3u);
  }
}

}  // namespace
