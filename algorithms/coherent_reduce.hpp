// launch_reduce and launch_scan over coherent arrays, on one device or several; `where` is that of launch.
//
//   launch_reduce(where, n, kernel, Sum(total), in(x));             // kernel(i, x, value&)
//   launch_reduce(where, n, functor, total, in(x));                 // has value_type, init and join
//   launch_reduce(where, n, functor, value, in(x));                 // a CoherentArray<T, 0>, asynchronous
//   launch_reduce(where, n, functor, finalize(f, out(dt)), in(x));  // f(value&, views...) runs once
//   launch_scan(where, n, kernel, Sum(total), in(x), out(y));       // kernel(i, x, y, value&, final)
//
// Into host variables (also by reducers such as Sum(total)) the call returns with the result. Over several
// devices each reduces whole nodes of the one tree of core/reduction_tree.hpp, whose values are joined on the
// first device, so that the bits of the result do not depend on how many devices there are; cuts are made
// where nodes are large, so that parts are only about what was asked for. Scans go from device to device,
// each beginning with the total of those before.
#pragma once

#include <tuple>

#include <strata/algorithms/coherent_launch.hpp>
#include <strata/algorithms/reduction_groups.hpp>

namespace strata::inline STRATA_ABI {

namespace detail {

// What becomes of the value of a reduction on the device.
template <class F, class... Accesses>
struct Finalize {
  F functor;
  std::tuple<Accesses...> accesses;
};
template <class>
inline constexpr bool is_finalize_v = false;
template <class F, class... A>
inline constexpr bool is_finalize_v<Finalize<F, A...>> = true;

}  // namespace detail

/// `functor(value&, views...)` is called once with the value of a reduction, on the (first) device; accesses
/// as of a launch of one work item 0.
template <class F, class... Accesses>
requires(detail::is_coherent_access_v<Accesses>&&...) detail::Finalize<F, Accesses...> finalize(
    const F& functor, const Accesses&... accesses) {
  return {functor, {accesses...}};
}

namespace detail {

template <class R>
inline constexpr bool has_coherent_target = false;
template <class Operation, class T, class Target>
inline constexpr bool has_coherent_target<Reducer<Operation, T, Target>> = IsCoherent<Target>;

// A value on a device, as a view of rank 0.
template <class T, class D>
using ValueView = View<T, D, typename DynamicExtentsOf<0>::type, LayoutRight, Unmanaged<DefaultAccess>>;

// The result with its place replaced by `view`, for parallel_reduce.
template <class Operation, class T, class Target, class V>
Reducer<Operation, T, V> into_view(const Reducer<Operation, T, Target>&, const V& view) {
  return {view};
}
template <class Into, class V>
V into_view(const Into&, const V& view) {
  return view;
}

// Finalize with its views, for parallel_reduce.
template <class F, class... V>
struct BoundFinalize {
  F functor;
  BoundViews<std::index_sequence_for<V...>, V...> views;
  template <class T>
  STRATA_FUNCTION void operator()(T& value) const {
    views.template insert<1>([&](T& v, auto&&... all) { functor(v, all...); }, value);
  }
};

template <class F, class... V>
BoundFinalize<F, V...> bound_finalize(const F& functor, const V&... views) {
  return {functor, BoundViews<std::index_sequence_for<V...>, V...>(views...)};
}

// The value type of a reduction, and how it is joined.
template <class K, class Into>
struct ReductionOf {
  using functor_type = FunctorOf<K>;
  using value_type = typename functor_type::value_type;
  static FunctorReducer<functor_type> reducer(const K& kernel, const Into&) {
    return FunctorReducer<functor_type>(functor_of(kernel));
  }
};
template <class K, class Operation, class T, class Target>
struct ReductionOf<K, Reducer<Operation, T, Target>> {
  using value_type = T;
  static Reducer<Operation, T, NoTarget> reducer(const K&, const Reducer<Operation, T, Target>&) {
    return {};
  }
};

// ---- on one device

template <class Into>
inline constexpr bool is_host_result =
    !IsCoherent<Into> && !has_coherent_target<Into> && !is_finalize_v<Into> && !AnyView<Into>;
// Whether the host waits in the launch, for a variable of its own: other threads may go on meanwhile.
template <class K, class Into>
constexpr bool waits_for_result() {
  if constexpr (is_reducer_v<Into>) return std::is_pointer_v<typename Into::target_type>;
  else if constexpr (!is_host_result<Into>) return false;
  else return std::is_pointer_v<Into> || std::is_same_v<Into, typename ReductionOf<K, Into>::value_type>;
}

template <class D, class R, class K, class Into, class... Accesses>
void launch_reduce_coherent(const char* label, const On<D>& where, const R& work, const K& kernel,
                            Into&& into, const Accesses&... accesses) {
  using I = std::remove_cvref_t<Into>;
  check_all_fit<K>(label, work, accesses...);
  const ResidentRows rows = LeftMost<R>::of(work);
  const auto run = [&](CoherentCall& call, const auto& result) {
    run_part(
        call, 0, where, false,
        [&](const auto&... resolved) {
          launch_reduce_into(label, where, work, bind_views(kernel, view_to_bind(resolved)...), result(call));
        },
        accesses...);
  };
  CoherentCall call = make_call<R, K>(label);
  call.add_part(where.device.backend(), queue_of(where), waits_for_result<K, I>());
  (declare(call, accesses, rows), ...);
  constexpr int first = use_number<sizeof...(Accesses), Accesses...>();
  if constexpr (IsCoherent<I> || has_coherent_target<I>) {
    const auto& value = [&]() -> const auto& {
      if constexpr (IsCoherent<I>) return into;
      else return into.target;
    }
    ();
    declare(call, out(value, all), rows);
    call.prepare();
    run(call, [&](const CoherentCall& c) {
      using T = typename std::remove_cvref_t<decltype(value)>::value_type;
      return into_view(into, view_of_rows<ValueView<T, D>>(value.mapping(), c.base(0, first), {0, 1}));
    });
  } else if constexpr (is_finalize_v<I>) {
    std::apply([&](const auto&... a) { (declare(call, a, {0, 1}), ...); }, into.accesses);
    call.prepare();
    run(call, [&](const CoherentCall& c) {
      return std::apply(
          [&]<class... A>(const A&... a) {
            return [&]<std::size_t... U>(std::index_sequence<U...>) {
              return bound_finalize(into.functor,
                                    view_to_bind(resolve<D>(c, 0, first + use_number<U, A...>(), a))...);
            }
            (std::index_sequence_for<A...>());
          },
          into.accesses);
    });
  } else {
    call.prepare();
    // A host variable must stay one: the result is handed on by reference.
    run_part(
        call, 0, where, false,
        [&](const auto&... resolved) {
          launch_reduce_into(label, where, work, bind_views(kernel, view_to_bind(resolved)...),
                             static_cast<Into&&>(into));
        },
        accesses...);
  }
}

// ---- over several devices

[[noreturn]] void fail_too_many_groups();

// The end of such a reduction: joins the values of groups, and does with the result what was asked for.
template <class Reducer, class F>
struct JoinGroups {
  static constexpr int most = 512;
  Reducer reducer;
  F finish;
  int count;
  short a[most], b[most];

