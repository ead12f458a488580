// Devices so slow beside the others that a task there ends long after all others: a host beside GPUs. What
// plans or expects ends leaves them what only they can run.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include <strata/algorithms/tasks/plan/scheduler.hpp>

namespace strata::inline STRATA_ABI::tasks::detail {

/// Which devices, the slowest first, together do less than a tenth of what all devices do in the same time.
std::vector<bool> slow_devices(const SchedulerView& view);

}  // namespace strata::inline STRATA_ABI::tasks::detail
