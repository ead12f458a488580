// Reserved memory of GPUs: arrays that get their memory in parts. The books are those of all device memory:
// the limit, what is in use, the quarantine.
// SPDX-License-Identifier: Apache-2.0
#include <mutex>
#include <utility>

#include <strata/core/runtime.hpp>
#include <strata/devices/cuda/instance.hpp>

namespace strata::inline STRATA_ABI::detail {

namespace {

// Smaller arrays would waste more memory on granules than they save.
constexpr std::size_t least_reserved_bytes = std::size_t{4} << 20;

void release_reserved(Allocation& allocation) noexcept {
  const auto& memory = static_cast<const CudaMemory&>(*static_cast<DeviceInstance*>(allocation.owner));
  memory.gpu().release(memory.kind(), allocation.data, true);
}

class CudaReservedMemory final : public ReservedMemory {
 public:
  CudaReservedMemory(CudaInstance& gpu, AllocationRef record, std::size_t granule)
      : ReservedMemory(std::move(record)), gpu_(gpu), granule_(granule) {}

  std::size_t granule() const override { return granule_; }
  bool commit(std::size_t begin, std::size_t end) override {
    require_running("an allocation");
    require_reserved(begin, end);
    const std::lock_guard lock(mutex_);
    if (!gpu_.commit(data(), begin, end)) return false;
    if (const std::size_t now = committed(); now != allocation().held) set_held(record(), now);
    return true;
  }
  bool commit_repeating(std::size_t period) override {
    require_running("an allocation");
    require_reserved(0, period);
    const std::lock_guard lock(mutex_);
    if (!gpu_.commit_repeating(data(), period)) return false;
    set_held(record(), period);
    return true;
  }
  std::size_t committed() const override { return gpu_.committed(data()); }

 private:
  CudaInstance& gpu_;
  const std::size_t granule_;
  std::mutex mutex_;
};

}  // namespace

Ref<ReservedMemory> CudaMemory::reserve(const AllocationRequest& request) {
  require_running("an allocation");
  if (kind_ != CudaMemoryKind::Device || request.bytes < least_reserved_bytes) return {};
  std::size_t granule = 0;
  void* const data = gpu_.reserve(request.bytes, granule);
  if (data == nullptr) return {};
  AllocationRef record;
  try {
    record = AllocationRef(make_reservation(data, request.bytes, space(), request.label, release_reserved,
                                            static_cast<DeviceInstance*>(this)));
  } catch (...) {
    gpu_.release(kind_, data, true);
    throw;
  }
  return Ref<ReservedMemory>(new CudaReservedMemory(gpu_, std::move(record), granule));
}

std::size_t CudaMemory::repeat_granule() const {
  return kind_ == CudaMemoryKind::Device ? CudaReservation::repeat_granule(index()) : 0;
}

void* CudaInstance::reserve(std::size_t bytes, std::size_t& granule) {
  const std::lock_guard lock(memory_mutex_);
  if (!quarantine_.empty()) reclaim(false);
  std::unique_ptr<CudaReservation> reservation = CudaReservation::make(index_, bytes);
  if (reservation == nullptr) return nullptr;
  for (const int other : open_to_) reservation->open_to(other);
  granule = reservation->granule();
  void* const data = reservation->data();
  reservations_.emplace(data, std::move(reservation));
  return data;
}

bool CudaInstance::commit(void* data, std::size_t begin, std::size_t end) {
  const std::lock_guard lock(memory_mutex_);
  CudaReservation& reservation = *reservations_.at(data);
  const std::size_t missing = reservation.missing(begin, end);
  return missing == 0 || commit_charged(missing, [&] { return reservation.commit(begin, end); });
}

bool CudaInstance::commit_repeating(void* data, std::size_t period) {
  const std::lock_guard lock(memory_mutex_);
  CudaReservation& reservation = *reservations_.at(data);
  return reservation.committed() == 0 &&
         commit_charged(period, [&] { return reservation.commit_repeating(period); });
}

// Under the lock: `commit` takes so many bytes from CUDA; blocks that were freed and slabs make room for it.
template <class Commit>
bool CudaInstance::commit_charged(std::size_t bytes, const Commit& commit) {
  if (!quarantine_.empty()) reclaim(false);
  const auto attempt = [&] {
    if (!device_heap_->charge(bytes)) return false;
    if (commit()) return true;
    device_heap_->discharge(bytes);
    return false;
  };
  if (attempt()) return true;
  if (!quarantine_.empty()) {
    reclaim(true);
    if (attempt()) return true;
  }
  return device_heap_->trim(0) > 0 && attempt();
}

std::size_t CudaInstance::committed(void* data) {
  const std::lock_guard lock(memory_mutex_);
  return reservations_.at(data)->committed();
}

// No work may use it any more. Without CUDA, which may be gone, only the books are closed.
bool CudaInstance::drop_reservation(void* data, bool with_cuda) noexcept {
  const auto found = reservations_.find(data);
  if (found == reservations_.end()) return false;
  device_heap_->discharge(found->second->committed());
  if (!with_cuda) static_cast<void>(found->second.release());
  reservations_.erase(found);
  return true;
}

}  // namespace strata::inline STRATA_ABI::detail
