// parallel_reduce: calls kernel(i, value) for every index of a range and joins the values, by the one tree of
// core/reduction_tree.hpp: the same launch gives the same bits with any number of threads, whole or in
// slices.
//
// The paper's three forms (section 4.4), for functors with `value_type`, `init` and `join`:
//   value = parallel_reduce(n, functor);      // returned
//   parallel_reduce(n, functor, value);       // into a host variable
//   parallel_reduce(n, functor, f);           // f(value) runs once, on the device; does not wait
// and further:
//   parallel_reduce(n, functor, finalize(f)); // the same as in launch_reduce; the bare f is the paper's form
//   parallel_reduce(n, functor, view);        // into a Value on the device, asynchronous
//   parallel_reduce(n, kernel, Sum(a), Max(b));   // named reducers, several results: kernel(i, a, b)
// A functor whose `value_type` is T[] has a run-time `value_count`: operator()(i, T*), init(T*), join(T*,
// const T*); its result goes to a T*, a view of rank 1, or finalize(T*). Over an mdrange it is called as
// operator()(i, j, T*), in the order of the indices, the last one fastest.
//
// Forms into host memory wait for the result, and so for all work before it in the queue. The host sees what
// the kernel itself writes to host-accessible memory after the queue's next wait. Options, ranges
// and errors are those of parallel_for.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/algorithms/bound_finalize.hpp>
#include <strata/algorithms/kernel.hpp>
#include <strata/algorithms/place.hpp>
#include <strata/algorithms/reduction.hpp>

namespace strata::inline STRATA_ABI {

namespace detail {

// The items of a box as those of a range: item k is the k-th multi-index, the last index counting fastest.
template <int Rank, class Body>
struct BoxItems {
  static constexpr bool takes_lanes = false;
  static constexpr bool takes_int = false;
  static constexpr bool fetches_ahead = false;
  static constexpr int items_in_flight = 1;
  Body body;
  TileRange<Rank> box;

  template <class Value>
  STRATA_FUNCTION void operator()(index_t k, Value* value) const {
    index_t i[Rank] = {};
    for (int r = Rank - 1; r > 0; --r) {
      const index_t n = box.upper[r] - box.lower[r];
      i[r] = box.lower[r] + k % n;
      k /= n;
    }
    i[0] = box.lower[0] + k;
    call(i, value, std::make_index_sequence<Rank>());
  }

