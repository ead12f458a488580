// SharedFlights: the parts of a shared launch that asynchronous devices have, a few for each, so that none is
// idle; and what is done where they fail. One thread uses it at a time.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <deque>
#include <exception>
#include <vector>

#include <strata/algorithms/sharing/shared_ledger.hpp>
#include <strata/views/coherent/whole_copies.hpp>

namespace strata::inline STRATA_ABI::detail::sharing {

/// Launches of a part that failures of others have spoiled, before that counts as a failure of the device.
inline constexpr int most_retries = 20;

class SharedFlights {
 public:
  /// How the ends of parts are measured.
  enum class Clock {
    Devices,     ///< by events: that of the devices, also where it is virtual
    Host,        ///< that of the host, which has parts, too
    HostForOne,  ///< likewise, and a device has but one part, of which only the kernel is timed
  };
  /// `begin` is that of the launch.
  SharedFlights(const SharedWork& work, SharedLedger& ledger, std::chrono::steady_clock::time_point begin,
                Clock clock);

  /// Gives the devices parts, the one with least to do first. Whether any took one.
  bool fill(const std::vector<std::size_t>& devices);
  bool has_any(const std::vector<std::size_t>& devices) const;
  /// Waits for the part that is expected to end first, by the speeds so far: the order follows the time of
  /// the devices, also where that is virtual, and not how fast the host is. With `is_beside_hosts` the thread
  /// takes no processor meanwhile, which a worker of theirs has.
  void land_first(const std::vector<std::size_t>& devices, bool is_beside_hosts);
  /// Until nothing is left for the devices.
  void feed(const std::vector<std::size_t>& devices, bool is_beside_hosts);

 private:
  struct Flight {
    ResidentRows part;
    WholeCopies::Launch launch;
    Ref<EventState> start;  // null: it began when the one before ended
    CoherentCall::Timing timing;
  };
  struct Device {
    std::deque<Flight> flights;
    Ref<EventState> last_end;
    double clock = 0;  // the end of its last part, from the beginning on
    int retries = 0;   // since its last success
  };

  void send(std::size_t k, ResidentRows part);
  void land(std::size_t k);
  std::exception_ptr land_all(std::size_t k, std::vector<ResidentRows>& not_done);
  bool is_done(Flight& flight, std::exception_ptr& error);
  void note_end(std::size_t k, const Flight& flight, double seconds);

  const SharedWork& work_;
  SharedLedger& ledger_;
  const std::chrono::steady_clock::time_point begin_;
  const Clock clock_;
  bool sleeps_ = false;
  Ref<EventState> origin_;  // the beginning, by the clock of the devices where all have one
  std::vector<Device> devices_;
};

}  // namespace strata::inline STRATA_ABI::detail::sharing
