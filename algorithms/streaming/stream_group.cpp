// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <string>
#include <thread>
#include <utility>

#include <strata/algorithms/streaming/stream_arrays.hpp>
#include <strata/algorithms/streaming/stream_failure.hpp>
#include <strata/algorithms/streaming/stream_gate.hpp>
#include <strata/algorithms/streaming/stream_group.hpp>
#include <strata/algorithms/streaming/stream_seams.hpp>
#include <strata/core/error.hpp>
#include <strata/core/floor_div.hpp>
#include <strata/core/log.hpp>
#include <strata/views/coherent/file_storage.hpp>

namespace strata::inline STRATA_ABI::detail::streaming {

namespace {

using Use = StreamArray::Use;

std::string name_of_device(DeviceInstance& device) {
  return std::string(device.device_name()) + " " + std::to_string(device.index());
}
std::string text_of(ResidentRows rows) {
  return "[" + std::to_string(rows.begin) + ", " + std::to_string(rows.end) + ")";
}

}  // namespace

std::vector<std::size_t> parts_with_rows(const std::vector<ResidentRows>& split) {
  std::vector<std::size_t> parts;
  for (std::size_t k = 0; k < split.size(); ++k)
    if (split[k].begin < split[k].end) parts.push_back(k);
  if (parts.empty()) parts.push_back(0);
  return parts;
}

StreamGroup::StreamGroup(StreamProblem problem, std::vector<Ref<CoherentState>> arrays)
    : problem_(static_cast<StreamProblem&&>(problem)),
      states_(static_cast<std::vector<Ref<CoherentState>>&&>(arrays)) {
  complete_problem(problem_, states_);
}

StreamGroup::~StreamGroup() = default;

ResidentRows StreamGroup::rows() const {
  for (const StreamArray& array : problem_.arrays)
    if (array.use == Use::State) return {0, array.rows};
  return problem_.work;
}

std::vector<ResidentRows> StreamGroup::split(std::size_t devices, const std::vector<double>& weights) const {
  index_t align = problem_.align;
  for (const StreamArray& array : problem_.arrays) align = std::max(align, array.align);
  const ResidentRows all = rows();
  return split_range(all.begin, all.end, devices, weights, align);
}

void StreamGroup::add(DeviceInstance& device, QueueState& compute, ResidentRows part) {
  StreamProblem mine = problem_;
  const ResidentRows all = rows();
  // A device that has all of a state may change it in place.
  if (!problem_.has_states()) mine.work = part;
  else if (part.begin != all.begin || part.end != all.end) mine.part = part;
  runs_.push_back(
      Ref<StreamRun>(new StreamRun(device, compute, static_cast<StreamProblem&&>(mine), states_)));
  parts_.push_back(part);
}

// ---- plans

void StreamGroup::plan(index_t budget, const StreamOptions& options, const std::string& kernel,
                       const std::vector<index_t>& reserved) {
  if (runs_.size() > 1) {
    check_writes();
    for (const Ref<StreamRun>& run : runs_) run->use_host_for_files();
  }
  if (runs_.size() > 1 && problem_.has_states()) return plan_steps(budget, options, kernel);
  for (std::size_t k = 0; k < runs_.size(); ++k)
    runs_[k]->plan(budget - (k < reserved.size() ? reserved[k] : 0), options, kernel);
}

// The rows that the runs keep for each other with these steps a pass; null: none.
Ref<StreamSeams> StreamGroup::seams_for(const StreamOptions& one) const {
  const int steps = std::min(std::max(one.steps_per_pass, 1), problem_.steps);
  const int passes = (problem_.steps + steps - 1) / steps;
  if (passes < 2) return {};
  // Of two passes only the last one reads kept rows.
  const int steps_reading = passes == 2 ? problem_.steps - steps : steps;
  std::vector<SeamPlan::Run> members;
  for (std::size_t k = 0; k < runs_.size(); ++k)
    members.push_back({parts_[k], rows_read(runs_[k]->problem(), one.scheduler, steps_reading)});
  const bool cyclic =
      std::any_of(problem_.arrays.begin(), problem_.arrays.end(),
                  [](const StreamArray& array) { return array.use == Use::State && array.cyclic; });
  SeamPlan plan(rows().end, cyclic, members, [&](std::size_t from, std::size_t to) {
    DeviceInstance &there = runs_[from]->device(), &here = runs_[to]->device();
    return !there.host_accessible() && !here.host_accessible() && here.copy_cost(there).bytes_per_second > 0;
  });
  if (plan.empty()) return {};
  return Ref<StreamSeams>(new StreamSeams(static_cast<SeamPlan&&>(plan), problem_, passes));
}

// Whether the memory for kept rows makes slices so little smaller that plans are about the same.
bool StreamGroup::takes_little(const StreamSeams& seams, index_t budget) const {
  constexpr index_t part = 16;
  for (std::size_t k = 0; k < runs_.size(); ++k)
    if (seams.bytes(k) > budget / part) return false;
  return true;
}

// Plans all runs so, and notes the time of the slowest. False: they do not fit, or there are no seams.
bool StreamGroup::take(Choice& choice, index_t budget, const std::string& kernel) {
  choice.seconds = 0;
  seams_ = choice.with_seams ? seams_for(choice.options) : Ref<StreamSeams>();
  if (choice.with_seams && !seams_) return false;
  try {
    for (std::size_t k = 0; k < runs_.size(); ++k) {
      const index_t room = budget - (seams_ ? seams_->bytes(k) : 0);
      if (seams_ && room <= 0) return false;
      runs_[k]->plan(room, choice.options, kernel);
      choice.seconds = std::max(choice.seconds, runs_[k]->plan().seconds);
    }
  } catch (const OutOfMemory&) {
    return false;
  }
  return true;
}

// With seams, unless they make slices so much smaller that the launch takes longer. The choice need not be
// the last plan.
bool StreamGroup::choose(const StreamOptions& options, index_t budget, const std::string& kernel,
                         Choice& choice) {
  constexpr double worth_it = 1.05;
  Choice without{options, false}, with{options, true};
  const bool fits_with = take(with, budget, kernel);
  choice = with;
  if (fits_with && takes_little(*seams_, budget)) return true;
  const bool fits = take(without, budget, kernel);
  if (fits && (!fits_with || with.seconds > worth_it * without.seconds)) choice = without;
  return fits || fits_with;
}

// All make the same steps a pass, those with which the slowest is the fastest.
void StreamGroup::plan_steps(index_t budget, const StreamOptions& options, const std::string& kernel) {
  if (options.scheduler == StreamScheduler::EvenOdd)
    throw Error(launch_name("streamed_iterate", problem_) +
                ": even_odd is for one device; over several take carry, overlap or naive");
  std::vector<StreamOptions> candidates;
  const auto add = [&](const StreamPlan& plan) {
    StreamOptions one = options;
    one.scheduler = plan.scheduler;
    one.steps_per_pass = plan.pass.steps;
    const bool there = std::any_of(candidates.begin(), candidates.end(), [&](const StreamOptions& other) {
      return other.scheduler == one.scheduler && other.steps_per_pass == one.steps_per_pass;
    });
    if (!there) candidates.push_back(one);
    return one;
  };
  bool any_seams = false;
  for (std::size_t k = 0; k < runs_.size(); ++k) {
    StreamRun& run = *runs_[k];
    run.plan(budget, options, kernel);
    const Ref<StreamSeams> seams = seams_for(add(run.plan()));
    any_seams = any_seams || seams;
    // With less room fewer steps may be better.
    if (!seams || takes_little(*seams, budget) || options.steps_per_pass > 0) continue;
    try {
      run.plan(budget - seams->bytes(k), options, kernel);
      add(run.plan());
    } catch (const OutOfMemory&) {
      continue;  // there is none: see choose()
    }
  }
  // Plans of their own choice, where all chose the same.
  if (candidates.size() == 1 && !any_seams) return;

  Choice choice, best;
  bool found = false;
  int fewest = candidates.front().steps_per_pass;
  for (const StreamOptions& one : candidates) {
    fewest = std::min(fewest, one.steps_per_pass);
    if (!choose(one, budget, kernel, choice) || (found && choice.seconds >= best.seconds)) continue;
    best = choice;
    found = true;
  }
  // What fits one with its own rows and slots may not fit another.
  StreamOptions fewer = candidates.front();
  fewer.scheduler =
      options.scheduler == StreamScheduler::Automatic ? StreamScheduler::Overlap : options.scheduler;
  for (fewer.steps_per_pass = fewest / 2; !found && fewer.steps_per_pass > 1; fewer.steps_per_pass /= 2)
    found = choose(fewer, budget, kernel, best);
  fewer.steps_per_pass = 1;
  if (!found) found = choose(fewer, budget, kernel, best);
  if (!found) {
    seams_ = {};
    // The message says what is missing.
    for (const Ref<StreamRun>& run : runs_) run->plan(budget, fewer, kernel);
    return;
  }
  if (!take(best, budget, kernel))
    throw Error(launch_name("streaming", problem_) +
                ": another thread measured the same kernel while this one planned; run it again");
  for (std::size_t k = 0; k < runs_.size() && seams_; ++k) runs_[k]->share(*seams_, k);
}

// Each row is written by one device.
void StreamGroup::check_writes() const {
  for (std::size_t a = 0; a < problem_.arrays.size(); ++a) {
    const StreamArray& array = problem_.arrays[a];
    const std::string what =
        launch_name("streaming", problem_) + " over several devices: \"" + array.label + "\" ";
    if (array.use == Use::State && file_storage_of(*states_[a]) != nullptr)
      throw Error(what + "is a state in a file; iterate over it on one device, or keep it in memory");
    if (array.use == Use::State || !writes(array.mode)) continue;
    if (array.use == Use::Whole)
      throw AccessConflict(
          what +
          "is written, and declared to be on each device as a whole; let a work item write its own "
          "row, or use one device");
    const auto written = [&](ResidentRows part) {
      const ResidentRows rows = array.rows_of(part);
      return ResidentRows{std::max<index_t>(rows.begin, 0), std::min(rows.end, array.rows)};
    };
    for (std::size_t k = 0; k < parts_.size(); ++k)
      for (std::size_t j = 0; j < k; ++j) {
        const ResidentRows one = written(parts_[j]), other = written(parts_[k]);
        const index_t begin = std::max(one.begin, other.begin);
        if (begin < std::min(one.end, other.end))
          throw AccessConflict(what + "has row " + std::to_string(begin) + ", which " +
                               name_of_device(runs_[j]->device()) + " and " +
                               name_of_device(runs_[k]->device()) +
                               " would both write; let a work item write its own row, or use one device");
      }
  }
}

// ---- at the same time

void StreamGroup::carry_out(const std::vector<Launch>& launches, bool progress) {
  if (runs_.size() == 1) {
    runs_[0]->run(launches[0], progress);
    seconds_ = runs_[0]->report().seconds;
    return;
  }
  // Before anything is claimed: where there is no memory the arrays stay as they are.
  for (std::size_t k = 0; k < runs_.size(); ++k) {
    runs_[k]->allocate();
    if (seams_) seams_->allocate(k, runs_[k]->device(), states_);
  }
  arrays_ = Ref<StreamArrays>(new StreamArrays(problem_, states_, runs_[0]->in_place()));
  for (const Ref<StreamRun>& run : runs_) run->prepare(*arrays_);
  const auto begin = std::chrono::steady_clock::now();
  StreamGate gate(static_cast<int>(runs_.size()));
  const auto drive = [&](std::size_t k) {
    try {
      runs_[k]->work(launches[k], progress && k == 0, &gate);
    } catch (const StreamStopped&) {
      return;  // another one failed, and says why
    } catch (...) {
      gate.fail(static_cast<int>(k));
    }
  };
  // The calling thread drives a host, if there is one: its kernels may belong to where the caller is.
  std::size_t own = 0;
  while (own < runs_.size() && !runs_[own]->device().host_accessible()) ++own;
  own %= runs_.size();
  std::vector<std::thread> threads;
  bool all_begun = true;
  for (std::size_t k = 0; k < runs_.size() && all_begun; ++k) {
    if (k == own) continue;
    try {
      threads.emplace_back(drive, k);
    } catch (...) {  // those that have begun wait for this one
      gate.fail(static_cast<int>(k));
      all_begun = false;
    }
  }
  if (all_begun) drive(own);
  for (std::thread& thread : threads) thread.join();
  if (gate.error() != nullptr) fail(gate);
  for (const Ref<StreamRun>& run : runs_) run->learn();
  arrays_->end(runs_[0]->result_side());
  seconds_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

void StreamGroup::fail(const StreamGate& gate) const {
  const std::size_t k = static_cast<std::size_t>(gate.failed_run());
  // States are computed from one copy to the other: the first copy is unchanged until a run begins the second
  // pass.
  const bool first_pass = !runs_[0]->in_place() &&
                          std::all_of(runs_.begin(), runs_.end(),
                                      [](const Ref<StreamRun>& run) { return run->passes_begun() <= 1; });
  try {
    std::rethrow_exception(gate.error());
  } catch (...) {
    fail_streaming(launch_name("streaming", problem_) + " failed on " + name_of_device(runs_[k]->device()) +
                       ", which had rows " + text_of(parts_[k]) + ", at " + runs_[k]->progress_made(),
                   runs_[k]->changed_arrays(first_pass));
  }
}

// ---- the report

void add_report(StreamReport& all, const StreamReport& one) {
  all.scheduler = one.scheduler;
  all.chunk = std::max(all.chunk, one.chunk);
  all.slots = std::max(all.slots, one.slots);
  all.steps_per_pass = one.steps_per_pass;
  all.passes = std::max(all.passes, one.passes);
  all.slices += one.slices;
  all.device_bytes = std::max(all.device_bytes, one.device_bytes);
  all.bytes_to_device += one.bytes_to_device;
  all.bytes_to_host += one.bytes_to_host;
  all.bytes_moved += one.bytes_moved;
  all.bytes_direct += one.bytes_direct;
  all.bytes_between_devices += one.bytes_between_devices;
  all.predicted_seconds += one.predicted_seconds;
  all.predicts_virtual = all.predicts_virtual || one.predicts_virtual;
  all.seconds += one.seconds;
  all.devices += one.devices;
  all.pinned = all.pinned && one.pinned;
  all.plan += one.plan;
}

StreamReport StreamGroup::report() const {
  StreamReport all;
  all.devices = 0;
  double predicted = 0;
  for (std::size_t k = 0; k < runs_.size(); ++k) {
    StreamReport one = runs_[k]->report();
    predicted = std::max(predicted, one.predicted_seconds);
    if (runs_.size() > 1)
      one.plan = name_of_device(runs_[k]->device()) + ", rows " + text_of(parts_[k]) + ": " + one.plan;
    add_report(all, one);
  }
  all.predicted_seconds = predicted;
  all.seconds = seconds_;
  if (logs(LogLevel::Info)) {
    std::string text = all.explain();
    while (text.ends_with('\n')) text.pop_back();
    log_message(LogLevel::Info, "%s: %s", launch_name("streaming", problem_).c_str(), text.c_str());
  }
  return all;
}

std::vector<ReductionGroup> stream_groups(StreamGroup& group, index_t block,
                                          std::vector<std::size_t>& first) {
  std::vector<ResidentRows> split;
  std::vector<std::size_t> slices;  // of runs before each
  for (std::size_t k = 0; k < group.size(); ++k) {
    slices.push_back(split.size());
    for (const StreamTile& tile : group.run(k).plan().last.tiles)
      for (const StreamLaunch& launch : tile.launches)
        split.push_back({floor_div(launch.work.begin, block), floor_div(launch.work.end - 1, block) + 1});
  }
  slices.push_back(split.size());
  std::vector<ReductionGroup> groups = groups_of_split(group.problem().work, split, block);
  first.assign(1, 0);
  for (std::size_t k = 0; k < group.size(); ++k) {
    std::size_t next = first.back();
    while (next < groups.size() && groups[next].part < slices[k + 1]) ++next;
    first.push_back(next);
  }
  return groups;
}

}  // namespace strata::inline STRATA_ABI::detail::streaming
