// Backend: the run-time interface of a device, of virtual functions that are compiled once. Views, copies and
// queues use devices through these two classes; only the launch of a kernel needs its type (execution).
//
// Lifetime: instances live until the process ends, queue states as long as they are referenced.
// Threads: every function may be called from any thread unless it says otherwise.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include <strata/core/allocation.hpp>
#include <strata/core/config.hpp>
#include <strata/core/layout_descriptor.hpp>
#include <strata/core/ref.hpp>

namespace strata::inline STRATA_ABI::detail {

class DeviceInstance;
class DirectFile;
class QueueState;
class Recording;
struct Conversion;

/// The purpose of an allocation, for error messages.
struct AllocationRequest {
  std::size_t bytes;
  const char* label;
  std::size_t element_bytes;
  const LayoutDescriptor* layout;  // may be null
};

/// Addresses for an array on one instance, parts of which get memory as they are needed; memory never moves.
/// The instance's figures, the registry and out-of-memory errors count the parts with memory. The destructor
/// never waits and never throws: work enqueued before it, on any queue, may still use the memory.
class ReservedMemory : public RefCounted {
 public:
  /// The address of byte 0, as views hold it.
  void* data() const { return record_.get()->data; }
  /// The bytes that were asked for.
  std::size_t size() const { return record_.get()->bytes; }
  /// The record: views made with a reference to it keep the memory too.
  const Allocation& allocation() const { return *record_.get(); }
  /// Memory is given in multiples of this many bytes, counted from byte 0.
  virtual std::size_t granule() const = 0;

  /// Gives memory to bytes [begin, end), rounded outwards to granules, but not past the last byte reserved.
  /// Bytes that have memory keep it and their contents; the contents of new memory are undefined. All work
  /// enqueued after the call may use it. Returns false, with nothing changed, where there is not enough
  /// memory, after waiting for freed blocks, as an allocation does. Throws OutOfBounds for bytes that were
  /// not reserved.
  virtual bool commit(std::size_t begin, std::size_t end) = 0;
  /// In place of commit(): gives memory to bytes [0, period), and maps it again after them: byte k is byte k
  /// % period, so that rows which wrap round a ring buffer are contiguous. `period`, not 0, is a multiple of
  /// DeviceInstance::repeat_granule(), and size() a multiple of `period`. Returns false, with nothing
  /// changed, for lack of memory, or where something was committed before. Throws OutOfBounds for a period
  /// that was not reserved.
  virtual bool commit_repeating(std::size_t /*period*/) { return false; }
  /// Bytes that have memory now.
  virtual std::size_t committed() const = 0;

 protected:
  explicit ReservedMemory(AllocationRef record) : record_(static_cast<AllocationRef&&>(record)) {}
  /// Throws OutOfBounds unless [begin, end) lies within the bytes reserved.
  void require_reserved(std::size_t begin, std::size_t end) const;
  Allocation& record() { return const_cast<Allocation&>(*record_.get()); }

