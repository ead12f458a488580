// TicketCounter: numbers 0, 1, 2, ... each of which one thread gets, whichever device it is on.
//
//   const TicketCounter tickets(system_atomics(counter, Cuda{0}));
//   for (index_t i = tickets.take(); i < n; i = tickets.take()) work(i);
//
// Kernels best take one range a block, as all takers wait for one line of memory. A ticket orders nothing:
// what was written before a thread took its ticket need not be seen by who takes the next.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/core/assert.hpp>
#include <strata/core/config.hpp>
#include <strata/views/system_atomics.hpp>

namespace strata::inline STRATA_ABI {

/// A value, which kernels copy; the array of `value` must outlive it. The array is zero at first.
class TicketCounter {
 public:
  /// Of one element: the next number.
  STRATA_FUNCTION explicit TicketCounter(const SystemAtomics<std::int64_t>& value) : value_(value) {}

  /// The first of `count` numbers, which are the caller's.
  STRATA_FUNCTION index_t take(index_t count = 1) const { return value_(0).fetch_add(count); }
  /// The numbers taken so far.
  STRATA_FUNCTION index_t taken() const { return value_(0).load(); }

 private:
  SystemAtomics<std::int64_t> value_;
};

}  // namespace strata::inline STRATA_ABI
