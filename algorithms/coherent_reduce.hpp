// launch_reduce and launch_scan over coherent arrays, on one device or several; `where` is that of launch.
//
//   launch_reduce(where, n, kernel, Sum(total), in(x));             // kernel(i, x, value&)
//   launch_reduce(where, n, functor, total, in(x));                 // has value_type, init and join
//   launch_reduce(where, n, functor, value, in(x));                 // a CoherentArray<T, rank<0>>: no wait
//   launch_reduce(where, n, functor, finalize(f, out(dt)), in(x));  // f(value&, views...) runs once
//   launch_scan(where, n, kernel, Sum(total), in(x), out(y));       // kernel(i, x, y, value&, final)
//
// With a host variable as the target (also in reducers such as Sum(total)) the call returns when it has the
// result. Over several devices each reduces whole nodes of the one tree of core/reduction_tree.hpp, whose
// values are joined on the first device, so that the bits of the result do not depend on how many devices
// there are. Cuts are made between large nodes, so that the parts only approximate the requested sizes. Scans
// run on one device after the other, each beginning with the total of those before.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/algorithms/coherent_launch.hpp>
#include <strata/algorithms/range_blocks.hpp>
#include <strata/algorithms/reduction_groups.hpp>
#include <strata/core/min_max.hpp>
#include <strata/core/scan_order.hpp>

