// WholeCopies: copies of whole arrays on devices, loaded and dropped when the executor of tasks asks for it,
// not when launches need them.
//
//   WholeCopies copies;
//   event = copies.load(array, device, nullptr);    // memory there, and the values from the host
//   ... launches over the array on the device find all there ...
//   event = copies.store(array, device);            // the host has the values when it is complete
//   copies.drop(array, device);
//
// A loaded array keeps its memory until drop(), or the end of this object: launches of others wait for room
// meanwhile. One thread at a time.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <unordered_map>
#include <utility>
#include <vector>

#include <strata/core/function.hpp>
#include <strata/views/coherent/acting_thread.hpp>
#include <strata/views/coherent/coherent_state.hpp>

namespace strata::inline STRATA_ABI::detail {

class WholeCopies {
 public:
  WholeCopies() = default;
  ~WholeCopies();
  WholeCopies(const WholeCopies&) = delete;
  WholeCopies& operator=(const WholeCopies&) = delete;

  /// Of memory for all of an array.
  static index_t bytes(const CoherentState& array);
  /// How fast copies are: `from` and `to` are devices, or null for the host. 0 bytes per second where there
  /// is no direct way.
  static CopyCost link(DeviceInstance* from, DeviceInstance* to);

  enum class Presence : unsigned char {
    None,     ///< no memory there
    Partial,  ///< memory for a part, or not all values
    Whole     ///< all values that there are
  };
  static Presence presence(CoherentState& array, DeviceInstance& device);
  /// Whether the host lacks values that devices have.
  static bool host_lacks(CoherentState& array);

  /// The array has memory for all of it from now on, which stays. Throws OutOfMemory.
  void reserve(const Ref<CoherentState>& array, DeviceInstance& device);
  /// The same, and enqueues copies of the values that the device lacks, from another device or (null) from
  /// the host. The event after them; null where nothing is copied.
  Ref<EventState> load(const Ref<CoherentState>& array, DeviceInstance& device, DeviceInstance* source);
  /// Enqueues copies to the host of values that it lacks and this device has. The event after them, and after
  /// those that are under way; null as above.
  Ref<EventState> store(CoherentState& array, DeviceInstance& device);
  /// Gives the memory up, once no work on the array is under way, and with it values that no other memory
  /// has: nobody needs them. Whether there were such.
  bool drop(CoherentState& array, DeviceInstance& device);
  /// Values that only this device has go to the host, and its memory is given up; waits for that.
  static void evict(CoherentState& array, DeviceInstance& device);
  /// A launch over coherent arrays on a queue of a device.
  struct Launch {
    Work work;
    Ref<EventState> event;         // after it; null: there was none
    std::uint64_t recoveries = 0;  // as many there had been

    /// When the event is complete: whether the launch is done, whichever thread has met its failures or
    /// others. Where work has failed that may be what it needed, waits for all work.
    bool is_done() const;
  };
  /// The last of those that f() makes.
  static Launch launched_by(const Function<void()>& f);
  /// Whether the host has all values that this device has.
  static bool is_stored(CoherentState& array, DeviceInstance& device);
  /// The caller has found that event complete, without an error: what uses the arrays next does not ask it
  /// again.
  static void note_end(QueueState& queue);
  /// After work failed: waits for all work on coherent arrays, and corrects what is known of their values.
  /// The error; null where nothing had failed.
  static std::exception_ptr recover();
  /// How often anybody has done that, and how often values of the array were lost by a failure.
  static std::uint64_t recoveries();
  /// Made before work on arrays: says whether an error is that of other work, met before this work began.
  class OtherWork {
   public:
    OtherWork() : recoveries_(recoveries()), begun_(calls_begun()) {}
    bool has_failed(const std::exception_ptr& error) const;
    /// Whether anybody has recovered from a failure since then.
    bool has_recovered() const { return recoveries() != recoveries_; }

   private:
    std::uint64_t recoveries_, begun_;
  };
  static std::uint64_t losses(const CoherentState& array);
  /// A failure has lost values of the array, which the caller reports.
  static void add_loss(CoherentState& array);
  /// The boxes of the array that no memory has: lost, or never written.
  static std::vector<Box> lacking(const CoherentState& array);
  /// The thread has had the error that made work on the array fail: its next use does not report it again.
  static void set_reported(CoherentState& array);

 private:
  using Arrays = std::unordered_map<const CoherentState*, Ref<CoherentState>>;
  Arrays& pinned_in(MemoryId memory);
  void announce(MemoryId memory);

  std::vector<Arrays> pinned_;  // by memory
};

}  // namespace strata::inline STRATA_ABI::detail
