// launch, launch_reduce, launch_scan: run a kernel over arrays whose use it declares.
//
//   launch(on(device), n, axpy{a}, in(x), inout(y));                        // kernel(i, x, y)
//   launch_reduce(on(device).named("dot"), n, kernel, Sum(total), in(x), in(y));
//   launch_scan(on(queue), n, kernel, Sum(total), in(x), out(y));
//
// One way to write a kernel, one way to launch it: the place (place.hpp) says where it runs and how data gets
// there, and has the label for messages and profiles. Here: plain views on one device. The same
// functions take coherent arrays (coherent_launch.hpp, coherent_reduce.hpp) and streamed places (streaming/).
//
// `in` passes the kernel a read-only view (ReadOnlyAccess): nothing in the launch writes its elements, so
// that a GPU may load numbers ahead of stores. `out` and `inout` pass a mutable one. A work item writes only
// its own row (left-most index).
//
// A kernel that cannot be called with an index may be a factory: called with the views it returns a functor,
// as the Kokkos Array paper writes them. Ordering and errors are those of parallel_for and parallel_reduce.
//
// `into` of a reduction is a named reducer (Sum(total)) or, of a functor with `value_type`, `init` and
// `join`, a host variable, a value on the device or finalize(f, accesses...), see finalize.hpp. Several named
// reducers, one after the other, are several results of one pass, kernel(i, views..., a, b):
//
//   launch_reduce(on(device), n, kernel, Sum(total), MaxLoc(most), in(x));
//
// either all into variables, or all into values (of the device; of coherent arrays).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/algorithms/bound_finalize.hpp>
#include <strata/algorithms/finalize.hpp>
#include <strata/algorithms/launch_mistakes.hpp>
#include <strata/algorithms/parallel_for.hpp>
#include <strata/algorithms/parallel_reduce.hpp>
#include <strata/algorithms/parallel_scan.hpp>
#include <strata/algorithms/place.hpp>
#include <strata/algorithms/several_results.hpp>
#include <strata/core/access_mode.hpp>
#include <strata/views/view_as.hpp>