namespace strata::inline STRATA_ABI {

/// How many of `items` work items each of so many devices adds up: sizes for across(...).weighted(...), by
/// which launches over as many rows are cut where sums over them are. Equal ones where there are no items.
std::vector<double> reduction_sizes(index_t items, std::size_t devices);

namespace detail {

template <class R>
inline constexpr bool has_coherent_target = false;
template <class Operation, class T, class Target>
inline constexpr bool has_coherent_target<Reducer<Operation, T, Target>> = IsCoherent<Target>;

template <IsCoherent Into>
inline constexpr bool is_coherent_into_v<Into> = true;
template <class Operation, class T, IsCoherent Target>
inline constexpr bool is_coherent_into_v<Reducer<Operation, T, Target>> = true;
template <class F, class... A>
inline constexpr bool is_coherent_into_v<Finalize<F, A...>> = (is_coherent_access_v<A> || ...);

// A value on a device, as a view of rank 0.
template <class T, class D>
using ValueView = View<T, D, typename DynamicExtentsOf<0>::type, LayoutRight, Unmanaged<DefaultAccess>>;

// The reducer with `view` as its target, for parallel_reduce.
template <class Operation, class T, class Target, class V>
Reducer<Operation, T, V> into_view(const Reducer<Operation, T, Target>&, const V& view) {
  return {view};
}
template <class Into, class V>
V into_view(const Into&, const V& view) {
  return view;
}

// The value type of a reduction, and how it is joined: functions of the user are called by `Call`.
template <class K, class Into>
struct ReductionOf {
  using functor_type = FunctorOf<K>;
  using value_type = typename functor_type::value_type;
  template <class Call = KernelCall>
  static FunctorReducer<functor_type, Call> reducer(const K& kernel, const Into&) {
    return FunctorReducer<functor_type, Call>(functor_of(kernel));
  }
};
template <class K, class Operation, class T, class Target>
struct ReductionOf<K, Reducer<Operation, T, Target>> {
  using value_type = T;
  template <class Call = KernelCall>
  static Reducer<Operation, T, NoTarget> reducer(const K&, const Reducer<Operation, T, Target>&) {
    return {};
  }
};

// ---- on one device, which joins all values itself

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
void reduce_on_one(const char* label, const On<D>& where, const R& work, const K& kernel, Into&& into,
                   const Accesses&... accesses) {
  using I = std::remove_cvref_t<Into>;
  check_all_fit<K>(label, work, accesses...);
  const ResidentRows rows = LeftMost<R>::of(work);
  const auto run = [&](CoherentCall& call, const auto& result) {
    run_part(
        call, 0, where, false,
        [&](const auto&... resolved) {
          auto target = result(call);
          note_apart<K>(target, resolved...);
          launch_reduce_into(label, where, work, bind_reduction(kernel, resolved...), target);
        },
        accesses...);
  };
  CoherentCall call = make_call<R, K>(label);
  call.add_part(where.device.backend(), queue_of(where), waits_for_result<K, I>());
  (declare(call, accesses, rows, WorkOf<R>::rank == 1), ...);
  constexpr int first = use_number<sizeof...(Accesses), Accesses...>();
  if constexpr (IsCoherent<I> || has_coherent_target<I>) {
    const auto& value = [&]() -> const auto& {
      if constexpr (IsCoherent<I>) return into;
      else return into.target;
    }
    ();
    declare(call, out(value, everything), rows);
    call.prepare();
    run(call, [&](const CoherentCall& c) {
      using T = typename std::remove_cvref_t<decltype(value)>::value_type;
      return into_view(into, view_of_rows<ValueView<T, D>>(value.mapping(), c.base(0, first), {0, 1}));
    });
  } else if constexpr (is_finalize_v<I>) {
    into.accesses.call([&](const auto&... a) { (declare(call, a, {0, 1}), ...); });
    call.prepare();
    run(call, [&](const CoherentCall& c) {
      return into.accesses.call([&]<class... A>(const A&... a) {
        return [&]<std::size_t... U>(std::index_sequence<U...>) {
          return bound_finalize(into.functor,
                                view_to_bind(resolve<D>(c, 0, first + use_number<U, A...>(), a))...);
        }
        (std::index_sequence_for<A...>());
      });
    });
  } else {
    call.prepare();
    // A host variable must stay one: the result is handed on by reference.
    run_part(
        call, 0, where, false,
        [&](const auto&... resolved) {
          launch_reduce_into(label, where, work, bind_reduction(kernel, resolved...),
                             static_cast<Into&&>(into));
        },
        accesses...);
  }
}

// ---- over several devices

[[noreturn]] void fail_too_many_groups();

// The end of such a reduction: joins the values of groups, and stores or finalizes the result.
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
// (Vectors whose type depends on no parameter are not named in templates here: each type of vector takes as
// long to compile as a small header, in every file that includes this.)
template <class Reducer, class F, class Joins = std::vector<Join>>
JoinGroups<Reducer, F> join_groups(const Reducer& reducer, const F& finish, const Joins& joins) {
  JoinGroups<Reducer, F> kernel{reducer, finish, static_cast<int>(joins.size()), {}, {}};
  for (std::size_t k = 0; k < joins.size(); ++k) {
    kernel.a[k] = static_cast<short>(joins[k].a);
    kernel.b[k] = static_cast<short>(joins[k].b);
  }
  return kernel;
}

// The groups of a reduction over several devices, and the values of each, which may be kept. A group takes a
// launch of a host. On GPUs, where launches take as long as many kernels run, a part makes the values of all
// its blocks in one launch instead, if the result stays on a device, which joins them in another. That sends
// a value for each 512 items there, however many items there are.
template <class T, class Groups = std::vector<ReductionGroup>, class Parts = std::vector<SpreadPart>,
          class Rows = std::vector<ResidentRows>>
struct SplitReduction {
  Groups groups;
  Parts parts;
  Rows value_rows;  // of the values, by number of the place
  CoherentArray<T, rank<1>> partials;
  BlockRange blocks;  // all of the range, if values are of blocks
};
/// Sets value_rows for the groups, of whose values there are as many as returned, and `rows` of each part.
index_t number_values(const std::vector<ReductionGroup>& groups, std::size_t parts, BlockRange blocks,
                      bool by_blocks, std::vector<ResidentRows>& value_rows, std::vector<ResidentRows>& rows);
template <class Where>
inline constexpr bool has_no_host = false;
template <class... D>
inline constexpr bool has_no_host<Across<D...>> = (!D::memory_space::host_accessible && ...);
template <class Where, class R, class Into>
inline constexpr bool is_by_blocks = has_no_host<Where>&& WorkOf<R>::rank == 1 && !is_host_result<Into>;

/// Without groups where there are no items, or one device.
template <class T, class Into, class Where, class R>
SplitReduction<T> split_reduction(const Where& where, const R& work) {
  static_assert(
      !std::is_array_v<T>,
      "strata: launch_reduce over several devices: values of run-time length are reduced on one device");
  constexpr index_t block = WorkOf<R>::rank == 1 ? reduction_block : 1;
  const std::size_t count = PlaceTraits<Where>::count(where);
  SplitReduction<T> split;
  if (count == 1) return split;
  split.groups = reduction_groups(LeftMost<R>::of(work), count, weights_of(where), block);
  if (split.groups.empty()) return split;
  const ResidentRows all = LeftMost<R>::of(work);
  split.blocks = reduction_blocks(all.begin, all.end);
  auto rows = split.value_rows;
  const index_t values =
      number_values(split.groups, count, split.blocks, is_by_blocks<Where, R, Into>, split.value_rows, rows);
  split.parts = order_parts(rows, hosts_of(where));
  split.partials = CoherentArray<T, rank<1>>("partial results", values, uninitialized, MemoryMode::Smart);
  return split;
}

// The kernel of part `rows`, for its blocks: likewise.
template <class T, class D, class R, class K, class Into, class... Resolved>
void launch_blocks(const char* label, const On<D>& on, const R& work, const K& kernel, const Into& into,
                   const SplitReduction<T>& split, ResidentRows rows, T* base, const Resolved&... resolved) {
  using Reduction = ReductionOf<K, Into>;
  using Values = View<T, D, typename DynamicExtentsOf<1>::type, LayoutRight, Unmanaged<DefaultAccess>>;
  make_range_values(label, on, LeftMost<R>::part(work, rows), bind_reduction(kernel, resolved...),
                    Reduction::template reducer<KernelCallOf<D>>(kernel, into),
                    StoreBlockValue<Values>{Values(base, split.partials.extent(0)), split.blocks.first});
}
// The end of a reduction by blocks: one over rows of one item each, which take the places of nodes of 2^3
// blocks. An item joins those, which are few: their loads are in flight together.
inline constexpr int joined_level = 3;
template <class Reducer>
struct JoinBlockValues : Reducer {
  using value_type = typename Reducer::value_type;
  BlockRange blocks;

