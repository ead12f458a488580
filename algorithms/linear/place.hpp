// The device of an array, and the queue of a sequence of launches.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/devices/queue.hpp>
#include <strata/views/view.hpp>

namespace strata::inline STRATA_ABI::detail {

/// The device instance whose memory the view is of; instance 0 for views that own nothing.
template <AnyView V>
typename V::device_type device_of(const V& view) {
  using D = typename V::device_type;
  const Allocation* const record = view.allocation().get();
  return record == nullptr ? D{} : D(record->space.instance);
}

/// `where` with its queue named.
template <class D>
On<D> on_queue(const On<D>& where) {
  return where.queue ? where : on(default_queue(where.device));
}

}  // namespace strata::inline STRATA_ABI::detail