 private:
  AllocationRef record_;
};

/// The time of a copy: `seconds`, and then its bytes at `bytes_per_second`; 0 there: no direct way.
struct CopyCost {
  double seconds = 0;
  double bytes_per_second = 0;
};

/// How fast a device is, for plans that have copies and kernels overlap; 0: not known. Bytes and seconds.
struct DeviceRates {
  double to_device = 0;       ///< copies from the host, a second
  double to_host = 0;         ///< copies to the host, a second
  double both_ways = 0;       ///< both of them at once, together
  double memory = 0;          ///< read and written by kernels, together, a second
  double copy_seconds = 0;    ///< until a copy begins
  double launch_seconds = 0;  ///< until a kernel begins
};

/// Host memory that a device copies from and to at full speed, as long as this lives.
class PinnedMemory : public RefCounted {};

/// Memory that the host and kernels of a device reach at the same time.
enum class SharedMemory : unsigned char {
  Pinned,  ///< the host's, page-locked: copies are fast, and kernels reach it over the link
  Managed  ///< pages move to whoever touches them
};

/// Bytes of managed memory that a launch, or the host, is going to use.
struct ManagedRange {
  char* begin;  ///< as the host has it
  std::size_t bytes;
  bool reads, writes;            ///< what is only written need not be moved
  bool has_other_users = false;  ///< others use pages of it, too: a second device, or the host again
  /// It stays where it is, and is reached over the link: what is only read, at another device that writes it
  /// again and again; or, `at_host`, what is small, and used by the host again and again.
  bool stays = false, at_host = false;
};

/// What page faults moved between host and devices. Bytes are those of pages.
struct PageMoves {
  bool is_known = false;  ///< otherwise the driver does not report it
  std::uint64_t faults = 0;
  std::uint64_t to_devices = 0, to_host = 0;  ///< bytes
};

/// A point in the work of one queue. Complete once all work enqueued before it is done or dropped.
class EventState : public RefCounted {
 public:
  /// Whether it is complete; never waits.
  virtual bool complete() const = 0;
  /// Blocks until complete. Throws the error that made the work before it fail, each time; the queue stays
  /// poisoned until it is waited for itself.
  virtual void wait() = 0;
  /// After wait() has thrown: how the work ended that the recording thread enqueued since its previous event.
  /// Done: the error is that of other work. Failed: its results may be written in part.
  enum class Outcome : unsigned char { Done, Failed, Dropped };
  virtual Outcome outcome() const { return Outcome::Failed; }
  /// Whether wait() also throws for work that failed before an earlier event of the queue, after which the
  /// queue was waited for: then the last of several events reports for all.
  virtual bool reports_earlier() const { return false; }
  /// The time from `earlier` to this: both complete, and from record_timed() of queues of one kind of device.
  /// -1 where it is not known.
  virtual double seconds_since(const EventState& /*earlier*/) const { return -1; }
  /// Whether nothing was enqueued on its queue since it was recorded, as far as is known: others may do so at
  /// any time. What follows it on that queue then waits for nothing else.
  virtual bool is_end() const { return false; }
  /// From now on it may be a later point of its queue, as its work goes on with what is enqueued next: then
  /// nothing need be enqueued for the event before that. Only where nobody else has it, who might wait
  /// longer.
  virtual void may_come_later() noexcept {}
};

/// A function of the user that runs on a thread of the host.
class HostCall : public RefCounted {
 public:
  virtual void run() = 0;
};

/// One side of a copy: an address as views hold it, its memory and the layout there.
struct CopySide {
  void* data;
  SpaceId space;
  const LayoutDescriptor* layout;
  const char* label;
  DeviceInstance* instance;  // that owns the memory
  bool is_own = false;       // allocated by the library: kernels of all GPUs that are linked to it reach it
};

/// One device instance.
class DeviceInstance {
 public:
  virtual ~DeviceInstance() = default;

  /// The kind ("Threads") and number of this instance, for messages.
  virtual const char* device_name() const = 0;
  virtual int index() const = 0;
  /// The memory that allocate() gives.
  virtual SpaceId space() const = 0;
  virtual bool host_accessible() const = 0;
  /// Whether its times are those of a model, which real clocks do not show.
  virtual bool has_virtual_time() const { return false; }

  /// A record that owns at least one byte of new memory, 64-byte aligned or better. The memory may be used by
  /// all work enqueued after the call. Throws OutOfMemory, which lists the largest live allocations.
  virtual Allocation* allocate(const AllocationRequest& request) = 0;
  /// Addresses for the request, without memory. Null where the device cannot give it in parts, or where that
  /// is not worth it: allocate the whole then.
  virtual Ref<ReservedMemory> reserve(const AllocationRequest& /*request*/) { return {}; }
  /// Sizes for ReservedMemory::commit_repeating are multiples of this; 0: the device has no such memory.
  virtual std::size_t repeat_granule() const { return 0; }

  /// The queue that launches without a queue use, shared by all threads.
  virtual QueueState& default_queue() = 0;
  virtual Ref<QueueState> create_queue() = 0;
  /// Waits for all queues of the instance. Throws the first error found; the others stay with their queues.
  virtual void wait_all() = 0;

  /// The most bytes that its memory may hold, and the bytes that it holds; 0 where they are not counted.
  virtual std::size_t capacity() const { return 0; }
  virtual std::size_t used() const { return 0; }

