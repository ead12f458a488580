// TaskArrays: the arrays of a run, kept from other threads as long as tasks hold them.
//
// A hold counts. The first one of an array reserves it in the name of the thread that runs the tasks, whoever
// makes it; the end of the last one lets others in again. What was copied of an array meanwhile is added up.
//
// Others that wait for an array have it after the tasks that held it when they began to wait: threads that
// add more wait behind them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <exception>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include <strata/algorithms/tasks/task_body.hpp>
#include <strata/views/coherent/array_reservation.hpp>

namespace strata::inline STRATA_ABI::detail {

ArrayHold hold_of(const TaskUse& use);

class TaskArrays {
 public:
  /// `what` is for messages: "the scope \"a label\"".
  explicit TaskArrays(std::string what) : what_(std::move(what)) {}
  /// All holds end.
  ~TaskArrays();
  TaskArrays(const TaskArrays&) = delete;
  TaskArrays& operator=(const TaskArrays&) = delete;

  /// The calling thread is the one that runs the tasks; before any hold.
  void set_owner();
  std::thread::id owner() const { return owner_; }
  const std::string& what() const { return what_; }

  /// Waits until no other thread uses the arrays otherwise, and has none of them until it has all, so that no
  /// two calls wait for each other. AccessConflict where the calling thread has a view of one, and where
  /// those that have the arrays wait for this thread, or this owner; FileError. Then nothing is held.
  void hold(std::vector<ArrayHold> arrays);
  /// The same for a thread that has held the arrays since before it adds a task over them: in front of
  /// others, which wait for that task, too.
  void hold_at_once(std::vector<ArrayHold> arrays);
  /// The same without waiting, for threads that run tasks: the owner waits, in reserve_wanted().
  void hold_later(const std::vector<ArrayHold>& arrays);
  /// An array that cannot be had, and why.
  struct Denied {
    Ref<CoherentState> array;
    std::exception_ptr error;
  };
  /// Those are held, and has() says that they are not there.
  std::vector<Denied> reserve_wanted();
  /// Whether an array is held; and reserved so.
  bool is_held(const CoherentState& array);
  bool has(const CoherentState& array, bool to_write);
  void release(const std::vector<ArrayHold>& arrays);
  /// As the destructor.
  void release_all();

  /// Bytes that were copied of arrays while they were held.
  struct Bytes {
    std::uint64_t to_devices = 0, from_devices = 0, between_devices = 0;
  };
  Bytes bytes();
  /// Those that have lost values since they were held, or since the last call.
  std::vector<Ref<CoherentState>> lost();
  /// All that are held.
  std::vector<Ref<CoherentState>> all();

 private:
  struct Kept {
    Ref<CoherentState> array;
    long holds = 0;
    bool is_reserved = false, is_to_write = false;  // as it is reserved
    std::vector<ArrayReservation> reservations;     // the later ones to write
    TransferCounters before;
    std::uint64_t losses = 0;  // as of the last lost()
    bool suffices(bool to_write) const { return is_reserved && (is_to_write || !to_write); }
  };
  bool add_if_reserved(const ArrayHold& hold);
  bool add_all_reserved(const std::vector<ArrayHold>& arrays);
  std::size_t add_while_free(const std::vector<ArrayHold>& arrays);
  bool reserve(const ArrayHold& hold, bool waits, bool adds);
  void wait_for(const ArrayHold& hold);
  void add_bytes(const Kept& kept);

  const std::string what_;
  std::thread::id owner_;
  std::uint64_t owner_number_ = 0;
  std::mutex mutex_;  // never held while the lock of coherent arrays is taken
  std::unordered_map<const CoherentState*, Kept> kept_;
  std::vector<ArrayHold> wanted_;
  Bytes bytes_;  // of arrays that are not held any more
};

}  // namespace strata::inline STRATA_ABI::detail
