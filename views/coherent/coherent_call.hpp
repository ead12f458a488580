// CoherentCall: one launch over coherent arrays, on one or several devices, from the search for current
// values to the last kernel.
//
//   CoherentCall call("label", kernel_type, tag_type);
//   call.add_part(device, queue);  call.add_use(array, mode, region); ...     // for each device
//   call.prepare();               // copies of all that is read are enqueued, all that is written is claimed
//   call.begin(k); <enqueue the kernel, or run it on the host>; call.end(k);   // for each part, hosts' last
//
// Other threads see all that happens between prepare() and the end of the call as one step; they go on only
// while a host runs its kernel, and while a launch waits for its result. A call that ends early, by an
// exception, gives up what it claimed. The implementation is in call_state.hpp.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include <strata/core/access_mode.hpp>
#include <strata/core/ref.hpp>
#include <strata/devices/backend.hpp>
#include <strata/views/coherent/access_region.hpp>

namespace strata::inline STRATA_ABI {

class ShapeMismatch;

namespace detail {

class CallState;
class CoherentState;
struct UnwrittenBox;

class CoherentCall {
 public:
  /// The texts are kept by pointer.
  CoherentCall(const char* label, const char* kernel_type, const char* tag_type);
  ~CoherentCall();
  CoherentCall(const CoherentCall&) = delete;
  CoherentCall& operator=(const CoherentCall&) = delete;

  /// The part of the work that runs on a device. With `waits` its launch returns when the kernel has ended,
  /// and other threads go on meanwhile; then it is the only part.
  void add_part(DeviceInstance& device, QueueState& queue, bool waits = false);
  /// The last part uses a region of the array, which must outlive the call. `by_items`: few work items touch
  /// the same element.
  void add_use(CoherentState& array, AccessMode mode, ArrayPart region, bool by_items = false);

  /// Throws the error with the name of the launch: a region that was declared is not one of its array.
  [[noreturn]] void fail_region(const ShapeMismatch& error) const;

  /// What explicit arrays lack is copied: the program has asked for that.
  void copies_explicit_arrays();
  /// The call is one of several that are a launch together, over parts of its range: it copies of implicit
  /// arrays its own part.
  void is_one_of_several();
  /// Before prepare(): its parts are the same rows, of which kernels claim some each, so parts need not be
  /// apart. All are begun before the first is ended.
  void shares_rows();
  /// After its uses were added: those of the last part begin at these regions, one for each: pages of managed
  /// arrays are moved for them only. Of a call that shares rows.
  void begins_at(const std::vector<ArrayPart>& regions);
  /// In place of prepare(), where that is for others to do: throws what it would throw of uses that exclude
  /// each other, of memory that a device does not reach, of values that nobody has written, and of explicit
  /// arrays.
  void check();
  /// Throws AccessConflict (uses that exclude each other), OutOfMemory, NeverWritten (checked builds),
  /// NotCurrent (explicit arrays), and what made earlier work fail. Nothing is claimed then.
  void prepare();

  /// The address at which use `use` of part `part` has the first element of its array, or would have it;
  /// valid after begin(part).
  char* base(int part, int use) const;
  /// The rows that it declared.
  ResidentRows rows(int part, int use) const;
  /// Whether nearly all that it declared lies in the host's memory, which its device reaches over a link, and
  /// few work items touch the same of it. Before begin(part) that is not known of managed arrays, and false.
  bool is_link_bound(int part) const;

  /// Its label, or its kernel's type.
  const char* name() const;
  bool is_host(int part) const;
  /// The queue waits for the work that the part needs; a host waits itself. With `timed` the time of the
  /// kernel is measured.
  void begin(int part, bool timed = false);
  /// Before begin(): whether some work items, those that touch only `regions` (one for each use), need not
  /// wait for all that the part waits for. If so, the queue waits for what these need, and they may be
  /// enqueued. There are `uses` regions.
  bool begin_early(int part, const ArrayPart* regions, int uses, bool timed);
  /// Between begin() and end(): the boxes that the part declares out, which checked builds have marked.
  std::vector<UnwrittenBox> unwritten(int part) const;
  /// The kernel was enqueued, or has run.
  void end(int part);
  /// After begin(), instead of end(): nothing was enqueued, so that the arrays are as before the call.
  void retract(int part);

  /// Events before and after the kernel of a timed part: null elsewhere.
  struct Timing {
    Ref<EventState> begin, end;
  };
  Timing timing(int part) const;

 private:
  CallState* state_;  // owned
};

}  // namespace detail
}  // namespace strata::inline STRATA_ABI
