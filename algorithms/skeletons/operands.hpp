// Operands of skeletons, and how a user's function gets them.
//
//   x                  a coherent array: the function gets the element of its index, by value
//   in(v, everything)         a declared access: the function gets the view, to read what the region says
//   y                  an output: the function returns the element
//   inout(y)           an output whose old element the function gets, before all inputs
//   outputs(y, z)      several outputs: the function returns results(a, b)
//
// A function is called as f(elements and views...) or, where it cannot be called so, with the indices before
// them: f(i, j, elements and views...). It is const, and a struct at namespace scope for Cuda.
//
// Skeletons run at any place: on, across, and, if their headers are included, streamed and, over arrays of
// enough dimensions, grids of devices.
// Their label is that of the place, else their name.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tuple>

#include <strata/algorithms/coherent_launch.hpp>

namespace strata::inline STRATA_ABI {
namespace skeletons {

/// The result of a function with several outputs; made by `results`.
template <class... T>
struct Results {};
/// The same, of one output and others.
template <class First, class... Rest>
struct Results<First, Rest...> {
  First first;            ///< of the first output
  Results<Rest...> rest;  ///< of the others
};
/// One element an output, in their order.
STRATA_FUNCTION constexpr Results<> results() { return {}; }
template <class First, class... Rest>
STRATA_FUNCTION constexpr Results<First, Rest...> results(const First& first, const Rest&... rest) {
  return {first, results(rest...)};
}

/// Several outputs: arrays, or inout(array).
template <class... O>
struct Outputs {
  std::tuple<O...> arrays;  ///< in order
};
template <class... O>
Outputs<O...> outputs(const O&... arrays) {
  return {{arrays...}};
}

}  // namespace skeletons

namespace detail {

// What a function gets of an array.
enum class Given { Nothing, Element, View };

template <class O>
struct OperandTraits;  // coherent arrays and declared accesses only
template <class T, int Rank, class L>
struct OperandTraits<BasicCoherentArray<T, Rank, L>> {
  using array_type = BasicCoherentArray<T, Rank, L>;
  static constexpr Given input = Given::Element, output = Given::Nothing;
  static const array_type& array(const array_type& a) { return a; }
  static auto read(const array_type& a) { return in(a, own_element); }
  static auto write(const array_type& a) { return out(a); }
};
template <AccessMode Mode, class A, class Region>
struct OperandTraits<CoherentAccess<Mode, A, Region>> {
  using array_type = A;
  using access_type = CoherentAccess<Mode, A, Region>;
  static constexpr Given input = Given::View;
  static constexpr Given output = Mode == AccessMode::InOut ? Given::Element : Given::Nothing;
  static const array_type& array(const access_type& a) { return a.array; }
  static const access_type& read(const access_type& a) {
    static_assert(Mode == AccessMode::In, "strata: skeletons: an input is an array or in(array, region)");
    return a;
  }
  static const access_type& write(const access_type& a) {
    static_assert(writes(Mode) && is_own<Region>, "strata: skeletons: an output is an array or inout(array)");
    return a;
  }
};
template <class O>
concept SkeletonOperand = requires {
  typename OperandTraits<O>::array_type;
};

// ---- shapes

template <class O>
const auto& array_of(const O& operand) {
  const auto& array = OperandTraits<O>::array(operand);
  if (!array) fail_no_array();
  return array;
}
// Throws ShapeMismatch unless elements of `x` belong to those of `y` one by one.
template <class Y, class X>
void check_same_shape(const char* what, const Y& y, const X& x) {
  static_assert(X::rank == Y::rank,
                "strata: skeletons: arrays that are given by elements have the same rank");
  index_t shape_x[X::rank + 1] = {}, shape_y[Y::rank + 1] = {};
  for (int d = 0; d < X::rank; ++d) shape_x[d] = x.extent(d);
  for (int d = 0; d < Y::rank; ++d) shape_y[d] = y.extent(d);
  bool same = true;
  for (int d = 0; same && d < X::rank; ++d) same = shape_x[d] == shape_y[d];
  if (!same) fail_shapes(what, x.label(), shape_x, X::rank, y.label(), shape_y, Y::rank);
}
template <class Y, class O>
void check_operand(const char* what, const Y& y, const O& operand) {
  const auto& array = array_of(operand);
  if constexpr (OperandTraits<O>::input == Given::Element) check_same_shape(what, y, array);
}

// All indices of an array, as the work of a launch.
template <class A>
auto all_indices(const A& array) {
  static_assert(A::rank >= 1 && A::rank <= 6, "strata: skeletons: arrays have rank 1 to 6");
  if constexpr (A::rank == 1) {
    return range(array.extent(0));
  } else {
    MDRange<A::rank> work{};
    for (int d = 0; d < A::rank; ++d) work.upper[d] = array.extent(d);
    return work;
  }
}

// ---- calls of functions, on the device

template <std::size_t K, class First, class... Rest>
STRATA_FUNCTION constexpr auto& nth(First& first, Rest&... rest) {
  if constexpr (K == 0) return first;
  else return nth<K - 1>(rest...);
}
template <std::size_t K, class... T>
STRATA_FUNCTION constexpr const auto& nth_result(const skeletons::Results<T...>& results) {
  if constexpr (K == 0) return results.first;
  else return nth_result<K - 1>(results.rest);
}

// An index for dimension R: nvcc 13.0 loses the pack in shorter ways to say it.
template <std::size_t R>
struct IndexOf {
  using type = index_t;
};

// How the device of a kernel's view calls functions of the user.
template <class V>
using KernelCallOfView = KernelCallOf<typename std::remove_cvref_t<V>::device_type>;

// Functions of the library that are always called with the indices.
template <class F>
concept WantsIndices = requires {
  requires std::is_same_v<decltype(&F::wants_indices), const bool*>;
};

// Calls a function with its operands; the arguments are `Rank` indices and then the views.
template <int Rank, Given... G>
struct FunctionCall {
  using Indices = std::make_index_sequence<Rank>;
  static constexpr std::size_t arguments = ((G != Given::Nothing ? 1 : 0) + ... + 0);
  using Arguments = std::make_index_sequence<arguments>;