namespace strata::inline STRATA_ABI {

/// One declared use of an array.
template <AccessMode Mode, class V>
struct DeclaredAccess {
  /// How it is used, and the view as the kernel gets it.
  static constexpr AccessMode mode = Mode;
  using view_type = V;
  V view;  // as the kernel gets it
};

/// The launch reads the array. Hosts prefetch the work item's own row.
template <AnyView V>
DeclaredAccess<AccessMode::In, typename V::const_type> in(const V& view) {
  return {view};
}
/// The launch writes every element that a work item owns, and reads none. Elements of a view that the range
/// leaves out keep their values. (For coherent arrays coherent_access.hpp says which ranges are errors.)
template <AnyView V>
DeclaredAccess<AccessMode::Out, V> out(const V& view) {
  static_assert(!std::is_const_v<typename V::element_type>,
                "strata: out: the view has const elements; use in");
  return {view};
}
/// The launch reads and writes the array.
template <AnyView V>
DeclaredAccess<AccessMode::InOut, V> inout(const V& view) {
  static_assert(!std::is_const_v<typename V::element_type>,
                "strata: inout: the view has const elements; use in");
  return {view};
}

namespace detail {

template <AccessMode Mode, class V>
inline constexpr bool is_access_v<DeclaredAccess<Mode, V>> = true;

template <class V>
auto view_for_reading(const V& view) {
  using Access = typename V::access_type;
  if constexpr (std::is_same_v<Access, DefaultAccess> || std::is_same_v<Access, Unmanaged<DefaultAccess>>)
    return read_only(view);
  else return view;
}
template <AccessMode Mode, class Declared>
auto view_to_bind(const DeclaredAccess<Mode, Declared>& access) {
  using V = KernelView<Declared>;
  const V& view = access.view;
  if constexpr (Mode == AccessMode::Out) {
    return view;
  } else if constexpr (Mode == AccessMode::In) {
    using ForReading = decltype(view_for_reading(view));
    return ReadRows<ForReading>(view_for_reading(view));
  } else {
    return ReadRows<V>(view);
  }
}
template <class Access>
using BoundTo = decltype(view_to_bind(std::declval<const Access&>()));
template <class K, class... V>
With<K, V...> bind_views(const K& kernel, V... views) {
  return {kernel, BoundViews<std::index_sequence_for<V...>, V...>(static_cast<V&&>(views)...)};
}

// Whether `K` makes a functor of views.
template <class K, class... V>
concept Factory = requires(const K& kernel, const V&... views) {
  requires !std::is_void_v<decltype(kernel(views...))>;
};

// Whether a launch calls `K` with its views for a functor. Nested: asking both at once would instantiate a
// generic kernel as a factory.
template <class D, class R, class K, class... Accesses>
constexpr bool makes_functor() {
  using W = WorkOf<R>;
  if constexpr (can_call<D, typename W::tag, With<K, BoundTo<Accesses>...>, W::rank>) return false;
  else return Factory<K, typename Accesses::view_type...>;
}
// The error of `Bound`, a kernel with its views, over work of `W` = WorkOf<R>.
template <class D, class W, class Bound, int NumViews>
using ErrorOfLaunch = std::conditional_t<takes_no_index<D, typename W::tag, Bound, W::rank>,
                                         IndexOfKernel<Indices<W::rank>, Views<NumViews>>,
                                         KernelOfLaunch<Indices<W::rank>, Views<NumViews>>>;
// Whether a launch can call `Bound`, or reports by itself that it cannot, as over teams.
template <class D, class W, class Bound>
constexpr bool is_kernel() {
  if constexpr (W::rank == teams_rank) return true;
  else if constexpr (can_call<D, typename W::tag, Bound, W::rank>) return true;
  else return can_call<D, typename W::tag, CommonKernel<Bound>, W::rank>;
}
// Stands for a kernel whose error was reported.
struct NoKernel {
  STRATA_FUNCTION void operator()(const auto&...) const {}
};

// The kernel bound to its views, or the functor that a factory makes of them.
template <class D, class R, class K, class... Accesses>
auto bind_kernel(const K& kernel, const Accesses&... accesses) {
  static_assert((SameMemoryFor<D, typename Accesses::view_type::device_type>::value && ...));
  using W = WorkOf<R>;
  using Bound = With<K, BoundTo<Accesses>...>;
  if constexpr (makes_functor<D, R, K, Accesses...>()) {
    using F = std::remove_cvref_t<decltype(kernel(accesses.view...))>;
    constexpr bool callable = is_kernel<D, W, F>();
    static_assert(
        callable,
        "strata: launch: the kernel cannot be called as kernel(index..., views...) const, and as a "
        "factory kernel(views...) const it returns what cannot be called as functor(index...) const: "
        "you wrote other parameters; write `void operator()(auto i, auto x) const`, or `void "
        "operator()(auto i) const` in the functor that the factory returns");
    if constexpr (callable) return kernel(accesses.view...);
    else return NoKernel();
  } else if constexpr (is_kernel<D, W, Bound>()) {
    return bind_views(kernel, view_to_bind(accesses)...);
  } else {
    static_cast<void>(ErrorOfLaunch<D, W, Bound, sizeof...(Accesses)>::is_right);
    return NoKernel();
  }
}

// The same of a reduction.
template <class K, class... Accesses>
auto bind_reduction(const K& kernel, const Accesses&... accesses) {
  if constexpr (std::is_base_of_v<MakesFunctor, K>) return kernel(accesses.view...);
  else return bind_views(kernel, view_to_bind(accesses)...);
}

// ---- ways: how a launch at a place is made

/// By place and accesses: on plain views, on coherent arrays, in slices, in parts that devices claim, or in
/// boxes.
enum class LaunchWay { Plain, Coherent, Streamed, Shared, Grid };

/// Whether the target of a reduction is coherent: coherent_reduce.hpp.
template <class Into>
inline constexpr bool is_coherent_into_v = false;

template <class Where, class... Accesses>
constexpr LaunchWay launch_way(bool coherent_into = false) {
  using Traits = PlaceTraits<Where>;
  if (Traits::is_streamed) return LaunchWay::Streamed;
  if constexpr (requires { Traits::way; }) return Traits::way;
  const bool coherent = coherent_into || (is_coherent_access_v<Accesses> || ...);
  return coherent || !Traits::is_one_part ? LaunchWay::Coherent : LaunchWay::Plain;
}

/// launch(label, where, work, kernel, accesses...): specialised for each way, where its header is included.
template <LaunchWay Way>
struct LaunchBy;
/// reduce(label, where, work, kernel, into, accesses...) and scan(...), likewise.
template <LaunchWay Way>
struct ReduceBy;

template <class By>
concept IsIncluded = requires {
  sizeof(By);
};
// Says in one line what a launch lacks.
template <LaunchWay Way, class By, class... Accesses>
constexpr bool check_launch() {
  constexpr bool any = sizeof...(Accesses) > 0, reducers = (is_reducer_v<Accesses> || ...);
  constexpr bool declared = any && (is_any_access_v<Accesses> && ...);
  static_assert(any,
                "strata: launch: no array is declared: you wrote a kernel that holds its arrays, as a lambda "
                "that captures them; write launch(on(device), n, kernel, in(x), out(y)) and kernel(i, x, y), "
                "or for views parallel_for(on(device), n, kernel), parallel_reduce, parallel_scan");
  static_assert(!reducers,
                "strata: launch: a reducer is where arrays are declared: you wrote launch(place, n, kernel, "
                "Sum(s), in(x)) or a reducer after an array; write launch_reduce(place, n, kernel, Sum(s), "
                "in(x)), with the reducers before the arrays");
  static_assert(declared || !any || reducers,
                "strata: launch: declare the arrays: in(x), out(y), inout(z): you wrote an array itself; "
                "write which it is, "
                "as in launch(on(device), n, kernel, in(x), out(y))");
  if constexpr (!declared) {
    return false;
  } else if constexpr (Way == LaunchWay::Coherent) {
    static_assert(
        IsIncluded<By>,
        "strata: launch: coherent arrays, and across(...), need <strata/algorithms/coherent_launch.hpp>, "
        "or <strata/algorithms/coherent_reduce.hpp> for reductions and scans");
    return IsIncluded<By>;
  } else if constexpr (Way == LaunchWay::Streamed) {
    static_assert(IsIncluded<By>,
                  "strata: launch: streamed(...) needs <strata/algorithms/streaming/streamed.hpp>, or "
                  "<strata/algorithms/streaming/streamed_reduce.hpp> for reductions and scans");
    return IsIncluded<By>;
  } else {
    return true;
  }
}

// Says that the result of a launch has no place to go.
template <class Into>
constexpr bool check_into() {
  static_assert(!is_any_access_v<Into>,
                "strata: launch_reduce, launch_scan: nothing says where the result goes: you wrote "
                "launch_reduce(place, n, kernel, in(x)) or an array before the reducer; write "
                "launch_reduce(place, n, kernel, Sum(s), in(x))");
  return !is_any_access_v<Into>;
}

// Whether `into` is a functor that would be called with the value.
template <class K, class Into>
constexpr bool is_bare_finalize() {
  using F = FunctorOf<K>;
  if constexpr (is_reducer_v<Into> || is_finalize_v<Into> || AnyView<Into> || !HasValueType<F>) {
    return false;
  } else {
    using T = typename F::value_type;
    using Element = std::remove_extent_t<T>;
    if constexpr (std::is_same_v<Into, T> || std::is_convertible_v<Into, Element*>) return false;
    else if constexpr (std::is_array_v<T>) return std::is_invocable_v<const Into&, Element*>;
    else return std::is_invocable_v<const Into&, T&>;
  }
}

template <>
struct LaunchBy<LaunchWay::Plain> {
  template <class D, class R, class K, class... Accesses>
  static void launch(const char* label, const On<D>& where, const R& work, const K& kernel,
                     const Accesses&... accesses) {
    if constexpr (makes_functor<D, R, K, Accesses...>()) {
      launch_for(label, where, work, bind_kernel<D, R>(kernel, accesses...));
    } else {
      // The accesses own the arrays until the launch has returned: the views need not be counted for that.
      Capture views = make_capture<D>();
      CaptureScope scope(views);
      const auto bound = bind_kernel<D, R>(kernel, accesses...);
      scope.end();
      launch_for(label, where, work, bound, views);
    }
  }
};
template <>
struct ReduceBy<LaunchWay::Plain> {
  template <class D, class R, class K, class Into, class... Accesses>
  static void reduce(const char* label, const On<D>& where, const R& work, const K& kernel, Into&& into,
                     const Accesses&... accesses) {
    static_assert((SameMemoryFor<D, typename Accesses::view_type::device_type>::value && ...));
    const auto bound = bind_reduction(kernel, accesses...);
    if constexpr (is_finalize_v<std::remove_cvref_t<Into>>)
      into.accesses.call([&](const auto&... a) {
        auto&& finish = bound_finalize(into.functor, view_to_bind(a)...);
        note_apart<K>(finish, accesses...);
        launch_reduce_into(label, where, work, bound, finish);
      });
    else launch_reduce_into(label, where, work, bound, static_cast<Into&&>(into));
  }
  template <class D, class R, class K, class Into, class... Accesses>
  static void scan(const char* label, const On<D>& where, const R& work, const K& kernel, Into&& into,
                   const Accesses&... accesses) {
    static_assert((SameMemoryFor<D, typename Accesses::view_type::device_type>::value && ...));
    scan_labelled(label, where, work, bind_views(kernel, view_to_bind(accesses)...),
                  static_cast<Into&&>(into));
  }
};

// The launch for the place and the accesses, with a label.
template <class Where, class R, class K, class... Accesses>
auto launch_at(const char* label, const Where& where, const R& work, const K& kernel,
               const Accesses&... accesses) {
  constexpr LaunchWay way = launch_way<Where, Accesses...>();
  if constexpr (check_launch<way, LaunchBy<way>, Accesses...>())
    return LaunchBy<way>::launch(label, where, work, kernel, accesses...);
}
template <class Where, class R, class K, class Into, class... Accesses>
auto launch_reduce_at(const char* label, const Where& where, const R& work, const K& kernel, Into&& into,
                      const Accesses&... accesses) {
  using I = std::remove_cvref_t<Into>;
  constexpr LaunchWay way = launch_way<Where, Accesses...>(is_coherent_into_v<I>);
  constexpr bool bare = is_bare_finalize<K, I>();
  static_assert(
      !bare,
      "strata: launch_reduce: a functor that is called with the value is given as finalize(f), or with what "
      "it reads and writes as finalize(f, accesses...)");
  if constexpr (!bare && check_into<I>())
    if constexpr (check_launch<way, ReduceBy<way>, Accesses...>())
      return ReduceBy<way>::reduce(label, where, work, kernel, static_cast<Into&&>(into), accesses...);
}
// With reducers and accesses as separate arguments.
template <class Where, class R, class K, class... Reducers, class... Accesses>
auto launch_reduce_several(const char* label, const Where& where, const R& work, const K& kernel,
                           const ValuePack<Reducers...>& reducers, const Accesses&... accesses) {
  using Sequence = std::index_sequence_for<Reducers...>;
  using Kernel = SeveralResults<K, Sequence, Reducers...>;
  constexpr bool variables = (into_variable<Reducers> && ...);
  constexpr bool one_kind = variables || !(into_variable<Reducers> || ...);
  static_assert(
      one_kind,
      "strata: launch_reduce: of several results either all go into variables of the host, or none: "
      "you wrote both; give a variable, or a value on the device, for each");
  if constexpr (variables) {
    typename Kernel::value_type values;
    const auto store = [&] {
      reducers.call([&](const auto&... r) { store_each(Sequence(), values, r...); });
    };
    if constexpr (std::is_void_v<decltype(launch_reduce_at(label, where, work, Kernel(kernel), values,
                                                           accesses...))>) {
      launch_reduce_at(label, where, work, Kernel(kernel), values, accesses...);
      store();
    } else {
      auto report = launch_reduce_at(label, where, work, Kernel(kernel), values, accesses...);
      store();
      return report;
    }
  } else if constexpr (one_kind) {
    return reducers.call([&](const auto&... r) {
      return launch_reduce_at(label, where, work, Kernel(kernel),
                              finalize(StoreSeveral<Sequence>(), out(r.target)...), accesses...);
    });
  }
}
// Takes reducers off the front.
template <class Where, class R, class K, class... Done, class Next, class... Rest>
auto launch_reduce_split(const char* label, const Where& where, const R& work, const K& kernel,
                         const ValuePack<Done...>& done, const Next& next, const Rest&... rest) {
  if constexpr (is_reducer_v<Next>) {
    return done.call([&](const auto&... earlier) {
      const ValuePack<Done..., Next> reducers{earlier..., next};
      if constexpr (sizeof...(Rest) > 0)
        return launch_reduce_split(label, where, work, kernel, reducers, rest...);
      else return launch_reduce_several(label, where, work, kernel, reducers);
    });
  } else {
    return launch_reduce_several(label, where, work, kernel, done, next, rest...);
  }
}

template <class Where, class R, class K, class Into, class... Accesses>
auto launch_scan_at(const char* label, const Where& where, const R& work, const K& kernel, Into&& into,
                    const Accesses&... accesses) {
  constexpr LaunchWay way = launch_way<Where, Accesses...>();
  if constexpr (check_into<std::remove_cvref_t<Into>>())
    if constexpr (check_launch<way, ReduceBy<way>, Accesses...>())
      return ReduceBy<way>::scan(label, where, work, kernel, static_cast<Into&&>(into), accesses...);
}

}  // namespace detail

/// Calls kernel(index..., views...) for every index of `work` at a place; the head of this file says more.
/// Streamed launches return a StreamReport, shared ones a SharedReport.
template <Place Where, WorkRange R, class K, class... Accesses>
auto launch(const Where& where, const R& work, const K& kernel, const Accesses&... accesses) {
  return detail::launch_at(detail::label_of(where), where, work, kernel, accesses...);
}

/// Calls kernel(index..., views..., value&) and joins the values into `into`; the head of this file has its
/// forms. Further reducers are the first of `accesses`.
template <Place Where, WorkRange R, class K, class Into, class... Accesses>
auto launch_reduce(const Where& where, const R& work, const K& kernel, Into&& into,
                   const Accesses&... accesses) {
  constexpr bool several = (detail::is_reducer_v<Accesses> || ...);
  if constexpr (several && !detail::is_any_access_v<std::remove_cvref_t<Into>>)
    return detail::launch_reduce_split(detail::label_of(where), where, work, kernel, detail::ValuePack<>(),
                                       into, accesses...);
  else
    return detail::launch_reduce_at(detail::label_of(where), where, work, kernel, static_cast<Into&&>(into),
                                    accesses...);
}

/// Calls kernel(index, views..., value&, final) as parallel_scan does; `into` takes the total.
template <Place Where, WorkRange R, class K, class Into, class... Accesses>
auto launch_scan(const Where& where, const R& work, const K& kernel, Into&& into,
                 const Accesses&... accesses) {
  return detail::launch_scan_at(detail::label_of(where), where, work, kernel, static_cast<Into&&>(into),
                                accesses...);
}

}  // namespace strata::inline STRATA_ABI
