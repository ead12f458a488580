#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <limits>

#include <strata/algorithms/streaming/stream_plan.hpp>
#include <strata/core/bytes.hpp>
#include <strata/core/error.hpp>

namespace strata::inline STRATA_ABI::detail {

namespace {

using Use = StreamArray::Use;

// Bytes a second of a copy within the host's memory, by its threads: of machines with GPUs, about.
constexpr double host_copy_rate = 40e9;

index_t rows_of(ResidentRows rows) { return std::max<index_t>(0, rows.end - rows.begin); }
bool has_states(const StreamProblem& problem) {
  return std::any_of(problem.arrays.begin(), problem.arrays.end(),
                     [](const StreamArray& a) { return a.use == Use::State; });
}

bool is_sequence(const StreamProblem& problem) { return !problem.loops.empty(); }

StreamPass make_pass(const StreamProblem& problem, StreamScheduler scheduler, index_t chunk, int steps,
                     int tiles_per_window = 1) {
  if (is_sequence(problem)) return sequence_pass(problem, chunk, steps, tiles_per_window);
  switch (scheduler) {
    case StreamScheduler::Overlap:
    case StreamScheduler::Naive:
      return overlap_pass(problem, chunk, steps);
    case StreamScheduler::EvenOdd:
      return even_odd_pass(problem, chunk, steps);
    case StreamScheduler::Carry:
      return carry_pass(problem, chunk, steps);
    case StreamScheduler::Automatic:
      break;
  }
  return map_pass(problem, chunk);
}

// The rows that all tiles together go over.
index_t all_rows(const StreamProblem& problem) {
  for (const StreamArray& array : problem.arrays)
    if (array.use == Use::State)
      return problem.part.end < problem.part.begin ? array.rows : rows_of(problem.part);
  return rows_of(problem.work);
}

// The kernel's time for one row and step, from what it moves where it was never measured.
double row_seconds(const StreamProblem& problem, const StreamRates& rates) {
  if (problem.seconds_per_row > 0) return problem.seconds_per_row;
  double bytes = 0;
  for (const StreamArray& array : problem.arrays)
    if (array.use != Use::Whole)
      bytes += static_cast<double>(array.row_bytes) *
               (array.use == Use::State || array.mode == AccessMode::InOut ? 2 : 1);
  return rates.memory > 0 ? bytes / rates.memory : 0;
}

double row_seconds(const StreamProblem& problem, const StreamLoop& loop, const StreamRates& rates) {
  if (loop.seconds_per_row > 0) return loop.seconds_per_row;
  double bytes = 0;
  for (const StreamLoop::Use& use : loop.uses) {
    const StreamArray& array = problem.arrays[static_cast<std::size_t>(use.array)];
    if (array.use != Use::Whole)
      bytes += static_cast<double>(array.row_bytes) * (use.mode == AccessMode::InOut ? 2 : 1);
  }
  return rates.memory > 0 ? bytes / rates.memory : 0;
}

// What a stage of a tile takes. Where both ways of the link are in use each has its part of what they have
// together.
struct Speeds {
  double up, down;
};
Speeds speeds_of(const StreamBytes& bytes, const StreamRates& rates) {
  Speeds speeds{rates.up, rates.down};
  if (bytes.up > 0 && bytes.down > 0 && rates.both > 0 && rates.up + rates.down > 0) {
    const double part = std::min(1.0, rates.both / (rates.up + rates.down));
    speeds = {rates.up * part, rates.down * part};
  }
  return speeds;
}

// The stages of tiles on three engines, one tile after the other.
class Engines {
 public:
  Engines(const StreamProblem& problem, const StreamPlan& plan, const StreamRates& rates)
      : problem_(problem), rates_(rates), windows_(problem, plan) {
    if (problem.loops.empty()) row_seconds_.push_back(row_seconds(problem, rates));
    for (const StreamLoop& loop : problem.loops) row_seconds_.push_back(row_seconds(problem, loop, rates));
    speeds_ = speeds_of(bytes_of(problem, plan.last), rates);
  }

