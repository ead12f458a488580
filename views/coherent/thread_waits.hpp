// ThreadWaits: which threads wait for which others, and whether that can end. Pure logic: no thread sleeps
// here.
//
// A thread that does not wait goes on, and releases what it holds at some time. One that waits for any of
// some threads goes on where one of them does; one that waits for all of them, where all do. A thread that
// cannot go on by these rules is in a ring of waits, or waits for one that is.
//
// Not thread-safe: the owner locks.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include <strata/core/config.hpp>

namespace strata::inline STRATA_ABI::detail {

class ThreadWaits {
 public:
  using Thread = std::thread::id;
  /// What for, and so how long.
  enum class Kind : unsigned char {
    HostUse,      // all of the threads, however long
    Elsewhere,    // the same, and not for arrays: it ends with forget() alone
    Turn,         // all, or until this wait is in a ring: then out of turn
    Room,         // any, or until this wait is in a ring: then there is no room
    Reservation,  // all, or until this wait is in a ring: then it is an error
  };

  /// `thread` waits for `others`. Returns the wait's number. `text` says so, for messages.
  std::uint64_t add(Thread thread, Kind kind, std::vector<Thread> others, std::string text = {});
  /// Whether the wait has neither ended nor been given up.
  bool goes_on(std::uint64_t wait) const;
  /// If waits are in a ring, gives one of them up that can be, turns first and reservations last. Whether
  /// there was one.
  bool give_one_up();
  /// Forgets the wait; whether it was given up. `ring`, where it is not null, gets the texts of the waits in
  /// the ring for which it was, this one first.
  bool forget(std::uint64_t wait, std::string* ring = nullptr);

  bool empty() const { return waits_.empty(); }
  /// All threads check again for which arrays they wait: waits end, except those elsewhere, and those that
  /// were given up and not forgotten.
  void clear();

 private:
  struct Wait {
    std::uint64_t number;
    Thread thread;
    Kind kind;
    std::vector<Thread> others;
    std::string text;
    std::string ring = {};  // when it was given up
    bool is_given_up = false;
    bool can_end = false;  // as far as is known
    bool is_seen = false;  // on the way round a ring
  };
  bool goes_on(Thread thread) const;
  bool find_ring(Wait& wait, Thread goal, std::string& text);
  bool is_in_ring(Wait& wait);

  std::vector<Wait> waits_;
  std::uint64_t last_ = 0;
};

}  // namespace strata::inline STRATA_ABI::detail
