// CudaQueue and CudaEventState: a stream and a point in it. Private to this folder.
//
// A queue owns what its launches share: scratch memory and a counter for reductions, slots through which
// values reach the host, the names of its latest kernels, and in checked builds the record of the first bad
// access. `mutex` is held while the parts of one operation are enqueued.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <cuda_runtime_api.h>

#include <strata/core/check.hpp>
#include <strata/core/copy_plan.hpp>
#include <strata/devices/backend.hpp>
#include <strata/devices/cuda/host_calls.hpp>
#include <strata/devices/cuda/instance.hpp>
#include <strata/devices/cuda/launch/launch.hpp>
#include <strata/devices/cuda/scratch_memory.hpp>

namespace strata::inline STRATA_ABI::detail {

class CudaRecording;
enum class Staged;

/// An event that CUDA has recorded: of one CudaEventState, or of several.
class CudaRecord : public RefCounted {
 public:
  CudaRecord(CudaInstance& gpu, bool timed) : event(gpu.take_event(timed)), gpu_(gpu), timed_(timed) {}
  ~CudaRecord() override { gpu_.give_back(event, timed_); }
  const cudaEvent_t event;

 private:
  CudaInstance& gpu_;
  const bool timed_;
};

/// What is known of the queue by other ways answers for the event, too, so that the driver is asked seldom.
///
/// CUDA records it when that is needed: before the next work of the queue, but for short copies and what
/// belongs to its work (may_come_later), or when another queue is to wait for it. Until then whoever waits
/// for it waits for all of the stream, and an event that the host has waited for by then is never recorded:
/// each record takes the host and the GPU about a microsecond.
class CudaEventState final : public EventState {
 public:
  CudaEventState(CudaQueue& queue, bool timed, std::uint64_t submissions);
  ~CudaEventState() override;
  bool complete() const override;
  void wait() override;
  /// Errors of a GPU stay, and failed checks are those of the queue, not of the event.
  bool reports_earlier() const override { return true; }
  /// Of events of one GPU.
  double seconds_since(const EventState& earlier) const override;
  bool is_end() const override;
  void may_come_later() noexcept override;
  /// CUDA's event, which is recorded by now.
  cudaEvent_t recorded();
  /// Whether it is complete, as far as that is known.
  bool known_complete() const;

 private:
  friend class CudaQueue;
  void note_complete() const;
  void wait_for_driver();
  void set(const Ref<CudaRecord>& record);

  const Ref<CudaQueue> queue_;
  Ref<CudaRecord> record_;
  std::atomic<cudaEvent_t> event_ = nullptr;  // that of the record; null as long as there is none
  const bool timed_;
  const std::uint64_t submissions_;                // of the queue, which come before it
  mutable std::atomic<bool> is_complete_ = false;  // without an error: the driver need not be asked again
  bool was_pending_ = false;                       // whether the queue has, or had, it among those
};

class CudaQueue final : public QueueState {
 public:
  CudaQueue(CudaInstance& gpu, CudaStream& stream, std::uint64_t id);
  ~CudaQueue() override;

  DeviceInstance& instance() override { return gpu_.memory(CudaMemoryKind::Device); }
  std::uint64_t id() const override { return id_; }
  void wait() override;
  bool idle() const override;
  Ref<EventState> record() override { return record(false); }
  Ref<EventState> record_timed() override { return record(true); }
  void wait_for(const Ref<EventState>& event) override;
  void copy(const CopySide& destination, const CopySide& source, std::size_t element_bytes) override;
  void fill(const CopySide& destination, const void* value, std::size_t element_bytes) override;
  void convert(const CopySide& destination, const CopySide& source, const Conversion& how) override;
  std::size_t prefetch(const ManagedRange* ranges, int count, bool to_host) override;
  void call_host(const Ref<HostCall>& call) override;

  Recording* begin_recording() override;
  /// Around CUDA's capture of the stream, before which the queue's work ends: others ask whether the stream
  /// is done, which would end the capture.
  void begin_capture();
  void end_capture() { gpu_.set_recording(stream_, false); }

  CudaInstance& gpu() const { return gpu_; }
  /// For the next work. Records the events that were left to this moment.
  cudaStream_t stream() {
    if (__atomic_load_n(&num_pending_, __ATOMIC_RELAXED) > 0) record_pending();
    return branch != nullptr ? branch : stream_.stream;
  }
  /// For a copy: short ones, which together take no longer than to record an event, may come before those
  /// events.
  cudaStream_t stream_for_copy(index_t bytes);
  static constexpr index_t most_short_bytes = index_t{64} << 10;  // a microsecond of a link
  /// For those who enqueue work themselves: that the queue has nothing to do is never known from now on.
  cudaStream_t stream_for_others() {
    __atomic_store_n(&stream_.has_outsiders, true, __ATOMIC_RELAXED);
    return stream();
  }
  int device() const { return gpu_.index(); }