  void pass(const StreamPass& pass, int previous_tiles) {
    const std::size_t first = done_.size();
    // Devices that share the rows wait for each other.
    if (is_partial(problem_)) ready_.fill(end());
    windows_.add(pass);
    for (std::size_t k = 0; k < pass.tiles.size(); ++k) {
      const StreamTile& tile = pass.tiles[k];
      const auto after = [&](double start, const std::vector<StreamWait>& waits) {
        for (const StreamWait& wait : waits) {
          const long at = static_cast<long>(first) + wait.tile - (wait.previous_pass ? previous_tiles : 0);
          if (at >= 0 && (!wait.previous_pass || previous_tiles > 0))
            start = std::max(start, done(wait.stage, at));
        }
        return start;
      };
      double start = after(0, tile.before_upload);
      for (const SlotWait& wait : windows_.waits(static_cast<long>(done_.size())))
        start = std::max(start, done(wait.stage, wait.tile));
      done_.push_back({});
      // Copies of several arrays follow each other without a pause.
      run(StreamStage::Upload, start, copy_seconds(tile.uploads, speeds_.up));
      run(StreamStage::Compute, done_.back()[0], compute_seconds(tile));
      run(StreamStage::Download, after(done_.back()[1], tile.before_download),
          copy_seconds(tile.downloads, speeds_.down));
    }
  }
  double end() const { return *std::max_element(ready_.begin(), ready_.end()); }
  /// When a tile has gone home.
  double done_at(std::size_t tile) const { return done_[tile][2]; }

 private:
  double done(StreamStage stage, long tile) const {
    return done_[static_cast<std::size_t>(tile)][static_cast<std::size_t>(stage)];
  }
  void run(StreamStage stage, double start, double seconds) {
    double& ready = ready_[rates_.in_turn ? 0 : static_cast<std::size_t>(stage)];
    start = std::max(start, ready);
    if (seconds > 0) ready = start + seconds;
    done_.back()[static_cast<std::size_t>(stage)] = start + seconds;
  }
  double copy_seconds(const std::vector<StreamCopy>& copies, double speed) const {
    double seconds = 0;
    for (const StreamCopy& copy : copies) {
      const double bytes = static_cast<double>(
          rows_of(copy.rows) * problem_.arrays[static_cast<std::size_t>(copy.array)].row_bytes);
      seconds += (speed > 0 ? bytes / speed : 0) + rates_.copy_latency;
    }
    return seconds;
  }
  double compute_seconds(const StreamTile& tile) const {
    double seconds = 0;
    for (const StreamMove& move : tile.moves)
      seconds +=
          rates_.launch_latency +
          (rates_.memory > 0
               ? 2 *
                     static_cast<double>(rows_of(move.rows) *
                                         problem_.arrays[static_cast<std::size_t>(move.array)].row_bytes) /
                     rates_.memory
               : 0);
    for (const StreamLaunch& launch : tile.launches)
      seconds += rates_.launch_latency + static_cast<double>(rows_of(launch.work)) * row_seconds_of(launch);
    return seconds;
  }

  double row_seconds_of(const StreamLaunch& launch) const {
    return row_seconds_[static_cast<std::size_t>(problem_.first_loop + launch.step - 1) %
                        row_seconds_.size()];
  }

