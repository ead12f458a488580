#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <map>
#include <mutex>
#include <numeric>

#include <unistd.h>

#include <strata/algorithms/streaming/stream_run.hpp>
#include <strata/core/allocation_report.hpp>
#include <strata/core/bytes.hpp>
#include <strata/core/error.hpp>
#include <strata/devices/host_device.hpp>
#include <strata/devices/threads/device.hpp>
#include <strata/views/copy.hpp>
#include <strata/views/create.hpp>

namespace strata::inline STRATA_ABI {

std::string StreamReport::explain() const {
  char line[256];
  std::string text = plan;
  if (seconds > 0) {
    const auto rate = [&](index_t bytes) { return static_cast<double>(bytes) / seconds * 1e-9; };
    std::snprintf(line, sizeof line,
                  "  took %.3g s (predicted %.3g): %.3g GB/s to the device, %.3g GB/s from it%s\n", seconds,
                  predicted_seconds, rate(bytes_to_device), rate(bytes_to_host),
                  pinned ? "" : "; some arrays are not pinned: their copies go through staging buffers");
    text += line;
    if (bytes_between_devices > 0) {
      std::snprintf(line, sizeof line, "  %s from device to device\n",
                    string_from_bytes(bytes_between_devices).c_str());
      text += line;
    }
  }
  return text;
}

namespace detail {

namespace {

std::mutex& rates_mutex() {
  static std::mutex& mutex = *new std::mutex;
  return mutex;
}
std::map<std::string, double>& known_rates() {
  static std::map<std::string, double>& rates = *new std::map<std::string, double>;
  return rates;
}

// Bytes a second that a thread of the host copies, which is all that devices of the host do besides kernels.
// Measured once, in some milliseconds.
double host_copy_speed() {
  static const double speed = [] {
    constexpr std::size_t bytes = std::size_t{16} << 20;
    const std::vector<char> from(bytes, 1);
    std::vector<char> to(bytes);
    double best = 1;
    for (int round = 0; round < 3; ++round) {
      const auto begin = std::chrono::steady_clock::now();
      std::memcpy(to.data(), from.data(), bytes);
      best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    }
    return static_cast<double>(bytes) / std::max(best, 1e-6);
  }();
  return speed;
}

constexpr int file_depth = 4;  // tiles of a file under way, each way

index_t rows_of(ResidentRows rows) { return std::max<index_t>(0, rows.end - rows.begin); }
index_t floor_div(index_t a, index_t b) { return a >= 0 ? a / b : -((-a + b - 1) / b); }

// A line about how far it is, where somebody watches.
class Progress {
 public:
  Progress(const std::string& label, long tiles, bool wanted)
      : label_(label), tiles_(tiles), shown_(wanted && isatty(STDERR_FILENO) != 0), begin_(Clock::now()) {}
  ~Progress() {
    if (printed_) std::fputc('\n', stderr);
  }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void at(long tile) {
    if (!shown_) return;
    const auto now = Clock::now();
    const double seconds = std::chrono::duration<double>(now - begin_).count();
    if (seconds < 1 || now - last_ < std::chrono::milliseconds(200)) return;
    last_ = now;
    printed_ = true;
    const double left = seconds / static_cast<double>(tile + 1) * static_cast<double>(tiles_ - tile - 1);
    std::fprintf(stderr, "\r%s: slice %ld of %ld, %.3g slices/s, %.0f s left   ", label_.c_str(), tile + 1,
                 tiles_, static_cast<double>(tile + 1) / seconds, left);
  }

