// launch over coherent arrays: runs a kernel over arrays whose use it declares, on one device or several, and
// moves what is missing.
//
//   launch(on(device), n, axpy{a}, in(x), inout(y));                        // kernel(i, x, y)
//   launch(across(Cuda{0}, Cuda{1}), n, stencil{}, in(u, halo(1, 1)), out(v));
//
// A launch first brings all that it reads on any device to that device, then claims what it writes, then
// enqueues its kernels: no device sees what another one writes in the same launch. Work on parts of arrays
// that share nothing has no order; everything else is as if one launch came after the other. Views that the
// kernel gets answer to the array's own indices. Plain views may be among the accesses: they are handed
// through, and ordered by their queue only.
//
// On devices that work asynchronously the call returns after enqueueing. Errors: AccessConflict, OutOfMemory
// (with what is resident), NeverWritten (checked builds), DataLost, and what made earlier work on the arrays
// fail: then nothing was begun, and the arrays are as before. What a kernel threw that ran in the call (on a
// host, or for a result) may have written a part: values that were nowhere else are told as DataLost by the
// next use. Parts of other devices that were enqueued before are done. Reductions, scans:
// coherent_reduce.hpp.
#pragma once

#include <strata/algorithms/across.hpp>
#include <strata/algorithms/coherent_access.hpp>
#include <strata/algorithms/find_unwritten.hpp>
#include <strata/core/error.hpp>
#include <strata/views/coherent/coherent_call.hpp>