  const StreamProblem& problem_;
  const StreamRates& rates_;
  StreamWindows windows_;
  std::vector<double> row_seconds_;  // of each loop
  Speeds speeds_;
  std::array<double, 3> ready_{};
  std::vector<std::array<double, 3>> done_;
};

// All buffers of an array.
index_t array_bytes(const StreamArray& array, index_t rows, int slots, index_t repeat_granule) {
  if (array.use == Use::Whole) return buffer_bytes(array, rows);
  if (repeat_granule > 0) return buffer_bytes(array, rows, repeat_granule);
  return buffer_bytes(array, rows) * slots * (array.use == Use::State ? 2 : 1);
}

void finish_plan(const StreamProblem& problem, const StreamRates& rates, StreamPlan& plan) {
  const int rest = problem.steps % std::max(plan.pass.steps, 1);
  plan.passes = (problem.steps + plan.pass.steps - 1) / plan.pass.steps;
  plan.last =
      rest == 0 ? plan.pass : make_pass(problem, plan.scheduler, plan.chunk, rest, plan.tiles_per_window);
  follow(problem, plan.pass, plan.last);
  follow(problem, StreamPass(plan.pass), plan.pass);
  plan.repeat_granule = plan.wraps() ? rates.repeat_granule : 0;
  static_cast<void>(device_bytes(problem, plan.pass, plan.slots, plan.window_rows, plan.repeat_granule));
  std::vector<index_t> last_rows;
  static_cast<void>(device_bytes(problem, plan.last, plan.slots, last_rows, plan.repeat_granule));
  plan.device_bytes = 0;
  for (std::size_t a = 0; a < last_rows.size(); ++a) {
    plan.window_rows[a] = std::max(plan.window_rows[a], last_rows[a]);
    plan.device_bytes += array_bytes(problem.arrays[a], plan.window_rows[a], plan.slots, plan.repeat_granule);
  }
  const StreamBytes one = bytes_of(problem, plan.pass), last = bytes_of(problem, plan.last);
  plan.bytes = {one.up * (plan.passes - 1) + last.up, one.down * (plan.passes - 1) + last.down,
                one.moved * (plan.passes - 1) + last.moved};
  for (const StreamArray& array : problem.arrays) {
    if (array.use != Use::Whole) continue;
    if (reads(array.mode)) plan.bytes.up += array.rows * array.row_bytes;
    if (writes(array.mode)) plan.bytes.down += array.rows * array.row_bytes;
  }
  plan.seconds = predict(problem, plan, rates);
}

// The same problem with fewer rows, whose tiles have the same windows; the same where they may differ.
StreamProblem shortened(const StreamProblem& problem, index_t rows_wanted) {
  const index_t rows = all_rows(problem);
  if (rows <= rows_wanted || is_sequence(problem) ||
      !std::all_of(problem.arrays.begin(), problem.arrays.end(),
                   [](const StreamArray& a) { return a.regular; }))
    return problem;
  StreamProblem part = problem;
  const index_t less = (rows - rows_wanted) / problem.align * problem.align;
  part.work.end = std::max(part.work.begin, part.work.end - less);
  if (part.part.end >= part.part.begin) part.part.end -= less;
  for (StreamArray& array : part.arrays)
    if (array.use != Use::Whole) array.rows = std::max<index_t>(array.rows - less, 0);
  return part;
}
bool is_ring(const StreamProblem& problem) {
  return std::any_of(problem.arrays.begin(), problem.arrays.end(),
                     [](const StreamArray& a) { return a.use == Use::State && a.cyclic; });
}
index_t halo_of(const StreamProblem& problem) {
  index_t halo = problem.align;
  for (const StreamArray& array : problem.arrays)
    if (array.use == Use::State) halo = std::max({halo, array.left, array.right});
  return halo;
}

// How tiles share the device's memory.
struct Sharing {
  int slots = 1;
  int tiles_per_window = 1;
  index_t repeat_granule = 0;  // where it is `wrapping`
};

// The largest chunk whose buffers fit, at most `most`, or 0.
index_t largest_chunk(const StreamProblem& problem, StreamScheduler scheduler, int steps,
                      const Sharing& sharing, index_t most, index_t budget) {
  const int slots = sharing.slots;
  const index_t halo = halo_of(problem);
  const auto fits = [&](index_t chunk) {
    std::vector<index_t> rows;
    if (is_sequence(problem)) {
      const StreamPass sample = sequence_pass(problem, chunk, steps, sharing.tiles_per_window, true);
      return !sample.tiles.empty() &&
             device_bytes(problem, sample, slots, rows, sharing.repeat_granule) <= budget;
    }
    // A whole number of tiles, so that the last one is no smaller than others.
    const StreamProblem part = shortened(problem, (9 + 4 * steps * halo / chunk) * chunk);
    return device_bytes(part, make_pass(part, scheduler, chunk, steps), slots, rows) <= budget;
  };
  index_t least = problem.align;
  if (scheduler == StreamScheduler::EvenOdd) least = std::max(least, steps * halo + 1);
  if (least > most) return 0;
  // A window is at least a chunk: a first bound without making passes of many small tiles.
  index_t bytes_per_row = 0, whole = 0;
  for (const StreamArray& array : problem.arrays) {
    if (array.use == Use::Whole) whole += buffer_bytes(array, array.rows);
    else if (array.use == Use::State) bytes_per_row += 2 * array.row_bytes * slots;
    else if (array.rows >= rows_of(problem.work)) bytes_per_row += array.row_bytes * slots;
  }
  if (whole > budget) return 0;
  index_t high = most;
  if (bytes_per_row > 0) high = std::min(high, (budget - whole) / bytes_per_row);
  high -= high % problem.align;
  if (high < least) return 0;
  if (fits(high)) return high;
  // Passes get long where chunks are small: 1/1024 of the largest is the least that is tried before the
  // least. Samples of sequences are slower to make.
  const bool slow = is_sequence(problem);
  index_t low = std::max(least, high / (slow ? 64 : 1024) / problem.align * problem.align);
  if (!fits(low)) return low > least && fits(least) ? least : 0;
  while (high - low > std::max(problem.align, low / (slow ? 16 : 64))) {
    index_t middle = low + (high - low) / 2;
    middle -= middle % problem.align;
    if (middle <= low) break;
    (fits(middle) ? low : high) = middle;
  }
  return low;
}

index_t bytes_of_all(const StreamProblem& problem) {
  index_t bytes = 0;
  for (const StreamArray& array : problem.arrays)
    bytes += buffer_bytes(array, array.use == Use::Whole ? 1 : array.rows);
  return bytes;
}

// What the smallest slices take: one step, or each loop once, two slices at once.
index_t least_budget(const StreamProblem& problem, const StreamOptions& options, index_t repeat_granule) {
  const int loops = is_sequence(problem) ? static_cast<int>(problem.loops.size()) : 1;
  const int steps =
      std::min(problem.steps, options.steps_per_pass > 0 ? options.steps_per_pass * loops : loops);
  StreamScheduler scheduler = options.scheduler;
  if (has_states(problem) && scheduler == StreamScheduler::Automatic) scheduler = StreamScheduler::Carry;
  index_t chunk = options.chunk > 0 ? options.chunk : problem.align;
  if (scheduler == StreamScheduler::EvenOdd && options.chunk == 0)
    chunk = std::max(chunk, steps * halo_of(problem) + 1);
  int slots = options.slots;
  if (slots == 0) slots = is_sequence(problem) ? 2 : 3;
  std::vector<index_t> rows;
  const index_t windows = device_bytes(problem, make_pass(problem, scheduler, chunk, steps), slots, rows);
  if (!is_sequence(problem) || repeat_granule == 0) return windows;
  return std::min(windows, device_bytes(problem, sequence_pass(problem, chunk, steps, wrapping), slots, rows,
                                        repeat_granule));
}

[[noreturn]] void fail_budget(const StreamProblem& problem, index_t budget, const StreamOptions& options,
                              index_t repeat_granule) {
  const index_t least = least_budget(problem, options, repeat_granule);
  std::string text =
      "streaming \"" + problem.label + "\": a budget of " + string_from_bytes(budget) + " does not hold " +
      (options.chunk > 0 ? "slices of " + std::to_string(options.chunk) + " rows"
                         : std::string("the smallest slices")) +
      " of its arrays, which take " + string_from_bytes(least) + " (" + std::to_string(least) + " B):";
  for (const StreamArray& array : problem.arrays)
    text += "\n  \"" + array.label + "\": " +
            (array.use == Use::Whole ? "all of it, " + string_from_bytes(buffer_bytes(array, array.rows))
                                     : string_from_bytes(array.row_bytes) + " a row") +
            (array.use == Use::State ? ", old and new values" : "");
  throw OutOfMemory(text + "\nGive a larger budget, or smaller slices, fewer slots and fewer steps per pass");
}

}  // namespace

index_t buffer_bytes(const StreamArray& array, index_t rows, index_t repeat_granule) {
  if (repeat_granule > 0) {  // windows begin and end with tiles
    const index_t bytes = (rows + array.align - 1) / array.align * array.align * array.row_bytes;
    return (bytes + repeat_granule - 1) / repeat_granule * repeat_granule;
  }
  // Windows may begin and end within tiles of the layout.
  const index_t tiles = array.align > 1 ? (rows + 2 * (array.align - 1)) / array.align : rows;
  constexpr index_t granule = 512;
  const index_t bytes = tiles * array.align * array.row_bytes;
  return (bytes + granule - 1) / granule * granule;
}

index_t device_bytes(const StreamProblem& problem, const StreamPass& pass, int slots,
                     std::vector<index_t>& window_rows, index_t repeat_granule) {
  window_rows.assign(problem.arrays.size(), 0);
  // Of buffers that wrap round the rows of a tile, and of those before it that are still under way.
  const std::size_t before = repeat_granule > 0 ? static_cast<std::size_t>(slots - 1) : 0;
  for (std::size_t k = 0; k < pass.tiles.size(); ++k)
    for (std::size_t a = 0; a < problem.arrays.size(); ++a)
      window_rows[a] = std::max(window_rows[a], pass.tiles[k].windows[a].end -
                                                    pass.tiles[k - std::min(k, before)].windows[a].begin);
  index_t bytes = 0;
  for (std::size_t a = 0; a < problem.arrays.size(); ++a) {
    const StreamArray& array = problem.arrays[a];
    index_t& rows = window_rows[a];
    if (repeat_granule > 0 && array.use != Use::Whole) {
      const index_t tile = array.align * std::max<index_t>(array.row_bytes, 1);
      rows = std::max(rows, buffer_bytes(array, rows, repeat_granule) / tile * array.align);
    }
    bytes += array_bytes(array, rows, slots, repeat_granule);
  }
  return bytes;
}

StreamBytes bytes_of(const StreamProblem& problem, const StreamPass& pass) {
  StreamBytes bytes;
  const auto of = [&](int array, ResidentRows rows) {
    return rows_of(rows) * problem.arrays[static_cast<std::size_t>(array)].row_bytes;
  };
  for (const StreamTile& tile : pass.tiles) {
    for (const StreamCopy& copy : tile.uploads) bytes.up += of(copy.array, copy.rows);
    for (const StreamCopy& copy : tile.downloads) bytes.down += of(copy.array, copy.rows);
    for (const StreamMove& move : tile.moves) bytes.moved += of(move.array, move.rows);
  }
  return bytes;
}

double predict(const StreamProblem& problem, const StreamPlan& plan, const StreamRates& rates) {
  if (plan.passes == 0 || plan.last.tiles.empty()) return 0;
  double whole = 0;
  for (const StreamArray& array : problem.arrays)
    if (array.use == Use::Whole) {
      const double bytes = static_cast<double>(array.rows * array.row_bytes);
      if (reads(array.mode) && rates.up > 0) whole += bytes / rates.up;
      if (writes(array.mode) && rates.down > 0) whole += bytes / rates.down;
    }
  Engines engines(problem, plan, rates);
  // Passes in the middle take as long as each other.
  constexpr int looked_at = 4;
  const int passes = std::min(plan.passes, looked_at);
  // Results in the second copies of states go home at the end.
  if (!plan.pass.in_place && plan.passes % 2 != 0)
    for (const StreamArray& array : problem.arrays)
      if (array.use == Use::State)
        whole += static_cast<double>(array.rows * array.row_bytes) / host_copy_rate;
  double before = 0, each = 0;
  int tiles = 0;
  for (int p = 0; p < passes; ++p) {
    const StreamPass& pass = plan.pass_number(p + 1 < passes ? 0 : plan.passes - 1);
    engines.pass(pass, tiles);
    tiles = static_cast<int>(pass.tiles.size());
    if (p + 1 < passes) each = engines.end() - before;
    before = engines.end();
  }
  return whole + engines.end() + each * (plan.passes - passes);
}

// What a sequence takes of which a pass has `steps` steps, by the first tiles of one.
double sampled_seconds(const StreamProblem& problem, const StreamPass& sample, int steps,
                       const Sharing& sharing, const std::vector<index_t>& window_rows,
                       const StreamRates& rates) {
  StreamPlan plan;
  plan.slots = sharing.slots;
  plan.tiles_per_window = sharing.tiles_per_window;
  plan.window_rows = window_rows;
  plan.pass = plan.last = sample;
  Engines engines(problem, plan, rates);
  engines.pass(sample, 0);
  const index_t rows = rows_of(problem.work);
  const auto rows_until = [&](std::size_t tiles) {
    index_t end = problem.work.begin;
    for (std::size_t k = 0; k < tiles; ++k)
      for (const StreamLaunch& launch : sample.tiles[k].launches)
        if (launch.step == 1) end = std::max(end, launch.work.end);
    return end - problem.work.begin;
  };
  const double passes = std::ceil(static_cast<double>(problem.steps) / steps);
  const std::size_t tiles = sample.tiles.size(), before = tiles - std::min<std::size_t>(tiles, 8);
  const index_t behind = rows_until(tiles), ahead = rows_until(before);
  // All of the pass, or too little to tell.
  if (behind >= rows || ahead == 0 || behind <= ahead) {
    const double part = static_cast<double>(std::max<index_t>(behind, 1)) / static_cast<double>(rows);
    return engines.end() * passes / std::min(part, 1.0);
  }
  const double end = engines.done_at(tiles - 1), begin = engines.done_at(before - 1);
  const double a_row = (end - begin) / static_cast<double>(behind - ahead);
  return engines.done_at(0) + a_row * static_cast<double>(rows) * passes;
}

namespace {

// Looks for the plan that takes least time by the model.
class Planner {
 public:
  Planner(const StreamProblem& problem, index_t budget, const StreamRates& rates,
          const StreamOptions& options)
      : problem_(problem),
        budget_(budget),
        rates_(rates),
        options_(options),
        iterates_(has_states(problem)),
        in_sequence_(is_sequence(problem)),
        loops_(in_sequence_ ? static_cast<int>(problem.loops.size()) : 1),
        rows_(std::max<index_t>(all_rows(problem), 1)) {
    // Enough tiles that filling and draining the pipeline costs little, of enough bytes to be worth a copy.
    // Of a sequence a pass begins where the one before is not done, and tiles are kernels for each step.
    const index_t tiles_wanted = in_sequence_ ? 16 : 32;
    constexpr index_t worth_copying = index_t{16} << 20;
    for (const StreamArray& array : problem.arrays)
      if (array.use != Use::Whole)
        row_bytes_ = in_sequence_ ? row_bytes_ + array.row_bytes : std::max(row_bytes_, array.row_bytes);
    most_ =
        std::max((rows_ + tiles_wanted - 1) / tiles_wanted, std::min(rows_, worth_copying / row_bytes_ + 1));
    most_ = (most_ + problem.align - 1) / problem.align * problem.align;
  }

