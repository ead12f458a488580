// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <cstring>

#include <strata/core/error.hpp>
#include <strata/core/profiling/hooks.hpp>
#include <strata/core/runtime.hpp>
#include <strata/core/unheard_errors.hpp>
#include <strata/devices/cuda/failure.hpp>
#include <strata/devices/cuda/graph.hpp>
#include <strata/devices/cuda/queue.hpp>

namespace strata::inline STRATA_ABI::detail {

// ---- events

CudaEventState::CudaEventState(CudaQueue& queue, bool timed, std::uint64_t submissions)
    : queue_(&queue), timed_(timed), submissions_(submissions) {}
CudaEventState::~CudaEventState() {
  if (was_pending_ && event_.load(std::memory_order_acquire) == nullptr) queue_->forget_pending(*this);
}

void CudaEventState::set(const Ref<CudaRecord>& record) {
  record_ = record;
  event_.store(record->event, std::memory_order_release);
}

cudaEvent_t CudaEventState::recorded() {
  if (event_.load(std::memory_order_acquire) == nullptr) queue_->record_pending();
  const std::lock_guard lock(queue_->pending_mutex_);
  if (!record_) set(queue_->record_now(false));  // that has failed: again, with its error
  return record_->event;
}

bool CudaEventState::known_complete() const {
  return is_complete_.load(std::memory_order_acquire) || queue_->known_done(submissions_);
}

void CudaEventState::note_complete() const {
  is_complete_.store(true, std::memory_order_release);
  queue_->ended(submissions_);
}

bool CudaEventState::is_end() const {
  return queue_->submissions() == submissions_ && queue_->recording == nullptr;
}

// It is recorded when somebody asks for that, if ever.
void CudaEventState::may_come_later() noexcept {
  if (was_pending_ && event_.load(std::memory_order_acquire) == nullptr) queue_->forget_pending(*this);
}

bool CudaEventState::complete() const {
  if (known_complete()) return true;
  const cudaEvent_t event = event_.load(std::memory_order_acquire);
  const cudaError_t state = event != nullptr ? cudaEventQuery(event) : queue_->query();
  if (state == cudaSuccess) note_complete();
  return state != cudaErrorNotReady;
}

// As long as CUDA has not recorded it, the stream is asked again and again, not waited for: others may
// enqueue more meanwhile, a function of the host that waits for this thread among it, and record it before
// that. Where it takes long, to record it costs little.
void CudaEventState::wait_for_driver() {
  constexpr auto long_enough = std::chrono::microseconds(50);
  const auto begin = std::chrono::steady_clock::now();
  while (!known_complete()) {
    cudaEvent_t event = event_.load(std::memory_order_acquire);
    if (event == nullptr && std::chrono::steady_clock::now() - begin > long_enough) event = recorded();
    const cudaError_t state = event != nullptr ? cudaEventSynchronize(event) : queue_->query();
    if (state == cudaErrorNotReady) continue;
    check_cuda(state, "waiting for an event", queue_->device());
    note_complete();
  }
}

void CudaEventState::wait() {
  if (!known_complete()) wait_for_driver();
  queue_->throw_bad_access_found(false);
  queue_->host_errors().throw_of_first(submissions_);
}

double CudaEventState::seconds_since(const EventState& earlier) const {
  const auto* const first = dynamic_cast<const CudaEventState*>(&earlier);
  if (first == nullptr || !first->timed_ || !timed_) return -1;
  float milliseconds = 0;
  if (cudaEventElapsedTime(&milliseconds, first->event_.load(), event_.load()) != cudaSuccess) {
    static_cast<void>(cudaGetLastError());  // of two GPUs, or not complete
    return -1;
  }
  return static_cast<double>(milliseconds) * 1e-3;
}

// ---- queues

CudaQueue::CudaQueue(CudaInstance& gpu, CudaStream& stream, std::uint64_t id)
    : gpu_(gpu), stream_(stream), id_(id) {
  if constexpr (checked_build) {
    void* const memory = gpu.allocate(CudaMemoryKind::Pinned, sizeof(CheckRecord));
    if (memory == nullptr) throw OutOfMemory("no pinned memory for a queue of a GPU");
    check_ = new (memory) CheckRecord;
  }
  gpu.add_queue(*this);
}

CudaQueue::~CudaQueue() {
  try {
    const std::lock_guard lock(mutex);
    throw_unreported_bad_access();
  } catch (const std::exception& error) {
    print_unheard_error("a kernel on Cuda{" + std::to_string(device()) + "}", error.what());
  }
  gpu_.remove_queue(*this);
  // Work under way continues; its memory is in quarantine until it is done.
  for (const Slot& slot : all_slots_) gpu_.release(CudaMemoryKind::Pinned, slot.words);
  if (scratch_.partials != nullptr) gpu_.release(CudaMemoryKind::Device, scratch_.partials);
  release_zeros();
  if (check_ != nullptr) gpu_.release(CudaMemoryKind::Pinned, check_);
  if (helper_ != nullptr) gpu_.give_back(*helper_);
  gpu_.give_back(stream_);
}

cudaStream_t CudaQueue::helper_stream() {
  if (helper_ == nullptr) helper_ = &gpu_.take_helper_stream();
  return helper_->stream;
}

void CudaQueue::wait() {
  require_running("a wait for a queue");
  if (recording != nullptr) check_recordable("a wait for a queue", *this, true);
  const std::uint64_t submitted = submissions();
  check_cuda(cudaStreamSynchronize(stream_.stream), "waiting for a queue", device());
  ended(submitted);
  throw_bad_access_found(true);
  gpu_.drop_done_calls();
  host_errors_->throw_and_clear();
}

void CudaQueue::begin_capture() {
  const std::uint64_t submitted = submissions();
  check_cuda(cudaStreamSynchronize(stream()), "recording a graph", device());
  ended(submitted);
  gpu_.set_recording(stream_, true);
}

void CudaQueue::call_host(const Ref<HostCall>& call) {
  require_running("then_host");
  if (recording == nullptr) gpu_.drop_done_calls();
  const std::lock_guard lock(mutex);
  const CudaDeviceScope scope(device());
  const Ref<CudaHostCall> mine(new CudaHostCall(call, host_errors_, submissions() + 1));
  if (recording != nullptr) recording->keep_call(mine);
  else gpu_.host_calls().keep(mine);
  if (recording == nullptr) CudaHostCall::note_enqueued(1);
  const cudaError_t code = cudaLaunchHostFunc(stream(), CudaHostCall::run, mine.get());
  if (code != cudaSuccess) {
    if (recording == nullptr) CudaHostCall::note_enqueued(-1);
    mine->set_done();
  }
  check_cuda(code, "enqueueing a function of the host", device());
  submitted();
}

// Where the stream has nothing to do, all that was enqueued before has ended: no event of it need be asked.
cudaError_t CudaQueue::query() const {
  const std::uint64_t submitted = submissions();
  const cudaError_t state = cudaStreamQuery(stream_.stream);
  if (state == cudaSuccess) stream_.note_ended(submitted);
  return state;
}

bool CudaQueue::idle() const {
  return (recording == nullptr && known_done(submissions())) || query() != cudaErrorNotReady;
}

Ref<EventState> CudaQueue::record(bool timed) {
  require_running("Queue::record");
  const std::uint64_t before = submissions();
  const Ref<CudaEventState> state(new CudaEventState(*this, timed, before));
  if (!timed && known_idle() && known_done(before)) {
    state->is_complete_.store(true, std::memory_order_relaxed);
  } else if (timed || recording != nullptr || __atomic_load_n(&stream_.has_outsiders, __ATOMIC_RELAXED)) {
    state->set(record_now(timed));
  } else {
    const std::lock_guard lock(pending_mutex_);
    if (pending_.empty()) passed_bytes_ = 0;
    state->was_pending_ = true;
    pending_.push_back(state.get());
    __atomic_store_n(&num_pending_, pending_.size(), __ATOMIC_RELAXED);
  }
  return state;
}

Ref<CudaRecord> CudaQueue::record_now(bool timed) {
  const CudaDeviceScope scope(device());
  Ref<CudaRecord> record(new CudaRecord(gpu_, timed));
  check_cuda(cudaEventRecord(record->event, stream_.stream), "recording an event", device());
  return record;
}

// One record for all. Where threads race, it comes after work of others, and the events are complete later.
void CudaQueue::record_pending() noexcept {
  const std::lock_guard lock(pending_mutex_);
  std::erase_if(pending_, [](const CudaEventState* event) { return event->known_complete(); });
  try {
    if (!pending_.empty()) {
      const Ref<CudaRecord> record = record_now(false);
      for (CudaEventState* const event : pending_) event->set(record);
    }
  } catch (...) {  // who waits for one of them asks for a record, too, or the stream, and gets the error
  }
  pending_.clear();
  passed_bytes_ = 0;
  __atomic_store_n(&num_pending_, 0, __ATOMIC_RELAXED);
}

cudaStream_t CudaQueue::stream_for_copy(index_t bytes) {
  const auto may_pass = [&] {
    const std::lock_guard lock(pending_mutex_);
    if (passed_bytes_ + bytes > most_short_bytes) return false;
    passed_bytes_ += bytes;
    return true;
  };
  if (__atomic_load_n(&num_pending_, __ATOMIC_RELAXED) > 0 && !may_pass()) record_pending();
  return branch != nullptr ? branch : stream_.stream;
}

void CudaQueue::forget_pending(const CudaEventState& event) noexcept {
  const std::lock_guard lock(pending_mutex_);
  std::erase(pending_, &event);
  __atomic_store_n(&num_pending_, pending_.size(), __ATOMIC_RELAXED);
}

void CudaQueue::wait_for(const Ref<EventState>& event) {
  require_running("Queue::wait_for");
  if (recording != nullptr) check_recordable("Queue::wait_for", *this, true);
  auto* const here = dynamic_cast<CudaEventState*>(event.get());
  if (here == nullptr) return event->wait();
  if (here->known_complete()) return;
  check_cuda(cudaStreamWaitEvent(stream(), here->recorded(), 0), "waiting for an event", device());
  // What others enqueued there comes before this queue's work, too.
  const CudaStream& there = here->queue_->stream_;
  if (__atomic_load_n(&there.has_outsiders, __ATOMIC_RELAXED) ||
      __atomic_load_n(&there.follows_outsiders, __ATOMIC_RELAXED))
    __atomic_store_n(&stream_.follows_outsiders, true, __ATOMIC_RELAXED);
  submitted();
}

// ---- what launches use; `mutex` is held

CudaScratch CudaQueue::scratch(std::size_t bytes, std::size_t slots) {
  if (recording != nullptr) return recording->scratch(bytes, slots);
  const auto take = [&](std::size_t wanted) {
    void* const memory = gpu_.allocate(CudaMemoryKind::Device, wanted);
    if (memory == nullptr)
      throw OutOfMemory("a reduction, scan or sort needs " + std::to_string(wanted) +
                        " bytes of scratch memory on Cuda{" + std::to_string(device()) + "}");
    return memory;
  };
  if (!scratch_.holds_slots(slots)) {
    const std::size_t wanted = CudaScratchMemory::zeros_for(slots);
    release_zeros();
    scratch_.zeros = static_cast<unsigned long long*>(take(wanted * sizeof(*scratch_.zeros)));
    const cudaError_t code = cudaMemsetAsync(scratch_.zeros, 0, wanted * sizeof(*scratch_.zeros), stream());
    if (code != cudaSuccess) release_zeros();
    check_cuda(code, "clearing scratch memory", device());
    submitted();
    scratch_.num_zeros = wanted;
  }
  if (bytes > scratch_.bytes) {
    const std::size_t wanted = std::max(bytes + bytes / 4, std::size_t{1} << 16);
    void* const memory = take(wanted);
    if (scratch_.partials != nullptr) gpu_.release(CudaMemoryKind::Device, scratch_.partials);
    scratch_.partials = memory;
    scratch_.bytes = wanted;
  }
  return scratch_.scratch();
}

// Kernels clear slots after they have handed over their value: a stream all of whose values have come may
// still do that.
void CudaQueue::release_zeros() noexcept {
  if (scratch_.zeros == nullptr) return;
  submitted();
  gpu_.release(CudaMemoryKind::Device, scratch_.zeros);
  scratch_.zeros = nullptr;
  scratch_.num_zeros = 0;
}

void CudaQueue::drop_large_scratch() {
  constexpr std::size_t kept = std::size_t{64} << 20;
  if (scratch_.num_zeros * sizeof(*scratch_.zeros) > kept) release_zeros();
  if (scratch_.bytes <= kept) return;
  gpu_.release(CudaMemoryKind::Device, scratch_.partials);
  scratch_.partials = nullptr;
  scratch_.bytes = 0;
}

CudaHostSlot CudaQueue::host_slot(std::size_t bytes) {
  const std::size_t count = host_slot_words(bytes);
  const auto fit =
      std::find_if(free_slots_.begin(), free_slots_.end(), [&](const Slot& s) { return s.count >= count; });
  Slot slot;
  if (fit != free_slots_.end()) {
    slot = *fit;
    free_slots_.erase(fit);
  } else {
    slot.count = std::max<std::size_t>(count, 8);
    void* const memory = gpu_.allocate(CudaMemoryKind::Pinned, slot.count * sizeof(std::uint64_t));
    if (memory == nullptr) throw OutOfMemory("no pinned memory for the result of a reduction");
    slot.words = static_cast<std::uint64_t*>(memory);
    std::fill_n(slot.words, slot.count, std::uint64_t{0});
    all_slots_.push_back(slot);
  }
  if (++tickets_ == 0) tickets_ = 1;  // slots begin with 0
  return {slot.words, tickets_};
}

void CudaQueue::give_back(const CudaHostSlot& slot) {
  for (const Slot& s : all_slots_)
    if (s.words == slot.words) free_slots_.push_back(s);
}

std::uint64_t CudaQueue::note_kernel(const char* label, const char* kernel_type, const char* tag_type) {
  const std::uint64_t number = ++kernels_;
  Flight& flight = flight_[number % flights];
  flight.number = number;
  flight.kernel_type = kernel_type;
  flight.tag_type = tag_type;
  flight.label[0] = 0;
  if (label[0] != 0) std::strncpy(flight.label, label, sizeof flight.label - 1);
  return number;
}

void CudaQueue::kernels_in_flight(std::vector<std::string>& names) {
  const std::uint64_t submitted = submissions();
  const std::uint64_t open = submitted - __atomic_load_n(&stream_.retired, __ATOMIC_RELAXED);
  for (std::uint64_t back = std::min({open, kernels_, std::uint64_t{flights}}); back > 0; --back) {
    const Flight& flight = flight_[(kernels_ - back + 1) % flights];
    names.push_back(kernel_name(flight.label, flight.kernel_type, flight.tag_type));
  }
}

bool CudaQueue::bad_access_found() const {
  return check_ != nullptr && __atomic_load_n(&check_->state, __ATOMIC_ACQUIRE) == 2;
}

void CudaQueue::throw_unreported_bad_access() {
  if (bad_access_found() && check_->launch != reported_launch_) throw_bad_access(false);
}

void CudaQueue::throw_bad_access_found(bool clear) {
  if (!bad_access_found()) return;
  const std::lock_guard lock(mutex);
  throw_bad_access(clear);
}

void CudaQueue::throw_bad_access(bool clear) {
  if (!bad_access_found()) return;
  // A kernel that others have enqueued meanwhile would run in part if the record were cleared as it begins.
  if (clear) static_cast<void>(cudaStreamSynchronize(stream_.stream));
  const CheckRecord found = *check_;
  reported_launch_ = found.launch;
  if (clear) {
    __atomic_store_n(&check_->state, 0, __ATOMIC_RELEASE);
    __atomic_store_n(&check_->launch, 0, __ATOMIC_RELEASE);
  }
  const Flight& flight = flight_[found.launch % flights];
  const bool known = flight.number == found.launch;
  throw_failed_check(found, known ? flight.label : "launched earlier", known ? flight.kernel_type : nullptr,
                     known ? flight.tag_type : nullptr);
}

}  // namespace strata::inline STRATA_ABI::detail
