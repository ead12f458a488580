// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <memory>

#include <strata/algorithms/streaming/plan/rows.hpp>
#include <strata/algorithms/streaming/stream_copies.hpp>
#include <strata/algorithms/streaming/stream_failure.hpp>
#include <strata/algorithms/streaming/stream_gate.hpp>
#include <strata/algorithms/streaming/stream_measures.hpp>
#include <strata/algorithms/streaming/stream_progress.hpp>
#include <strata/algorithms/streaming/stream_rates.hpp>
#include <strata/algorithms/streaming/stream_run.hpp>
#include <strata/core/error.hpp>

namespace strata::inline STRATA_ABI::detail::streaming {

namespace {

using RunClock = std::chrono::steady_clock;

double seconds_since(RunClock::time_point begin) {
  return std::chrono::duration<double>(RunClock::now() - begin).count();
}

StreamRates rates_of_device(DeviceInstance& device) {
  DeviceRates rates = device.rates();
  const bool in_turn = device.host_accessible();
  if (in_turn) rates = {host_copy_speed(), host_copy_speed(), host_copy_speed(), 2 * host_copy_speed(), 0, 0};
  return {rates.to_device,
          rates.to_host,
          rates.both_ways,
          rates.memory,
          rates.copy_seconds,
          rates.launch_seconds,
          in_turn,
          static_cast<index_t>(device.repeat_granule())};
}

}  // namespace

struct StreamRun::Parts : RefCounted {
  Parts(DeviceInstance& device, QueueState& compute, StreamProblem&& problem,
        std::vector<Ref<CoherentState>>&& states)
      : job{device,
            compute,
            static_cast<StreamProblem&&>(problem),
            static_cast<std::vector<Ref<CoherentState>>&&>(states),
            {}} {
    complete_problem(job.problem, job.states);
  }

