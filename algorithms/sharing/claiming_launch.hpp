// A shared launch over managed arrays whose kernels claim for themselves: one kernel a device, whose teams
// claim parts, and hosts, which claim from the same counter (claim_counter.hpp). What is typed is here, the
// rest in claiming_run.hpp.
//
// For coherence it is one call with a part for each device, all of them the whole range: kernels come after
// all that was to come before any of their rows. Hosts, which begin when the kernels may, use the array's one
// memory as it is. Checked builds do not have it: their searches for what a kernel left out need parts whose
// rows are known before.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include <strata/algorithms/coherent_launch.hpp>
#include <strata/algorithms/sharing/claiming_kernel.hpp>
#include <strata/algorithms/sharing/shared_run.hpp>
#include <strata/views/shared_view.hpp>

namespace strata::inline STRATA_ABI::detail::sharing {

/// The counter, then a tally for each device: each in a line of its own.
inline constexpr index_t number_distance = 16;

/// Memory for them on the first device, and for results on the host.
template <class D>
void make_numbers(ClaimingLaunch& launch, const On<D>& where) {
  using Numbers = CoherentArray<std::uint64_t, rank<1>>;
  const index_t devices = std::ssize(launch.devices);
  launch.numbers = Numbers("claims", (1 + devices) * number_distance, uninitialized, MemoryMode::Managed,
                           main_in(where.device));
  launch.results = Numbers("claims", devices, MemoryMode::Mapped, main_in(where.device));
  const SystemAtomics<std::uint64_t> numbers = system_atomics(launch.numbers, where.device);
  launch.counter = launch.counter.with(numbers.part(0, 1));
  parallel_for("claims", where, numbers.size(), MakeZero{numbers});
  if (devices > 1) queue_of(where).wait();  // others use them, too
}

template <class D>
DeviceClaims claims_of(const ClaimingLaunch& launch, std::size_t p, const On<D>& where) {
  const ClaimingLaunch::Device& device = launch.devices[p];
  const index_t number = static_cast<index_t>(p);
  // Where the device reaches that memory, kernels have the host's addresses, as those of atomics are.
  shared_address(launch.results.state(), where.device.backend());
  return {launch.counter, device.sizes, device.teams,
          system_atomics(launch.numbers, where.device).part((1 + number) * number_distance, 1),
          reinterpret_cast<std::uint64_t*>(main_base(*launch.results.state())) + number};
}

template <class Where, class R, class K, class... Accesses>
void enqueue_claiming(ClaimingLaunch& launch, const char* label, const Where& where, const R& work,
                      const K& kernel, const Accesses&... accesses) {
  const ResidentRows range = LeftMost<R>::of(work);
  const std::size_t count = launch.devices.size();
  const auto on_device = [&](std::size_t p, const auto& f) {
    visit_part(where, launch.devices[p].number, [&]<class D>(const On<D>& on) {
      if constexpr (!D::memory_space::host_accessible) f(on);
    });
  };
  std::vector<DeviceClaims> claims;  // before the call, which has the lock of all arrays
  on_device(0, [&](const auto& on) { make_numbers(launch, on); });
  for (std::size_t p = 0; p < count; ++p)
    on_device(p, [&](const auto& on) { claims.push_back(claims_of(launch, p, on)); });
  CoherentCall call = make_call<R, K>(label);
  call.shares_rows();
  for (std::size_t p = 0; p < count; ++p)
    on_device(p, [&](const auto& on) {
      call.add_part(on.device.backend(), queue_of(on));
      (declare(call, accesses, range), ...);
      call.begins_at({part_of(accesses.region, accesses.array.domain(), launch.devices[p].home,
                              accesses.array.label())...});
    });
  call.prepare();
  for (std::size_t p = 0; p < count; ++p) call.begin(static_cast<int>(p), true);
  for (std::size_t p = 0; p < count; ++p)
    on_device(p, [&]<class D>(const On<D>& on) {
      with_resolved<D>(
          call, static_cast<int>(p),
          [&](const auto&... resolved) {
            launch_claiming(label, on, work, bind_kernel<D, R>(kernel, resolved...), claims[p]);
          },
          accesses...);
    });
  for (std::size_t p = 0; p < count; ++p) {
    launch.ended_by(p, [&] { call.end(static_cast<int>(p)); });
    launch.devices[p].timing = call.timing(static_cast<int>(p));
  }
}

/// The arrays as they lie in the memory of the host.
template <class D, class Access>
auto resolve_on_host(const Access& access) {
  using A = typename Access::array_type;
  using T = std::conditional_t<Access::mode == AccessMode::In, const typename A::value_type,
                               typename A::value_type>;
  using V = typename A::template view_type<T, D>;
  return resolved_access(V(reinterpret_cast<T*>(main_base(*access.array.state())), access.array.mapping()),
                         access);
}

/// What launches that kernels may claim need.
template <class Where, class R, class K, class... Accesses>
void add_claiming(SharedWork& shared, const char* label, const Where& where, const R& work, const K& kernel,
                  const Accesses&... accesses) {
  if constexpr (!checked_build) {
    for (std::size_t k = 0; k < PlaceTraits<Where>::count(where); ++k)
      visit_part(where, k, [&]<class D>(const On<D>&) {
        if constexpr (!D::memory_space::host_accessible) {
          using Bound = decltype(bind_kernel<D, R>(
              kernel, resolve<D>(std::declval<const CoherentCall&>(), 0, 0, accesses)...));
          using Body = BodyFor<D, typename WorkOf<R>::tag, Bound, WorkOf<R>::rank>;
          const index_t unit =
              (unit_of_claims<D, R, Body>() + shared.align - 1) / shared.align * shared.align;
          shared.unit_of_claims = std::max(shared.unit_of_claims, unit);
          shared.claiming_teams = std::max(shared.claiming_teams, claiming_teams<D>);
        }
      });
    shared.enqueue_claiming = [&, label](ClaimingLaunch& launch) {
      enqueue_claiming(launch, label, where, work, kernel, accesses...);
    };
    shared.run_on_host = [&, label](std::size_t host, ResidentRows part) {
      visit_part(where, host, [&]<class D>(const On<D>& on) {
        if constexpr (D::memory_space::host_accessible) {
          const auto mine = LeftMost<R>::part(work, part);
          launch_for(
              label, on, mine,
              bind_kernel<D, std::remove_const_t<decltype(mine)>>(kernel, resolve_on_host<D>(accesses)...));
        }
      });
    };
  }
}

}  // namespace strata::inline STRATA_ABI::detail::sharing
