// launch over coherent arrays: runs a kernel over arrays whose use it declares, on one device or several, and
// copies missing values.
//
//   launch(on(device), n, axpy{a}, in(x), inout(y));                        // kernel(i, x, y)
//   launch(across(Cuda{0}, Cuda{1}), n, stencil{}, in(u, halo(1, 1)), out(v));
//
// A launch first copies to each device all that it reads there, then claims what it writes, then enqueues its
// kernels: no device sees what another one writes in the same launch. Launches are not ordered if none writes
// what another accesses; all others behave as if they ran one after the other. Views that the kernel gets
// accept the indices of the whole array. Plain views may be among the accesses: they are passed on, and
// ordered by their queue only.
//
// On devices that work asynchronously the call returns after enqueueing. Errors: AccessConflict, OutOfMemory
// (with what is resident), NeverWritten (checked builds), DataLost, and the errors of earlier work on the
// arrays: then nothing was begun, and the arrays are as before. A kernel that ran within the call (on a host,
// or for a result) and threw may have written some elements: the next use of those without another copy
// throws DataLost. Parts enqueued on other devices before that still run. Reductions, scans:
// coherent_reduce.hpp.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <vector>

#include <strata/algorithms/across.hpp>
#include <strata/algorithms/coherent_access.hpp>
#include <strata/algorithms/find_unwritten.hpp>
#include <strata/core/error.hpp>
#include <strata/devices/link_bound.hpp>
#include <strata/views/coherent/coherent_call.hpp>

