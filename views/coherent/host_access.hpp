// HostUseScope: a use of an array by the host, from the wait for the work that it needs to its end: what host
// views and element proxies are made of.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include <strata/core/access_mode.hpp>
#include <strata/core/box.hpp>
#include <strata/core/ref.hpp>
#include <strata/devices/backend.hpp>
#include <strata/views/coherent/coherent_array_state.hpp>
#include <strata/views/view.hpp>

namespace strata::inline STRATA_ABI::detail {

/// Of views that expire at the end of this: those of a function that is not to keep them.
class TicketScope {
 public:
  TicketScope();
  ~TicketScope();
  TicketScope(const TicketScope&) = delete;
  TicketScope& operator=(const TicketScope&) = delete;

  UseTicket ticket() const { return {cell_, *cell_}; }

 private:
  std::uint64_t* const cell_;
};

class HostUseScope {
 public:
  HostUseScope() = default;
  /// Copies to the host what is read, claims what is written, and waits for exactly the work that this needs.
  /// Throws AccessConflict where the calling thread has a view of the box that excludes this one,
  /// NeverWritten in checked builds, NotCurrent of an explicit array, ShapeMismatch where the box does not
  /// lie in the array, and what made the work fail.
  HostUseScope(const Ref<CoherentState>& array, const Box& box, AccessMode mode)
      : HostUseScope(array, box, mode, true) {}
  /// The same, without the claim where `claims` is false: until claim_together() the values are where they
  /// were, and a use that ends before has changed nothing.
  HostUseScope(const Ref<CoherentState>& array, const Box& box, AccessMode mode, bool claims,
               bool copies_explicit_arrays = false);
  ~HostUseScope() { end(); }
  HostUseScope(HostUseScope&& other) noexcept : array_(static_cast<Ref<CoherentState>&&>(other.array_)) {
    take(other);
  }
  HostUseScope& operator=(HostUseScope&& other) noexcept {
    if (this == &other) return *this;
    end();
    array_ = static_cast<Ref<CoherentState>&&>(other.array_);
    take(other);
    return *this;
  }

  /// Ends the use, so that others may begin theirs; written values have been current since the use began.
  void end() noexcept;
  /// For views: expires at the end() of this use, also when it has been moved.
  UseTicket ticket();
  /// Throws OutOfBounds after end(), and after this was moved from.
  void check_use() const {
    if (over_) fail_use();
  }

 private:
  void take(HostUseScope& other) noexcept {
    number_ = other.number_;
    over_ = other.over_;
    cell_ = other.cell_;
    other.number_ = 0;
    other.over_ = true;
    other.cell_ = nullptr;
  }

  Ref<CoherentState> array_;
  [[noreturn]] void fail_use() const;

  std::uint64_t number_ = 0;
  bool over_ = false;
  std::uint64_t* cell_ = nullptr;  // of the tickets
};

/// What a use that was made without a claim writes.
struct HostClaim {
  CoherentState* array;
  Box box;
};
/// How often work has failed by now and was recovered from, as claim_together() takes it.
std::uint64_t recoveries_by_now();
/// Claims what several uses write, all at once. False, with nothing claimed, where work failed since
/// `recoveries`, before the first of these uses was made: the values that they copied may be wrong, and they
/// must be made again. Throws what made work fail.
bool claim_together(const std::vector<HostClaim>& claims, std::uint64_t recoveries);

/// Copies what the device lacks of `box` to it; returns when that is enqueued.
void prefetch(CoherentState& array, const Box& box, DeviceInstance& device);
/// The host gets the current values of `box`; returns when it has.
void flush(const Ref<CoherentState>& array, const Box& box);

}  // namespace strata::inline STRATA_ABI::detail