  template <class I, class P, class... V>
  STRATA_FUNCTION void operator()(I, const P& partials, const V&... views) const {
    for (int k = 0; k < count; ++k) reducer.join(partials(a[k]), partials(b[k]));
    finish(partials(0), views...);
  }
};
struct StoreResult {
  template <class T, class V>
  STRATA_FUNCTION void operator()(const T& value, const V& into) const {
    into() = value;
  }
};
template <class Reducer, class F>
JoinGroups<Reducer, F> join_groups(const Reducer& reducer, const F& finish, const std::vector<Join>& joins) {
  JoinGroups<Reducer, F> kernel{reducer, finish, static_cast<int>(joins.size()), {}, {}};
  for (std::size_t k = 0; k < joins.size(); ++k) {
    kernel.a[k] = static_cast<short>(joins[k].a);
    kernel.b[k] = static_cast<short>(joins[k].b);
  }
  return kernel;
}

template <class... D, class R, class K, class Into, class... Accesses>
void launch_reduce_coherent(const char* label, const Across<D...>& where, const R& work, const K& kernel,
                            Into&& into, const Accesses&... accesses) {
  using I = std::remove_cvref_t<Into>;
  using Reduction = ReductionOf<K, I>;
  using T = typename Reduction::value_type;
  static_assert(
      !std::is_array_v<T>,
      "strata: launch_reduce over several devices: values of run-time length are reduced on one device");
  check_all_fit<K>(label, work, accesses...);
  using Left = LeftMost<R>;
  constexpr index_t block = WorkOf<R>::rank == 1 ? reduction_block : 1;
  const std::vector<ReductionGroup> groups =
      reduction_groups(Left::of(work), where.places.size(), weights_of(where), block);
  if (groups.empty() || where.places.size() == 1)
    return std::visit(
        [&](const auto& on) {
          launch_reduce_coherent(label, on, work, kernel, static_cast<Into&&>(into), accesses...);
        },
        where.places.front());

  std::vector<ResidentRows> split(where.places.size(), ResidentRows{0, 0});
  std::vector<ResidentRows> group_rows(where.places.size(), ResidentRows{0, 0});
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const std::size_t p = groups[g].part;
    split[p] = cover(split[p], groups[g].items);
    group_rows[p] = cover(group_rows[p], {static_cast<index_t>(g), static_cast<index_t>(g) + 1});
  }
  const std::vector<SpreadPart> parts = order_parts(split, hosts_of(where));
  const CoherentArray<T, 1> partials("partial results", static_cast<index_t>(groups.size()), uninitialized);
  {
    CoherentCall call = make_call<R, K>(label);
    for (const SpreadPart& part : parts)
      std::visit(
          [&](const auto& on) {
            call.add_part(on.device.backend(), queue_of(on));
            (declare(call, accesses, part.rows), ...);
            declare(call, out(partials), group_rows[part.place]);
          },
          where.places[part.place]);
    call.prepare();
    for (std::size_t p = 0; p < parts.size(); ++p)
      std::visit(
          [&]<class Device>(const On<Device>& on) {
            run_part(
                call, static_cast<int>(p), on, false,
                [&](const auto&... resolved) {
                  const auto bound = bind_views(kernel, view_to_bind(resolved)...);
                  constexpr int use = use_number<sizeof...(Accesses), Accesses...>();
                  T* const base = reinterpret_cast<T*>(call.base(static_cast<int>(p), use));
                  const ResidentRows mine = group_rows[parts[p].place];
                  for (index_t g = mine.begin; g < mine.end; ++g)
                    launch_reduce_into(label, on, Left::part(work, groups[static_cast<std::size_t>(g)].items),
                                       bound, into_view(into, ValueView<T, Device>(base + g)));
                },
                accesses...);
          },
          where.places[parts[p].place]);
  }
  const std::vector<Join> joins = joins_of(groups);
  const auto reducer = Reduction::reducer(kernel, into);
  if constexpr (is_host_result<I>) {
    const auto values = partials.read_write();
    for (const Join& join : joins) reducer.join(values(join.a), values(join.b));
    if constexpr (std::is_same_v<I, T>) into = values(0);
    else if constexpr (!std::is_same_v<typename I::target_type, NoTarget>) *into.target = values(0);
  } else {
    if (joins.size() > JoinGroups<int, int>::most) fail_too_many_groups();
    std::visit(
        [&](const auto& on) {
          if constexpr (is_finalize_v<I>)
            std::apply(
                [&](const auto&... a) {
                  launch(label, on, 1, join_groups(reducer, into.functor, joins), inout(partials, all), a...);
                },
                into.accesses);
          else if constexpr (IsCoherent<I>)
            launch(label, on, 1, join_groups(reducer, StoreResult{}, joins), inout(partials, all),
                   out(into, all));
          else
            launch(label, on, 1, join_groups(reducer, StoreResult{}, joins), inout(partials, all),
                   out(into.target, all));
        },
        where.places.front());
  }
}

// ---- scans

template <class D, class R, class K, class Into, class Start, class... Accesses>
void launch_scan_part(const char* label, const On<D>& where, const R& work, const K& kernel, Into&& into,
                      const Start& start, const Accesses&... accesses) {
  CoherentCall call = make_call<R, K>(label);
  call.add_part(where.device.backend(), queue_of(where), waits_for_result<K, std::remove_cvref_t<Into>>());
  (declare(call, accesses, LeftMost<R>::of(work)), ...);
  call.prepare();
  run_part(
      call, 0, where, false,
      [&](const auto&... resolved) {
        scan_into(label, where, work, bind_views(kernel, view_to_bind(resolved)...),
                  static_cast<Into&&>(into), start);
      },
      accesses...);
}

template <class K, class Into>
auto neutral_value(const K& kernel, const Into& into) {
  typename ReductionOf<K, Into>::value_type value;
  ReductionOf<K, Into>::reducer(kernel, into).init(value);
  return value;
}

template <class D, class R, class K, class Into, class... Accesses>
void launch_scan_coherent(const char* label, const On<D>& where, const R& work, const K& kernel, Into&& into,
                          const Accesses&... accesses) {
  check_all_fit<K>(label, work, accesses...);
  launch_scan_part(label, where, work, kernel, static_cast<Into&&>(into),
                   neutral_value<K, std::remove_cvref_t<Into>>(kernel, into), accesses...);
}

template <class... D, class R, class K, class Into, class... Accesses>
void launch_scan_coherent(const char* label, const Across<D...>& where, const R& work, const K& kernel,
                          Into&& into, const Accesses&... accesses) {
  using I = std::remove_cvref_t<Into>;
  using T = typename ReductionOf<K, I>::value_type;
  using Left = LeftMost<R>;
  check_all_fit<K>(label, work, accesses...);
  const ResidentRows rows = Left::of(work);
  constexpr index_t tiles = alignment_of_all<Accesses...>();
  const std::vector<ResidentRows> split = split_range(rows.begin, rows.end, where.places.size(),
                                                      weights_of(where), std::max(reduction_block, tiles));
  T total = neutral_value<K, I>(kernel, into);
  for (std::size_t p = 0; p < split.size(); ++p) {
    if (split[p].begin >= split[p].end) continue;
    const T start = total;
    std::visit(
        [&](const auto& on) {
          if constexpr (is_reducer_v<I>)
            launch_scan_part(label, on, Left::part(work, split[p]), kernel,
                             Reducer<typename I::operation, T, T*>{&total}, start, accesses...);
          else launch_scan_part(label, on, Left::part(work, split[p]), kernel, total, start, accesses...);
        },
        where.places[p]);
  }
  if constexpr (std::is_same_v<I, T>) into = total;
  else if constexpr (is_reducer_v<I>)
    if constexpr (!std::is_same_v<typename I::target_type, NoTarget>) *into.target = total;
}

// Says in one line what such a launch lacks.
template <class K, class Into>
constexpr bool check_coherent_reduction() {
  constexpr bool joins = is_reducer_v<std::remove_cvref_t<Into>> || HasValueType<K>;
  static_assert(
      joins,
      "strata: launch_reduce, launch_scan: nothing says how values are joined: give a named reducer such "
      "as Sum(result) in place of the result, or a functor with `value_type`, `init` and `join`");
  return joins;
}

}  // namespace detail