  StreamPlan plan() {
    for (const StreamScheduler scheduler : schedulers()) {
      // Buffers that wrap round hold more, but where much of the budget is what they are rounded up to.
      if (in_sequence_ && rates_.repeat_granule > 0) look_at(scheduler, wrapping_counts());
      const index_t coarse = 8 * rates_.repeat_granule * static_cast<index_t>(problem_.arrays.size());
      if (chosen_.steps == 0 || !in_sequence_ || budget_ < coarse) look_at(scheduler, window_counts());
    }
    look_at_whole();
    if (chosen_.steps == 0) fail_budget(problem_, budget_, options_, rates_.repeat_granule);
    return settle();
  }

 private:
  // Compared by what they take of the first tiles.
  struct Candidate {
    StreamScheduler scheduler = StreamScheduler::Automatic;
    int steps = 0;
    Sharing sharing;
    index_t chunk = 0;
    double seconds = std::numeric_limits<double>::infinity();
  };

  std::vector<StreamScheduler> schedulers() const {
    if (!iterates_) return {StreamScheduler::Automatic};
    if (options_.scheduler != StreamScheduler::Automatic) return {options_.scheduler};
    if (problem_.once) return {StreamScheduler::Carry};
    return {StreamScheduler::Carry, StreamScheduler::Overlap};
  }
  std::vector<Sharing> wrapping_counts() const {
    const index_t granule = rates_.repeat_granule;
    if (options_.slots > 0) return {{options_.slots, wrapping, granule}};
    return {{3, wrapping, granule}, {4, wrapping, granule}, {2, wrapping, granule}};
  }
  // Of a sequence the windows are long beside what is new in a tile: two of them with several tiles each hold
  // more than three with one.
  std::vector<Sharing> window_counts() const {
    if (options_.slots > 0) return {{options_.slots, 1}};
    if (in_sequence_) return {{3, 1}, {2, 2}, {2, 3}, {2, 5}, {2, 1}};
    return {{3, 1}};
  }
  std::vector<int> step_counts() const {
    if (!in_sequence_ && (!iterates_ || options_.scheduler == StreamScheduler::Naive)) return {1};
    if (options_.steps_per_pass > 0) return {std::min(options_.steps_per_pass * loops_, problem_.steps)};
    std::vector<int> counts;
    for (double t = 1; static_cast<int>(t) * loops_ <= std::max(problem_.steps, loops_) && t <= 4096;
         t = std::max(t + 1, t * 1.25))
      counts.push_back(std::min(static_cast<int>(t) * loops_, problem_.steps));
    return counts;
  }
  bool free_choice() const { return options_.chunk == 0 && options_.steps_per_pass == 0; }

