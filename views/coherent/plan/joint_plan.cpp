// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>

#include <strata/views/coherent/plan/copy_planner.hpp>
#include <strata/views/coherent/plan/joint_plan.hpp>
#include <strata/views/coherent/plan/work_order.hpp>

namespace strata::inline STRATA_ABI::detail {

namespace {

void add_boxes(std::vector<Box>& region, const std::vector<Box>& more) {
  region.insert(region.end(), more.begin(), more.end());
  merge(region);
}

// Operations have numbers from 1 as works, in the order of the list.
class Planner {
 public:
  Planner(const std::vector<Directory>& directories, const std::vector<index_t>& element_bytes,
          const MemoryLinks& links)
      : element_bytes_(element_bytes), links_(links) {
    plan_.before = plan_.after = directories;
  }

  void add(int number, const JointLaunch& launch) {
    for (const JointPart& part : launch) kernels_[part.memory] = part.queue;
    copy_what_is_read(launch);
    for (const JointPart& part : launch)
      for (const JointUse& use : part.uses)
        if (writes(use.mode))
          for (const Box& box : use.region) change({use.array, part.memory, box, false});
    for (std::size_t p = 0; p < launch.size(); ++p) add_kernels(number, static_cast<int>(p), launch[p]);
  }
  JointPlan finish() {
    for (auto& [place, touched] : touched_) plan_.touched.push_back(std::move(touched));
    return std::move(plan_);
  }

 private:
  void copy_what_is_read(const JointLaunch& launch) {
    CopyPlanner planner(links_);
    for (const JointPart& part : launch)
      for (const JointUse& use : part.uses) {
        if (!reads(use.mode)) continue;
        const auto a = static_cast<std::size_t>(use.array);
        for (const Box& box : use.region)
          planner.read(use.array, plan_.after[a], element_bytes_[a], part.memory, box);
      }
    for (const PlannedCopy& copy : planner.copies()) {
      WorkList after;
      order(copy.array, copy.from).before_read(copy.box, after);
      JointOperation operation{JointOperation::Kind::Copy, copy_queue(launch, copy, after), {}};
      order(copy.array, copy.to).before_write(copy.box, after);
      operation.array = copy.array;
      operation.box = copy.box;
      operation.from = copy.from;
      operation.to = copy.to;
      const Work work = enqueue(std::move(operation), after);
      note(copy.array, copy.from, AccessMode::In, {copy.box}, work);
      note(copy.array, copy.to, AccessMode::Out, {copy.box}, work);
      change({copy.array, copy.to, copy.box, true});
    }
  }

  // A short copy of what a kernel has just made follows that on its own queue: a queue that waits for another
  // one begins late, by more than the copy takes. Not where work items that need none of it run meanwhile.
  int copy_queue(const JointLaunch& launch, const PlannedCopy& copy, const WorkList& makers) {
    if (copy.from == host_memory) return queue(JointQueue::Kind::Upload, copy.to);
    if (copy.to == host_memory) return queue(JointQueue::Kind::Download, copy.from);
    const double bytes = static_cast<double>(copy.box.size()) *
                         static_cast<double>(element_bytes_[static_cast<std::size_t>(copy.array)]);
    const auto kernels = kernels_.find(copy.from);
    const bool is_hidden = std::any_of(launch.begin(), launch.end(), [&](const JointPart& part) {
      return part.memory == copy.to && part.has_early;
    });
    if (kernels != kernels_.end() && !is_hidden && links_.is_short(copy.from, copy.to, bytes)) {
      const int made_by = queue(JointQueue::Kind::Kernels, kernels->second);
      for (const Work maker : makers)
        if (maker.queue == made_by) return made_by;
    }
    return queue(JointQueue::Kind::Peer, copy.to);
  }

