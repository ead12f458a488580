// Allocation: the shared, reference-counted record of the memory of managed views, and the registry of all of
// them.
//
// Ownership: an AllocationRef counts; the last one releases the memory through the record's device, which
// never waits (devices quarantine blocks that queued work may still use). Counting is atomic; distinct refs
// may be used from distinct threads, one ref may not.
//
// Capture: while a kernel is copied for a launch, a CaptureScope is in force on that thread. Views copied
// then are *not* counted and hold no record: kernels and their copies of views never touch a count, on any
// device. The scope notes the memory of the views, from which a launch determines its instance.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include <strata/core/config.hpp>

namespace strata::inline STRATA_ABI {

/// Names one memory: the kind ("Host", "Emulated", "Cuda") and the instance. Kinds compare by address.
/// `shared` memory is the host's as well as a device's: pinned or managed.
struct SpaceId {
  const char* kind;     ///< "Host", "Emulated", "Cuda"
  int instance;         ///< of the kind
  bool shared = false;  ///< whether it is the host's too

  friend constexpr bool operator==(SpaceId a, SpaceId b) {
    return a.kind == b.kind && a.instance == b.instance;
  }
};

namespace detail {

struct Allocation;

// Releases the memory of a record without references. Never throws, never waits.
using ReleaseFunction = void (*)(Allocation&) noexcept;

/// One allocation. Created by make_allocation, linked into the registry while it lives.
struct Allocation {
  long count;
  void* data;
  std::size_t bytes;  // of addresses
  std::size_t held;   // of these, those with memory: all, unless it is reserved memory (devices/backend.hpp)
  SpaceId space;
  const char* label;
  ReleaseFunction release;
  void* owner;  // for `release`, e.g. a device instance
  Allocation* previous;
  Allocation* next;
};

/// Registers `data` under `label` (copied) with one reference. Throws std::bad_alloc.
Allocation* make_allocation(void* data, std::size_t bytes, SpaceId space, const char* label,
                            ReleaseFunction release, void* owner);
/// The same for addresses that have no memory yet.
Allocation* make_reservation(void* data, std::size_t bytes, SpaceId space, const char* label,
                             ReleaseFunction release, void* owner);
/// From now on `held` bytes of a reservation have memory. To listeners the array is freed, and allocated
/// again with that many bytes.
void set_held(Allocation& allocation, std::size_t held);
/// After the last reference: unregisters, releases, deletes the record.
void destroy_allocation(Allocation* allocation) noexcept;

/// Where a kernel that is being copied may run, by its views.
struct Capture {
  const char* kind;                   // the memory kind the launch can use, besides shared memory
  int instance = -1;                  // of the first view; -1 while none was seen
  int shared_instance = -1;           // of the first view in shared memory
  const Allocation* first = nullptr;  // that view's record
  const Allocation* wrong = nullptr;  // the first view in a memory of another kind or instance
};

inline constinit thread_local Capture* current_capture = nullptr;

/// Is passed every allocation whose views are copied under a capture, or that a copy touches: recordings keep
/// them alive for their replays.
class AllocationKeeper {
 public:
  virtual void keep(const Allocation& allocation) = 0;

 protected:
  ~AllocationKeeper() = default;
};
inline constinit thread_local AllocationKeeper* current_keeper = nullptr;

/// Called for each view copied under a capture.
void note_capture(Capture& capture, const Allocation& allocation);

class CaptureScope {
 public:
  explicit CaptureScope(Capture& capture) : previous_(current_capture) { current_capture = &capture; }
  ~CaptureScope() { end(); }
  void end() { current_capture = previous_; }
  CaptureScope(const CaptureScope&) = delete;
  CaptureScope& operator=(const CaptureScope&) = delete;

 private:
  Capture* previous_;
};

/// A counted reference to an allocation, or none (unmanaged views, views inside kernels).
class AllocationRef {
 public:
  STRATA_FUNCTION constexpr AllocationRef() noexcept : record_(nullptr) {}
  /// A further reference to a live allocation.
  static AllocationRef of(const Allocation& record) {
    __atomic_fetch_add(&const_cast<Allocation&>(record).count, 1, __ATOMIC_RELAXED);
    return AllocationRef(const_cast<Allocation*>(&record));
  }
  /// Takes over the reference from make_allocation.
  constexpr explicit AllocationRef(Allocation* record) noexcept : record_(record) {}

  STRATA_FUNCTION AllocationRef(const AllocationRef& other) noexcept : record_(acquire(other.record_)) {}
  STRATA_FUNCTION AllocationRef(AllocationRef&& other) noexcept : record_(other.record_) {
    other.record_ = nullptr;
  }
  STRATA_FUNCTION AllocationRef& operator=(const AllocationRef& other) noexcept {
    Allocation* record = acquire(other.record_);  // first: other may be *this or owned by it
    release(record_);
    record_ = record;
    return *this;
  }
  STRATA_FUNCTION AllocationRef& operator=(AllocationRef&& other) noexcept {
    if (this != &other) {
      release(record_);
      record_ = other.record_;
      other.record_ = nullptr;
    }
    return *this;
  }
  STRATA_FUNCTION ~AllocationRef() { release(record_); }

  STRATA_FUNCTION const Allocation* get() const noexcept { return record_; }
  /// Releases the reference without decrementing the count.
  Allocation* take() noexcept {
    Allocation* const record = record_;
    record_ = nullptr;
    return record;
  }
  long use_count() const noexcept { return record_ ? __atomic_load_n(&record_->count, __ATOMIC_RELAXED) : 0; }

 private:
  STRATA_FUNCTION static Allocation* acquire(Allocation* record) noexcept {
#if defined(__CUDA_ARCH__)
    return nullptr;
#else
    if (record == nullptr) return nullptr;
    if (current_capture != nullptr) {
      note_capture(*current_capture, *record);
      return nullptr;
    }
    __atomic_fetch_add(&record->count, 1, __ATOMIC_RELAXED);
    return record;
#endif
  }
  STRATA_FUNCTION static void release([[maybe_unused]] Allocation* record) noexcept {
#if !defined(__CUDA_ARCH__)
    // Acquire-release: the last owner sees all that the others wrote.
    if (record != nullptr && __atomic_fetch_sub(&record->count, 1, __ATOMIC_ACQ_REL) == 1)
      destroy_allocation(record);
#endif
  }

  Allocation* record_;
};

}  // namespace detail

/// One live allocation, as the registry lists it.
struct AllocationInfo {
  const char* label;  ///< as given at creation
  std::size_t bytes;  ///< asked for; of reserved memory, those that have memory
  SpaceId space;      ///< the memory
  const void* data;   ///< its address, as views hold it
  std::size_t span;   ///< bytes of addresses from there: `bytes`, or more for reserved memory
};

/// Calls `visit(context, info)` for every live allocation, largest first, under the registry's lock: do not
/// allocate or free in it.
void visit_allocations(void (*visit)(void* context, const AllocationInfo& info), void* context);

/// The bytes and the number of live allocations in memories of kind `kind` (all kinds for nullptr).
struct AllocationTotals {
  std::size_t bytes;  ///< of all
  std::size_t count;  ///< how many
};
/// The current totals.
AllocationTotals allocation_totals(const char* kind = nullptr);

}  // namespace strata::inline STRATA_ABI