  StreamPlan plan_for(const StreamProblem& problem, const Candidate& of) const {
    StreamPlan plan;
    plan.scheduler = iterates_ ? of.scheduler : StreamScheduler::Automatic;
    plan.slots = of.sharing.slots;
    plan.tiles_per_window = of.sharing.tiles_per_window;
    plan.chunk = of.chunk;
    plan.pass = make_pass(problem, plan.scheduler, of.chunk, of.steps, plan.tiles_per_window);
    finish_plan(problem, rates_, plan);
    return plan;
  }

  void consider(Candidate candidate) {
    constexpr index_t tiles_looked_at = 64;
    const Sharing& sharing = candidate.sharing;
    if (in_sequence_ && sharing.slots > 1) {
      std::vector<index_t> window_rows;
      const StreamPass sample =
          sequence_pass(problem_, candidate.chunk, candidate.steps, sharing.tiles_per_window, true);
      if (sample.tiles.empty() ||
          device_bytes(problem_, sample, sharing.slots, window_rows, sharing.repeat_granule) > budget_)
        return;
      candidate.seconds = sampled_seconds(problem_, sample, candidate.steps, sharing, window_rows, rates_);
    } else {
      const StreamProblem part = shortened(problem_, tiles_looked_at * candidate.chunk);
      const StreamPlan plan = plan_for(part, candidate);
      if (sharing.slots == 1 && plan.pass.tiles.size() > 1) return;  // tiles take rows from the ones before
      if (plan.device_bytes > budget_) return;
      candidate.seconds = plan.seconds * static_cast<double>(rows_) /
                          static_cast<double>(std::max<index_t>(all_rows(part), 1));
    }
    if (candidate.seconds < chosen_.seconds) chosen_ = candidate;
  }