  /// The cost of a copy to this memory from that of `from`, which is of this kind or the host's, and of one
  /// from this memory to the host's. The first call for a pair measures it, where it is not known yet.
  virtual CopyCost copy_cost(const DeviceInstance& /*from*/) { return {}; }
  virtual CopyCost copy_cost_to_host() { return {}; }
  /// Measured by the first call, unless known. Rates of copies are for pinned memory.
  virtual DeviceRates rates() { return {}; }
  /// Pins host memory that was not allocated by Strata, and that outlives the result. Null where the system
  /// forbids it, or where copies would not become faster.
  virtual Ref<PinnedMemory> pin(void* /*data*/, std::size_t /*bytes*/) { return {}; }
  /// The instance that allocates memory of that kind for this device and the host. Null where there is none;
  /// `reason` is then why, as the rest of a sentence.
  virtual DeviceInstance* shared_memory(SharedMemory /*kind*/, const char*& reason);
  /// The address at which kernels of this device reach host memory: that of shared_memory(), and, where the
  /// device reaches all memory of the host, any. Null where they do not reach it.
  virtual char* address_in_kernels(char* host_address, SpaceId space) const;
  /// Whether the host may touch managed memory while kernels of the device run.
  virtual bool has_concurrent_managed_access() const { return true; }
  /// Of managed memory that lies with the host: up to how many bytes kernels that touch each of them once
  /// reach it over the link sooner than calls move its pages there and back.
  virtual std::size_t bytes_reached_at_host() const { return 0; }
  /// Whether what kernels of this device do atomically at system scope, in memory of `space`, is atomic for
  /// the host, too, and for all devices of which this is so. Where it is not, `reason` is why, as the rest of
  /// a sentence.
  virtual bool has_system_atomics(SpaceId space, const char*& reason) const;
  /// Of an instance that allocates managed memory: what faults have moved so far of the block at `data`.
  virtual PageMoves page_moves(const void* /*data*/) const { return {}; }
  /// The file that `descriptor` has open, for transfers by the device itself. Null where it cannot, or is not
  /// asked to; `path` is for messages.
  virtual Ref<DirectFile> open_direct(int descriptor, const char* path, bool writes);
};

/// An in-order stream of work on one instance. Host devices work at once on the calling thread, so their
/// functions return when done and throw directly; on others they enqueue, and an error poisons the queue:
/// later work is dropped, and the next wait() throws the error once.
class QueueState : public RefCounted {
 public:
  virtual DeviceInstance& instance() = 0;
  /// 0 for a default queue, else a unique number, by which listeners distinguish queues.
  virtual std::uint64_t id() const = 0;

  /// Blocks until all work enqueued so far is done; throws its error, once. Where threads share the queue, a
  /// thread whose own work failed or was dropped gets the error from its own next wait, even if the wait of
  /// another thread has thrown it before.
  virtual void wait() = 0;
  /// Whether all work enqueued so far is done; never waits.
  virtual bool idle() const = 0;
  /// The point after all work enqueued so far.
  virtual Ref<EventState> record() = 0;
  /// The same, with the time at which it is complete: for EventState::seconds_since().
  virtual Ref<EventState> record_timed() { return record(); }
  /// Work enqueued later starts after `event`; the host does not wait. An event whose work failed poisons
  /// this queue. Events of other kinds of device are waited for on the host.
  virtual void wait_for(const Ref<EventState>& event) = 0;

  /// Copies each element to the element of the same index. At least one side is in this instance's memory;
  /// the other there, on the host, or in the memory of another instance of this kind. The layouts are copied
  /// before the call returns; host memory must stay until the copy is done. Throws ShapeMismatch at once.
  virtual void copy(const CopySide& destination, const CopySide& source, std::size_t element_bytes) = 0;
  /// Sets every element of `destination`, which lies in this instance's memory, to the `element_bytes` at
  /// `value`, which are copied before the call returns.
  virtual void fill(const CopySide& destination, const void* value, std::size_t element_bytes) = 0;
  /// Converts each number to that of the same index (core/conversion.hpp). Kernels of this queue reach both
  /// sides, which do not overlap; on devices other than hosts both layouts have strides or tiles. By default
  /// throws Error: the device does not convert.
  virtual void convert(const CopySide& destination, const CopySide& source, const Conversion& how);

  /// Runs `call` on a thread of the host, after all work enqueued so far and before all that is enqueued
  /// later; it uses no device. By default waits for that work, and runs it here. What it throws is an error
  /// of the queue.
  virtual void call_host(const Ref<HostCall>& call);

  /// Moves the pages of managed memory to this queue's device, or to the host, after the work enqueued so
  /// far and before all that is enqueued later, and advises the driver how they are used. Their values stay.
  /// Returns the bytes of pages that it is to move, and, to the host, those that are to be
  /// overwritten, too, and those that are reached at the host: 0 where there is nothing to wait for, or the
  /// device cannot.
  virtual std::size_t prefetch(const ManagedRange* /*ranges*/, int /*count*/, bool /*to_host*/) { return 0; }
  /// For devices that model time: the kernel that the calling thread launches here next reads and writes so
  /// many bytes of the host's memory where they lie.
  virtual void next_kernel_uses_link(index_t /*read*/, index_t /*written*/) {}

  /// From now on work that the calling thread enqueues here is recorded instead of run (recording.hpp); by
  /// default as steps. The caller owns the result.
  virtual Recording* begin_recording();
};

/// A number for a queue that is not a default queue: 1, 2, ...
std::uint64_t next_queue_id();

}  // namespace strata::inline STRATA_ABI::detail
