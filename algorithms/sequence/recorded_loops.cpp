// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include <strata/algorithms/sequence/recorded_loops.hpp>
#include <strata/core/error.hpp>
#include <strata/views/coherent/coherent_state.hpp>
#include <strata/views/coherent/unwritten.hpp>
#include <strata/views/copy.hpp>

namespace strata::inline STRATA_ABI::detail::sequences {

namespace {

ArrayPart part_of_region(const std::vector<Box>& region) {
  return {region.front(), {region.begin() + 1, region.end()}};
}

}  // namespace

RecordedLoops::RecordedLoops(DeviceInstance& device, QueueState& queue, const char* label)
    : DeclaredLoops(label), device_(device), queue_(queue) {}

void RecordedLoops::add_loop(Loop&& loop) {
  // Checked builds mark what a loop writes only, and look at it, around each launch.
  if (checked_build)
    for (const SequenceUse& use : loop.uses) loop.differs = loop.differs || use.mode == AccessMode::Out;
  loops_.push_back(std::move(loop));
  cursor_.loops = static_cast<int>(loops_.size());
  bases_.resize(arrays_.size(), nullptr);
}

void RecordedLoops::release() { graphs_.clear(); }

// ---- runs

const RecordedLoops::RunUses& RecordedLoops::run_uses(int first, int count) {
  count = std::min(count, cursor_.loops);
  for (const RunUses& known : uses_)
    if (known.first == first && known.count == count) return known;
  std::vector<const DeclaredLoops::Loop*> loops;
  for (int k = 0; k < count; ++k) loops.push_back(&loop(first + k));
  RunUses made{first, count, uses_of(loops), std::vector<int>(arrays_.size(), -1)};
  for (std::size_t k = 0; k < made.uses.size(); ++k)
    made.use_of[static_cast<std::size_t>(made.uses[k].array)] = static_cast<int>(k);
  return uses_.emplace_back(std::move(made));
}

void RecordedLoops::run(int count) {
  cursor_.check_count(count);
  if (loops_.empty() || count == 0) return;
  has_run_ = true;
  const Run run{cursor_.next, count};
  const RunUses& uses = run_uses(run.first, count);
  // A loop that is not done has no results.
  bool has_results = false;
  for (int k = 0; k < cursor_.loops; ++k) {
    const Loop& reducing = loop(run.first + k);
    if (!reducing.prepare) continue;
    const int times = k < count ? (count - 1 - k) / cursor_.loops + 1 : 0;
    reducing.prepare(times);
    has_results = has_results || times > 0;
  }

  CoherentCall call(cursor_.label.c_str(), "a sequence", nullptr);
  call.add_part(device_, queue_, has_results);
  for (const SequenceUse& use : uses.uses)
    call.add_use(*arrays_[static_cast<std::size_t>(use.array)], use.mode, part_of_region(use.region));
  call.prepare();
  cursor_.next = 0;
  call.begin(0);
  find_arrays(call, uses);
  launch_all(run);
  if (has_results) queue_.wait();
  for (const Loop& reducing : loops_)
    if (reducing.finish) reducing.finish();
  call.end(0);
  cursor_.next = (run.first + count) % cursor_.loops;
}

// Graphs are of arrays that lie where they lay.
void RecordedLoops::find_arrays(const CoherentCall& call, const RunUses& uses) {
  bool moved = false;
  for (std::size_t a = 0; a < arrays_.size(); ++a) {
    if (uses.use_of[a] < 0) continue;
    char* const base = call.base(0, uses.use_of[a]);
    moved = moved || bases_[a] != base;
    bases_[a] = base;
  }
  if (moved) graphs_.clear();
}

// How many loops from `first` on, at most `most`, are the same in each step; all of them count once.
int RecordedLoops::same_from(int first, int most) const {
  most = std::min(most, cursor_.loops);
  int count = 0;
  while (count < most && !loop(first + count).differs) ++count;
  return count;
}

void RecordedLoops::launch_all(const Run& run) {
  const int loops = cursor_.loops, batch = steps_of_batch * loops;
  for (int done = 0; done < run.count;) {
    const int left = run.count - done;
    int count = same_from(run.first + done, left);
    GraphState* graph = nullptr;
    if (count == loops && left >= batch) graph = graph_of(run, done, batch);
    if (graph != nullptr) count = batch;
    else if (count > 1) graph = graph_of(run, done, count);
    if (graph != nullptr) {
      launch_graph(*graph, queue_);
      done += count;
    } else {
      for (const int end = done + std::max(count, 1); done < end; ++done) launch_loop(run, done, queue_);
    }
  }
}

// The graph of `count` loops after `done` ones; null where it is too early to record it.
GraphState* RecordedLoops::graph_of(const Run& run, int done, int count) {
  const int first = (run.first + done) % cursor_.loops;
  auto kept = std::find_if(graphs_.begin(), graphs_.end(),
                           [&](const Kept& k) { return k.first == first && k.count == count; });
  if (kept == graphs_.end()) {
    graphs_.push_back({first, count, {}, false});
    kept = graphs_.end() - 1;
    const bool is_again = run.count - done >= std::max(2 * count, cursor_.loops + count);
    if (!is_again) return nullptr;
  }
  if (!kept->graph) {
    if (!recorder_) recorder_ = device_.create_queue();
    if (kept->has_no_room) return nullptr;
    try {
      RecordingScope scope(*recorder_);
      for (int k = 0; k < count; ++k) launch_loop(run, done + k, *recorder_);
      kept->graph = scope.finish();
    } catch (const OutOfMemory&) {  // a run that has begun goes on loop by loop
      kept->has_no_room = true;
      return nullptr;
    }
    queue_.wait_for(recorder_->record());  // for what a recording itself enqueues
  }
  return &*kept->graph;
}

void RecordedLoops::launch_loop(const Run& run, int done, QueueState& queue) const {
  const int loops = cursor_.loops;
  const Loop& launched = loop(run.first + done);
  std::vector<char*> bases;
  for (const SequenceUse& use : launched.uses) bases.push_back(bases_[static_cast<std::size_t>(use.array)]);
  std::vector<UnwrittenBox> unwritten = marked(launched, bases, queue);
  launched.launch({queue, std::move(bases), launched.rows.data(), std::move(unwritten),
                   (run.first + done) / loops, done / loops});
}

std::vector<UnwrittenBox> RecordedLoops::marked(const Loop& launched, const std::vector<char*>& bases,
                                                QueueState& queue) const {
  std::vector<UnwrittenBox> boxes;
  if (!checked_build) return boxes;
  for (std::size_t k = 0; k < launched.uses.size(); ++k) {
    if (launched.uses[k].mode != AccessMode::Out) continue;
    const CoherentState& array = *arrays_[static_cast<std::size_t>(launched.uses[k].array)];
    const bool on_host = device_.host_accessible();
    DeviceInstance& device = on_host ? *array.main.device : device_;
    QueueState& filled = on_host ? device.default_queue() : queue;
    for (const Box& box : launched.uses[k].region) {
      boxes.push_back(unwritten_box(array, box, bases[k]));
      mark_unwritten(boxes.back(), device, on_host ? array.main.space : device.space(), filled);
    }
    if (on_host && (!device.host_accessible() || array.main.space.shared)) filled.wait();
  }
  return boxes;
}

}  // namespace strata::inline STRATA_ABI::detail::sequences
