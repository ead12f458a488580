// TaskBody: what a task does, with a version for each type of device that it was compiled for.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tuple>
#include <utility>

#include <strata/algorithms/coherent_launch.hpp>
#include <strata/algorithms/device_list.hpp>
#include <strata/algorithms/tasks/task_access.hpp>
#include <strata/algorithms/tasks/task_place.hpp>
#include <strata/views/coherent/host_access.hpp>
#include <strata/views/coherent/task_function.hpp>

namespace strata::inline STRATA_ABI::detail {

class TaskBody : public RefCounted {
 public:
  /// Whether there is a version for devices of a type.
  virtual bool runs_on(TaskDeviceType type) const = 0;
  /// Runs or enqueues it: the arrays are there.
  virtual void run(const TaskPart& part, const Ref<QueueState>& queue, const char* label) const = 0;
};

/// What a task uses.
struct TaskUse {
  Ref<CoherentState> array;
  AccessMode mode;
  ArrayPart part;
  bool is_whole;
  bool commutes;
};

template <class Access>
TaskUse task_use(const Access& access, ResidentRows work) {
  if (!access.array) fail_no_array();
  require_copies(*access.array.state(), "a task");
  const Box domain = access.array.domain();
  TaskUse use{access.array.state(), Access::mode, part_of(access.region, domain, work, access.array.label()),
              false, is_commuting_v<Access>};
  use.is_whole = use.part.more.empty() && use.part.first == domain;
  return use;
}

// A call uses all of an array where it does not say which part.
template <class Access>
auto access_of_call(const Access& access) {
  static_assert(is_coherent_access_v<Access>,
                "strata: TaskGraph::call: declare coherent arrays: in(x), out(y), inout(z), commute(z)");
  using A = typename Access::array_type;
  if constexpr (is_own<typename Access::region_type>) {
    using All = CoherentAccess<Access::mode, A, Everything>;
    if constexpr (is_commuting_v<Access>) return CommutingAccess<All>{All{access.array, everything}};
    else return All{access.array, everything};
  } else {
    return access;
  }
}

template <class Devices, class Derived>
class VersionedBody;
template <class... D, class Derived>
class VersionedBody<DeviceList<D...>, Derived> : public TaskBody {
 public:
  template <class Body = Derived>
  static constexpr bool has_versions = (Body::template has_version<D> || ...);
  bool runs_on(TaskDeviceType type) const override {
    return ((Derived::template has_version<D> && type == task_device_type<D>()) || ...);
  }
  void run(const TaskPart& part, const Ref<QueueState>& queue, const char* label) const override {
    (run_version<D>(part, queue, label), ...);
  }

 private:
  template <class Device>
  void run_version(const TaskPart& part, const Ref<QueueState>& queue, const char* label) const {
    if constexpr (Derived::template has_version<Device>)
      if (part.type == task_device_type<Device>())
        static_cast<const Derived&>(*this).run_on(On<Device>{device_of<Device>(part), queue, label});
  }
};

/// A launch.
template <class Devices, class R, class K, class... Accesses>
class LaunchBody final : public VersionedBody<Devices, LaunchBody<Devices, R, K, Accesses...>> {
 public:
  LaunchBody(const R& work, const K& kernel, const Accesses&... accesses)
      : work_(work), kernel_(kernel), accesses_(accesses...) {}

  template <class>
  static constexpr bool has_version = true;
  template <class D>
  void run_on(const On<D>& where) const {
    std::apply([&](const auto&... accesses) { launch(where, work_, kernel_, accesses...); }, accesses_);
  }

 private:
  R work_;
  K kernel_;
  std::tuple<Accesses...> accesses_;
};

/// A function f(queue, views...).
template <class Devices, class F, class... Accesses>
class CallBody final : public VersionedBody<Devices, CallBody<Devices, F, Accesses...>> {
 public:
  explicit CallBody(const F& f, const Accesses&... accesses) : f_(f), accesses_(accesses...) {}

  template <class D>
  static constexpr bool has_version =
      std::is_invocable_v<const F&, const Queue<D>&, const typename ResolvedOn<D, Accesses>::view_type&...>;
  template <class D>
  void run_on(const On<D>& where) const {
    std::apply([&](const auto&... accesses) { call(where, accesses...); }, accesses_);
  }

 private:
  template <class D>
  void call(const On<D>& where, const Accesses&... accesses) const {
    CoherentCall call(where.label, typeid(F).name(), nullptr);
    const On<D> there{where.device, Ref<QueueState>(&queue_of(where)), where.label};
    call.add_part(there.device.backend(), *there.queue);
    (declare(call, accesses, rows_of(accesses)), ...);
    call.prepare();
    run_part(
        call, 0, there, false,
        [&](const auto&... resolved) {
          const TaskFunctionScope scope;
          const Queue<D> queue(there.device, there.queue);
          if constexpr (checked_build && (HostType<D> || std::is_same_v<D, AnyHost>)) {
            const TicketScope use;  // views that the function keeps are not to be used
            f_(queue, expiring(resolved.view, use)...);
          } else {
            f_(queue, resolved.view...);
          }
        },
        accesses...);
  }
  template <class V>
  static V expiring(V view, const TicketScope& use) {
    view.set_ticket(use.ticket());
    return view;
  }
  template <class Access>
  static ResidentRows rows_of(const Access& access) {
    return {0, Access::array_type::rank == 0 ? 1 : access.array.extent(0)};
  }

  F f_;
  std::tuple<Accesses...> accesses_;
};

}  // namespace strata::inline STRATA_ABI::detail