 private:
  template <class Value, std::size_t... R>
  STRATA_FUNCTION void call(const index_t* i, Value* value, std::index_sequence<R...>) const {
    body(i[R]..., value);
  }
};

// Instantiated for a kernel that cannot be called so.
template <class I, class V, class N>
struct KernelOfReduce {
  static_assert(
      !std::is_same_v<I, I>,
      "strata: the kernel of a reduction cannot be called as kernel(index..., value&...) const: you wrote an "
      "operator() that is not const or has other parameters; write `void operator()(auto i, double& sum) "
      "const` with (the tag,) one index for each dimension of the range, the views (of `with`, or one for "
      "each access) and a reference to each value (how many: see KernelOfReduce<Indices<...>, Views<...>, "
      "References<...>> beside this)");
  static constexpr bool is_right = false;
};

// Of a functor with accesses the launch has noted it.
template <class K, class F, class Call>
void note_whether_apart(CallFinalize<F, Call>& finish, const K& kernel) {
  if constexpr (!is_bound_finalize<F>)
    finish.apart = are_apart<typename FunctorOf<K>::value_type>(kernel, finish.finalize);
}
template <class K, class Finish>
void note_whether_apart(Finish&, const K&) {}

template <class Where, class R, class K, class Reducing>
void launch_reduce_with(const char* label, const Where& where, const R& work, const K& kernel,
                        const Reducing& reducing) {
  using D = typename DeviceFor<Where, K>::type;
  using W = WorkOf<R>;
  static_assert(check_kernel<Where, K>());
  using Common = CommonKernel<K>;
  using Compiled =
      std::conditional_t<Reducing::template callable<D, typename W::tag, Common, W::rank>, Common, K>;
  constexpr bool callable = Reducing::template callable<D, typename W::tag, Compiled, W::rank>;
  static_assert(
      callable || W::rank != teams_rank,
      "strata: the kernel of a reduction over teams cannot be called as kernel(member, value&...) const: "
      "give it a const operator() that takes (the tag,) a member of a team, const auto& (, the views) and "
      "a reference to each value");
  if constexpr (!callable && W::rank != teams_rank) {
    using Given = Views<num_views<K>>;
    static_cast<void>(std::conditional_t<
                      Reducing::template takes_no_index<D, typename W::tag, Compiled, W::rank>,
                      IndexOfKernel<Indices<W::rank>, Given>,
                      KernelOfReduce<Indices<W::rank>, Given, References<Reducing::num_values>>>::is_right);
  }
  if constexpr (callable) {
    static_assert(
        !Reducing::template loses_value<D, typename W::tag, Compiled, W::rank>,
        "strata: the kernel of a reduction takes its value by value, so that what it adds is lost: you "
        "wrote `double sum` or `auto sum`; write `double& sum` or `auto& sum`");
    using Inner = BodyFor<D, typename W::tag, Compiled, W::rank>;
    Capture views = make_capture<D>();
    CaptureScope scope(views);
    const auto body = Reducing::body(Inner{static_cast<Compiled>(kernel)});
    const auto reducer = reducing.template reducer<KernelCallOf<D>>();
    auto finish = finish_by<KernelCallOf<D>>(reducing.finish());
    note_whether_apart(finish, kernel);
    scope.end();
    const LaunchInfo info =
        make_info<D>(label, where, views, typeid(FunctorOf<K>).name(), tag_type<typename W::tag>());
    const auto range = W::get(work);
    if constexpr (Reducing::is_array) {
      static_assert(
          W::rank != teams_rank,
          "strata: a reduction: values of run-time length are reduced over a range or an mdrange: "
          "you wrote teams; write a loop over team_range in each item, or a parallel_for with atomics");
      if constexpr (W::rank == 1) D::execution::reduce_array(info, range, body, reducer, finish);
      else if constexpr (W::rank != teams_rank)
        D::execution::reduce_array(info, ChunkRange{0, range.items()},
                                   BoxItems<W::rank, std::remove_cvref_t<decltype(body)>>{body, range},
                                   reducer, finish);
    } else if constexpr (W::rank == teams_rank) {
      D::execution::reduce_teams(info, range, body, reducer, finish);
    } else if constexpr (W::rank == 1) {
      D::execution::reduce_range(info, range, body, reducer, finish);
    } else {
      D::execution::template reduce_box<W::rank>(info, range, body, reducer, finish);
    }
  }
}

// The result of a launch that does not compile, so that its one message is not followed by another.
struct NoResult {
  template <class T>
  operator T() const;
};

template <class Where, class R, class K, class... Results>
auto launch_reduce_into(const char* label, const Where& where, const R& work, const K& kernel,
                        Results&&... results) {
  if constexpr (!knows_device<Where, K>) {
    static_assert(knows_device<Where, K>,
                  "strata: parallel_reduce: nothing says on which device: you wrote parallel_reduce(n, "
                  "kernel, ...); write "
                  "parallel_reduce(on(device), n, kernel, ...) or parallel_reduce(n, with(kernel, views...), "
                  "...), or give the functor a "
                  "`device_type`");
    return NoResult();
  } else if constexpr ((is_reducer_v<std::remove_cvref_t<Results>> && ...) && sizeof...(Results) > 0) {
    launch_reduce_with(label, where, work, kernel, ReduceByName<std::remove_cvref_t<Results>...>(results...));
  } else if constexpr (check_reduce_functor<K, sizeof...(Results)>()) {
    using F = FunctorOf<K>;
    if constexpr (sizeof...(Results) == 0) {
      using T = typename F::value_type;
      static_assert(
          !std::is_array_v<T>,
          "strata: parallel_reduce: a run-time-length value cannot be returned; give a T*, a view of rank 1 "
          "or a finalize functor");
      if constexpr (!std::is_array_v<T>) {
        T result{};
        launch_reduce_with(label, where, work, kernel, reduce_by_functor(functor_of(kernel), result));
        return result;
      } else {
        return NoResult();
      }
    } else {
      launch_reduce_with(label, where, work, kernel,
                         reduce_by_functor(functor_of(kernel), static_cast<Results&&>(results)...));
    }
  } else {
    return NoResult();
  }
}

}  // namespace detail

/// Joins the contributions of `kernel` for the indices of `work` into `results`; without any returns the
/// value. The head of this file has the forms, and says which of them wait; `label` names the launch in
/// messages and profiles.
template <WorkRange R, class K, class... Results>
auto parallel_reduce(const R& work, const K& kernel, Results&&... results) {
  return detail::launch_reduce_into("", detail::Anywhere{}, work, kernel, static_cast<Results&&>(results)...);
}
template <class D, WorkRange R, class K, class... Results>
auto parallel_reduce(const On<D>& where, const R& work, const K& kernel, Results&&... results) {
  return detail::launch_reduce_into(where.label, where, work, kernel, static_cast<Results&&>(results)...);
}
template <WorkRange R, class K, class... Results>
auto parallel_reduce(const char* label, const R& work, const K& kernel, Results&&... results) {
  return detail::launch_reduce_into(label, detail::Anywhere{}, work, kernel,
                                    static_cast<Results&&>(results)...);
}
template <class D, WorkRange R, class K, class... Results>
auto parallel_reduce(const char* label, const On<D>& where, const R& work, const K& kernel,
                     Results&&... results) {
  return detail::launch_reduce_into(label, where, work, kernel, static_cast<Results&&>(results)...);
}

namespace detail {

struct DeviceOfReduce {
  template <LacksOn W>
  DeviceOfReduce(const W&) {
    static_assert(
        never<W>,
        "strata: parallel_reduce: a place is made by on(...): you wrote parallel_reduce(device, n, kernel, "
        "...); write parallel_reduce(on(device), n, kernel, ...), as in parallel_reduce(on(Threads{}), n, "
        "kernel, Sum(s))");
  }
  template <class W>
  requires(!LacksOn<W>) DeviceOfReduce(const W&) {
    static_assert(never<W>,
                  "strata: parallel_reduce: no range comes before the kernel: you wrote "
                  "parallel_reduce(kernel, n, ...), or a real number for n; write parallel_reduce(n, kernel, "
                  "...), with on(device) before n where nothing else says the device");
  }
};

}  // namespace detail

/// These do not compile: a device or a queue is not a place, or no range comes first.
inline detail::NoResult parallel_reduce(detail::DeviceOfReduce, detail::AnyOrNone = {},
                                        detail::AnyOrNone = {}, detail::AnyOrNone = {},
                                        detail::AnyOrNone = {}, detail::AnyOrNone = {}) {
  return {};
}
inline detail::NoResult parallel_reduce(const char*, detail::DeviceOfReduce, detail::AnyOrNone = {},
                                        detail::AnyOrNone = {}, detail::AnyOrNone = {},
                                        detail::AnyOrNone = {}, detail::AnyOrNone = {}) {
  return {};
}

}  // namespace strata::inline STRATA_ABI