namespace strata::inline STRATA_ABI {

namespace detail {

template <class A>
inline constexpr bool is_any_access_v = is_access_v<A> || is_coherent_access_v<A>;
template <class... A>
concept CoherentAccesses = (is_any_access_v<A> && ...) && (is_coherent_access_v<A> || ...);

// Tiles of an array of several dimensions are not cut between devices.
template <class Access>
constexpr index_t alignment_of() {
  if constexpr (is_coherent_access_v<Access>) {
    using A = typename Access::array_type;
    if constexpr (requires { A::mapping_type::tile; }) return A::rank > 1 ? A::mapping_type::tile : 1;
  }
  return 1;
}
template <class... Accesses>
constexpr index_t alignment_of_all() {
  index_t align = 1;
  ((align = align > alignment_of<Accesses>() ? align : alignment_of<Accesses>()), ...);
  return align;
}

template <class Access>
void declare(CoherentCall& call, const Access& access, ResidentRows work) {
  if constexpr (is_coherent_access_v<Access>) {
    if (!access.array) fail_no_array();
    ArrayPart part;
    try {
      part = part_of(access.region, access.array.domain(), work, access.array.label());
    } catch (const ShapeMismatch& error) {
      call.fail_region(error);
    }
    call.add_use(*access.array.state(), Access::mode, static_cast<ArrayPart&&>(part));
  }
}

// The number, among the coherent accesses, of access I.
template <std::size_t I, class... Accesses>
constexpr int use_number() {
  constexpr bool coherent[] = {is_coherent_access_v<Accesses>..., false};
  int number = 0;
  for (int k = 0; k < static_cast<int>(I); ++k) number += coherent[k];
  return number;
}

// What bind_kernel takes for an access of a part of a call.
template <class D, class Access>
auto resolve(const CoherentCall& call, int part, int use, const Access& access) {
  if constexpr (is_coherent_access_v<Access>) {
    using A = typename Access::array_type;
    constexpr AccessMode mode = Access::mode;
    using T =
        std::conditional_t<mode == AccessMode::In, const typename A::value_type, typename A::value_type>;
    using V = typename A::template view_type<T, D>;
    return resolved_access(
        view_of_rows<V>(access.array.mapping(), call.base(part, use), call.rows(part, use)), access);
  } else {
    return access;
  }
}

// Calls f with the accesses as bind_kernel takes them.
template <class D, class F, class... Accesses>
void with_resolved(const CoherentCall& call, int part, const F& f, const Accesses&... accesses) {
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    f(resolve<D>(call, part, use_number<I, Accesses...>(), accesses)...);
  }
  (std::index_sequence_for<Accesses...>());
}

// Runs part `part` of a call; f launches on `where`. Checked builds look behind it at what was to be written.
template <class D, class F, class... Accesses>
void run_part(CoherentCall& call, int part, [[maybe_unused]] const On<D>& where, bool timed, const F& f,
              const Accesses&... accesses) {
  call.begin(part, timed);
#if defined(STRATA_CHECKED) && STRATA_CHECKED
  const UnwrittenSearch<D> search(where, call.unwritten(part));
  {
    const NotesInForce notes(search.notes());
    with_resolved<D>(call, part, f, accesses...);
  }
  search.find(call.name());
#else
  with_resolved<D>(call, part, f, accesses...);
#endif
  call.end(part);
}

// The most rows that a work item reads before and behind its own.
template <class... Accesses>
ResidentRows halos_of(const Accesses&... accesses) {
  ResidentRows most{0, 0};
  const auto look = [&](const auto& access) {
    if constexpr (requires { access.region.edge; }) {
      most.begin = most.begin > access.region.left ? most.begin : access.region.left;
      most.end = most.end > access.region.right ? most.end : access.region.right;
    }
  };
  (look(accesses), ...);
  return most;
}

// Enqueues the kernel of part `part` over `rows`. While halos are on their way, the work items that need none
// of them go first; f(rows, resolved...) launches.
template <class D, class F, class... Accesses>
void run_rows(CoherentCall& call, int part, const On<D>& where, bool timed, ResidentRows rows, const F& f,
              const Accesses&... accesses) {
  const ResidentRows halo = halos_of(accesses...);
  const ResidentRows inner{rows.begin + halo.begin, rows.end - halo.end};
  constexpr index_t worth = 8;  // times as many rows as halos have
  if (halo.begin + halo.end > 0 && rows.end - rows.begin > worth * (halo.begin + halo.end)) {
    std::vector<ArrayPart> parts;
    const auto add = [&](const auto& access) {
      if constexpr (is_coherent_access_v<std::remove_cvref_t<decltype(access)>>)
        parts.push_back(part_of(access.region, access.array.domain(), inner, access.array.label()));
    };
    (add(accesses), ...);
    if (call.begin_early(part, parts, timed)) {
      with_resolved<D>(
          call, part, [&](const auto&... resolved) { f(inner, resolved...); }, accesses...);
      call.begin(part, timed);
      for (const ResidentRows edge :
           {ResidentRows{rows.begin, inner.begin}, ResidentRows{inner.end, rows.end}})
        if (edge.begin < edge.end)
          with_resolved<D>(
              call, part, [&](const auto&... resolved) { f(edge, resolved...); }, accesses...);
      call.end(part);
      return;
    }
  }
  run_part(
      call, part, where, timed, [&](const auto&... resolved) { f(rows, resolved...); }, accesses...);
}

template <class R, class K>
CoherentCall make_call(const char* label) {
  return CoherentCall(label, typeid(FunctorOf<K>).name(), tag_type<typename WorkOf<R>::tag>());
}

template <class D>
QueueState& queue_of(const On<D>& where) {
  return where.queue ? *where.queue : where.device.backend().default_queue();
}

// What an access becomes on a device of type `D`.
template <class D, class Access>
using ResolvedOn =
    decltype(resolve<D>(std::declval<const CoherentCall&>(), 0, 0, std::declval<const Access&>()));
// Instantiates a kernel, or a factory, where little else has been: few lines then stand before a mistake in
// its body.
template <class D, class R, class K, class... Accesses>
constexpr bool compile_kernel() {
  using W = WorkOf<R>;
  if constexpr (can_call<D, typename W::tag, With<K, BoundTo<ResolvedOn<D, Accesses>>...>, W::rank>)
    return true;
  else return Factory<K, typename ResolvedOn<D, Accesses>::view_type...>;
}

template <class D, class R, class K, class... Accesses>
void launch_coherent(const char* label, const On<D>& where, const R& work, const K& kernel,
                     const Accesses&... accesses) {
  static_assert(WorkOf<R>::rank != teams_rank,
                "strata: launch: teams do not say which rows they touch; launch over a range, or give "
                "parallel_for plain views");
  constexpr bool compiles = compile_kernel<D, R, K, Accesses...>();
  static_assert(
      compiles,
      "strata: launch: the kernel cannot be called as kernel(index..., views...) const, nor as a factory "
      "kernel(views...) const: give it a const operator() that takes (the tag,) one index for each dimension "
      "and "
      "a view for each access");
  if constexpr (compiles) {
    check_all_fit<K>(label, work, accesses...);
    CoherentCall call = make_call<R, K>(label);
    call.add_part(where.device.backend(), queue_of(where));
    (declare(call, accesses, LeftMost<R>::of(work)), ...);
    call.prepare();
    run_rows(
        call, 0, where, false, LeftMost<R>::of(work),
        [&](ResidentRows rows, const auto&... resolved) {
          const auto part = LeftMost<R>::part(work, rows);
          launch_for(label, where, part,
                     bind_kernel<D, std::remove_const_t<decltype(part)>>(kernel, resolved...));
        },
        accesses...);
  }
}

// The parts of a range that devices have: those of hosts come last, as they run at once.
struct SpreadPart {
  std::size_t place;
  ResidentRows rows;
};
std::vector<SpreadPart> order_parts(const std::vector<ResidentRows>& split, const std::vector<bool>& is_host);

template <class... D>
std::vector<bool> hosts_of(const Across<D...>& where) {
  std::vector<bool> hosts;
  for (const auto& place : where.places)
    hosts.push_back(std::visit([](const auto& on) { return on.device.backend().host_accessible(); }, place));
  return hosts;
}
template <class... D>
std::vector<double> weights_of(const Across<D...>& where) {
  return where.balance != nullptr ? where.balance->shares(where.places.size()) : where.weights;
}

template <class... D, class R, class K, class... Accesses>
void launch_coherent(const char* label, const Across<D...>& where, const R& work, const K& kernel,
                     const Accesses&... accesses) {
  static_assert((is_coherent_access_v<Accesses> && ...),
                "strata: launch(across(...)): a plain view lives on one device; give coherent arrays only");
  check_all_fit<K>(label, work, accesses...);
  using Left = LeftMost<R>;
  const ResidentRows all = Left::of(work);
  const std::vector<SpreadPart> parts =
      order_parts(split_range(all.begin, all.end, where.places.size(), weights_of(where),
                              alignment_of_all<Accesses...>()),
                  hosts_of(where));
  CoherentCall call = make_call<R, K>(label);
  for (const SpreadPart& part : parts)
    std::visit(
        [&](const auto& on) {
          call.add_part(on.device.backend(), queue_of(on));
          (declare(call, accesses, part.rows), ...);
        },
        where.places[part.place]);
  call.prepare();
  std::vector<Balance::Sample> samples(where.balance != nullptr ? where.places.size() : 0);
  for (std::size_t p = 0; p < parts.size(); ++p)
    std::visit(
        [&]<class Device>(const On<Device>& on) {
          run_rows(
              call, static_cast<int>(p), on, where.balance != nullptr, parts[p].rows,
              [&](ResidentRows rows, const auto&... resolved) {
                const auto mine = Left::part(work, rows);
                launch_for(label, on, mine,
                           bind_kernel<Device, std::remove_const_t<decltype(mine)>>(kernel, resolved...));
              },
              accesses...);
          if (where.balance == nullptr) return;
          const CoherentCall::Timing timing = call.timing(static_cast<int>(p));
          samples[parts[p].place] = {parts[p].rows.end - parts[p].rows.begin, timing.begin, timing.end};
        },
        where.places[parts[p].place]);
  if (where.balance != nullptr) where.balance->add(static_cast<std::vector<Balance::Sample>&&>(samples));
}

template <class W>
inline constexpr bool is_across_v = false;
template <class... D>
inline constexpr bool is_across_v<Across<D...>> = true;
template <class W>
inline constexpr bool is_place_v = is_across_v<W>;
template <class D>
inline constexpr bool is_place_v<On<D>> = true;

}  // namespace detail

/// Calls kernel(index..., views...) for every index of `work` on a device, a queue or across several devices;
/// the head of this file says more. A kernel that cannot be called so may be a factory: called with the views
/// it returns a functor. `label` names the launch in messages and profiles.
template <class Where, WorkRange R, class K, class... Accesses>
requires(detail::is_place_v<Where>&& detail::CoherentAccesses<Accesses...>) void launch(
    const Where& where, const R& work, const K& kernel, const Accesses&... accesses) {
  detail::launch_coherent("", where, work, kernel, accesses...);
}
template <class Where, WorkRange R, class K, class... Accesses>
requires(detail::is_place_v<Where>&& detail::CoherentAccesses<Accesses...>) void launch(
    const char* label, const Where& where, const R& work, const K& kernel, const Accesses&... accesses) {
  detail::launch_coherent(label, where, work, kernel, accesses...);
}

}  // namespace strata::inline STRATA_ABI