  void add_kernels(int launch, int number, const JointPart& part) {
    const int mine = queue(JointQueue::Kind::Kernels, part.queue);
    if (plan_.first_kernels < 0) plan_.first_kernels = mine;
    WorkList all, early;
    for (const JointUse& use : part.uses) {
      collect(use.mode, order(use.array, part.memory), use.region, all);
      if (part.has_early) collect(use.mode, order(use.array, part.memory), use.early, early);
    }
    const auto is_mine = [&](Work work) { return work.queue == mine; };
    all.forget(is_mine);
    early.forget(is_mine);
    const auto kernel = [&](JointOperation::Kind kind, const WorkList& after) {
      JointOperation operation{kind, mine, {}};
      operation.launch = launch;
      operation.part = number;
      return enqueue(std::move(operation), after);
    };
    Work last;
    if (part.has_early && !(early == all)) {
      kernel(JointOperation::Kind::Early, early);
      last = kernel(JointOperation::Kind::Rest, all);
    } else {
      last = kernel(JointOperation::Kind::All, all);
    }
    for (const JointUse& use : part.uses) note(use.array, part.memory, use.mode, use.region, last);
  }

  static void collect(AccessMode mode, const WorkOrder& order, const std::vector<Box>& region,
                      WorkList& after) {
    for (const Box& box : region)
      if (writes(mode)) order.before_write(box, after);
      else order.before_read(box, after);
  }

  int queue(JointQueue::Kind kind, int number) {
    const JointQueue wanted{kind, number};
    const auto known = std::find(plan_.queues.begin(), plan_.queues.end(), wanted);
    if (known != plan_.queues.end()) return static_cast<int>(known - plan_.queues.begin());
    plan_.queues.push_back(wanted);
    return static_cast<int>(plan_.queues.size()) - 1;
  }

  // A queue that has waited for an operation has waited for all before that on the same queue.
  Work enqueue(JointOperation&& operation, const WorkList& after) {
    for (const Work work : after) {
      if (work.queue == operation.queue) continue;
      std::uint64_t& waited = waited_[{operation.queue, work.queue}];
      if (work.number <= waited) continue;
      waited = work.number;
      operation.after.push_back(static_cast<int>(work.number) - 1);
      plan_.operations[work.number - 1].is_awaited = true;
    }
    const int on = operation.queue;
    plan_.operations.push_back(std::move(operation));
    return {on, plan_.operations.size()};
  }

  void note(int array, MemoryId memory, AccessMode mode, const std::vector<Box>& region, Work work) {
    WorkOrder& noted = order(array, memory);
    for (const Box& box : region)
      if (writes(mode)) noted.written(box, work);
      else noted.read(box, work);
    JointPlan::Touched& touched =
        touched_.try_emplace({array, memory}, JointPlan::Touched{array, memory, {}, {}}).first->second;
    if (reads(mode)) add_boxes(touched.read, remainder(remainder(region, touched.written), touched.read));
    if (writes(mode)) add_boxes(touched.written, remainder(region, touched.written));
  }

  // Of changes that come again the last one is kept: what is so for an index is decided by the last time that
  // it is written, and by the copies since.
  void change(const JointPlan::Change& made) {
    Directory& directory = plan_.after[static_cast<std::size_t>(made.array)];
    if (made.is_copy) directory.copied(made.memory, made.box);
    else directory.written(made.memory, made.box);
    std::erase(plan_.changes, made);
    plan_.changes.push_back(made);
  }

  WorkOrder& order(int array, MemoryId memory) {
    return orders_.try_emplace({array, memory}, plan_.before[static_cast<std::size_t>(array)].domain())
        .first->second;
  }

  using Place = std::pair<int, MemoryId>;
  const std::vector<index_t>& element_bytes_;
  const MemoryLinks& links_;
  JointPlan plan_;
  std::map<Place, WorkOrder> orders_;
  std::map<Place, JointPlan::Touched> touched_;
  std::map<std::pair<int, int>, std::uint64_t> waited_;  // by a queue for another one
  std::map<MemoryId, int> kernels_;                      // the queue of the kernels of a memory's device
};

}  // namespace

JointPlan plan_jointly(const std::vector<JointLaunch>& launches, const std::vector<Directory>& directories,
                       const std::vector<index_t>& element_bytes, const MemoryLinks& links) {
  Planner planner(directories, element_bytes, links);
  for (std::size_t k = 0; k < launches.size(); ++k) planner.add(static_cast<int>(k), launches[k]);
  return planner.finish();
}

}  // namespace strata::inline STRATA_ABI::detail