  void look_at(StreamScheduler scheduler, const std::vector<Sharing>& sharings) {
    constexpr index_t least_copy = index_t{256} << 10;
    for (const Sharing& sharing : sharings) {
      int best_steps = 0;  // of this one
      double best_seconds = std::numeric_limits<double>::infinity();
      for (const int steps : step_counts()) {
        index_t chunk = options_.chunk;
        if (chunk == 0) chunk = largest_chunk(problem_, scheduler, steps, sharing, most_, budget_);
        if (chunk == 0 && in_sequence_) break;  // nor do more steps fit
        if (chunk == 0) continue;
        // Windows much longer than what is new in them are not worth looking at.
        if (!in_sequence_ && free_choice() && steps > 1 && steps * halo_of(problem_) > chunk) continue;
        // More steps pay up to some number of them.
        if (in_sequence_ && best_steps > 0 && steps > 2 * best_steps) break;
        const double before = chosen_.seconds;
        consider({scheduler, steps, sharing, chunk});
        // What takes as long as some copies alone gains by smaller slices.
        for (const index_t parts : {2, 4, 16, 64}) {
          if (options_.chunk != 0 || (parts == 2 && !in_sequence_)) continue;
          const index_t part = chunk / parts / problem_.align * problem_.align;
          if (part * row_bytes_ >= least_copy && (in_sequence_ || part > steps * halo_of(problem_)))
            consider({scheduler, steps, sharing, part});
        }
        if (chosen_.seconds < std::min(before, best_seconds)) {
          best_steps = steps;
          best_seconds = chosen_.seconds;
        } else if (best_steps == 0) {
          best_steps = steps;
        }
      }
    }
  }

