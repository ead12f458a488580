// CoherentCall: one launch over coherent arrays, on one or several devices, from the first look at where
// values are to the last kernel.
//
//   CoherentCall call("label", kernel_type, tag_type);
//   call.add_part(device, queue);  call.add_use(array, mode, part); ...     // for each device
//   call.prepare();               // all that is read is on its way, all that is written is claimed
//   call.begin(k); <enqueue the kernel, or run it on the host>; call.end(k);   // for each part, hosts' last
//
// Everything between prepare() and the end of the call is one step for other threads, but for kernels of
// hosts, which run without the lock. A call that ends early, by an exception, takes its claims back.
#pragma once

#include <mutex>
#include <vector>

#include <strata/core/access_mode.hpp>
#include <strata/core/error.hpp>
#include <strata/views/coherent/coherence.hpp>
#include <strata/views/coherent/unwritten.hpp>

namespace strata::inline STRATA_ABI::detail {

class CoherentCall {
 public:
  /// The texts are kept by pointer.
  CoherentCall(const char* label, const char* kernel_type, const char* tag_type);
  ~CoherentCall();
  CoherentCall(const CoherentCall&) = delete;
  CoherentCall& operator=(const CoherentCall&) = delete;

  /// A part of the work, on a device. With `waits` its launch returns when the kernel has ended, and others
  /// go on meanwhile; then it is the only part.
  void add_part(DeviceInstance& device, QueueState& queue, bool waits = false);
  /// A use of the last part. The array must outlive the call.
  void add_use(CoherentState& array, AccessMode mode, ArrayPart part);

  /// Throws the error with the name of the launch: a region that was declared is none of its array.
  [[noreturn]] void fail_region(const ShapeMismatch& error) const;

  /// Throws AccessConflict (uses that exclude each other), OutOfMemory, NeverWritten (checked builds), and
  /// what made earlier work fail. Nothing is claimed then.
  void prepare();

  /// Where use `use` of part `part` finds the first element of its array, or would; valid after begin(part).
  char* base(int part, int use) const;
  /// The rows that it declared.
  ResidentRows rows(int part, int use) const;

  /// Its label, or its kernel's type.
  const char* name() const;
  bool is_host(int part) const { return parts_[static_cast<std::size_t>(part)].is_host; }
  /// The queue waits for what the part needs; a host does so itself. With `timed`, seconds() will tell how
  /// long the kernel took.
  void begin(int part, bool timed = false);
  /// Before begin(): whether there is work to wait for that a part of the work items can do without, those
  /// that touch `parts` only, one a use. Then the queue waits for what these need, and they may be enqueued.
  bool begin_early(int part, const std::vector<ArrayPart>& parts, bool timed);
  /// Between begin() and end(): what the part writes only, which checked builds have marked.
  std::vector<UnwrittenBox> unwritten(int part) const;
  /// The kernel was enqueued, or has run.
  void end(int part);

  /// Events around the kernel of a timed part: null elsewhere.
  struct Timing {
    Ref<EventState> begin, end;
  };
  Timing timing(int part) const { return parts_[static_cast<std::size_t>(part)].timing; }

 private:
  struct Use {
    CoherentState* array = nullptr;
    AccessMode mode = AccessMode::In;
    ArrayPart part;
    char* base = nullptr;
    std::vector<Directory::Part> before;  // what a claim replaced
    MemorySet kept;                       // where that is pinned
    bool pinned = false;
    bool claimed = false;
  };
  struct Part {
    DeviceInstance* device = nullptr;
    QueueState* queue = nullptr;
    bool is_host = false;
    bool unlocked = false;  // the lock is not held while its kernel is launched or runs
    MemoryId memory = host_memory;
    int first_use = 0, uses = 0;
    std::vector<Work> after;
    std::vector<Work> needs;  // of it, what wrote the values that are read
    bool early = false;       // some of it was enqueued
    Timing timing;
    std::uint64_t host_use = 0;  // the number of its entries in CoherentState::host_uses
    enum class State : unsigned char { Waiting, Begun, Ended } state = State::Waiting;
  };

  template <class F>
  void for_uses(const Part& part, const F& f) {
    for (int k = 0; k < part.uses; ++k) f(uses_[static_cast<std::size_t>(part.first_use + k)]);
  }
  void check_conflicts() const;
  [[noreturn]] void fail_conflict(const Part& a, const Use& x, const Part& b, const Use& y) const;
  void check_written(const Part& part, const Use& use) const;
  bool wait_for_host();
  void find_room();
  bool wait_for_turn();
  bool reside(bool may_wait);
  void unpin();
  bool keeps_pins() const;
  index_t needs_of(MemoryId memory);
  void plan_reads();
  void find_memory(Part& part);
  void collect(const Part& part, const Use& use, const ArrayPart& touched, std::vector<Work>& after);
  void claim();
  void claim_again(Part& part);
  void mark_host_uses(Part& part);
  void end_host_uses(Part& part);
  void take_back(Part& part);
  void follow(Part& part);
  void mark(Part& part);
  void transfer_back();

  const char* label_;
  const char* kernel_type_;
  const char* tag_type_;
  std::vector<Part> parts_;
  std::vector<Use> uses_;
  std::unique_lock<std::mutex> lock_;
  std::uint64_t recoveries_ = 0;  // there had been when claims were made
  std::uint64_t ticket_ = 0;      // in the queue for room; 0: it has not waited
  bool out_of_turn_ = false;      // who is before it waits for this thread
};

}  // namespace strata::inline STRATA_ABI::detail
