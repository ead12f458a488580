// StreamRun: carries out a stream plan on a device: buffers, three queues, and the events between them.
#pragma once

#include <array>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <strata/algorithms/streaming/file_stage.hpp>
#include <strata/algorithms/streaming/stream_arrays.hpp>
#include <strata/algorithms/streaming/stream_report.hpp>
#include <strata/algorithms/streaming/stream_seams.hpp>
#include <strata/devices/direct_file.hpp>

namespace strata::inline STRATA_ABI::detail {

/// A launch of the kernel over some rows of a tile. Of each array of the problem where the first element is,
/// or would be: of a State for the old and the new values; and which of its rows are there.
struct StreamSite {
  int step;  // of all steps, or loops of a sequence, from 0
  ResidentRows work;
  ResidentRows all;  // of the run; of a sequence those of its first loop
  struct Place {
    char* base[2];
    ResidentRows rows;
  };
  std::vector<Place> places;
  std::shared_ptr<void>* kept;  // what launches keep for later ones of the run
};

/// Where the runs of several devices wait for each other; one that fails stops the others.
class StreamGate {
 public:
  explicit StreamGate(int runs) : runs_(runs) {}
  /// Returns when all runs have come here as often. False: one has failed, and is not coming.
  bool arrive();
  /// The current exception is why this run ends early. The first one counts.
  void fail(int run);
  /// After the end of all runs.
  const std::exception_ptr& error() const { return error_; }
  int failed_run() const { return failed_run_; }

 private:
  const int runs_;
  std::mutex mutex_;
  std::condition_variable changed_;
  int here_ = 0;
  long passed_ = 0;
  std::exception_ptr error_;
  int failed_run_ = -1;
};
/// Thrown by a run that was stopped since another one failed.
struct StreamStopped {};

/// Rethrows the current exception as that of a launch, with what became of the arrays `partly`, which are
/// quoted labels.
[[noreturn]] void fail_streaming(const std::string& where, const std::string& partly);

class StreamRun {
 public:
  /// `compute` is the queue on which launches are going to be enqueued. The arrays are those of the problem,
  /// in its order, and outlive this.
  StreamRun(DeviceInstance& device, QueueState& compute, StreamProblem problem,
            std::vector<Ref<CoherentState>> arrays);

  StreamProblem& problem() { return problem_; }
  /// Decides how: throws OutOfMemory where the budget is too small. Of a sequence, which may be planned and
  /// run again and again, loop k is known as `kernel` and its number.
  void plan(index_t budget, const StreamOptions& options, const std::string& kernel);
  /// Takes a plan that plan() made of this problem and budget before.
  void take(const StreamPlan& plan, index_t budget);
  /// Carries it out, waits for its end, and returns what it took. Throws what copies and kernels threw, with
  /// what became of the arrays. `launch` enqueues a kernel on the compute queue.
  void run(const std::function<void(const StreamSite&)>& launch, bool progress);
  const StreamReport& report() const { return report_; }
  const StreamPlan& plan() const { return plan_; }
  DeviceInstance& device() const { return device_; }

  // The steps of run(), for several devices that share arrays.
  /// Makes buffers and queues. Throws OutOfMemory.
  void allocate();
  /// The arrays outlive the run.
  void prepare(const StreamArrays& arrays);
  /// This is run `number` of those that take rows from each other: the plan says so, and work() does so.
  /// After plan(); `seams` lives on until the end of work().
  void share(const StreamSeams& seams, std::size_t number);
  /// Before plan(): the device does not read and write files itself.
  void use_host_for_files();
  /// From any thread: does all, and returns when it is done. Passes begin when the gate opens, if there is
  /// one. Throws what copies and kernels threw, or StreamStopped, when nothing of it is under way any more.
  void work(const std::function<void(const StreamSite&)>& launch, bool progress, StreamGate* gate);
  /// After work(), also where it threw: "slice 3 of 32".
  std::string progress_made() const;
  /// Labels of the arrays that are part old, part new after work() threw; `first_pass`: states are not, since
  /// only the first pass was begun.
  std::string changed_arrays(bool first_pass) const;
  int passes_begun() const { return pass_ + 1; }
  /// The side that has the results of states.
  int result_side() const { return turned_; }
  /// Keeps what was measured of the kernel.
  void learn();
  bool in_place() const { return plan_.pass.in_place && plan_.last.in_place; }

 private:
  static constexpr int files_under_way = 4;  // tiles of them, each way

