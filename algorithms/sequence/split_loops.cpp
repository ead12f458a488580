// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <memory>

#include <strata/algorithms/sequence/split_loops.hpp>
#include <strata/core/min_max.hpp>
#include <strata/views/coherent/joint_call.hpp>

namespace strata::inline STRATA_ABI::detail::sequences {

namespace {

std::vector<Box> boxes_of(const ArrayPart& part) {
  std::vector<Box> boxes;
  part.visit([&](const Box& box) { boxes.push_back(box); });
  return boxes;
}

}  // namespace

class SplitLoops::Joint : public RefCounted {
 public:
  int first = 0, count = 0;
  // The launches of the loops until they begin anew, each by its loop and the stage of that.
  struct Launch {
    int loop;
    std::size_t stage;
    std::vector<Part> parts;
  };
  std::vector<Launch> launches;
  std::unique_ptr<JointCall> call;

  const Launch& launch(int number) const {
    return launches[static_cast<std::size_t>(number) % launches.size()];
  }
};

void SplitLoops::Part::add_use(const Ref<CoherentState>& array, AccessMode mode, ArrayPart&& region,
                               ArrayPart&& first) {
  ResidentRows used{0, 0};
  region.visit([&](const Box& box) { used = cover(used, array->shape.rows_of(box)); });
  rows.push_back(used);
  uses.push_back({array, mode, std::move(region), std::move(first)});
}

SplitLoops::SplitLoops(const char* label, std::vector<Place> places)
    : DeclaredLoops(label), places_(std::move(places)) {}
SplitLoops::~SplitLoops() = default;

void SplitLoops::add_loop(Loop&& loop) {
  if (has_run_) cursor_.fail_late();
  loops_.push_back(std::move(loop));
  ++cursor_.loops;
}

void SplitLoops::release() { joints_.clear(); }

// Of runs that begin with a loop and have so many, once.
void SplitLoops::check_uses(int first, int count) {
  const std::pair run(first, count);
  if (std::find(checked_.begin(), checked_.end(), run) != checked_.end()) return;
  std::vector<const DeclaredLoops::Loop*> loops;
  for (int k = 0; k < count; ++k) loops.push_back(&loop(first + k));
  static_cast<void>(uses_of(loops));
  checked_.push_back(run);
}

void SplitLoops::run(int count) {
  cursor_.check_count(count);
  if (loops_.empty() || count == 0) return;
  has_run_ = true;
  check_uses(cursor_.next, smaller_of(count, cursor_.loops));
  for (const Results& of_loop : results_) of_loop.begin();
  const int first = cursor_.next, loops = cursor_.loops;
  cursor_.next = 0;
  for (int done = 0; done < count;) {
    const int together = jointly_from(first + done, count - done);
    if (together > 0 && run_jointly((first + done) % loops, together)) {
      done += together;
      continue;
    }
    // At most a step: then arrays are mostly as planned.
    for (const int end = done + larger_of(smaller_of(together, loops), 1); done < end; ++done) {
      Loop& launched = loop(first + done);
      launched.launch((first + done) / loops);
      launched.was_launched = true;
    }
  }
  cursor_.next = (first + count) % loops;
  for (const Results& of_loop : results_) of_loop.finish();
}

// How many loops from `first` on, at most `most`, are to be done in one call; 0: the next one by itself, for
// which launches are kept, too.
int SplitLoops::jointly_from(int first, int most) {
  if (checked_build) return 0;  // which mark what a loop writes only, and look at it, around each launch
  const int loops = cursor_.loops, batch = steps_of_batch * loops;
  int count = 0;
  while (count < smaller_of(most, loops) && !loop(first + count).stages.empty() &&
         loop(first + count).was_launched)
    ++count;
  if (count == loops && most >= batch) return batch;
  return count > 1 ? count : 0;
}

bool SplitLoops::run_jointly(int first, int count) {
  auto kept = std::find_if(joints_.begin(), joints_.end(),
                           [&](const auto& joint) { return joint->first == first && joint->count == count; });
  if (kept == joints_.end()) kept = joints_.insert(kept, make_joint(first, count));
  const Joint& joint = **kept;
  return joint.call->run([&](int number, int p, JointOperation::Kind items) {
    const Joint::Launch& planned = joint.launch(number);
    const Part& part = planned.parts[static_cast<std::size_t>(p)];
    const auto launch = [&](ResidentRows work) {
      if (work.begin >= work.end) return;
      std::vector<char*> bases;
      for (int use = 0; use < static_cast<int>(part.uses.size()); ++use)
        bases.push_back(joint.call->base(number, p, use));
      loop(planned.loop)
          .stages[planned.stage]
          .launch_part({part.place, work, std::move(bases), part.rows.data()});
    };
    if (items == JointOperation::Kind::All) return launch(part.work);
    if (items == JointOperation::Kind::Early) return launch(part.early);
    launch({part.work.begin, part.early.begin});
    launch({part.early.end, part.work.end});
  });
}

Ref<SplitLoops::Joint> SplitLoops::make_joint(int first, int count) {
  Ref<Joint> joint(new Joint);
  joint->first = first;
  joint->count = count;
  for (int k = 0; k < smaller_of(count, cursor_.loops); ++k) {
    const auto& stages = loop(first + k).stages;
    for (std::size_t stage = 0; stage < stages.size(); ++stage)
      joint->launches.push_back({(first + k) % cursor_.loops, stage, stages[stage].parts()});
  }

  std::vector<Ref<CoherentState>> arrays;
  const auto number_of = [&](const Ref<CoherentState>& array) {
    const auto known = std::find(arrays.begin(), arrays.end(), array);
    const auto number = static_cast<int>(known - arrays.begin());
    if (known == arrays.end()) arrays.push_back(array);
    return number;
  };
  std::vector<JointLaunch> launches;
  // Of more loops than there are, whole steps.
  const auto cycles = static_cast<std::size_t>(larger_of(count / cursor_.loops, 1));
  for (std::size_t k = 0; k < cycles * joint->launches.size(); ++k) {
    JointLaunch& launch = launches.emplace_back();
    for (const Part& part : joint->launch(static_cast<int>(k)).parts) {
      JointPart& planned = launch.emplace_back();
      planned.queue = static_cast<int>(part.place);
      planned.has_early = part.early.begin < part.early.end;
      for (const Part::Use& use : part.uses)
        planned.uses.push_back({number_of(use.array), use.mode, boxes_of(use.region), boxes_of(use.early)});
    }
  }
  std::vector<JointCall::Place> places;
  for (const Place& place : places_) places.push_back({place.device, place.queue});
  joint->call = std::make_unique<JointCall>(cursor_.label.c_str(), std::move(arrays), std::move(places),
                                            std::move(launches));
  return joint;
}

}  // namespace strata::inline STRATA_ABI::detail::sequences
