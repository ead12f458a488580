// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>
#include <utility>

#include <strata/algorithms/streaming/fixed_row.hpp>
#include <strata/algorithms/streaming/plan/stream_plan.hpp>
#include <strata/algorithms/streaming/streamed_sequence.hpp>
#include <strata/core/bytes.hpp>
#include <strata/core/error.hpp>
#include <strata/views/coherent/coherent_state.hpp>
#include <strata/views/coherent/file_storage.hpp>

namespace strata::inline STRATA_ABI::detail {

namespace {

[[noreturn]] void fail_declared(const std::string& label, const std::string& array, const char* how) {
  throw AccessConflict("sequence \"" + label + "\": \"" + array + "\" is declared " + how);
}

}  // namespace

void fail_fixed_row(const char* label, int dimension, index_t extent, index_t given) {
  throw ShapeMismatch("fixed_row: \"" + std::string(label) + "\" has extent " + std::to_string(extent) +
                      " in dimension " + std::to_string(dimension) + ", not " + std::to_string(given));
}

std::vector<std::vector<ReductionGroup>> sequence_groups(const streaming::StreamProblem& problem,
                                                         const streaming::StreamPlan& plan, int loop,
                                                         index_t block, bool any_order) {
  const int loops = static_cast<int>(problem.loops.size());
  const int first = ((loop - problem.first_loop) % loops + loops) % loops;  // of the run's, this loop's first
  const streaming::StreamLoop& data = problem.loops[static_cast<std::size_t>(loop)];
  std::vector<std::vector<ResidentRows>> pieces(
      problem.steps > first ? static_cast<std::size_t>((problem.steps - 1 - first) / loops + 1) : 0);
  int before = 0;
  for (int p = 0; p < plan.passes; ++p) {
    const streaming::StreamPass& pass = plan.pass_number(p);
    for (const streaming::StreamTile& tile : pass.tiles)
      for (const streaming::StreamLaunch& launch : tile.launches) {
        const int number = before + launch.step - 1;
        if (number % loops == first) pieces[static_cast<std::size_t>(number / loops)].push_back(launch.work);
      }
    before += pass.steps;
  }
  std::vector<std::vector<ReductionGroup>> all;
  for (const std::vector<ResidentRows>& of_time : pieces)
    all.push_back(groups_of_pieces(data.work, of_time, block, any_order));
  return all;
}

struct SequenceRuns::Plan {
  int first, count;
  int part;  // so many loops at once: the results of more would take too much room
  int uses;
  index_t budget;              // without that of results
  streaming::StreamPlan plan;  // of such a part
};

SequenceRuns::SequenceRuns(DeviceInstance& device, QueueState& queue, const char* label, index_t budget,
                           const streaming::StreamOptions& options, bool progress, bool only_plan)
    : device_(device),
      queue_(queue),
      budget_(budget),
      options_(options),
      progress_(progress),
      only_plan_(only_plan),
      cursor_{label, 0, 0} {
  if (options.scheduler != StreamScheduler::Automatic)
    throw Error("sequence \"" + cursor_.label + "\": scheduler(" + name_of(options.scheduler) +
                ") is for streamed_iterate; loops of a sequence follow each other in one way");
}
SequenceRuns::~SequenceRuns() = default;

int SequenceRuns::add_array(const Ref<CoherentState>& state, const streaming::StreamArray& declared) {
  if (run_) cursor_.fail_late();
  for (std::size_t a = 0; a < states_.size(); ++a) {
    if (states_[a] != state) continue;
    if (arrays_[a].use != declared.use)
      fail_declared(cursor_.label, state->label,
                    "by rows in one loop, and as a whole in another; declare it by rows in both");
    arrays_[a].regular = arrays_[a].regular && declared.regular;
    if (arrays_[a].mode != declared.mode) arrays_[a].mode = AccessMode::InOut;
    return static_cast<int>(a);
  }
  states_.push_back(state);
  arrays_.push_back(declared);
  return static_cast<int>(states_.size()) - 1;
}

std::vector<streaming::ResidentArrays::Sliced> SequenceRuns::arrays(int count, bool to_second) const {
  std::vector<streaming::ResidentArrays::Sliced> all;
  for (const Ref<CoherentState>& state : states_) all.push_back({state, false, false});
  for (int k = 0; k < std::min(count, loop_count()); ++k) {
    const Loop& loop = loops_[static_cast<std::size_t>((cursor_.next + k) % loop_count())];
    for (const streaming::StreamLoop::Use& use : loop.data.uses) {
      streaming::ResidentArrays::Sliced& here = all[static_cast<std::size_t>(use.array)];
      here.is_used = true;
      here.is_written = here.is_written || writes(use.mode);
    }
  }
  if (!to_second) return all;
  for (const Copies& copies : copies_)
    for (std::size_t a = 0; a < states_.size(); ++a)
      if (states_[a] == copies.first) {
        all.push_back({copies.second, all[a].is_used, all[a].is_written});
        all[a].is_written = false;
      }
  return all;
}

void SequenceRuns::add_loop(Loop&& loop) {
  const streaming::StreamLoop& data = loop.data;
  for (std::size_t k = 0; k < data.uses.size(); ++k) {
    const streaming::StreamLoop::Use& use = data.uses[k];
    const CoherentState& state = *states_[static_cast<std::size_t>(use.array)];
    if (writes(use.mode) &&
        arrays_[static_cast<std::size_t>(use.array)].use == streaming::StreamArray::Use::Whole)
      fail_declared(cursor_.label, state.label, "as a whole, and written: a sequence needs its rows");
    for (std::size_t other = 0; other < k; ++other)
      if (data.uses[other].array == use.array && (writes(use.mode) || writes(data.uses[other].mode)))
        fail_declared(cursor_.label, state.label,
                      ("twice in loop \"" + data.label + "\", and written; declare it once").c_str());
    const Box& domain = state.shape.domain;
    const bool by_rows =
        !use.rows_of && arrays_[static_cast<std::size_t>(use.array)].use == streaming::StreamArray::Use::Rows;
    if (by_rows && domain.rank() > 0 && (data.work.begin < 0 || data.work.end > domain.extent(0)))
      throw ShapeMismatch("sequence \"" + cursor_.label + "\": loop \"" + data.label + "\" has work items [" +
                          std::to_string(data.work.begin) + ", " + std::to_string(data.work.end) + "), \"" +
                          state.label + "\" " + std::to_string(domain.extent(0)) +
                          " rows: each needs a row of its own, or declare in(array, rows(f))");
  }
  loops_.push_back(static_cast<Loop&&>(loop));
  cursor_.loops = static_cast<int>(loops_.size());
}

void SequenceRuns::set_temporary(const Ref<CoherentState>& state) {
  if (run_) cursor_.fail_late();
  temporary_.push_back(state);
}

void SequenceRuns::set_second(const Ref<CoherentState>& first, const Ref<CoherentState>& second) {
  if (run_) cursor_.fail_late();
  const bool is_like =
      first->shape.domain == second->shape.domain && first->shape.layout.span == second->shape.layout.span;
  if (!is_like)
    throw ShapeMismatch("sequence \"" + cursor_.label + "\": \"" + second->label +
                        "\" has not the extents of \"" + first->label +
                        "\", of which it is to be the second copy");
  for (const Copies& other : copies_)
    if (other.first == first || other.second == first || other.first == second || other.second == second)
      fail_declared(cursor_.label, first->label,
                    "to have a second copy, and one of the two is in another pair");
  if (first == second)
    fail_declared(cursor_.label, first->label, "to be its own second copy; make another array");
  if (file_storage_of(*first) != nullptr || file_storage_of(*second) != nullptr)
    fail_declared(cursor_.label, first->label,
                  "to have a second copy, and one of the two lives in a file; keep both in memory");
  copies_.push_back({first, second, 0});
}

// The results of a run are all of the second copies.
void SequenceRuns::check_copies() {
  for (Copies& copies : copies_) {
    const auto number = [&](const Ref<CoherentState>& state) {
      return static_cast<std::size_t>(std::find(states_.begin(), states_.end(), state) - states_.begin());
    };
    copies.array = number(copies.first);
    if (number(copies.second) < states_.size())
      fail_declared(cursor_.label, copies.second->label, "as a second copy, and for a loop");
    bool is_written = false;
    for (const Loop& loop : loops_)
      for (const streaming::StreamLoop::Use& use : loop.data.uses) {
        const ResidentRows work = loop.data.work;
        is_written = is_written || (static_cast<std::size_t>(use.array) == copies.array && writes(use.mode) &&
                                    work.begin <= 0 && work.end >= copies.first->shape.domain.extent(0));
      }
    if (!is_written)
      fail_declared(cursor_.label, copies.first->label,
                    "to have a second copy, and no loop writes all of its rows; leave it out");
  }
}

// What a run reads before it writes it is to be there again for the next attempt.
void SequenceRuns::check_repeatable(int count) const {
  for (std::size_t a = 0; a < states_.size(); ++a) {
    const auto is_state = [&](const Copies& copies) { return copies.first == states_[a]; };
    if (std::any_of(copies_.begin(), copies_.end(), is_state) ||
        std::find(temporary_.begin(), temporary_.end(), states_[a]) != temporary_.end())
      continue;
    bool is_used = false, is_read_first = false, is_written = false;
    for (int k = 0; k < std::min(count, loop_count()); ++k) {
      bool is_used_here = false;
      for (const streaming::StreamLoop::Use& use : loops_[static_cast<std::size_t>(k)].data.uses) {
        if (static_cast<std::size_t>(use.array) != a) continue;
        is_used_here = true;
        is_read_first = is_read_first || (!is_used && reads(use.mode));
        is_written = is_written || writes(use.mode);
      }
      is_used = is_used || is_used_here;
    }
    if (is_read_first && is_written)
      fail_declared(cursor_.label, states_[a]->label,
                    "to be read and written, without a second copy: an attempt done again would begin with "
                    "what the one before wrote; say second_copy(array, other)");
  }
}

void SequenceRuns::accept() {
  if (attempted_ < 0)
    throw Error("sequence \"" + cursor_.label +
                "\": accept() follows an attempt(), of which it takes the results; there is none");
  if (std::exchange(attempted_, -1) == 0) return;  // the results of no loops are what the first copies have
  for (Copies& copies : copies_) {
    std::swap(copies.first, copies.second);
    states_[copies.array] = copies.first;
  }
}

StreamReport SequenceRuns::attempt(int count) {
  if (!loops_.empty() && (cursor_.next != 0 || count % loop_count() != 0))
    throw Error("sequence \"" + cursor_.label +
                "\": an attempt() begins with the first loop; say begin_with(0) before it");
  const StreamReport report = run(count, true);
  if (!only_plan_) attempted_ = loops_.empty() ? 0 : count;
  return report;
}

void SequenceRuns::release() { run_ = {}; }

void SequenceRuns::complete() {
  check_copies();
  streaming::StreamProblem problem;
  problem.label = cursor_.label;
  problem.arrays = arrays_;
  for (std::size_t a = 0; a < states_.size(); ++a)
    problem.arrays[a].temporary =
        std::find(temporary_.begin(), temporary_.end(), states_[a]) != temporary_.end();
  kernels_ = cursor_.label;
  for (const Loop& loop : loops_) {
    problem.loops.push_back(loop.data);
    problem.align = std::max(problem.align, loop.align);
    kernels_ += "," + loop.kernel;
  }
  run_ = Ref<streaming::StreamRun>(
      new streaming::StreamRun(device_, queue_, static_cast<streaming::StreamProblem&&>(problem), states_));
}

// How a run uses arrays, which is that of the loop that comes to them first.
void SequenceRuns::declare_modes(int count) {
  streaming::StreamProblem& problem = run_->problem();
  for (std::size_t a = 0; a < states_.size(); ++a) {
    streaming::StreamArray& array = problem.arrays[a];
    bool used = false, comes = true, goes = false;
    for (int step = 1; step <= std::min(count, loop_count()); ++step) {
      const streaming::StreamLoop& loop = problem.loop_of(step);
      bool here = false, reads_here = false;
      for (const streaming::StreamLoop::Use& use : loop.uses) {
        if (static_cast<std::size_t>(use.array) != a) continue;
        here = true;
        reads_here = reads_here || reads(use.mode);
        goes = goes || writes(use.mode);
      }
      if (here && !used)
        comes = reads_here || (!array.temporary && (loop.work.begin > 0 || loop.work.end < array.rows));
      used = used || here;
    }
    array.used = used;
    if (array.use == streaming::StreamArray::Use::Whole) continue;
    array.mode = !goes ? AccessMode::In : comes ? AccessMode::InOut : AccessMode::Out;
  }
}

// `count` loops that begin with the next one.
void SequenceRuns::set_count(int count) {
  streaming::StreamProblem& problem = run_->problem();
  problem.first_loop = cursor_.next;
  problem.steps = count;
  problem.work = problem.loops[static_cast<std::size_t>(cursor_.next)].work;
  declare_modes(count);
}

// Plans loops that begin with the next one, unless they are planned for all of the budget; their results take
// room, too. False where that is most of the budget: less memory for slices makes them smaller, and more
// slices have more results.
bool SequenceRuns::plan(int count, bool is_planned) {
  for (index_t room = 0; room <= budget_ / 2; is_planned = false) {
    set_count(count);
    try {
      if (!is_planned) run_->plan(budget_ - room, options_, kernels_);
    } catch (const OutOfMemory& error) {
      if (room == 0) throw;
      throw OutOfMemory("sequence \"" + cursor_.label + "\": of a budget of " + string_from_bytes(budget_) +
                        " results of its reductions take " + string_from_bytes(room) +
                        ", and the rest is too little: " + error.what());
    }
    const index_t results = result_bytes();
    if (run_->plan().device_bytes + results <= budget_) {
      run_->take(streaming::StreamPlan(run_->plan()), budget_ - results);
      return true;
    }
    room = results + results / 4;
  }
  return false;
}
index_t SequenceRuns::result_bytes() {
  index_t bytes = 0;
  for (const Loop& loop : loops_)
    if (loop.results)  // and the memory of the reductions themselves
      bytes += (loop.results(run_->problem(), run_->plan()) + 511) / 512 * 512 + 1024;
  return bytes;
}

// How many of `count` loops are done at once: with their plan, which is kept. Unless the first one knows how
// long kernels take, the second one does.
int SequenceRuns::part_of(int count) {
  const auto known = std::find_if(plans_.begin(), plans_.end(),
                                  [&](const Plan& p) { return p.first == cursor_.next && p.count == count; });
  if (known != plans_.end() && known->uses > 1) {
    set_count(known->part);
    run_->take(known->plan, known->budget);
    result_bytes();
    return known->part;
  }
  const int part = plan_part(count);
  const std::vector<streaming::StreamLoop>& loops = run_->problem().loops;
  const bool is_measured = std::all_of(
      loops.begin(), loops.end(), [](const streaming::StreamLoop& loop) { return loop.seconds_per_row > 0; });
  if (known == plans_.end()) {
    plans_.push_back({cursor_.next, count, part, is_measured ? 2 : 1, run_->budget(), run_->plan()});
  } else {
    *known = {cursor_.next, count, part, 2, run_->budget(), run_->plan()};
  }
  return part;
}

// Plans `count` loops, or as many whole passes of them that their results take an eighth of the budget.
int SequenceRuns::plan_part(int count) {
  int part = count;
  for (;;) {
    set_count(part);
    run_->plan(budget_, options_, kernels_);
    const index_t results = result_bytes();
    const int pass = run_->plan().pass.steps;
    if (results <= budget_ / 8 || part <= pass) break;
    const double fitting =
        static_cast<double>(part) * static_cast<double>(budget_ / 8) / static_cast<double>(results);
    part = std::max(pass, static_cast<int>(fitting) / pass * pass);
  }
  for (bool is_planned = true; !plan(part, is_planned); is_planned = false) {
    const int loops = loop_count(), fewer = part / 2 / loops * loops;
    if (part <= loops)
      throw OutOfMemory(
          "sequence \"" + cursor_.label + "\": a budget of " + string_from_bytes(budget_) +
          " does not hold slices beside the results of a step's reductions, of which there are " +
          "more where slices are smaller (" + string_from_bytes(result_bytes()) +
          " now); give a larger budget");
    part = std::max(loops, fewer);
  }
  return part;
}

StreamReport SequenceRuns::planned(int count) {
  if (loops_.empty() || count <= 0) return {};
  if (!run_) complete();
  plan_part(count);
  return run_->report();
}

// Where the results of the next part of a run go, and where it begins.
void SequenceRuns::set_copies(bool to_second, bool from_first) {
  if (copies_.empty()) return;
  std::vector<Ref<CoherentState>> results = states_, sources(states_.size());
  for (const Copies& copies : copies_) {
    if (!to_second) continue;
    results[copies.array] = copies.second;
    if (from_first) sources[copies.array] = copies.first;
  }
  run_->set_arrays(results, sources);
}

StreamReport SequenceRuns::run(int count, bool to_second) {
  cursor_.check_count(count);
  if (only_plan_) return planned(count);
  attempted_ = -1;
  if (loops_.empty() || count == 0) return {};
  if (!run_) complete();
  if (to_second) check_repeatable(count);
  has_begun_ = false;
  StreamReport all;
  for (int begin = cursor_.next, done = 0; done < count;) {
    const int part = part_of(count - done);
    set_copies(to_second, done == 0);
    StreamReport report = run_part(part, begin, done);
    if (done > 0) {
      report.passes += all.passes;
      report.slices += all.slices;
      report.bytes_to_device += all.bytes_to_device;
      report.bytes_to_host += all.bytes_to_host;
      report.bytes_moved += all.bytes_moved;
      report.bytes_direct += all.bytes_direct;
      report.predicted_seconds += all.predicted_seconds;
      report.seconds += all.seconds;
    }
    all = report;
    done += part;
  }
  return all;
}

// The part of a run that began with loop `begin`, after `done` loops of it.
StreamReport SequenceRuns::run_part(int count, int begin, int done) {
  device_.wait_all();  // for memory that was given back, and is about to be asked for
  // Memory of another size is freed before anything is allocated.
  for (const bool make : {false, true}) {
    for (const Loop& loop : loops_)
      if (loop.prepare) loop.prepare(make);
    if (!make) run_->allocate();
  }
  const int first = cursor_.next, loops = loop_count();
  cursor_.next = 0;
  run_->run(
      [&](const streaming::StreamSite& site) {
        has_begun_ = true;
        const int number = begin + done + site.step;
        const int loop = number % loops, before = ((loop - first) % loops + loops) % loops;
        loops_[static_cast<std::size_t>(loop)].launch(site, number / loops, (site.step - before) / loops);
      },
      progress_);
  cursor_.next = (first + count) % loops;
  try {
    for (const Loop& loop : loops_)
      if (loop.finish) loop.finish(done == 0);
  } catch (...) {
    fail_results(cursor_.label);
  }
  return run_->report();
}

}  // namespace strata::inline STRATA_ABI::detail