  struct Buffer {
    AllocationRef block;
    Ref<ReservedMemory> wraps;  // of what wraps round
    char* data = nullptr;
    index_t bytes = 0;
  };
  struct Operand {
    Ref<CoherentState> state;
    char* host[2] = {};           // the sides
    std::vector<Buffer> buffers;  // of slots, two by two for states
    FileStorage* file = nullptr;  // where it lives, if not in memory
    Ref<DirectFile> direct;       // by which the device reads and writes it itself, where it can
    long partly_by_host = -1;     // the last tile of which the host writes rows beside the device
    std::unique_ptr<FileStage> stage;
  };
  struct Stages {
    Ref<EventState> done[3];
  };
  struct FileBytes {
    index_t read = 0, written = 0;
  };

  StreamArray& array(std::size_t a) { return problem_.arrays[a]; }
  bool is_state(std::size_t a) const { return problem_.arrays[a].use == StreamArray::Use::State; }
  bool is_whole(std::size_t a) const { return problem_.arrays[a].use == StreamArray::Use::Whole; }
  std::map<std::uint64_t, FileBytes> file_bytes() const;
  double file_seconds() const;
  void restart();
  std::string kernel_of(std::size_t loop) const;
  std::string launches_of_kernel() const;
  void choose_samples(const StreamPass& pass);
  void learn_kernel();
  void learn_loops();
  double launch_seconds() const;
  void make_stages();
  index_t most_copied(std::size_t a) const;
  bool has_addresses() const;
  void pin_arrays();
  bool has_buffers() const;
  std::size_t buffer_count(std::size_t a) const;
  index_t bytes_of_buffer(std::size_t a) const;
  void make_buffers();
  Buffer make_buffer(std::size_t a, index_t bytes);
  char* base_of(std::size_t a, long tile, int buffer, index_t shift) const;
  const StreamTile& tile_at(long tile) const;
  int pass_of(long tile) const;
  void copy(const StreamCopy& copy, long tile, bool upload);
  void bring(const StreamCopy& copy, long tile, int pass);
  void keep_for_others(const StreamCopy& copy, long tile, int pass);
  void move(const StreamMove& move, long tile);
  void copy_whole(bool upload);
  void wait(QueueState& queue, StreamStage stage, long tile);
  void open_direct_files();
  bool plan_in_blocks(const std::function<void(const StreamProblem&)>& plan, index_t chunk);
  bool is_direct(const StreamCopy& copy) const;
  bool is_staged(const StreamCopy& copy) const;
  void check_direct_files();
  void end_direct_files();
  void wait_for_partial_writes(long tile);
  bool begin_reads(long tile);
  void begin_writes(long tile);
  void upload(long tile, int pass);
  void compute(long tile, int pass, const std::function<void(const StreamSite&)>& launch);
  void download(long tile, int pass);
  void record(StreamStage stage, long tile, QueueState& queue);
  void meet(StreamGate& gate, bool pass_follows);
  void wait_for_all();
  bool only_first_pass() const;

  DeviceInstance& device_;
  QueueState& compute_;
  Ref<QueueState> upload_, download_;
  StreamProblem problem_;
  StreamPlan plan_;
  StreamReport report_;
  index_t budget_ = 0;
  std::string kernel_;
  std::vector<Ref<CoherentState>> states_;
  std::unique_ptr<StreamArrays> arrays_;  // of run(); ends after what is read from files and written to them
  std::vector<Operand> operands_;
  int pass_ = 0;
  long tile_ = 0;   // that is being enqueued
  int turned_ = 0;  // whether sides have changed places
  std::shared_ptr<void> kept_;
  StreamWindows windows_;
  std::vector<long> firsts_;  // the first tile of each pass, of all tiles; and their number
  bool has_files_ = false;
  bool host_has_files_ = false;  // the device leaves them to the host
  long read_ = 0;                // tiles of which files were begun to be read
  long written_ = 0;             // and to be written
  int steps_done_ = 0;           // before this pass
  std::vector<Stages> stages_;   // of all tiles; events that nobody waits for any more are dropped
  struct Sample {
    Ref<EventState> begin, end;
    index_t rows;
    std::size_t loop;  // of a sequence, else 0
  };
  std::vector<Sample> samples_;
  // Of a sequence: tiles of the first pass that are measured, as a whole and launch by launch; -1: none.
  struct TileSample {
    long tile = -1;
    Ref<EventState> begin, end;
    std::vector<index_t> rows, launches;  // of each loop
  };
  struct SampledTiles {
    long one_by_one = -1;
    std::array<TileSample, 2> tiles;
  };
  SampledTiles sampled_;
  const StreamSeams* seams_ = nullptr;  // with the runs of other devices
  std::size_t number_ = 0;              // of this run among those
};

}  // namespace strata::inline STRATA_ABI::detail
