#include <algorithm>
#include <chrono>
#include <string>

#include <strata/algorithms/streaming/plan/rows.hpp>
#include <strata/algorithms/streaming/stream_progress.hpp>
#include <strata/algorithms/streaming/stream_rates.hpp>
#include <strata/algorithms/streaming/stream_run.hpp>

namespace strata::inline STRATA_ABI::detail {

StreamRun::StreamRun(DeviceInstance& device, QueueState& compute, StreamProblem problem,
                     std::vector<Ref<CoherentState>> arrays)
    : device_(device),
      compute_(compute),
      problem_(static_cast<StreamProblem&&>(problem)),
      states_(static_cast<std::vector<Ref<CoherentState>>&&>(arrays)) {
  complete_problem(problem_, states_);
  for (const Ref<CoherentState>& state : states_) {
    Operand operand;
    operand.state = state;
    operand.file = file_storage_of(*state);
    operands_.push_back(static_cast<Operand&&>(operand));
  }
}

void StreamRun::plan(index_t budget, const StreamOptions& options, const std::string& kernel) {
  kernel_ = std::string(device_.device_name()) + ":" + kernel;
  for (const StreamArray& a : problem_.arrays)
    kernel_ += "," + std::to_string(a.use == StreamArray::Use::Whole ? 0 : a.row_bytes);
  problem_.seconds_per_row = known_figure(kernel_);
  problem_.seconds_per_launch = known_figure(launches_of_kernel());
  for (std::size_t k = 0; k < problem_.loops.size(); ++k)
    problem_.loops[k].seconds_per_row = known_figure(kernel_of(k));
  StreamOptions chosen = options;
  for (std::size_t a = 0; a < operands_.size(); ++a) {
    if (operands_[a].file == nullptr || is_whole(a)) continue;
    problem_.align = std::max(problem_.align, array(a).align);  // whole tiles of the layout go to the file
    chosen.pieces = 1;  // whole tiles are read and written beside others
    if (is_state(a) && chosen.scheduler == StreamScheduler::Automatic)
      chosen.scheduler = StreamScheduler::Carry;
  }
  DeviceRates rates = device_.rates();
  const bool in_turn = device_.host_accessible();
  if (in_turn) rates = {host_copy_speed(), host_copy_speed(), host_copy_speed(), 2 * host_copy_speed(), 0, 0};
  const StreamRates speeds{rates.to_device,
                           rates.to_host,
                           rates.both_ways,
                           rates.memory,
                           rates.copy_seconds,
                           rates.launch_seconds,
                           in_turn,
                           static_cast<index_t>(device_.repeat_granule())};
  const auto plan = [&](const StreamProblem& problem) {
    plan_ = make_plan(problem, budget, speeds, chosen);
    if (!plan_.wraps() || has_addresses()) return;
    StreamRates without_addresses = speeds;
    without_addresses.repeat_granule = 0;
    plan_ = make_plan(problem, budget, without_addresses, chosen);
  };
  if (!plan_in_blocks(plan, chosen.chunk)) plan(problem_);
  take(StreamPlan(plan_), budget);
}

std::string StreamRun::kernel_of(std::size_t loop) const { return kernel_ + "#" + std::to_string(loop); }
std::string StreamRun::launches_of_kernel() const { return kernel_ + "#launch"; }

void StreamRun::take(const StreamPlan& plan, index_t budget) {
  plan_ = plan;
  plan_.seconds = std::max(plan_.seconds, file_seconds());
  budget_ = budget;
  seams_ = nullptr;
  report_ = {};
  report_.scheduler = plan_.scheduler;
  report_.chunk = plan_.chunk;
  report_.slots = plan_.slots;
  report_.steps_per_pass = plan_.pass.steps;
  if (!problem_.loops.empty()) {
    const int loops = static_cast<int>(problem_.loops.size());
    report_.steps_per_pass = (plan_.pass.steps + loops - 1) / loops;
  }
  report_.passes = plan_.passes;
  for (int p = 0; p < plan_.passes; ++p)
    report_.slices +=
        (static_cast<index_t>(plan_.pass_number(p).tiles.size()) + plan_.pieces - 1) / plan_.pieces;
  report_.device_bytes = plan_.device_bytes;
  report_.predicted_seconds = plan_.seconds;
  report_.plan = describe(problem_, plan_);
}

void StreamRun::share(const StreamSeams& seams, std::size_t number) {
  seams_ = &seams;
  number_ = number;
  // The first pass takes nothing, the last one keeps nothing.
  const int others = plan_.passes - 1;
  if (others > 0) {
    StreamBytes& bytes = plan_.bytes;
    bytes.between = seams.plan().bytes_between(number, problem_, plan_.pass) * (others - 1) +
                    seams.plan().bytes_between(number, problem_, plan_.last);
    bytes.up -= bytes.between;
    bytes.moved += seams.plan().bytes_kept(number, problem_) * others;
  }
  plan_.device_bytes += seams.bytes(number);
  report_.device_bytes = plan_.device_bytes;
  report_.plan = describe(problem_, plan_);
}

// As before any tile.
void StreamRun::restart() {
  report_.bytes_to_device = report_.bytes_to_host = report_.bytes_moved = report_.bytes_direct = 0;
  pass_ = turned_ = steps_done_ = 0;
  tile_ = read_ = written_ = 0;
  for (Operand& operand : operands_) operand.partly_by_host = -1;
  stages_.clear();
  samples_.clear();
  choose_samples(plan_.pass_number(0));
}

void StreamRun::prepare(const StreamArrays& arrays) {
  for (std::size_t a = 0; a < operands_.size(); ++a)
    for (const int side : {0, 1}) operands_[a].host[side] = arrays.host(a, side);
  pin_arrays();
}

int StreamRun::pass_of(long tile) const {
  // Nearly always this one or the next.
  int pass = pass_;
  while (tile >= firsts_[static_cast<std::size_t>(pass) + 1]) ++pass;
  while (tile < firsts_[static_cast<std::size_t>(pass)]) --pass;
  return pass;
}
const StreamTile& StreamRun::tile_at(long tile) const {
  const int pass = pass_of(tile);
  return plan_.pass_number(pass)
      .tiles[static_cast<std::size_t>(tile - firsts_[static_cast<std::size_t>(pass)])];
}

void StreamRun::wait(QueueState& queue, StreamStage stage, long tile) {
  const Ref<EventState>& event =
      stages_[static_cast<std::size_t>(tile)].done[static_cast<std::size_t>(stage)];
  if (event) queue.wait_for(event);
}
void StreamRun::record(StreamStage stage, long tile, QueueState& queue) {
  stages_[static_cast<std::size_t>(tile)].done[static_cast<std::size_t>(stage)] = queue.record();
}

// Begins to read what the tile uploads. False, with nothing done, where it needs what was not yet written.
bool StreamRun::begin_reads(long tile) {
  const StreamTile& here = tile_at(tile);
  const int pass = pass_of(tile);
  for (const StreamWait& before : here.before_upload) {
    if (before.stage != StreamStage::Download || (before.previous_pass && pass == 0)) continue;
    const long writer =
        firsts_[static_cast<std::size_t>(pass - (before.previous_pass ? 1 : 0))] + before.tile;
    if (writer >= written_) return false;
    for (Operand& operand : operands_)
      if (operand.stage)
        for (long t = std::max(0L, written_ - operand.stage->depth()); t <= writer; ++t)
          operand.stage->wait_for_writes(t);
  }
  for (std::size_t a = 0; a < operands_.size(); ++a) {
    if (!operands_[a].stage) continue;
    FileStage& stage = *operands_[a].stage;
    if (tile >= stage.depth()) {
      const Ref<EventState>& uploaded = stages_[static_cast<std::size_t>(tile - stage.depth())]
                                            .done[static_cast<std::size_t>(StreamStage::Upload)];
      if (uploaded) uploaded->wait();
    }
    stage.begin_tile(tile);
    for (const StreamCopy& copy : here.uploads)
      if (static_cast<std::size_t>(copy.array) == a && is_staged(copy)) stage.read(tile, copy.rows);
  }
  return true;
}

// The tile's rows are with the host, or are waited for; they go to the files.
void StreamRun::begin_writes(long tile) {
  const Ref<EventState>& done =
      stages_[static_cast<std::size_t>(tile)].done[static_cast<std::size_t>(StreamStage::Download)];
  if (done) done->wait();
  for (Operand& operand : operands_)
    if (operand.stage) operand.stage->write(tile);
}

void StreamRun::upload(long tile, int pass) {
  const StreamTile& here = tile_at(tile);
  if (has_files_) {
    while (read_ <= tile) {
      if (begin_reads(read_)) ++read_;
      else begin_writes(written_++);
    }
    for (Operand& operand : operands_)
      if (operand.stage) operand.stage->wait_for_reads(tile);
    // The next tiles are read while this one is copied and computed.
    const long ahead = tile + files_under_way - 1;
    while (read_ <= ahead && read_ < firsts_.back() && begin_reads(read_)) ++read_;
  }
  for (const SlotWait& before : windows_.waits(tile)) wait(*upload_, before.stage, before.tile);
  for (const StreamWait& before : here.before_upload)
    if (!before.previous_pass || pass > 0)
      wait(*upload_, before.stage,
           firsts_[static_cast<std::size_t>(pass - (before.previous_pass ? 1 : 0))] + before.tile);
  for (const StreamCopy& part : here.uploads) bring(part, tile, pass);
  record(StreamStage::Upload, tile, *upload_);
}

void StreamRun::compute(long tile, int pass, const std::function<void(const StreamSite&)>& launch) {
  const StreamTile& here = tile_at(tile);
  wait(compute_, StreamStage::Upload, tile);
  for (const StreamMove& part : here.moves) move(part, tile);
  // The first tiles of a pass are at its edges, and what is new is slow.
  constexpr std::size_t samples_wanted = 4;
  const bool in_sequence = !problem_.loops.empty();
  const auto loop_number = [&](int step) {
    return static_cast<std::size_t>(problem_.first_loop + step - 1) % problem_.loops.size();
  };
  const std::size_t tiles = plan_.pass_number(pass).tiles.size();
  const bool timed = !here.launches.empty() && samples_.size() < samples_wanted &&
                     (in_sequence ? tile == sampled_.one_by_one : tile > 0 || tiles == 1);
  TileSample* whole = nullptr;
  for (TileSample& sample : sampled_.tiles)
    if (sample.tile == tile) whole = &sample;
  if (whole != nullptr) {
    whole->rows.assign(problem_.loops.size(), 0);
    whole->launches.assign(problem_.loops.size(), 0);
    whole->begin = compute_.record_timed();
  }
  Ref<EventState> begin;
  if (timed) begin = compute_.record_timed();
  index_t rows = 0;
  StreamSite site;
  site.places.resize(operands_.size());
  site.all = problem_.work;
  site.kept = &kept_;
  for (const StreamLaunch& part : here.launches) {
    if (rows_of(part.work) == 0) continue;
    if (timed && in_sequence) begin = compute_.record_timed();
    site.step = steps_done_ + part.step - 1;
    site.work = part.work;
    for (std::size_t a = 0; a < operands_.size(); ++a) {
      StreamSite::Place& place = site.places[a];
      const int old = is_state(a) ? (part.step - 1) % 2 : 0;
      place.base[0] = base_of(a, tile, old, part.shift);
      place.base[1] = is_state(a) ? base_of(a, tile, 1 - old, part.shift) : place.base[0];
      place.rows = is_whole(a)
                       ? ResidentRows{0, operands_[a].state->shape.domain.rank() == 0
                                             ? 1
                                             : operands_[a].state->shape.domain.extent(0)}
                       : ResidentRows{here.windows[a].begin - part.shift, here.windows[a].end - part.shift};
    }
    launch(site);
    rows += rows_of(part.work);
    if (whole != nullptr) {
      whole->rows[loop_number(part.step)] += rows_of(part.work);
      ++whole->launches[loop_number(part.step)];
    }
    if (timed && in_sequence)
      samples_.push_back({begin, compute_.record_timed(), rows_of(part.work), loop_number(part.step)});
  }
  if (whole != nullptr && rows > 0) whole->end = compute_.record_timed();
  if (timed && !in_sequence && rows > 0) samples_.push_back({begin, compute_.record_timed(), rows, 0});
  record(StreamStage::Compute, tile, compute_);
}

void StreamRun::download(long tile, int pass) {
  const StreamTile& here = tile_at(tile);
  if (has_files_) {
    // The last tile but one has come back, or soon will have; and of those before it one makes room.
    while (written_ < tile - 1) begin_writes(written_++);
    for (Operand& operand : operands_)
      if (operand.stage && tile >= operand.stage->depth())
        operand.stage->wait_for_writes(tile - operand.stage->depth());
  }
  wait_for_partial_writes(tile);
  wait(*download_, StreamStage::Compute, tile);
  for (const StreamWait& before : here.before_download)
    if (!before.previous_pass || pass > 0)
      wait(*download_, before.stage,
           firsts_[static_cast<std::size_t>(pass - (before.previous_pass ? 1 : 0))] + before.tile);
  for (const StreamCopy& part : here.downloads) {
    copy(part, tile, false);
    keep_for_others(part, tile, pass);
  }
  record(StreamStage::Download, tile, *download_);
}

void StreamRun::run(const std::function<void(const StreamSite&)>& launch, bool progress) {
  allocate();  // before anything is claimed: where there is no memory the arrays stay as they are
  restart();
  arrays_.reset();
  arrays_ = std::make_unique<StreamArrays>(problem_, states_, in_place());
  prepare(*arrays_);
  const auto begin = std::chrono::steady_clock::now();
  try {
    work(launch, progress, nullptr);
  } catch (...) {
    const std::string partly = changed_arrays(only_first_pass());
    for (Operand& operand : operands_) operand.stage.reset();
    arrays_.reset();
    fail_streaming(launch_name("streaming", problem_) + " failed at " + progress_made(), partly);
  }
  learn();
  arrays_->end(turned_);
  report_.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// All have enqueued the pass before anybody waits for its end, and all have ended it before anybody begins
// the next: rows that are read there are those of others, with the host or on their devices.
void StreamRun::meet(StreamGate& gate, bool pass_follows) {
  if (!gate.arrive()) throw StreamStopped();
  if (!pass_follows) return;
  upload_->wait();
  compute_.wait();
  download_->wait();
  if (!gate.arrive()) throw StreamStopped();
}

void StreamRun::work(const std::function<void(const StreamSite&)>& launch, bool progress, StreamGate* gate) {
  const auto began = std::chrono::steady_clock::now();
  long tiles = 0;
  for (int p = 0; p < plan_.passes; ++p) tiles += static_cast<long>(plan_.pass_number(p).tiles.size());
  stages_.resize(static_cast<std::size_t>(tiles));
  windows_ = StreamWindows(problem_, plan_);
  for (int p = 0; p < plan_.passes; ++p) windows_.add(plan_.pass_number(p));
  firsts_.assign(1, 0);
  for (int p = 0; p < plan_.passes; ++p)
    firsts_.push_back(firsts_.back() + static_cast<long>(plan_.pass_number(p).tiles.size()));
  long& tile = tile_ = 0;
  try {
    if (gate != nullptr) meet(*gate, false);
    // What was enqueued before on the compute queue may still use memory that the buffers were made of.
    const Ref<EventState> start = compute_.record();
    upload_->wait_for(start);
    download_->wait_for(start);
    copy_whole(true);
    StreamProgress line(problem_.label.empty() ? "streaming" : problem_.label, tiles / plan_.pieces,
                        progress);
    // So many tiles are enqueued before the host waits for the first of them.
    const long ahead = std::max(8, 2 * plan_.slots);
    const bool slices_ahead =
        problem_.steps == 1 && plan_.scheduler == StreamScheduler::Automatic && plan_.slots > 2;
    long uploaded = 0;
    for (pass_ = 0; pass_ < plan_.passes; ++pass_) {
      const StreamPass& pass = plan_.pass_number(pass_);
      for (std::size_t k = 0; k < pass.tiles.size(); ++k, ++tile) {
        // Slices that need nothing of each other are enqueued one ahead, for launches that wait for results.
        for (const long until = slices_ahead && k + 1 < pass.tiles.size() ? tile + 1 : tile;
             uploaded <= until; ++uploaded)
          upload(uploaded, pass_);
        compute(tile, pass_, launch);
        download(tile, pass_);
        if (tile >= ahead) {
          Stages& old = stages_[static_cast<std::size_t>(tile - ahead)];
          if (old.done[2]) old.done[2]->wait();
          check_direct_files();
        }
        line.at(tile / plan_.pieces);
      }
      steps_done_ += pass.steps;
      if (!pass.in_place) turned_ ^= 1;
      if (gate != nullptr) meet(*gate, pass_ + 1 < plan_.passes);
    }
    --pass_;
    // Behind all kernels.
    download_->wait_for(compute_.record());
    copy_whole(false);
    upload_->wait();
    compute_.wait();
    download_->wait();
    end_direct_files();
    if (has_files_) {
      while (written_ < tiles) {
        for (Operand& operand : operands_)
          if (operand.stage && written_ >= operand.stage->depth())
            operand.stage->wait_for_writes(written_ - operand.stage->depth());
        begin_writes(written_++);
      }
      for (Operand& operand : operands_)
        if (operand.stage)
          for (long t = std::max(0L, tiles - operand.stage->depth()); t < tiles; ++t)
            operand.stage->wait_for_writes(t);
    }
  } catch (...) {
    wait_for_all();
    end_direct_files();
    throw;
  }
  report_.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
}

// Whatever they did: memory is given back after it.
void StreamRun::wait_for_all() {
  for (QueueState* const queue : {&*upload_, &compute_, &*download_}) {
    try {
      queue->wait();
    } catch (...) {
      continue;  // what failed first is told
    }
  }
}

}  // namespace strata::inline STRATA_ABI::detail
