// StreamRun: carries out a stream plan on a device: buffers, three queues, and the events between them.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <strata/algorithms/streaming/file_stage.hpp>
#include <strata/algorithms/streaming/stream_report.hpp>
#include <strata/devices/backend.hpp>
#include <strata/views/coherent/coherent_state.hpp>
#include <strata/views/coherent/host_access.hpp>

namespace strata::inline STRATA_ABI::detail {

/// A launch of the kernel over some rows of a tile. Of each array of the problem where the first element is,
/// or would be: of a State for the old and the new values; and which of its rows are there.
struct StreamSite {
  int step;  // of all steps, from 0
  ResidentRows work;
  struct Place {
    char* base[2];
    ResidentRows rows;
  };
  std::vector<Place> places;
};

class StreamRun {
 public:
  /// `compute` is the queue on which launches are going to be enqueued. The arrays are those of the problem,
  /// in its order, and outlive this.
  StreamRun(DeviceInstance& device, QueueState& compute, StreamProblem problem,
            std::vector<Ref<CoherentState>> arrays);

  StreamProblem& problem() { return problem_; }
  /// Decides how: throws OutOfMemory where the budget is too small.
  void plan(index_t budget, const StreamOptions& options, const std::string& kernel);
  /// Carries it out, waits for its end, and returns what it took. Throws what copies and kernels threw, with
  /// what became of the arrays. `launch` enqueues a kernel on the compute queue.
  void run(const std::function<void(const StreamSite&)>& launch, bool progress);
  const StreamReport& report() const { return report_; }
  const StreamPlan& plan() const { return plan_; }

 private:
  struct Buffer {
    AllocationRef block;
    char* data = nullptr;
  };
  struct Operand {
    Ref<CoherentState> state;
    HostUseScope use;
    char* host[2] = {};           // the sides
    AllocationRef second;         // of side 1
    std::vector<Buffer> buffers;  // of slots, two by two for states
    FileStorage* file = nullptr;  // where it lives, if not in memory
    std::unique_ptr<FileStage> stage;
  };
  struct Stages {
    Ref<EventState> done[3];
  };

  StreamArray& array(std::size_t a) { return problem_.arrays[a]; }
  bool is_state(std::size_t a) const { return problem_.arrays[a].use == StreamArray::Use::State; }
  bool is_whole(std::size_t a) const { return problem_.arrays[a].use == StreamArray::Use::Whole; }
  void take_arrays();
  void pin_arrays();
  void make_buffers();
  char* base_of(std::size_t a, long tile, int buffer, index_t shift) const;
  const StreamTile& tile_at(long tile) const;
  int pass_of(long tile) const;
  void copy(const StreamCopy& copy, long tile, bool upload);
  void move(const StreamMove& move, long tile);
  void copy_whole(bool upload);
  void wait(QueueState& queue, StreamStage stage, long tile);
  bool is_staged(const StreamCopy& copy) const;
  bool begin_reads(long tile);
  void begin_writes(long tile);
  void upload(long tile, int pass);
  void compute(long tile, int pass, const std::function<void(const StreamSite&)>& launch);
  void download(long tile, int pass);
  void record(StreamStage stage, long tile, QueueState& queue);
  void wait_for_all();
  void finish();
  bool only_first_pass() const;
  [[noreturn]] void fail(long tile);

  DeviceInstance& device_;
  QueueState& compute_;
  Ref<QueueState> upload_, download_;
  StreamProblem problem_;
  StreamPlan plan_;
  StreamReport report_;
  std::string kernel_;
  std::vector<Operand> operands_;
  int pass_ = 0;
  int turned_ = 0;            // whether sides have changed places
  std::vector<long> firsts_;  // the first tile of each pass, of all tiles; and their number
  bool has_files_ = false;
  long read_ = 0;               // tiles of which files were begun to be read
  long written_ = 0;            // and to be written
  int steps_done_ = 0;          // before this pass
  std::vector<Stages> stages_;  // of all tiles; events that nobody waits for any more are dropped
  struct Sample {
    Ref<EventState> begin, end;
    index_t rows;
  };
  std::vector<Sample> samples_;
};

/// The kernel's time for a row and step, as earlier runs found it on this kind of device; 0: not known.
double known_row_seconds(const std::string& kernel);
void learn_row_seconds(const std::string& kernel, double seconds);

}  // namespace strata::inline STRATA_ABI::detail