  [[noreturn]] void fail_copy(cudaError_t code, const CopySide& destination, const CopySide& source) const;

  /// A stream for the host's share of staged copies; made by the first use.
  cudaStream_t helper_stream();

  /// Counts an operation that was enqueued; returns its number.
  std::uint64_t submitted() { return __atomic_add_fetch(&stream_.submitted, 1, __ATOMIC_RELAXED); }
  /// The same of a kernel.
  void kernel_submitted() {
    submitted();
    last_kernel_ = submissions();
  }
  /// Whether nothing was enqueued after a kernel that is not known to be done; `mutex` is held.
  bool ends_with_kernel() const { return last_kernel_ == submissions() && !known_done(last_kernel_); }
  std::uint64_t submissions() const { return stream_.submissions(); }
  /// As those of CudaStream.
  bool known_done(std::uint64_t count) const { return stream_.known_done(count); }
  /// Whether all that was enqueued is known to be done, without asking.
  bool known_idle() const {
    return recording == nullptr && __atomic_load_n(&stream_.retired, __ATOMIC_RELAXED) == submissions();
  }
  void retired(std::uint64_t count) { stream_.note_retired(count); }
  void ended(std::uint64_t count) { stream_.note_ended(count); }
  /// Notes a kernel's name; returns its number.
  std::uint64_t note_kernel(const char* label, const char* kernel_type, const char* tag_type);
  /// The names of kernels that are enqueued and not known to be done, appended to `names`.
  void kernels_in_flight(std::vector<std::string>& names);

  CudaScratch scratch(std::size_t bytes, std::size_t slots);
  /// Gives large scratch memory back, which few launches need.
  void drop_large_scratch();
  CudaHostSlot host_slot(std::size_t bytes);
  void give_back(const CudaHostSlot& slot);
  CheckRecord* check_record() const { return check_; }
  /// Throws the bad access that a kernel reported, if any; with `clear`, once, after waiting for the queue.
  void throw_bad_access(bool clear);
  /// Throws it once, and not if it was thrown already.
  void throw_unreported_bad_access();
  /// As throw_bad_access where `mutex` is not held.
  void throw_bad_access_found(bool clear);
  HostErrors& host_errors() const { return *host_errors_; }

  std::mutex mutex;
  CudaRecording* recording = nullptr;  // under way on this queue
  cudaStream_t branch = nullptr;       // of that recording: takes the work meanwhile

 private:
  struct Flight {
    std::uint64_t number = 0;
    const char* kernel_type = nullptr;
    const char* tag_type = nullptr;
    char label[64] = {};
  };
  struct Slot {
    std::uint64_t* words;
    std::size_t count;
  };
  static constexpr std::size_t flights = 64;

  friend class CudaEventState;
  Ref<EventState> record(bool timed);
  Ref<CudaRecord> record_now(bool timed);
  cudaError_t query() const;
  void record_pending() noexcept;
  void forget_pending(const CudaEventState& event) noexcept;
  Staged stage_at_once(const CopySide& destination, const CopySide& source, const CopyPiece& piece);
  void copy_by_host(const CopySide& destination, const CopySide& source, std::size_t element_bytes);
  void fill_by_host(const CopySide& destination, const void* value, std::size_t element_bytes);

  CudaInstance& gpu_;
  CudaStream& stream_;
  const std::uint64_t id_;
  Flight flight_[flights];
  std::uint64_t kernels_ = 0;
  std::uint64_t last_kernel_ = 0;  // its number among submissions
  CudaScratchMemory scratch_;
  std::vector<Slot> free_slots_;
  std::vector<Slot> all_slots_;
  std::uint32_t tickets_ = 0;
  std::mutex pending_mutex_;
  std::vector<CudaEventState*> pending_;  // events that CUDA has not recorded, in their order
  std::size_t num_pending_ = 0;           // an atomic in use
  index_t passed_bytes_ = 0;              // of copies enqueued before the pending events' record
  bool bad_access_found() const;
  void release_zeros() noexcept;
  const Ref<HostErrors> host_errors_{new HostErrors};

  CheckRecord* check_ = nullptr;
  std::uint64_t reported_launch_ = 0;  // its failed check was thrown
  CudaStream* helper_ = nullptr;
};

}  // namespace strata::inline STRATA_ABI::detail