  // All of it at once, where it fits: then nothing is copied but at the beginning and the end.
  void look_at_whole() {
    if (!iterates_ && !(in_sequence_ && bytes_of_all(problem_) <= budget_)) return;
    if (!free_choice() || options_.slots != 0 || options_.scheduler != StreamScheduler::Automatic) return;
    const index_t around =
        is_partial(problem_) || is_ring(problem_) ? 2 * problem_.steps * halo_of(problem_) : 0;
    consider({StreamScheduler::Carry, problem_.steps, {}, rows_ + problem_.align + around});
  }

  // The last tiles of all rows may be larger than those that were looked at: then smaller ones, or of a
  // sequence what takes least.
  StreamPlan settle() {
    std::vector<Candidate> others;
    if (in_sequence_) {
      Candidate least = chosen_;
      if (options_.steps_per_pass == 0) least.steps = std::min(loops_, problem_.steps);
      least.chunk = options_.chunk > 0 ? options_.chunk : problem_.align;
      const int slots = options_.slots > 0 ? options_.slots : 2;
      least.sharing = {slots, 1};
      others.push_back(least);
      least.sharing = {slots, wrapping, rates_.repeat_granule};
      if (rates_.repeat_granule > 0) others.push_back(least);
    }
    for (;;) {
      StreamPlan plan = plan_for(problem_, chosen_);
      if (plan.device_bytes <= budget_) return plan;
      const index_t smaller = chosen_.chunk * 7 / 8 / problem_.align * problem_.align;
      const index_t least = chosen_.scheduler == StreamScheduler::EvenOdd
                                ? chosen_.steps * halo_of(problem_) + 1
                                : problem_.align;
      if (options_.chunk == 0 && smaller >= least) {
        chosen_.chunk = smaller;
      } else if (!others.empty()) {
        chosen_ = others.back();
        others.pop_back();
      } else {
        fail_budget(problem_, budget_, options_, rates_.repeat_granule);
      }
    }
  }