namespace strata::inline STRATA_ABI {

namespace detail {

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

// A function of its own: compiled once for all launches with such an access. `is_line`: the work items of the
// call are those of `work`, one for each row.
template <class Access>
[[gnu::noinline]] void declare(CoherentCall& call, const Access& access, ResidentRows work,
                               bool is_line = false) {
  if constexpr (is_coherent_access_v<Access>) {
    if (!access.array) fail_no_array();
    ArrayPart part;
    try {
      part = part_of(access.region, access.array.domain(), work, access.array.label());
    } catch (const ShapeMismatch& error) {
      call.fail_region(error);
    }
    const bool by_items = is_line && access.array.domain().rank() > 0 && is_by_items(access.region);
    call.add_use(*access.array.state(), Access::mode, static_cast<ArrayPart&&>(part), by_items);
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

// Runs part `part` of a call; f launches on `where`. Checked builds then search for elements that were not
// written.
template <class D, class F, class... Accesses>
void run_part(CoherentCall& call, int part, [[maybe_unused]] const On<D>& where, bool timed, const F& f,
              const Accesses&... accesses) {
  call.begin(part, timed);
  if constexpr (checked_build) {
    const UnwrittenSearch<D> search(where, call, part);
    {
      const NotesInForce notes(search.notes());
      with_resolved<D>(call, part, f, accesses...);
    }
    search.find(call.name());
  } else {
    with_resolved<D>(call, part, f, accesses...);
  }
  call.end(part);
}

// Whether a work item reads rows beside its own.
template <class Access>
constexpr bool has_halo() {
  return requires(const Access& access) { access.region.edge; };
}
// The most rows that a work item reads before and after its own.
template <class... Accesses>
ResidentRows halos_of(const Accesses&... accesses) {
  ResidentRows most{0, 0};
  const auto look = [&](const auto& access) {
    if constexpr (has_halo<std::remove_cvref_t<decltype(access)>>()) {
      most.begin = most.begin > access.region.left ? most.begin : access.region.left;
      most.end = most.end > access.region.right ? most.end : access.region.right;
    }
  };
  (look(accesses), ...);
  return most;
}

// The work items of `rows` that need no row of the halos, where halos are few rows compared to these; else
// none.
template <class... Accesses>
ResidentRows inner_rows(ResidentRows rows, const Accesses&... accesses) {
  const ResidentRows halo = halos_of(accesses...);
  constexpr index_t worth = 8;  // times as many rows as halos have
  const index_t read = halo.begin + halo.end;
  if (read == 0 || rows.end - rows.begin <= worth * read) return {rows.begin, rows.begin};
  return {rows.begin + halo.begin, rows.end - halo.end};
}

// Enqueues the kernel of part `part` over `rows`: f(resolved...) launches what is in `rows` when it is
// called. While halos are being copied, the work items that need none of them run first.
template <class D, class F, class... Accesses>
void run_rows(CoherentCall& call, int part, const On<D>& where, bool timed,
              [[maybe_unused]] ResidentRows& rows, const F& f, const Accesses&... accesses) {
  if constexpr ((has_halo<Accesses>() || ...)) {
    const ResidentRows all = rows, inner = inner_rows(all, accesses...);
    if (inner.begin < inner.end) {
      ArrayPart parts[sizeof...(Accesses)];
      int uses = 0;
      const auto add = [&](const auto& access) {
        if constexpr (is_coherent_access_v<std::remove_cvref_t<decltype(access)>>)
          parts[uses++] = part_of(access.region, access.array.domain(), inner, access.array.label());
      };
      (add(accesses), ...);
      if (call.begin_early(part, parts, uses, timed)) {
        rows = inner;
        with_resolved<D>(call, part, f, accesses...);
        call.begin(part, timed);
        for (const ResidentRows edge :
             {ResidentRows{all.begin, inner.begin}, ResidentRows{inner.end, all.end}}) {
          rows = edge;
          if (edge.begin < edge.end) with_resolved<D>(call, part, f, accesses...);
        }
        call.end(part);
        return;
      }
    }
  }
  run_part(call, part, where, timed, f, accesses...);
}

template <class R, class K>
CoherentCall make_call(const char* label) {
  return CoherentCall(label, typeid(FunctorOf<K>).name(), tag_type<typename WorkOf<R>::tag>());
}

template <class D>
QueueState& queue_of(const On<D>& where) {
  return where.queue ? *where.queue : where.device.backend().default_queue();
}

// The resolved type of an access on a device of type `D`.
template <class D, class Access>
using ResolvedOn =
    decltype(resolve<D>(std::declval<const CoherentCall&>(), 0, 0, std::declval<const Access&>()));
// Instantiates a kernel, or a factory, before much else, so that the compiler prints few lines before an
// error in its body.
template <class D, class R, class K, class... Accesses>
constexpr bool compile_kernel() {
  using W = WorkOf<R>;
  if constexpr (can_call<D, typename W::tag, With<K, BoundTo<ResolvedOn<D, Accesses>>...>, W::rank>)
    return true;
  else return Factory<K, typename ResolvedOn<D, Accesses>::view_type...>;
}

// The same on the devices of a place.
template <class Where>
struct CompileAt;
template <class D>
struct CompileAt<On<D>> {
  using first_device = D;
  template <class R, class K, class... Accesses>
  static constexpr bool kernel = compile_kernel<D, R, K, Accesses...>();
};
template <class... D>
struct CompileAt<Across<D...>> {
  using first_device = typename First<D...>::type;
  template <class R, class K, class... Accesses>
  static constexpr bool kernel = (compile_kernel<D, R, K, Accesses...>() && ...);
};

// A part of a place, and its rows of a range.
struct SpreadPart {
  std::size_t place;  // the number of the part
  ResidentRows rows;
};
/// Those that have any, hosts last, as they run at once.
std::vector<SpreadPart> order_parts(const std::vector<ResidentRows>& split, const std::vector<bool>& is_host);
/// Reports to the balance, for `count` devices, when the parts of a timed call ran.
void add_samples(Balance& balance, const CoherentCall& call, const std::vector<SpreadPart>& parts,
                 std::size_t count);

std::vector<bool> flags_of(std::size_t count);

// By number of the part. (Where the type is named here, every file compiles it.)
template <class Where>
auto hosts_of(const Where& where) {
  auto hosts = flags_of(PlaceTraits<Where>::count(where));
  for (std::size_t k = 0; k < hosts.size(); ++k)
    hosts[k] = visit_part(where, k, [](const auto& on) { return on.device.backend().host_accessible(); });
  return hosts;
}
// The parts of a launch: all rows for a place of one part, else the parts of the range, cut at multiples of
// `align`.
template <class Where>
auto spread(const Where& where, ResidentRows rows, index_t align) {
  if constexpr (PlaceTraits<Where>::is_one_part) return std::array<SpreadPart, 1>{{{0, rows}}};
  else
    return order_parts(
        split_range(rows.begin, rows.end, PlaceTraits<Where>::count(where), weights_of(where), align),
        hosts_of(where));
}

// Adds the device of a part of a place to a call: compiled once for all launches there.
template <class Where>
void add_part_of(CoherentCall& call, const Where& where, std::size_t part) {
  visit_part(where, part, [&](const auto& on) { call.add_part(on.device.backend(), queue_of(on)); });
}

// Enqueues the kernel for the rows of a part.
template <class D, class R, class K, class... Accesses>
void launch_part(const char* label, CoherentCall& call, std::size_t part, const On<D>& on, bool timed,
                 ResidentRows rows, const R& work, const K& kernel, const Accesses&... accesses) {
  run_rows(
      call, static_cast<int>(part), on, timed, rows,
      [&](const auto&... resolved) {
        const auto mine = LeftMost<R>::part(work, rows);
        // Of a kernel that may reach other arrays it is not known.
        constexpr bool knows_all =
            (is_coherent_access_v<Accesses> && ...) && holds_no_address<FunctorOf<K>>();
        const LinkBoundScope scope(knows_all && call.is_link_bound(static_cast<int>(part)));
        launch_for(label, on, mine, bind_kernel<D, std::remove_const_t<decltype(mine)>>(kernel, resolved...));
      },
      accesses...);
}

template <class Where, class R, class K, class... Accesses>
void launch_coherent(const char* label, const Where& where, const R& work, const K& kernel,
                     const Accesses&... accesses) {
  check_all_fit<K>(label, work, accesses...);
  const auto parts = spread(where, LeftMost<R>::of(work), alignment_of_all<Accesses...>());
  CoherentCall call = make_call<R, K>(label);
  for (const SpreadPart& part : parts) {
    add_part_of(call, where, part.place);
    (declare(call, accesses, part.rows, WorkOf<R>::rank == 1), ...);
  }
  call.prepare();
  Balance* const balance = balance_of(where);
  for (std::size_t p = 0; p < parts.size(); ++p)
    visit_part(where, parts[p].place, [&](const auto& on) {
      launch_part(label, call, p, on, balance != nullptr, parts[p].rows, work, kernel, accesses...);
    });
  if constexpr (!PlaceTraits<Where>::is_one_part)
    if (balance != nullptr) add_samples(*balance, call, parts, PlaceTraits<Where>::count(where));
}

// Whether a launch over coherent arrays compiles; the errors of those that do not.
template <class Where, class R, class K, class... Accesses>
constexpr bool check_launch() {
  constexpr bool over_rows = WorkOf<R>::rank != teams_rank;
  static_assert(over_rows,
                "strata: launch: teams do not say which rows they touch; launch over a range, or give "
                "parallel_for plain views");
  constexpr bool on_one = PlaceTraits<Where>::is_one_part || (is_coherent_access_v<Accesses> && ...);
  static_assert(on_one,
                "strata: launch(across(...)): a plain view lives on one device; give coherent arrays only: "
                "you wrote in(view); write in(x) of a CoherentArray x");
  if constexpr (over_rows && on_one) {
    constexpr bool compiles = CompileAt<Where>::template kernel<R, K, Accesses...>;
    if constexpr (!compiles) {
      using D = typename CompileAt<Where>::first_device;
      static_cast<void>(ErrorOfLaunch<D, WorkOf<R>, With<K, BoundTo<ResolvedOn<D, Accesses>>...>,
                                      sizeof...(Accesses)>::is_right);
    }
    return compiles;
  }
  return false;
}

template <>
struct LaunchBy<LaunchWay::Coherent> {
  template <class Where, class R, class K, class... Accesses>
  static void launch(const char* label, const Where& where, const R& work, const K& kernel,
                     const Accesses&... accesses) {
    if constexpr (check_launch<Where, R, K, Accesses...>())
      launch_coherent(label, where, work, kernel, accesses...);
  }
};

}  // namespace detail
}  // namespace strata::inline STRATA_ABI