  struct Position {
    std::size_t view;
    bool is_element;
  };
  STRATA_FUNCTION static constexpr Position position(std::size_t argument) {
    constexpr Given given[] = {G..., Given::Nothing};
    for (std::size_t k = 0, seen = 0; k < sizeof...(G); ++k)
      if (given[k] != Given::Nothing && seen++ == argument) return {k, given[k] == Given::Element};
    return {sizeof...(G), false};
  }

  template <class F, class... A>
  STRATA_FUNCTION static auto call(const F& f, A&... all) {
    return call_with(Indices(), Arguments(), f, all...);
  }
  // The element of view K that belongs to the indices.
  template <std::size_t K, class... A>
  STRATA_FUNCTION static decltype(auto) element(A&... all) {
    return element_with<K>(Indices(), all...);
  }

 private:
  template <std::size_t K, std::size_t... R, class... A>
  STRATA_FUNCTION static decltype(auto) element_with(std::index_sequence<R...>, A&... all) {
    return nth<Rank + K>(all...)(nth<R>(all...)...);
  }
  template <std::size_t View, bool IsElement, class... A>
  STRATA_FUNCTION static decltype(auto) argument(A&... all) {
    if constexpr (IsElement)
      return std::remove_cvref_t<decltype(element<View>(all...))>(element<View>(all...));
    else return std::as_const(nth<Rank + View>(all...));
  }
  template <std::size_t... R, std::size_t... P, class F, class... A>
  STRATA_FUNCTION static auto call_with(std::index_sequence<R...>, std::index_sequence<P...>, const F& f,
                                        A&... all) {
    constexpr bool without = [] {
      if constexpr (WantsIndices<F>) return false;  // to ask would instantiate its body
      else
        return std::is_invocable_v<const F&,
                                   decltype(argument<position(P).view, position(P).is_element>(all...))...>;
    }();
    using Call = KernelCallOfView<decltype(nth<Rank>(all...))>;
    Call::template check<F>();
    if constexpr (without) {
      return Call::call(f, argument<position(P).view, position(P).is_element>(all...)...);
    } else {
      static_assert(
          std::is_invocable_v<const F&, typename IndexOf<R>::type...,
                              decltype(argument<position(P).view, position(P).is_element>(all...))...>,
          "strata: skeletons: the function can be called neither as f(elements and views...) const nor with "
          "one index a dimension before them");
      return Call::call(f, static_cast<index_t>(nth<R>(all...))...,
                        argument<position(P).view, position(P).is_element>(all...)...);
    }
  }
};

// Writes what a function returns to the first `Count` views.
template <int Rank, std::size_t Count, class F, Given... G>
struct MapKernel {
  F f;

  template <class... A>
  STRATA_FUNCTION void operator()(A&&... all) const {
    using Call = FunctionCall<Rank, G...>;
    store<Call>(std::make_index_sequence<Count>(), Call::call(f, all...), all...);
  }

 private:
  template <class Call, std::size_t... O, class R, class... A>
  STRATA_FUNCTION static void store(std::index_sequence<O...>, const R& result, A&... all) {
    if constexpr (Count == 1) assign(Call::template element<0>(all...), result);
    else (assign(Call::template element<O>(all...), nth_result<O>(result)), ...);
  }
  template <class T, class R>
  STRATA_FUNCTION static void assign(T& element, const R& result) {
    element = static_cast<T>(result);
  }
};

// Runs f over `work`; outputs come first among the accesses.
template <std::size_t Count, Given... G, class Where, class R, class F, class... Accesses>
void launch_map(const char* label, const Where& where, const R& work, const F& f,
                const Accesses&... accesses) {
  launch_at(label, where, work, MapKernel<WorkOf<R>::rank, Count, F, G...>{f}, accesses...);
}

template <class Where, class F, class... O, class... In>
void map_all(const char* label, const Where& where, const F& f, const skeletons::Outputs<O...>& to,
             const In&... from) {
  static_assert(sizeof...(O) > 0, "strata: skeletons: give at least one output");
  std::apply(
      [&](const auto& first, const auto&... others) {
        const auto& y = array_of(first);
        (check_same_shape(label, y, array_of(others)), ...);
        (check_operand(label, y, from), ...);
        launch_map<sizeof...(O), OperandTraits<O>::output..., OperandTraits<In>::input...>(
            label, where, all_indices(y), f,
            OperandTraits<std::remove_cvref_t<decltype(first)>>::write(first),
            OperandTraits<std::remove_cvref_t<decltype(others)>>::write(others)...,
            OperandTraits<In>::read(from)...);
      },
      to.arrays);
}
template <class Where, class F, SkeletonOperand O, class... In>
void map_all(const char* label, const Where& where, const F& f, const O& to, const In&... from) {
  map_all(label, where, f, skeletons::outputs(to), from...);
}

}  // namespace detail
}  // namespace strata::inline STRATA_ABI
