// CallState: what CoherentCall does, in three phases: all reads on all devices are planned and their copies
// enqueued, what is written is claimed, kernels are enqueued. A launch that is repeated and finds its arrays
// as it left them (kept_launch.hpp) begins with the third.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <mutex>
#include <span>
#include <vector>

#include <strata/core/access_mode.hpp>
#include <strata/views/coherent/coherence.hpp>
#include <strata/views/coherent/coherent_call.hpp>
#include <strata/views/coherent/unwritten.hpp>

namespace strata::inline STRATA_ABI::detail {

class CallState {
 public:
  /// A call; states of calls that are over are used again, so that a launch allocates nothing.
  static CallState& begin_call(const char* label, const char* kernel_type, const char* tag_type);
  /// Undoes the claims of parts that were not launched, and releases all that the call holds.
  void end_call();

  // As CoherentCall has them.
  void add_part(DeviceInstance& device, QueueState& queue, bool waits);
  void add_use(CoherentState& array, AccessMode mode, ArrayPart&& region, bool by_items);
  void prepare();
  char* base(int part, int use) const { return use_of(part, use).base; }
  ResidentRows rows(int part, int use) const;
  bool is_link_bound(int part) const;
  const char* name() const;
  bool is_host(int part) const { return parts_[static_cast<std::size_t>(part)].is_host; }
  void begin(int part, bool timed);
  bool begin_early(int part, std::span<const ArrayPart> regions, bool timed);
  std::vector<UnwrittenBox> unwritten(int part) const;
  void end(int part);
  void retract(int part);
  void copies_explicit_arrays() { copies_explicit_ = true; }
  void is_one_of_several() { is_one_of_several_ = true; }
  void shares_rows();
  void begins_at(const std::vector<ArrayPart>& regions);
  void check();
  CoherentCall::Timing timing(int part) const { return parts_[static_cast<std::size_t>(part)].timing; }

  /// What a call has enqueued last.
  struct Launch {
    Work work;
    Ref<EventState> event;         // after it; null: there was none
    std::uint64_t recoveries = 0;  // as many there had been
  };
  /// Where calls of the calling thread note that; null: nowhere.
  static constinit thread_local Launch* noted_launch;

 private:
  struct Use {
    CoherentState* array = nullptr;
    AccessMode mode = AccessMode::In;
    ArrayPart region;
    ArrayPart home;                 // of a call that shares rows: for which pages are moved
    MemoryId memory = host_memory;  // in which the part has it: the host's where both use that
    char* base = nullptr;
    MemorySet holders;  // where what a claim replaced is pinned
    bool pinned = false;
    bool claimed = false;
    bool by_items = false;
    bool at_host = false;  // where pages of managed memory stay
  };
  struct Part {
    DeviceInstance* device = nullptr;
    QueueState* queue = nullptr;
    bool is_host = false;
    bool unlocked = false;  // the lock is not held while its kernel is launched or runs
    MemoryId memory = host_memory;
    int first_use = 0, uses = 0;
    WorkList after;
    NeededWorks needs;   // of it, what wrote the values that are read
    bool early = false;  // some of it was enqueued
    bool joins = false;  // the same kernel, the last on the queue: both are one piece of work
    Work work;           // the kernel
    CoherentCall::Timing timing;
    std::uint64_t host_use = 0;  // the number of its entries in CoherentState::host_uses
    enum class State : unsigned char { Waiting, Begun, Ended } state = State::Waiting;
  };

  CallState() : lock_(Coherence::get().mutex, std::defer_lock) {}

  template <class F>
  void for_uses(const Part& part, const F& f) const {
    for (int k = 0; k < part.uses; ++k) f(uses_[static_cast<std::size_t>(part.first_use + k)]);
  }
  template <class F>
  void for_uses(const Part& part, const F& f) {
    for (int k = 0; k < part.uses; ++k) f(uses_[static_cast<std::size_t>(part.first_use + k)]);
  }
  const Use& use_of(int part, int use) const {
    return uses_[static_cast<std::size_t>(parts_[static_cast<std::size_t>(part)].first_use + use)];
  }

  // Before.
  void require_may_launch() const;
  void check_conflicts() const;
  [[noreturn]] void fail_conflict(const Part& a, const Use& x, const Part& b, const Use& y) const;
  void check_written(const Part& part, const Use& use) const;
  void find_memories();
  void check_current(const Part& part, const Use& use) const;
  void plan_reads();
  void claim();
  void mark_host_uses(Part& part);
  void mark_begun(Part& part);
  void announce_pins();

  // Launches that are repeated.
  void hash(const void* pointer, index_t number = 0);
  bool is_same(const KeptLaunch& launch) const;
  bool use_kept();
  bool can_join(int part);
  void keep();
  void note_order(KeptLaunch& launch);

  // Room (call_state_room.cpp).
  bool wait_for_host();
  void find_room();
  bool wait_for_turn();
  bool reside(bool may_wait);
  void unpin();
  bool keeps_pins() const;
  index_t needs_of(MemoryId memory);

  // Kernels.
  void find_memory(Part& part);
  bool moves_pages(const Part& part);
  void bring_pages(const Part& part);
  static bool is_at_host(const Use& use) { return use.array->mode == MemoryMode::Mapped || use.at_host; }
  void note_link_use(const Part& part) const;
  bool copies_whole(const Use& use) const;
  ResidentRows held_rows(const Use& use) const;
  void collect(const Use& use, const ArrayPart& touched, WorkList& after);
  void begin_on_host(Part& part, bool timed);
  void end_wait(Part& part);
  void check_reads(const Part& part);
  void check_is_there(const Part& part);
  [[noreturn]] void fail_reads() const;
  void mark(Part& part);
  void claim_again(Part& part);
  void end_host_uses(Part& part);
  void copy_out();

  // After.
  void release();
  void undo(Part& part);
  void restore(Use& use, bool begun, bool made_anew);
  void report_lost_meanwhile(const Part& part, const Use& use) const;
  static std::vector<Directory::Part> before_claim(const Use& use, bool made_anew);
  void follow(Part& part);

  const char* label_ = nullptr;
  const char* kernel_type_ = nullptr;
  const char* tag_type_ = nullptr;
  std::vector<Part> parts_;
  std::vector<Use> uses_;
  std::vector<CoherentState*> read_;    // the arrays of a plan
  std::vector<CopyLines::Line> lines_;  // of their copies
  std::unique_lock<std::mutex> lock_;
  std::uint64_t hash_ = 0;          // of the properties that a repeated launch shares with this one
  KeptLaunch* kept_ = nullptr;      // it is such a launch; valid as long as the call has the lock
  std::uint64_t recoveries_ = 0;    // how many there had been when claims were made
  std::uint64_t ticket_ = 0;        // in the queue for room; 0: it has not waited
  bool copies_explicit_ = false;    // the program asks for what the call copies
  bool is_one_of_several_ = false;  // which are a launch
  bool shares_rows_ = false;        // parts need not be apart
  bool out_of_turn_ = false;        // those before it in that queue wait for this thread
};

}  // namespace strata::inline STRATA_ABI::detail