  StreamJob job;
  StreamReport report;
  Ref<StreamArrays> arrays;  // of run(); ends after what is read from files and written to them
  StreamTiles tiles{job};
  StreamQueues queues{job};
  StreamBuffers buffers{job, tiles};
  StreamFiles files{job, tiles};
  StreamCopies copies{job, tiles, queues, buffers, files};
  StreamMeasures measures{job};
  // Where the run is.
  int pass = 0;
  long tile = 0;         // that is being enqueued
  int steps_done = 0;    // before this pass
  Ref<RefCounted> kept;  // of launches, for later ones
};

StreamRun::StreamRun(DeviceInstance& device, QueueState& compute, StreamProblem problem,
                     std::vector<Ref<CoherentState>> arrays)
    : parts_(new Parts(device, compute, static_cast<StreamProblem&&>(problem),
                       static_cast<std::vector<Ref<CoherentState>>&&>(arrays))) {}
StreamRun::~StreamRun() = default;

StreamProblem& StreamRun::problem() { return parts_->job.problem; }
void StreamRun::set_arrays(const std::vector<Ref<CoherentState>>& arrays,
                           const std::vector<Ref<CoherentState>>& sources) {
  StreamJob& job = parts_->job;
  job.states = arrays;
  job.sources = sources;
  for (std::size_t a = 0; a < arrays.size(); ++a) job.problem.arrays[a].label = arrays[a]->label;
}
const StreamReport& StreamRun::report() const { return parts_->report; }
const StreamPlan& StreamRun::plan() const { return parts_->job.plan; }
index_t StreamRun::budget() const { return parts_->job.budget; }
DeviceInstance& StreamRun::device() const { return parts_->job.device; }
int StreamRun::passes_begun() const { return parts_->pass + 1; }
int StreamRun::result_side() const { return parts_->copies.side(); }
bool StreamRun::in_place() const { return plan().pass.in_place && plan().last.in_place; }
std::string StreamRun::progress_made() const {
  return streaming::progress_made(parts_->job, parts_->tiles, parts_->tile);
}
std::string StreamRun::changed_arrays(bool first_pass) const {
  return streaming::changed_arrays(parts_->job, first_pass);
}

// ---- plans

void StreamRun::use_host_for_files() { parts_->files.leave_to_host(); }

void StreamRun::plan(index_t budget, const StreamOptions& options, const std::string& kernel) {
  StreamJob& job = parts_->job;
  parts_->measures.set_kernel(kernel, job.problem);
  StreamOptions chosen = options;
  parts_->files.constrain(job.problem, chosen);
  const StreamRates rates = rates_of_device(job.device);
  const auto plan = [&](const StreamProblem& problem) {
    job.plan = make_plan(problem, budget, rates, chosen);
    if (!job.plan.wraps() || parts_->buffers.has_addresses()) return;
    StreamRates without_addresses = rates;
    without_addresses.repeat_granule = 0;
    job.plan = make_plan(problem, budget, without_addresses, chosen);
  };
  bool planned = false;
  StreamProblem in_blocks = job.problem;
  if (parts_->files.align_to_blocks(in_blocks, chosen.chunk)) {
    try {
      plan(in_blocks);
      planned = true;
    } catch (const OutOfMemory&) {
      planned = false;  // smaller slices fit
    }
  }
  if (!planned) plan(job.problem);
  take(StreamPlan(job.plan), budget);
}

void StreamRun::take(const StreamPlan& plan, index_t budget) {
  StreamJob& job = parts_->job;
  job.plan = plan;
  job.plan.seconds = std::max(job.plan.seconds, parts_->files.seconds());
  job.budget = budget;
  parts_->copies.share(nullptr, 0);
  StreamReport& report = parts_->report;
  report = {};
  report.scheduler = plan.scheduler;
  report.chunk = plan.chunk;
  report.slots = plan.slots;
  report.steps_per_pass = plan.pass.steps;
  if (job.problem.is_sequence()) {
    const int loops = static_cast<int>(job.problem.loops.size());
    report.steps_per_pass = (plan.pass.steps + loops - 1) / loops;
  }
  report.passes = plan.passes;
  for (int p = 0; p < plan.passes; ++p)
    report.slices += (static_cast<index_t>(plan.pass_number(p).tiles.size()) + plan.pieces - 1) / plan.pieces;
  report.device_bytes = plan.device_bytes;
  report.predicted_seconds = job.plan.seconds;
  report.predicts_virtual = job.device.has_virtual_time();
  report.plan = describe(job.problem, job.plan);
}

void StreamRun::share(const StreamSeams& seams, std::size_t number) {
  parts_->copies.share(&seams, number);
  StreamPlan& plan = parts_->job.plan;
  const StreamProblem& problem = parts_->job.problem;
  // The first pass takes nothing, the last one keeps nothing.
  const int others = plan.passes - 1;
  if (others > 0) {
    StreamBytes& bytes = plan.bytes;
    bytes.between = seams.plan().bytes_between(number, problem, plan.pass) * (others - 1) +
                    seams.plan().bytes_between(number, problem, plan.last);
    bytes.up -= bytes.between;
    bytes.moved += seams.plan().bytes_kept(number, problem) * others;
  }
  plan.device_bytes += seams.bytes(number);
  parts_->report.device_bytes = plan.device_bytes;
  parts_->report.plan = describe(problem, plan);
}

// ---- a run, step by step

void StreamRun::allocate() {
  parts_->files.make_stages();
  parts_->buffers.make();
  parts_->queues.make();
}

void StreamRun::prepare(const StreamArrays& arrays) {
  parts_->copies.set_arrays(arrays);
  parts_->report.pinned = parts_->copies.pinned();
}

// As before any tile.
void StreamRun::restart() {
  Parts& run = *parts_;
  run.pass = run.steps_done = 0;
  run.tile = 0;
  run.tiles.clear();
  run.files.restart();
  run.copies.restart();
  run.measures.restart();
}

void StreamRun::run(const Launch& launch, bool progress) {
  allocate();  // before anything is claimed: where there is no memory the arrays stay as they are
  restart();
  Parts& run = *parts_;
  run.arrays = {};
  run.arrays =
      Ref<StreamArrays>(new StreamArrays(run.job.problem, run.job.states, in_place(), run.job.sources));
  prepare(*run.arrays);
  const auto begin = RunClock::now();
  try {
    work(launch, progress, nullptr);
  } catch (...) {
    const std::string partly = changed_arrays(only_first_pass(run.job, run.tiles));
    run.files.drop_stages();
    run.arrays = {};
    fail_streaming(launch_name("streaming", run.job.problem) + " failed at " + progress_made(), partly);
  }
  learn();
  run.arrays->end(result_side());
  run.report.seconds = seconds_since(begin);
}

void StreamRun::learn() {
  parts_->files.learn(parts_->report.seconds);
  parts_->measures.learn();
}

void StreamRun::work(const Launch& launch, bool progress, StreamGate* gate) {
  Parts& run = *parts_;
  const auto begin = RunClock::now();
  run.tiles.number();
  run.tile = 0;
  try {
    if (gate != nullptr) meet(*gate, false);
    run.queues.start();
    run.copies.upload_whole();
    do_tiles(launch, progress, gate);
    run.queues.download().wait_for(run.queues.compute().record());  // after all kernels
    run.copies.download_whole();
    run.queues.wait();
    run.files.end_transfers();
    run.files.finish();
  } catch (...) {
    run.queues.wait_for_end();  // memory is given back after it
    run.files.end_transfers();
    throw;
  }
  const StreamCopies::Bytes& bytes = run.copies.bytes();
  run.report.bytes_to_device = bytes.to_device;
  run.report.bytes_to_host = bytes.to_host;
  run.report.bytes_moved = bytes.moved;
  run.report.bytes_direct = bytes.direct;
  run.report.bytes_between_devices = bytes.between_devices;
  run.report.seconds = seconds_since(begin);
}

// Enqueues all tiles of all passes.
void StreamRun::do_tiles(const Launch& launch, bool progress, StreamGate* gate) {
  Parts& run = *parts_;
  const StreamPlan& plan = run.job.plan;
  const StreamProblem& problem = run.job.problem;
  StreamProgress line(problem.label.empty() ? "streaming" : problem.label, run.tiles.count() / plan.pieces,
                      progress);
  // So many tiles are enqueued before the host waits for the first of them.
  const long ahead = std::max(8, 2 * plan.slots);
  // Slices that need nothing of each other are uploaded one ahead, for launches that wait for results.
  const bool slices_ahead =
      problem.steps == 1 && plan.scheduler == StreamScheduler::Automatic && plan.slots > 2;
  long uploaded = 0;
  for (run.pass = 0; run.pass < plan.passes; ++run.pass) {
    const StreamPass& pass = plan.pass_number(run.pass);
    const long end = run.tile + static_cast<long>(pass.tiles.size());
    for (; run.tile < end; ++run.tile) {
      const long tile = run.tile, until = slices_ahead && tile + 1 < end ? tile + 1 : tile;
      for (; uploaded <= until; ++uploaded) upload(uploaded);
      compute(tile, launch);
      download(tile);
      if (tile >= ahead) {
        if (const Ref<EventState>& done = run.tiles.done(StreamStage::Download, tile - ahead)) done->wait();
        run.files.check();
      }
      line.at(tile / plan.pieces);
    }
    run.steps_done += pass.steps;
    if (!pass.in_place) run.copies.change_sides();
    if (gate != nullptr) meet(*gate, run.pass + 1 < plan.passes);
  }
  --run.pass;
}

// All have enqueued the pass before anybody waits for its end, and all have ended it before anybody begins
// the next: rows that are read there are those of others, with the host or on their devices.
void StreamRun::meet(StreamGate& gate, bool pass_follows) {
  if (!gate.arrive()) throw StreamStopped();
  if (!pass_follows) return;
  parts_->queues.wait();
  if (!gate.arrive()) throw StreamStopped();
}

// ---- the stages of a tile

void StreamRun::upload(long tile) {
  Parts& run = *parts_;
  QueueState& queue = run.queues.upload();
  run.files.before_upload(tile);
  run.tiles.wait_for_slot(queue, tile);
  run.tiles.wait(queue, run.tiles.tile(tile).before_upload, run.pass);
  run.copies.upload(tile, run.pass);
  run.tiles.record(StreamStage::Upload, tile, queue);
}

void StreamRun::compute(long tile, const Launch& launch) {
  Parts& run = *parts_;
  const StreamJob& job = run.job;
  const StreamTile& here = run.tiles.tile(tile);
  QueueState& queue = run.queues.compute();
  run.tiles.wait(queue, StreamStage::Upload, tile);
  run.copies.move(tile);
  run.measures.begin_tile(tile, here, job.plan.pass_number(run.pass).tiles.size());
  StreamSite site;
  site.places.resize(job.states.size());
  site.all = job.problem.work;
  site.kept = &run.kept;
  for (const StreamLaunch& part : here.launches) {
    if (rows_of(part.work) == 0) continue;
    run.measures.begin_launch();
    site.step = run.steps_done + part.step - 1;
    site.work = part.work;
    for (std::size_t a = 0; a < job.states.size(); ++a) {
      StreamSite::Place& place = site.places[a];
      const bool is_state = job.is_state(a);
      const int old = is_state ? (part.step - 1) % 2 : 0;
      place.base[0] = run.buffers.base_of(a, tile, old, part.shift);
      place.base[1] = is_state ? run.buffers.base_of(a, tile, 1 - old, part.shift) : place.base[0];
      const Box& domain = job.states[a]->shape.domain;
      place.rows = job.is_whole(a)
                       ? ResidentRows{0, domain.rank() == 0 ? 1 : domain.extent(0)}
                       : ResidentRows{here.windows[a].begin - part.shift, here.windows[a].end - part.shift};
    }
    launch(site);
    run.measures.end_launch(part);
  }
  run.measures.end_tile();
  run.tiles.record(StreamStage::Compute, tile, queue);
}

void StreamRun::download(long tile) {
  Parts& run = *parts_;
  QueueState& queue = run.queues.download();
  run.files.before_download(tile);
  run.tiles.wait(queue, StreamStage::Compute, tile);
  run.tiles.wait(queue, run.tiles.tile(tile).before_download, run.pass);
  run.copies.download(tile, run.pass);
  run.tiles.record(StreamStage::Download, tile, queue);
}

}  // namespace strata::inline STRATA_ABI::detail::streaming
