// MultiVector and Value: the paper's two simpler views (section 3.5).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/core/layout_left.hpp>
#include <strata/views/view.hpp>

namespace strata::inline STRATA_ABI {

/// `count` vectors of one length, each contiguous: `v(i, k)` is element i of vector k, `v(i)` of the first.
template <class T, class Device>
using MultiVector = View<T, Device, DynamicRank<2>, LayoutLeft, DefaultAccess>;

/// One value on the device, `*v`: parameters that kernels share, results that stay there.
template <class T, class Device>
using Value = View<T, Device, Extents<>, LayoutLeft, DefaultAccess>;

}  // namespace strata::inline STRATA_ABI