/// Calls kernel(index..., views..., value&) and joins the values into `into`; the head of this file has the
/// forms. Errors are those of launch.
template <class Where, WorkRange R, class K, class Into, class... Accesses>
requires(detail::is_place_v<Where>&& detail::CoherentAccesses<Accesses...>) void launch_reduce(
    const Where& where, const R& work, const K& kernel, Into&& into, const Accesses&... accesses) {
  if constexpr (detail::check_coherent_reduction<K, Into>())
    detail::launch_reduce_coherent("", where, work, kernel, static_cast<Into&&>(into), accesses...);
}
template <class Where, WorkRange R, class K, class Into, class... Accesses>
requires(detail::is_place_v<Where>&& detail::CoherentAccesses<Accesses...>) void launch_reduce(
    const char* label, const Where& where, const R& work, const K& kernel, Into&& into,
    const Accesses&... accesses) {
  if constexpr (detail::check_coherent_reduction<K, Into>())
    detail::launch_reduce_coherent(label, where, work, kernel, static_cast<Into&&>(into), accesses...);
}

/// Calls kernel(index, views..., value&, final) as parallel_scan does; `into`, a host variable or a reducer,
/// takes the total.
template <class Where, WorkRange R, class K, class Into, class... Accesses>
requires(detail::is_place_v<Where>&& detail::CoherentAccesses<Accesses...>) void launch_scan(
    const Where& where, const R& work, const K& kernel, Into&& into, const Accesses&... accesses) {
  if constexpr (detail::check_coherent_reduction<K, Into>())
    detail::launch_scan_coherent("", where, work, kernel, static_cast<Into&&>(into), accesses...);
}
template <class Where, WorkRange R, class K, class Into, class... Accesses>
requires(detail::is_place_v<Where>&& detail::CoherentAccesses<Accesses...>) void launch_scan(
    const char* label, const Where& where, const R& work, const K& kernel, Into&& into,
    const Accesses&... accesses) {
  if constexpr (detail::check_coherent_reduction<K, Into>())
    detail::launch_scan_coherent(label, where, work, kernel, static_cast<Into&&>(into), accesses...);
}

}  // namespace strata::inline STRATA_ABI