  template <class P>
  STRATA_FUNCTION void operator()(index_t node, index_t, const P& values, value_type& value) const {
    take<joined_level>(values, node << joined_level, value);
  }

 private:
  // The value of 2^Level blocks from `first` on, of those that there are: one at least.
  template <int Level, class P>
  STRATA_FUNCTION void take(const P& values, index_t first, value_type& value) const {
    if constexpr (Level == 0) {
      value = values(first - blocks.first);
    } else {
      const index_t middle = first + (index_t{1} << (Level - 1));
      if (middle >= blocks.last) return take<Level - 1>(values, first, value);
      if (middle <= blocks.first) return take<Level - 1>(values, middle, value);
      value_type right;
      take<Level - 1>(values, first, value);
      take<Level - 1>(values, middle, right);
      this->join(value, right);
    }
  }
};
template <class T, class K, class Into>
auto join_of_blocks(const K& kernel, const Into& into, const SplitReduction<T>& split) {
  const auto reducer = ReductionOf<K, Into>::reducer(kernel, into);
  return JoinBlockValues<std::remove_const_t<decltype(reducer)>>{reducer, split.blocks};
}
template <class T>
MDRange<2> work_of_blocks(const SplitReduction<T>& split) {
  return mdrange({split.blocks.first >> joined_level, index_t{0}},
                 {((split.blocks.last - 1) >> joined_level) + 1, index_t{1}});
}

// The kernels of the groups `mine`: their values go to the partial results, of which `base` is the first.
template <class T, class D, class R, class K, class Into, class... Resolved>
void launch_groups(const char* label, const On<D>& on, const R& work, const K& kernel, const Into& into,
                   const ReductionGroup* groups, ResidentRows mine, T* base, const Resolved&... resolved) {
  const auto bound = bind_reduction(kernel, resolved...);
  for (index_t g = mine.begin; g < mine.end; ++g)
    launch_reduce_into(label, on, LeftMost<R>::part(work, groups[g].items), bound,
                       into_view(into, ValueView<T, D>(base + g)));
}
// Of part `part` of a call.
template <class T, class D, class R, class K, class Into, class... Accesses>
void reduce_groups(const char* label, CoherentCall& call, std::size_t part, const On<D>& on, const R& work,
                   const K& kernel, const Into& into, const ReductionGroup* groups, ResidentRows mine,
                   bool timed, const Accesses&... accesses) {
  run_part(
      call, static_cast<int>(part), on, timed,
      [&](const auto&... resolved) {
        constexpr int use = use_number<sizeof...(Accesses), Accesses...>();
        launch_groups(label, on, work, kernel, into, groups, mine,
                      reinterpret_cast<T*>(call.base(static_cast<int>(part), use)), resolved...);
      },
      accesses...);
}
// Calls f with the kernel that joins all values and passes the result on, and with the accesses of that.
template <class T, class Reducer, class Into, class F>
void with_join(const Reducer& reducer, const SplitReduction<T>& split, const Into& into, const F& f) {
  const auto joins = joins_of(split.groups);
  if (joins.size() > JoinGroups<int, int>::most) fail_too_many_groups();
  const auto partials = inout(split.partials, everything);
  if constexpr (is_finalize_v<Into>)
    into.accesses.call(
        [&](const auto&... a) { f(join_groups(reducer, into.functor, joins), partials, a...); });
  else if constexpr (IsCoherent<Into>)
    f(join_groups(reducer, StoreResult{}, joins), partials, out(into, everything));
  else f(join_groups(reducer, StoreResult{}, joins), partials, out(into.target, everything));
}
// The value of all, joined on the host or on `on`.
template <class T, class D, class Reducer, class Into>
void join_partials(const char* label, const On<D>& on, const Reducer& reducer, const SplitReduction<T>& split,
                   Into&& into) {
  using I = std::remove_cvref_t<Into>;
  if constexpr (is_host_result<I>) {
    const auto values = split.partials.read_write();
    for (const Join& join : joins_of(split.groups)) reducer.join(values(join.a), values(join.b));
    if constexpr (std::is_same_v<I, T>) into = values(0);
    else if constexpr (!std::is_same_v<typename I::target_type, NoTarget>) *into.target = values(0);
  } else {
    with_join(reducer, split, into,
              [&](const auto& join, const auto&... accesses) { launch_at(label, on, 1, join, accesses...); });
  }
}

template <class T, class Where, class R, class K, class Into, class... Accesses>
void reduce_split(const char* label, const Where& where, const SplitReduction<T>& split, const R& work,
                  const K& kernel, Into&& into, const Accesses&... accesses) {
  using I = std::remove_cvref_t<Into>;
  constexpr bool by_blocks = is_by_blocks<Where, R, I>;
  if (split.groups.empty())
    return visit_part(where, 0, [&](const auto& on) {
      reduce_on_one(label, on, work, kernel, static_cast<Into&&>(into), accesses...);
    });
  {
    CoherentCall call = make_call<R, K>(label);
    for (const SpreadPart& part : split.parts) {
      add_part_of(call, where, part.place);
      (declare(call, accesses, part.rows), ...);
      declare(call, out(split.partials), split.value_rows[part.place]);
    }
    call.prepare();
    for (std::size_t p = 0; p < split.parts.size(); ++p)
      visit_part(where, split.parts[p].place, [&](const auto& on) {
        if constexpr (by_blocks)
          run_part(
              call, static_cast<int>(p), on, false,
              [&](const auto&... resolved) {
                constexpr int use = use_number<sizeof...(Accesses), Accesses...>();
                launch_blocks(label, on, work, kernel, into, split, split.parts[p].rows,
                              reinterpret_cast<T*>(call.base(static_cast<int>(p), use)), resolved...);
              },
              accesses...);
        else
          reduce_groups<T>(label, call, p, on, work, kernel, into, split.groups.data(),
                           split.value_rows[split.parts[p].place], false, accesses...);
      });
  }
  visit_part(where, 0, [&](const auto& on) {
    if constexpr (by_blocks)
      reduce_on_one(label, on, work_of_blocks(split), join_of_blocks(kernel, into, split),
                    static_cast<Into&&>(into), in(split.partials, everything));
    else join_partials(label, on, ReductionOf<K, I>::reducer(kernel, into), split, static_cast<Into&&>(into));
  });
}

template <class Where, class R, class K, class Into, class... Accesses>
void reduce_on_several(const char* label, const Where& where, const R& work, const K& kernel, Into&& into,
                       const Accesses&... accesses) {
  using I = std::remove_cvref_t<Into>;
  using T = typename ReductionOf<K, I>::value_type;
  check_all_fit<K>(label, work, accesses...);
  reduce_split(label, where, split_reduction<T, I>(where, work), work, kernel, static_cast<Into&&>(into),
               accesses...);
}

// ---- scans

template <class D, class R, class K, class Into, class Start, class... Accesses>
void launch_scan_part(const char* label, const On<D>& where, const R& work, const K& kernel, Into&& into,
                      const Start& start, const Accesses&... accesses) {
  CoherentCall call = make_call<R, K>(label);
  call.add_part(where.device.backend(), queue_of(where), waits_for_result<K, std::remove_cvref_t<Into>>());
  (declare(call, accesses, LeftMost<R>::of(work), WorkOf<R>::rank == 1), ...);
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

// Stores a total that is on the host, or passes it to the finalize functor.
template <class T, class Into>
void store_total(const T& total, Into&& into) {
  using I = std::remove_cvref_t<Into>;
  if constexpr (std::is_same_v<I, T>) into = total;
  else if constexpr (is_reducer_v<I>)
    if constexpr (!std::is_same_v<typename I::target_type, NoTarget>) *into.target = total;
}
// The `into` of a part of a scan, whose total is `total`.
template <class Into, class T>
decltype(auto) part_total(T& total) {
  if constexpr (is_reducer_v<Into>) return Reducer<typename Into::operation, T, T*>{&total};
  else return (total);
}

template <class Where, class R, class K, class Into, class... Accesses>
void scan_on_several(const char* label, const Where& where, const R& work, const K& kernel, Into&& into,
                     const Accesses&... accesses) {
  using I = std::remove_cvref_t<Into>;
  using T = typename ReductionOf<K, I>::value_type;
  const ResidentRows rows = LeftMost<R>::of(work);
  constexpr index_t tiles = alignment_of_all<Accesses...>();
  const auto split = split_range(rows.begin, rows.end, PlaceTraits<Where>::count(where), weights_of(where),
                                 larger_of(scan_cut<T>, tiles));
  T total = neutral_value<K, I>(kernel, into);
  for (std::size_t p = 0; p < split.size(); ++p) {
    if (split[p].begin >= split[p].end) continue;
    const T start = total;
    visit_part(where, p, [&](const auto& on) {
      launch_scan_part(label, on, LeftMost<R>::part(work, split[p]), kernel, part_total<I>(total), start,
                       accesses...);
    });
  }
  store_total(total, static_cast<Into&&>(into));
}

// Says in one line what such a launch lacks.
template <class K, class Into>
constexpr bool check_coherent_reduction() {
  constexpr bool joins = is_reducer_v<std::remove_cvref_t<Into>> || HasValueType<FunctorOf<K>>;
  static_assert(
      joins,
      "strata: launch_reduce, launch_scan: nothing says how values are joined: give a named reducer such "
      "as Sum(result) in place of the result, or a functor with `value_type`, `init` and `join`");
  return joins;
}

// Whether several devices can take parts of the accesses.
template <class Where, class... Accesses>
constexpr bool check_parts() {
  constexpr bool on_one = PlaceTraits<Where>::is_one_part || (is_coherent_access_v<Accesses> && ...);
  static_assert(on_one,
                "strata: launch_reduce, launch_scan(across(...)): a plain view lives on one device; give "
                "coherent arrays only: you wrote in(view); write in(x) of a CoherentArray x");
  return on_one;
}

template <>
struct ReduceBy<LaunchWay::Coherent> {
  template <class Where, class R, class K, class Into, class... Accesses>
  static void reduce(const char* label, const Where& where, const R& work, const K& kernel, Into&& into,
                     const Accesses&... accesses) {
    if constexpr (!check_coherent_reduction<K, Into>() || !check_parts<Where, Accesses...>()) return;
    else if constexpr (PlaceTraits<Where>::is_one_part)
      reduce_on_one(label, where, work, kernel, static_cast<Into&&>(into), accesses...);
    else reduce_on_several(label, where, work, kernel, static_cast<Into&&>(into), accesses...);
  }
  template <class Where, class R, class K, class Into, class... Accesses>
  static void scan(const char* label, const Where& where, const R& work, const K& kernel, Into&& into,
                   const Accesses&... accesses) {
    if constexpr (check_coherent_reduction<K, Into>() && check_parts<Where, Accesses...>()) {
      check_all_fit<K>(label, work, accesses...);
      if constexpr (PlaceTraits<Where>::is_one_part)
        launch_scan_part(label, where, work, kernel, static_cast<Into&&>(into),
                         neutral_value<K, std::remove_cvref_t<Into>>(kernel, into), accesses...);
      else scan_on_several(label, where, work, kernel, static_cast<Into&&>(into), accesses...);
    }
  }
};

}  // namespace detail
}  // namespace strata::inline STRATA_ABI
