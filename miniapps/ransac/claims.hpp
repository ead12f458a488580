// How teams and host threads come by iterations.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/views/ticket_counter.hpp>

namespace strata::inline STRATA_ABI::ransac {

/// Iterations [begin, end), dealt out in turn: worker w of `workers` has begin + w, begin + w + workers ...
struct DealtOut {
  index_t begin, end, workers;

  STRATA_FUNCTION index_t first(index_t worker) const { return begin + worker; }
  STRATA_FUNCTION index_t next(index_t before) const { return before + workers; }
};

/// Iterations [begin, end), each a ticket; those before `begin` have been given away.
struct Claimed {
  TicketCounter tickets;
  index_t begin, end;

  STRATA_FUNCTION index_t take(index_t count = 1) const { return begin + tickets.take(count); }
  STRATA_FUNCTION index_t first(index_t) const { return take(); }
  STRATA_FUNCTION index_t next(index_t) const { return take(); }
};

/// What a host thread knows when it claims beside a device.
struct ClaimState {
  index_t remaining = 0;       ///< iterations that nobody has begun, as far as is known
  index_t done_by_device = 0;  ///< that its teams have finished
  double elapsed = 0;          ///< seconds since the device was given its work
  double seconds_each = 0;     ///< of an iteration on this thread
  index_t threads = 1;         ///< of the host
};
/// The iterations that a host thread claims next: as many as it can do in half of the time that the rest will
/// take, which others work at, too. None where the rest is over before a claim pays, for which the memory
/// page of the counter moves to the host and back; and none where it would be over before the thread had done
/// four iterations: nobody waits for a thread that is held up in its last one.
index_t host_claim(const ClaimState& state);

/// Of the threads that are asked for, those that work beside a device: one processor is left to the driver,
/// and to what else the machine does, as a thread that has none holds up all.
index_t threads_beside_device(index_t asked, index_t processors);

}  // namespace strata::inline STRATA_ABI::ransac
