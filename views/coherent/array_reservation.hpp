// ArrayReservation: keeps other threads from using an array until the thread that made this uses it.
//
// A thread that is going to use several arrays, one after the other, reserves all of them first, in the order
// of their addresses. As every thread does so, no two wait for each other.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include <strata/views/coherent/access_region.hpp>
#include <strata/views/coherent/coherent_array_state.hpp>

namespace strata::inline STRATA_ABI::detail {

/// One array, and whether it is to be written.
struct ArrayHold {
  Ref<CoherentState> array;
  bool is_to_write;
};

/// For threads that are about to add to what another thread has reserved: waits until all those have had
/// their turn which wait for one of the arrays by now, so that none waits for ever where more is added again
/// and again. Not for those that wait for the calling thread. `what` is for messages.
void wait_for_turn(const std::vector<ArrayHold>& arrays, const char* what);

class ArrayReservation {
 public:
  /// Waits for uses of the host that conflict. `what`, for messages, is kept by pointer. AccessConflict where
  /// this thread has such a use, and where the threads that have them wait for this one. Where it acts for
  /// another thread, that one has the array from then on.
  ArrayReservation(const Ref<CoherentState>& array, const ArrayPart& part, bool writes, const char* what);
  /// Of nothing.
  ArrayReservation() = default;
  /// The same without waiting: of nothing where others use the array.
  static ArrayReservation attempt(const Ref<CoherentState>& array, const ArrayPart& part, bool writes,
                                  const char* what);
  explicit operator bool() const { return static_cast<bool>(array_); }
  ~ArrayReservation();
  ArrayReservation(ArrayReservation&& other) noexcept
      : array_(static_cast<Ref<CoherentState>&&>(other.array_)), number_(other.number_) {
    other.array_ = {};
  }
  ArrayReservation& operator=(ArrayReservation&&) = delete;

 private:
  void add(const ArrayPart& part, bool writes, const char* what);

  Ref<CoherentState> array_;
  std::uint64_t number_ = 0;
};

}  // namespace strata::inline STRATA_ABI::detail
