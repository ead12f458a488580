// TicketCounter: numbers 0, 1, 2, ... each of which one thread gets, whichever device it is on.
//
//   const TicketCounter tickets(system_atomics(counter, Cuda{0}));
//   for (index_t i = tickets.take(); i < n; i = tickets.take()) work(i);
//
// Kernels best take one range per block, as all threads contend for one cache line. Tickets are relaxed: what
// a thread wrote before it took one need not be visible to the thread that takes the next.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/core/assert.hpp>
#include <strata/core/config.hpp>
#include <strata/views/system_atomics.hpp>

namespace strata::inline STRATA_ABI {

/// A handle, which kernels copy; the array of `value`, which is zero at first, must outlive it.
class TicketCounter {
 public:
  /// `value` has one element: the next number.
  STRATA_FUNCTION explicit TicketCounter(const SystemAtomics<std::int64_t>& value) : value_(value) {}

  /// The first of `count` numbers, which are the caller's.
  STRATA_FUNCTION index_t take(index_t count = 1) const { return value_(0).fetch_add(count); }
  /// The numbers taken so far.
  STRATA_FUNCTION index_t taken() const { return value_(0).load(); }

 private:
  SystemAtomics<std::int64_t> value_;
};

}  // namespace strata::inline STRATA_ABI
