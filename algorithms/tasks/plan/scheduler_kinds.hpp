// What make_scheduler chooses from: a function for each file of schedulers.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include <strata/algorithms/tasks/plan/package_plan.hpp>
#include <strata/algorithms/tasks/plan/schedulers.hpp>

namespace strata::inline STRATA_ABI::tasks::detail {

std::unique_ptr<TaskScheduler> make_eager(const SchedulerOptions& options, bool prefetches);
std::unique_ptr<TaskScheduler> make_work_stealing(const SchedulerOptions& options);
std::unique_ptr<TaskScheduler> make_local_queues(const SchedulerOptions& options);
/// `leaves_out_slow`: slow_devices.hpp.
std::unique_ptr<TaskScheduler> make_dmda(const SchedulerOptions& options, bool sorts,
                                         bool leaves_out_slow = false);
std::unique_ptr<TaskScheduler> make_absolute_priority(const SchedulerOptions& options);
enum class DartsKind : unsigned char { Published, Lru, Corrected };
/// `left_out`: devices that are given nothing; empty: none is.
std::unique_ptr<TaskScheduler> make_darts(const SchedulerOptions& options, DartsKind kind,
                                          std::vector<bool> left_out = {});
/// When a device takes tasks over from the package of another one: when it has nothing to run, or before
/// that.
enum class TakeOver : unsigned char { Never, Late, Early };
std::unique_ptr<TaskScheduler> make_packages(const SchedulerOptions& options, StructuralOrder order,
                                             std::vector<OutputPackage> packages, TakeOver take_over,
                                             std::vector<bool> left_out);
std::unique_ptr<TaskScheduler> make_data_aware(const SchedulerOptions& options);

}  // namespace strata::inline STRATA_ABI::tasks::detail
