// Kernels of a sequence, or of an iteration, that differ from step to step (by_step), and results of
// reductions, one for each step (each_step).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include <strata/algorithms/coherent_reduce.hpp>

namespace strata::inline STRATA_ABI {

namespace detail::sequences {

template <class K>
struct ByStep {
  K make;
};
template <class>
inline constexpr bool is_by_step = false;
template <class K>
inline constexpr bool is_by_step<ByStep<K>> = true;
template <class K>
decltype(auto) kernel_at(const K& kernel, int step) {
  if constexpr (is_by_step<K>) return kernel.make(step);
  else return (kernel);
}
template <class K>
using KernelOf = std::remove_cvref_t<decltype(kernel_at(std::declval<const K&>(), 0))>;

template <class Operation, class T>
struct EachStep {
  std::vector<T>* values;
};

// A reduction's operation and value where each step has a result of its own, in a vector.
template <class K, class Into>
struct StepReduction {
  using functor_type = FunctorOf<K>;
  using value_type = typename functor_type::value_type;
  static FunctorReducer<functor_type> reducer(const K& kernel) {
    return FunctorReducer<functor_type>(functor_of(kernel));
  }
  template <class V>
  static V into(const V& view) {
    return view;
  }
};
template <class K, class Operation, class T>
struct StepReduction<K, EachStep<Operation, T>> {
  using value_type = T;
  static Reducer<Operation, T, NoTarget> reducer(const K&) { return {}; }
  template <class V>
  static Reducer<Operation, T, V> into(const V& view) {
    return {view};
  }
};

template <class>
inline constexpr bool is_step_results_v = false;
template <class T>
inline constexpr bool is_step_results_v<std::vector<T>> = true;
template <class Operation, class T>
inline constexpr bool is_step_results_v<EachStep<Operation, T>> = true;
template <class Into>
constexpr void check_step_results() {
  static_assert(
      is_step_results_v<std::remove_cvref_t<Into>>,
      "strata: each step has a result of its own: give each_step(Sum, vector) and its like, or of a "
      "functor with value_type, init and join a std::vector of its value_type");
}

// The vector that receives the results.
template <class T, class Into>
std::vector<T>& values_of(Into& into) {
  if constexpr (requires { into.values; }) {
    return *into.values;
  } else {
    static_assert(std::is_same_v<Into, std::vector<T>>,
                  "strata: the results of a functor go to a std::vector of its value_type");
    return into;
  }
}

}  // namespace detail::sequences

/// A kernel that differs from step to step: make(step) returns that of a step, counted from 0 in each run. In
/// a run that does not begin with the first loop, the rest of the interrupted step is step 0.
template <class F>
detail::sequences::ByStep<F> by_step(const F& make) {
  return {make};
}

/// The results of a named reducer, such as Sum, in a vector: one for each time that a loop or step runs.
template <class Operation, class T>
detail::sequences::EachStep<Operation, T> each_step(const detail::MakeReducer<Operation>&,
                                                    std::vector<T>& values) {
  return {&values};
}

}  // namespace strata::inline STRATA_ABI
