// map_reduce: joins the values of a function of the elements of arrays, in one pass.
//
//   double dot = map_reduce(where, Product{}, Sum, x, y);
//   double far = map_reduce(where, Distance{}, Larger{}, 0.0, x, y);      // by Larger{}(a, b), from 0
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/algorithms/coherent_reduce.hpp>
#include <strata/algorithms/skeletons/joining.hpp>
#include <strata/algorithms/skeletons/operands.hpp>

namespace strata::inline STRATA_ABI {
namespace detail {

template <int Rank, class F, class Op, class T, Given... G>
struct MapReduceKernel {
  using value_type = typename Joining<Op, T>::value_type;
  F f;
  Joining<Op, T> joining;

  STRATA_FUNCTION void init(value_type& value) const { joining.init(value); }
  STRATA_FUNCTION void join(value_type& value, const value_type& other) const { joining.join(value, other); }
  template <class... A>
  STRATA_FUNCTION void operator()(A&&... all) const {
    const auto own = FunctionCall<Rank, G...>::call(f, all...);
    static_assert(!(std::is_integral_v<T> && std::is_floating_point_v<std::remove_const_t<decltype(own)>>),
                  "strata: map_reduce: the function returns a real number and the start value is an integer: "
                  "the result would be rounded at each step; give a real start value");
    using Call = KernelCallOfView<decltype(nth<Rank>(all...))>;
    joining.template add<Call>(nth<Rank + sizeof...(G)>(all...), static_cast<T>(own));
  }
};

template <class T, class Where, class F, class Op, class First, class... Others>
T map_reduce_from(const char* label, const Where& where, const F& f, const Op& op, const T& start,
                  const First& first, const Others&... others) {
  static_assert(
      OperandTraits<First>::input == Given::Element,
      "strata: map_reduce: the first operand is a coherent array: its indices are those of the work");
  const auto& x = array_of(first);
  (check_operand(label, x, others), ...);
  constexpr int rank = std::remove_cvref_t<decltype(x)>::rank;
  using Kernel =
      MapReduceKernel<rank, F, Op, T, OperandTraits<First>::input, OperandTraits<Others>::input...>;
  const Kernel kernel{f, Joining<Op, T>{op}};
  typename Kernel::value_type value;
  kernel.init(value);
  launch_reduce_at(label, where, all_indices(x), kernel, value, OperandTraits<First>::read(first),
                   OperandTraits<Others>::read(others)...);
  return kernel.joining.after(start, value);
}

// The type that f returns for elements of these arrays.
template <class F, class First, class... Others>
auto result_of_elements() {
  static_assert((... && (OperandTraits<Others>::input == Given::Element)),
                "strata: map_reduce: with operands that are read anywhere give a start value");
  using A = typename OperandTraits<First>::array_type;
  using Elements =
      TypeList<typename A::value_type, typename OperandTraits<Others>::array_type::value_type...>;
  constexpr auto called = []<class... E, std::size_t... R>(TypeList<E...>, std::index_sequence<R...>) {
    if constexpr (std::is_invocable_v<const F&, E...>) return std::invoke_result<const F&, E...>();
    else return std::invoke_result<const F&, typename IndexOf<R>::type..., E...>();
  };
  using Result = decltype(called(Elements(), std::make_index_sequence<A::rank>()));
  return std::remove_cvref_t<typename Result::type>();
}

}  // namespace detail

namespace skeletons {

/// Returns start op f(first elements) op f(next elements) ..., of the type of `start`; for an empty array
/// `start`; `op` is Sum, Max or the like, or a function op(a, b) (joining.hpp). Operands are those of
/// map_array, the first one an array, whose shape the other arrays have. Waits for the result, whose bits do
/// not depend on how many devices there are. Errors are those of map.
template <Place Where, class F, class Op, class T, class... X>
requires(!detail::SkeletonOperand<T>) T
    map_reduce(const Where& where, const F& f, const Op& op, const T& start, const X&... x) {
  return detail::map_reduce_from(detail::label_of(where, "map_reduce"), where, f, op, start, x...);
}
/// The same, of the type that `f` returns, with the neutral value of `op` as the start.
template <Place Where, class F, NamedOperation Op, detail::SkeletonOperand... X>
auto map_reduce(const Where& where, const F& f, const Op& op, const X&... x) {
  using T = decltype(detail::result_of_elements<F, X...>());
  return detail::map_reduce_from(detail::label_of(where, "map_reduce"), where, f, op,
                                 detail::neutral_of<T>(op), x...);
}

}  // namespace skeletons
}  // namespace strata::inline STRATA_ABI
