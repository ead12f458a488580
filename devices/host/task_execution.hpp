// TaskExecution: the launches of a device whose kernels run on host threads, as tasks (host/tasks.hpp).
// `Derived` has one function that runs or enqueues a task:
//
//   template <class Task, class... Arguments>
//   static void run(EventKind kind, const LaunchInfo& info, bool wait, const Arguments&... arguments);
//
// which makes the `Task(arguments...)` and calls `task(runner, info)`, now or later; with `wait` it returns
// when the task is done. A second function names the device in errors:
//
//   static const char* device_name(const LaunchInfo& info);
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/devices/host/reduce_tasks.hpp>
#include <strata/devices/host/scan_task.hpp>
#include <strata/devices/host/tasks.hpp>
#include <strata/devices/host/team_tasks.hpp>

namespace strata::inline STRATA_ABI::detail {

template <class Derived>
struct TaskExecution {
  /// The member that kernels over teams receive.
  using team_member = HostTeamMember;

  template <class Body>
  static void for_range(const LaunchInfo& info, const ChunkRange& range, const Body& body) {
    Derived::template run<ForTask<Body>>(EventKind::BeginFor, info, false, body, range);
  }

  template <int Rank, class Body>
  static void for_box(const LaunchInfo& info, const TileRange<Rank>& range, const Body& body) {
    Derived::template run<BoxTask<Rank, Body>>(EventKind::BeginFor, info, false, body, range);
  }

  /// `finish.on_device(value)` is called once, on the device. With Finish::waits the launch returns
  /// afterwards, when `finish.on_host(value)` was called, too.
  template <class Body, class Reducer, class Finish>
  static void reduce_range(const LaunchInfo& info, const ChunkRange& range, const Body& body,
                           const Reducer& reducer, const Finish& finish) {
    Derived::template run<ReduceTask<Body, Reducer, Finish>>(EventKind::BeginReduce, info, Finish::waits,
                                                             body, reducer, finish, range);
  }

  template <int Rank, class Body, class Reducer, class Finish>
  static void reduce_box(const LaunchInfo& info, const TileRange<Rank>& range, const Body& body,
                         const Reducer& reducer, const Finish& finish) {
    Derived::template run<BoxReduceTask<Rank, Body, Reducer, Finish>>(
        EventKind::BeginReduce, info, Finish::waits, body, reducer, finish, range);
  }

  template <class Body, class Reducer, class Finish>
  static void reduce_array(const LaunchInfo& info, const ChunkRange& range, const Body& body,
                           const Reducer& reducer, const Finish& finish) {
    Derived::template run<ArrayReduceTask<Body, Reducer, Finish>>(EventKind::BeginReduce, info, Finish::waits,
                                                                  body, reducer, finish, range);
  }

  /// Work that is not a loop: `work(runner)` is called once, on the device, and may run pieces on its
  /// threads. With Work::waits the launch returns afterwards.
  template <class Work>
  static void call(const LaunchInfo& info, const Work& work, index_t items) {
    Derived::template run<CallTask<Work>>(EventKind::BeginFor, info, Work::waits, work, items);
  }

  template <class Body, class Reducer, class Finish>
  static void scan_range(const LaunchInfo& info, const ChunkRange& range, const Body& body,
                         const Reducer& reducer, const Finish& finish,
                         const typename Reducer::value_type& start) {
    Derived::template run<ScanTask<Body, Reducer, Finish>>(EventKind::BeginScan, info, Finish::waits, body,
                                                           reducer, finish, range, start);
  }

  template <class Body>
  static void for_teams(const LaunchInfo& info, const TeamShape& shape, const Body& body) {
    Derived::template run<TeamForTask<Body>>(EventKind::BeginFor, info, false, body,
                                             host_team_shape(info, Derived::device_name(info), shape));
  }

  template <class Body, class Reducer, class Finish>
  static void reduce_teams(const LaunchInfo& info, const TeamShape& shape, const Body& body,
                           const Reducer& reducer, const Finish& finish) {
    Derived::template run<TeamReduceTask<Body, Reducer, Finish>>(
        EventKind::BeginReduce, info, Finish::waits, body, reducer, finish,
        host_team_shape(info, Derived::device_name(info), shape));
  }

  /// What teams of a loop, or with a reducer of a reduction, can be: the same for every kernel.
  template <class Body, class... Reducer>
  static TeamLimits team_limits(const LaunchInfo& info, const TeamShape& shape) {
    return host_team_limits(info, Derived::device_name(info), shape);
  }
};

}  // namespace strata::inline STRATA_ABI::detail