 private:
  using Clock = std::chrono::steady_clock;
  const std::string label_;
  const long tiles_;
  const bool shown_;
  bool printed_ = false;
  const Clock::time_point begin_;
  Clock::time_point last_{};
};

}  // namespace

double known_row_seconds(const std::string& kernel) {
  const std::lock_guard lock(rates_mutex());
  const auto at = known_rates().find(kernel);
  return at == known_rates().end() ? 0 : at->second;
}
void learn_row_seconds(const std::string& kernel, double seconds) {
  const std::lock_guard lock(rates_mutex());
  known_rates()[kernel] = seconds;
}

void complete_problem(StreamProblem& problem, const std::vector<Ref<CoherentState>>& arrays) {
  for (std::size_t a = 0; a < arrays.size(); ++a) {
    StreamArray& here = problem.arrays[a];
    const CoherentState& state = *arrays[a];
    const ArrayShape& shape = state.shape;
    here.label = state.label;
    if (shape.domain.rank() == 0) here.use = StreamArray::Use::Whole;
    for (std::size_t b = 0; b < a; ++b) {
      const StreamArray& other = problem.arrays[b];
      if (arrays[b] == arrays[a] &&
          (here.use == StreamArray::Use::State || other.use == StreamArray::Use::State || writes(here.mode) ||
           writes(other.mode)))
        throw AccessConflict("streaming \"" + problem.label + "\": \"" + here.label +
                             "\" is declared twice, and written; declare it once");
    }
    if (here.use == StreamArray::Use::Whole) {
      here.rows = 1;
      here.row_bytes = shape.bytes();
      continue;
    }
    if (!shape.contiguous_rows)
      throw LayoutError(
          "streaming \"" + problem.label + "\": the rows of \"" + here.label +
          "\" do not lie together in its layout (LayoutLeft); make it with LayoutRight or in tiles");
    here.rows = shape.domain.extent(0);
    here.align = shape.layout.tile_log2 >= 0 ? index_t{1} << shape.layout.tile_log2 : 1;
    here.row_bytes = shape.layout.tile_log2 >= 0 ? shape.layout.tile_stride / here.align * shape.element_bytes
                                                 : shape.layout.stride[0] * shape.element_bytes;
    if (shape.domain.rank() == 1 && shape.layout.tile_log2 < 0) here.row_bytes = shape.element_bytes;
  }
  // Around a ring all rows go: what a tile beyond an end computes needs theirs, too.
  const auto ring = std::find_if(problem.arrays.begin(), problem.arrays.end(), [](const StreamArray& a) {
    return a.use == StreamArray::Use::State && a.cyclic;
  });
  if (ring != problem.arrays.end())
    for (StreamArray& here : problem.arrays) {
      if (here.use == StreamArray::Use::Whole || here.cyclic) continue;
      if (here.use == StreamArray::Use::Rows && (!here.regular || here.rows != ring->rows))
        throw ShapeMismatch("streaming \"" + problem.label + "\": \"" + here.label + "\" has " +
                            std::to_string(here.rows) + " rows, or rows(f), beside the cyclic state \"" +
                            ring->label + "\" of " + std::to_string(ring->rows) +
                            " rows; declare it `all`, or give it as many rows");
      here.cyclic = true;
    }
  for (const StreamArray& here : problem.arrays)
    if (here.cyclic && here.rows % here.align != 0)
      throw LayoutError("streaming \"" + problem.label + "\": \"" + here.label + "\" has " +
                        std::to_string(here.rows) + " rows in tiles of " + std::to_string(here.align) +
                        " and cyclic edges; make it with LayoutRight, or of whole tiles");
}

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
  problem_.seconds_per_row = known_row_seconds(kernel_);
  for (std::size_t k = 0; k < problem_.loops.size(); ++k)
    problem_.loops[k].seconds_per_row = known_row_seconds(kernel_of(k));
  StreamOptions chosen = options;
  for (std::size_t a = 0; a < operands_.size(); ++a) {
    if (operands_[a].file == nullptr || is_whole(a)) continue;
    problem_.align = std::max(problem_.align, array(a).align);  // whole tiles of the layout go to the file
    if (is_state(a) && chosen.scheduler == StreamScheduler::Automatic)
      chosen.scheduler = StreamScheduler::Carry;
  }
  DeviceRates rates = device_.rates();
  const bool in_turn = device_.host_accessible();
  if (in_turn) rates = {host_copy_speed(), host_copy_speed(), host_copy_speed(), 2 * host_copy_speed(), 0, 0};
  StreamRates speeds{rates.to_device,
                     rates.to_host,
                     rates.both_ways,
                     rates.memory,
                     rates.copy_seconds,
                     rates.launch_seconds,
                     in_turn,
                     static_cast<index_t>(device_.repeat_granule())};
  plan_ = make_plan(problem_, budget, speeds, chosen);
  if (plan_.wraps() && !has_addresses()) {
    speeds.repeat_granule = 0;
    plan_ = make_plan(problem_, budget, speeds, chosen);
  }
  take(StreamPlan(plan_), budget);
}

// Whether there are addresses for the buffers of the plan that wrap round, beside those that it has.
bool StreamRun::has_addresses() const {
  if (has_buffers()) return true;
  std::vector<Ref<ReservedMemory>> reserved;
  for (std::size_t a = 0; a < operands_.size(); ++a) {
    const index_t bytes = is_whole(a) ? 0 : bytes_of_buffer(a);
    if (bytes == 0) continue;
    const ArrayShape& shape = operands_[a].state->shape;
    reserved.push_back(device_.reserve({2 * static_cast<std::size_t>(bytes), problem_.arrays[a].label.c_str(),
                                        static_cast<std::size_t>(shape.element_bytes), &shape.layout}));
    if (!reserved.back()) return false;
  }
  return true;
}

std::string StreamRun::kernel_of(std::size_t loop) const { return kernel_ + "#" + std::to_string(loop); }

void StreamRun::take(const StreamPlan& plan, index_t budget) {
  plan_ = plan;
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
    report_.slices += static_cast<index_t>(plan_.pass_number(p).tiles.size());
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

// ---- what it works with

StreamArrays::StreamArrays(const StreamProblem& problem, const std::vector<Ref<CoherentState>>& arrays,
                           bool in_place) {
  operands_.resize(arrays.size());
  // All threads take arrays in one order: none waits for another that waits for it.
  std::vector<std::size_t> order(arrays.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return std::less<const CoherentState*>()(&*arrays[a], &*arrays[b]);
  });
  const CoherentState* last = nullptr;
  for (const std::size_t a : order) {
    const StreamArray& here = problem.arrays[a];
    const bool is_state = here.use == StreamArray::Use::State, is_whole = here.use == StreamArray::Use::Whole;
    Operand& operand = operands_[a];
    operand.state = arrays[a];
    CoherentState& state = *operand.state;
    FileStorage* const file = file_storage_of(state);
    const bool earlier = last == &state;  // read twice
    last = &state;
    const AccessMode mode = is_state ? AccessMode::InOut : here.mode;
    check_file_use(state, writes(mode));
    if (writes(mode)) mark_file_incomplete(state);
    if (!earlier) {
      Box box = state.shape.domain;
      // Rows that the launch does not touch keep their values.
      if (mode == AccessMode::Out && !is_whole && here.rows_of) {
        const ResidentRows rows = here.rows_of(problem.work);
        if (rows.begin > 0 || rows.end < here.rows)
          box = box.with_bounds(0, std::max<index_t>(rows.begin, 0), std::min(rows.end, here.rows));
      }
      operand.use = HostUseScope(operand.state, box, mode);
    }
    operand.host[0] = operand.host[1] = state.main.base;
    if (file != nullptr && !is_whole) {
      file->before_direct_read(file->first_byte(), file->data_bytes());
      if (writes(mode)) file->before_direct_write(file->first_byte(), file->data_bytes());
      if (is_state && !in_place)
        throw Error("streaming \"" + problem.label + "\": \"" + state.label +
                    "\" lives in a file, whose steps are done in place: by the scheduler carry, without "
                    "cyclic edges");
      continue;
    }
    if (!is_state || in_place) continue;
    const std::string label = state.label + " (second copy)";
    operand.second = AllocationRef(
        create_storage(*state.main.device, nullptr, label.c_str(), state.shape.layout.span,
                       static_cast<std::size_t>(state.shape.element_bytes), state.shape.layout, false));
    operand.host[1] = static_cast<char*>(operand.second.get()->data);
  }
}

void StreamArrays::end(int side) {
  for (Operand& operand : operands_) {
    if (side == 1 && operand.second.get() != nullptr) {
      // By all threads of the host.
      const CoherentState& state = *operand.state;
      DeviceInstance& host = Threads().backend();
      const CopySide from{operand.host[1], host.space(), &state.shape.layout, state.label.c_str(), &host};
      const CopySide to{operand.host[0], host.space(), &state.shape.layout, state.label.c_str(), &host};
      copy_arrays(to, from, static_cast<std::size_t>(state.shape.element_bytes), &host.default_queue());
    }
    operand.use.end();
  }
}

void StreamRun::make_stages() {
  for (std::size_t a = 0; a < operands_.size(); ++a) {
    Operand& operand = operands_[a];
    operand.stage.reset();
    if (operand.file == nullptr || is_whole(a)) continue;
    const CoherentState& state = *operand.state;
    operand.stage = std::make_unique<FileStage>(*operand.file, state.shape, state.label.c_str(),
                                                most_copied(a), file_depth, device_);
    has_files_ = true;
  }
}

// Bytes of an array that a tile copies one way, at most.
index_t StreamRun::most_copied(std::size_t a) const {
  index_t most = 0;
  const auto look = [&](const std::vector<StreamCopy>& copies) {
    index_t bytes = 0;
    for (const StreamCopy& copy : copies)
      if (static_cast<std::size_t>(copy.array) == a)
        bytes += buffer_bytes(problem_.arrays[a], rows_of(copy.rows));
    most = std::max(most, bytes);
  };
  for (const StreamPass* const pass : {&plan_.pass, &plan_.last})
    for (const StreamTile& tile : pass->tiles) {
      look(tile.uploads);
      look(tile.downloads);
    }
  return most;
}

void StreamRun::allocate() {
  make_stages();
  make_buffers();
  if (upload_) return;
  upload_ = device_.create_queue();
  download_ = device_.create_queue();
}

// As before any tile.
void StreamRun::restart() {
  report_.bytes_to_device = report_.bytes_to_host = report_.bytes_moved = 0;
  pass_ = turned_ = steps_done_ = 0;
  tile_ = read_ = written_ = 0;
  stages_.clear();
  samples_.clear();
  whole_tile_ = {};
}

void StreamRun::prepare(const StreamArrays& arrays) {
  for (std::size_t a = 0; a < operands_.size(); ++a)
    for (const int side : {0, 1}) operands_[a].host[side] = arrays.host(a, side);
  pin_arrays();
}

void StreamRun::pin_arrays() {
  report_.pinned = true;
  if (device_.host_accessible()) return;
  // Two threads may stream an array that both read.
  static std::mutex& mutex = *new std::mutex;
  const std::lock_guard lock(mutex);
  for (std::size_t a = 0; a < operands_.size(); ++a) {
    Operand& operand = operands_[a];
    CoherentState& state = *operand.state;
    if (problem_.arrays[a].temporary) continue;  // nothing of it is copied
    if (operand.file != nullptr) {
      report_.pinned = report_.pinned && (!operand.stage || operand.stage->pinned());
      continue;
    }
    if (!state.pinned)
      state.pinned = device_.pin(state.main.base, static_cast<std::size_t>(state.shape.bytes()));
    // A second copy lies where the first one was made.
    const bool second_too = operand.host[1] == operand.host[0] || state.main.space.shared;
    if (!state.pinned || !second_too) report_.pinned = false;
  }
}

// Whether those of an earlier run suffice.
bool StreamRun::has_buffers() const {
  index_t held = 0;
  for (std::size_t a = 0; a < operands_.size(); ++a) {
    const std::vector<Buffer>& buffers = operands_[a].buffers;
    if (buffers.size() < buffer_count(a) || buffers[0].bytes < bytes_of_buffer(a)) return false;
    if (buffers[0].data != nullptr && bool(buffers[0].wraps) != (plan_.wraps() && !is_whole(a))) return false;
    for (const Buffer& buffer : buffers) held += buffer.bytes;
  }
  return held <= budget_;
}
std::size_t StreamRun::buffer_count(std::size_t a) const {
  return is_whole(a) || plan_.wraps() ? 1 : static_cast<std::size_t>(plan_.slots * (is_state(a) ? 2 : 1));
}
index_t StreamRun::bytes_of_buffer(std::size_t a) const {
  if (is_whole(a)) return buffer_bytes(problem_.arrays[a], 1);
  return buffer_bytes(problem_.arrays[a], plan_.window_rows[a], plan_.wraps() ? plan_.repeat_granule : 0);
}

void StreamRun::make_buffers() {
  if (has_buffers()) return;
  for (Operand& operand : operands_) operand.buffers.clear();
  for (std::size_t a = 0; a < operands_.size(); ++a) {
    const std::size_t count = buffer_count(a);
    const index_t bytes = bytes_of_buffer(a);
    if (bytes == 0) {  // of an array that this run does not touch
      operands_[a].buffers.resize(count);
      continue;
    }
    for (std::size_t k = 0; k < count; ++k) operands_[a].buffers.push_back(make_buffer(a, bytes));
  }
}

StreamRun::Buffer StreamRun::make_buffer(std::size_t a, index_t bytes) {
  const ArrayShape& shape = operands_[a].state->shape;
  AllocationRequest request{static_cast<std::size_t>(bytes), array(a).label.c_str(),
                            static_cast<std::size_t>(shape.element_bytes), &shape.layout};
  Buffer buffer;
  buffer.bytes = bytes;
  if (!plan_.wraps() || is_whole(a)) {
    buffer.block = AllocationRef(device_.allocate(request));
    buffer.data = static_cast<char*>(buffer.block.get()->data);
    return buffer;
  }
  // Any window of it lies in one piece where its bytes come twice, one behind the other.
  AllocationRequest twice = request;
  twice.bytes *= 2;
  buffer.wraps = device_.reserve(twice);
  if (!buffer.wraps || !buffer.wraps->commit_repeating(request.bytes)) {
    const std::string place = describe_space(device_.space());
    fail_out_of_memory(request, device_.space(), place.c_str(),
                       buffer.wraps ? "there is not enough memory" : "there are no addresses for it");
  }
  buffer.data = static_cast<char*>(buffer.wraps->data());
  return buffer;
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

// Where row 0 of the array is, or would be, in a buffer that holds it at row `shift` of the device.
char* StreamRun::base_of(std::size_t a, long tile, int buffer, index_t shift) const {
  const Operand& operand = operands_[a];
  if (is_whole(a)) return operand.buffers[0].data;
  const StreamArray& here = problem_.arrays[a];
  if (plan_.wraps()) {
    const Buffer& wraps = operand.buffers[0];
    if (wraps.data == nullptr) return nullptr;
    // Rows are counted on from pass to pass.
    const index_t first = floor_div(tile_at(tile).windows[a].begin, here.align) * here.align;
    const index_t place = (pass_of(tile) * rows_of_pass(here) + first) * here.row_bytes % wraps.bytes;
    return wraps.data + place - first * here.row_bytes;
  }
  const long slot = windows_.window_of(tile) % plan_.slots;
  const std::size_t number = static_cast<std::size_t>(is_state(a) ? 2 * slot + buffer : slot);
  if (operand.buffers[number].data == nullptr) return nullptr;
  const index_t begin = tile_at(tile).windows[a].begin - shift;
  const index_t first = floor_div(begin, here.align) * here.align;
  return operand.buffers[number].data - first * here.row_bytes;
}

// ---- copies

void StreamRun::copy(const StreamCopy& copy, long tile, bool is_upload) {
  const std::size_t a = static_cast<std::size_t>(copy.array);
  const Operand& operand = operands_[a];
  const CoherentState& state = *operand.state;
  const LayoutDescriptor layout =
      state.shape.layout_of(state.shape.domain.with_bounds(0, copy.rows.begin, copy.rows.end));
  const int side = is_state(a) ? copy.side ^ turned_ : 0;
  char* base = operand.host[side];
  if (is_staged(copy))
    base = is_upload ? operand.stage->base_of_read(tile, copy.rows)
                     : operand.stage->base_to_write(tile, copy.rows);
  const CopySide host{base, state.main.space, &layout, state.label.c_str(), state.main.device};
  const CopySide device{base_of(a, tile, copy.buffer, copy.shift), device_.space(), &layout,
                        state.label.c_str(), &device_};
  const std::size_t element = static_cast<std::size_t>(state.shape.element_bytes);
  const index_t bytes = rows_of(copy.rows) * problem_.arrays[a].row_bytes;
  if (is_upload) {
    copy_arrays(device, host, element, &*upload_);
    report_.bytes_to_device += bytes;
  } else {
    copy_arrays(host, device, element, &*download_);
    report_.bytes_to_host += bytes;
  }
}

// To the device, from who has it: where others keep rows from the pass before, from them.
void StreamRun::bring(const StreamCopy& all, long tile, int pass) {
  const std::size_t a = static_cast<std::size_t>(all.array);
  if (seams_ == nullptr || pass == 0 || !is_state(a)) return copy(all, tile, true);
  const CoherentState& state = *operands_[a].state;
  for (const SeamPlan::Source& source : seams_->plan().sources(number_, all.rows)) {
    StreamCopy part = all;
    part.rows = source.rows;
    if (source.run == SeamPlan::from_host) {
      copy(part, tile, true);
      continue;
    }
    const LayoutDescriptor layout =
        state.shape.layout_of(state.shape.domain.with_bounds(0, part.rows.begin, part.rows.end));
    const CopySide to{base_of(a, tile, part.buffer, part.shift), device_.space(), &layout,
                      state.label.c_str(), &device_};
    copy_arrays(to, seams_->side(static_cast<std::size_t>(source.run), source.end, pass - 1, a, layout),
                static_cast<std::size_t>(state.shape.element_bytes), &*upload_);
    report_.bytes_between_devices += rows_of(part.rows) * problem_.arrays[a].row_bytes;
  }
}

// Of rows that go home, those that others read in the next pass.
void StreamRun::keep_for_others(const StreamCopy& copy, long tile, int pass) {
  const std::size_t a = static_cast<std::size_t>(copy.array);
  if (seams_ == nullptr || pass + 1 >= plan_.passes || !is_state(a)) return;
  const CoherentState& state = *operands_[a].state;
  for (const int end : {0, 1}) {
    const ResidentRows kept = seams_->plan().kept(number_)[static_cast<std::size_t>(end)];
    const ResidentRows rows{std::max(kept.begin, copy.rows.begin), std::min(kept.end, copy.rows.end)};
    if (rows_of(rows) == 0) continue;
    const LayoutDescriptor layout =
        state.shape.layout_of(state.shape.domain.with_bounds(0, rows.begin, rows.end));
    const CopySide from{base_of(a, tile, copy.buffer, copy.shift), device_.space(), &layout,
                        state.label.c_str(), &device_};
    copy_arrays(seams_->side(number_, end, pass, a, layout), from,
                static_cast<std::size_t>(state.shape.element_bytes), &*download_);
    report_.bytes_moved += rows_of(rows) * problem_.arrays[a].row_bytes;
  }
}

void StreamRun::move(const StreamMove& move, long tile) {
  const std::size_t a = static_cast<std::size_t>(move.array);
  const CoherentState& state = *operands_[a].state;
  const LayoutDescriptor layout =
      state.shape.layout_of(state.shape.domain.with_bounds(0, move.rows.begin, move.rows.end));
  const CopySide from{base_of(a, move.from_previous ? tile - 1 : tile, move.from_buffer, 0), device_.space(),
                      &layout, state.label.c_str(), &device_};
  const CopySide to{base_of(a, tile, move.buffer, 0), device_.space(), &layout, state.label.c_str(),
                    &device_};
  copy_arrays(to, from, static_cast<std::size_t>(state.shape.element_bytes), &compute_);
  report_.bytes_moved += rows_of(move.rows) * problem_.arrays[a].row_bytes;
}

void StreamRun::copy_whole(bool is_upload) {
  for (std::size_t a = 0; a < operands_.size(); ++a) {
    if (!is_whole(a) || !(is_upload ? reads(array(a).mode) : writes(array(a).mode))) continue;
    const CoherentState& state = *operands_[a].state;
    const LayoutDescriptor& layout = state.shape.layout;
    const CopySide host{operands_[a].host[0], state.main.space, &layout, state.label.c_str(),
                        state.main.device};
    const CopySide device{operands_[a].buffers[0].data, device_.space(), &layout, state.label.c_str(),
                          &device_};
    const std::size_t element = static_cast<std::size_t>(state.shape.element_bytes);
    if (is_upload) copy_arrays(device, host, element, &*upload_);
    else copy_arrays(host, device, element, &*download_);
    (is_upload ? report_.bytes_to_device : report_.bytes_to_host) += state.shape.bytes();
  }
}

// ---- the stages

void StreamRun::wait(QueueState& queue, StreamStage stage, long tile) {
  const Ref<EventState>& event =
      stages_[static_cast<std::size_t>(tile)].done[static_cast<std::size_t>(stage)];
  if (event) queue.wait_for(event);
}
void StreamRun::record(StreamStage stage, long tile, QueueState& queue) {
  stages_[static_cast<std::size_t>(tile)].done[static_cast<std::size_t>(stage)] = queue.record();
}

// ---- files: what the host does meanwhile

bool StreamRun::is_staged(const StreamCopy& copy) const {
  const Operand& operand = operands_[static_cast<std::size_t>(copy.array)];
  return operand.stage && operand.stage->takes(copy.rows);
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
      if (static_cast<std::size_t>(copy.array) == a && stage.takes(copy.rows)) stage.read(tile, copy.rows);
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
    const long ahead = tile + file_depth - 1;
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
  // Of a sequence one in the middle, where all loops are under way.
  const std::size_t tiles = plan_.pass_number(pass).tiles.size();
  const bool timed = !here.launches.empty() && samples_.size() < samples_wanted &&
                     (in_sequence ? static_cast<std::size_t>(tile) == tiles / 2 : tile > 0 || tiles == 1);
  const bool timed_whole = in_sequence && static_cast<std::size_t>(tile) == tiles / 2 + 1;
  if (timed_whole) {
    whole_tile_.rows.assign(problem_.loops.size(), 0);
    whole_tile_.launches.assign(problem_.loops.size(), 0);
    whole_tile_.begin = compute_.record_timed();
  }
  Ref<EventState> begin;
  if (timed) begin = compute_.record_timed();
  index_t rows = 0;
  StreamSite site;
  site.places.resize(operands_.size());
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
    if (timed_whole) {
      whole_tile_.rows[loop_number(part.step)] += rows_of(part.work);
      ++whole_tile_.launches[loop_number(part.step)];
    }
    if (timed && in_sequence)
      samples_.push_back({begin, compute_.record_timed(), rows_of(part.work), loop_number(part.step)});
  }
  if (timed_whole && rows > 0) whole_tile_.end = compute_.record_timed();
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
    fail_streaming("streaming \"" + problem_.label + "\" failed at " + progress_made(), partly);
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
    Progress line(problem_.label.empty() ? "streaming" : problem_.label, tiles, progress);
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
        }
        line.at(tile);
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

void StreamRun::learn() {
  struct Sum {
    double seconds = 0;
    index_t rows = 0;
  };
  std::vector<Sum> sums(std::max<std::size_t>(problem_.loops.size(), 1));
  // Launches of sequences are many and short: the model counts their begin by itself.
  const double launch = problem_.loops.empty() ? 0 : device_.rates().launch_seconds;
  for (const Sample& sample : samples_) {
    double took = sample.end->seconds_since(*sample.begin);
    if (took <= 0) continue;
    took = std::max(took - launch, took / 2);
    sums[sample.loop].seconds += took;
    sums[sample.loop].rows += sample.rows;
  }
  const auto row_seconds = [&](std::size_t k) {
    return sums[k].rows > 0 ? sums[k].seconds / static_cast<double>(sums[k].rows) : 0;
  };
  // Launches that are measured one by one take longer than those that follow each other: they have their
  // parts of what a tile takes as a whole.
  double part = 1;
  if (whole_tile_.end) {
    double one_by_one = 0, launches = 0;
    bool all_known = true;
    for (std::size_t k = 0; k < sums.size(); ++k) {
      one_by_one += row_seconds(k) * static_cast<double>(whole_tile_.rows[k]);
      launches += launch * static_cast<double>(whole_tile_.launches[k]);
      all_known = all_known && (whole_tile_.rows[k] == 0 || sums[k].rows > 0);
    }
    const double took = whole_tile_.end->seconds_since(*whole_tile_.begin);
    if (all_known && one_by_one > 0 && took > 0) part = std::max(took - launches, took / 2) / one_by_one;
  }
  for (std::size_t k = 0; k < sums.size(); ++k)
    if (sums[k].rows > 0)
      learn_row_seconds(problem_.loops.empty() ? kernel_ : kernel_of(k), part * row_seconds(k));
}

// Whether the first pass was the only one that wrote to the host: to the second copies of states, then.
bool StreamRun::only_first_pass() const {
  // Seams of even tiles go to the first copies.
  for (const StreamTile& tile : plan_.pass_number(0).tiles)
    for (const StreamCopy& copy : tile.downloads)
      if (is_state(static_cast<std::size_t>(copy.array)) && copy.side == 0) return false;
  const std::size_t second = plan_.pass_number(0).tiles.size();
  if (plan_.pass.in_place || second >= stages_.size()) return !plan_.pass.in_place;
  const Ref<EventState>& computed = stages_[second].done[static_cast<std::size_t>(StreamStage::Compute)];
  if (!computed) return true;
  try {
    computed->wait();
  } catch (...) {
    return true;  // what failed before it made its download drop, too
  }
  return false;
}

std::string StreamRun::progress_made() const {
  return "slice " + std::to_string(tile_) + " of " + std::to_string(stages_.size());
}

std::string StreamRun::changed_arrays(bool first_pass) const {
  std::string partly;
  for (std::size_t a = 0; a < operands_.size(); ++a)
    if (is_state(a) ? !first_pass : writes(problem_.arrays[a].mode))
      partly += (partly.empty() ? "\"" : ", \"") + problem_.arrays[a].label + "\"";
  return partly;
}

void fail_streaming(const std::string& where, const std::string& partly) {
  try {
    throw;
  } catch (const std::exception& error) {
    const std::string text = where + ": " + error.what();
    if (partly.empty()) throw Error(text + "\nNo array was changed");
    throw DataLost(text + "\nIn part old and in part new are now the values of " + partly +
                   ": write them anew before they are used");
  }
}

}  // namespace detail
}  // namespace strata::inline STRATA_ABI