  const StreamProblem& problem_;
  const index_t budget_;
  const StreamRates& rates_;
  const StreamOptions& options_;
  const bool iterates_, in_sequence_;
  const int loops_;
  const index_t rows_;
  index_t row_bytes_ = 1, most_ = 0;
  Candidate chosen_;
};

}  // namespace

StreamPlan make_plan(const StreamProblem& problem, index_t budget, const StreamRates& rates,
                     const StreamOptions& options) {
  return Planner(problem, budget, rates, options).plan();
}

std::string describe(const StreamProblem& problem, const StreamPlan& plan) {
  char line[256];
  std::string text;
  const auto add = [&](const char* format, auto... values) {
    std::snprintf(line, sizeof line, format, values...);
    text += line;
  };
  if (is_sequence(problem))
    add("sequence: %d loops, %d a pass, %d passes of %zu tiles of %lld rows in %s\n", problem.steps,
        plan.pass.steps, plan.passes, plan.pass.tiles.size(), static_cast<long long>(plan.chunk),
        plan.wraps() ? "buffers that wrap round" : (std::to_string(plan.slots) + " slots").c_str());
  else if (has_states(problem))
    add("%s: %d steps, %d a pass, %d passes of %zu tiles of %lld rows in %d slots\n", name_of(plan.scheduler),
        problem.steps, plan.pass.steps, plan.passes, plan.pass.tiles.size(),
        static_cast<long long>(plan.chunk), plan.slots);
  else
    add("%zu tiles of %lld rows in %d slots\n", plan.last.tiles.size(), static_cast<long long>(plan.chunk),
        plan.slots);
  add("  device %s; to it %s, from it %s, within it %s; predicted %.3g s\n",
      string_from_bytes(plan.device_bytes).c_str(), string_from_bytes(plan.bytes.up).c_str(),
      string_from_bytes(plan.bytes.down).c_str(), string_from_bytes(plan.bytes.moved).c_str(), plan.seconds);
  if (plan.bytes.between > 0)
    add("  from other devices %s, behind the first pass\n", string_from_bytes(plan.bytes.between).c_str());
  for (std::size_t a = 0; a < problem.arrays.size(); ++a) {
    const StreamArray& array = problem.arrays[a];
    add("  %-16s %s, %s of %lld rows of %s\n", array.label.c_str(),
        array.use == Use::Whole   ? "whole on the device"
        : array.temporary         ? "on the device only"
        : array.use == Use::State ? "old and new values"
        : !writes(array.mode)     ? "read"
        : reads(array.mode)       ? "read and written"
                                  : "written",
        plan.wraps() && array.use != Use::Whole ? "a buffer" : "windows",
        static_cast<long long>(plan.window_rows[a]), string_from_bytes(array.row_bytes).c_str());
  }
  return text;
}

}  // namespace strata::inline STRATA_ABI::detail
