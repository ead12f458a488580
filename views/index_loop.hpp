// A plain loop over indices on a device, for what views do by themselves. Kernels of users go through
// parallel_for, which checks them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <typeinfo>

#include <strata/core/allocation.hpp>
#include <strata/devices/launch_info.hpp>

namespace strata::inline STRATA_ABI::detail {

template <class F>
struct IndexLoop {
  static constexpr bool takes_lanes = false;
  static constexpr bool takes_int = false;
  static constexpr bool fetches_ahead = false;
  F f;

  template <class I>
  STRATA_FUNCTION void operator()(I i) const {
    f(static_cast<index_t>(i));
  }
};

/// Calls f(i) for 0 <= i < n on `device`, in its default queue. `f` is copied; its views are not counted.
template <class D, class F>
void run_indices(const D& device, const char* label, index_t n, const F& f) {
  Capture views{D::memory_space::kind};
  const IndexLoop<F> body = [&] {
    const CaptureScope scope(views);
    return IndexLoop<F>{f};
  }();
  const LaunchInfo info{label, typeid(F).name(), nullptr, device.index(), &views, nullptr, host_of(device)};
  D::execution::for_range(info, ChunkRange{0, n}, body);
}

}  // namespace strata::inline STRATA_ABI::detail
