// managed_like(label, array), to_managed(label, view): coherent arrays in managed memory like others there
// are, after `managed_array_like` and `to_managed` of the unified memory in Numba.
//
//   const auto y = managed_like("y", x);     // extents and layout of x, a coherent array or a view
//   const auto z = to_managed("z", view);    // and the values of the view, on whatever device it is
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <type_traits>
#include <utility>

#include <strata/views/coherent/coherent_array.hpp>
#include <strata/views/deep_copy.hpp>

namespace strata::inline STRATA_ABI {

namespace detail {

// The coherent array that has the elements, the rank and the layout of a view.
template <class V>
struct CoherentLike {
  static_assert(std::is_constructible_v<typename V::layout_type::template mapping<
                                            typename DynamicExtentsOf<V::extents_type::max_rank_value>::type>,
                                        typename DynamicExtentsOf<V::extents_type::max_rank_value>::type>,
                "strata: managed_like: the view is a part of an array, whose strides no new array has; give "
                "all of it, or "
                "a copy of the part");
  using type =
      BasicCoherentArray<typename V::value_type, V::extents_type::max_rank_value, typename V::layout_type>;
};

template <class Result, class A, std::size_t... R, class... Options>
Result make_managed(const char* label, const A& like, std::index_sequence<R...>, const Options&... options) {
  return Result(label, static_cast<index_t>(like.extent(static_cast<int>(R)))..., uninitialized,
                MemoryMode::Managed, options...);
}

}  // namespace detail

/// An array in managed memory, with the extents and the layout of `array` and without values. `options` are
/// those of CoherentArray: main_in(device). Throws what its constructor throws.
template <class T, int Rank, class L, class... Options>
BasicCoherentArray<T, Rank, L> managed_like(const char* label, const BasicCoherentArray<T, Rank, L>& array,
                                            const Options&... options) {
  if (!array) detail::fail_no_array();
  return detail::make_managed<BasicCoherentArray<T, Rank, L>>(
      label, array, std::make_index_sequence<static_cast<std::size_t>(Rank)>(), options...);
}
/// The same like a view.
template <AnyView V, class... Options>
auto managed_like(const char* label, const V& view, const Options&... options) {
  using Result = typename detail::CoherentLike<V>::type;
  return detail::make_managed<Result>(
      label, view, std::make_index_sequence<static_cast<std::size_t>(Result::rank)>(), options...);
}

/// An array in managed memory with the values of the view, after the work on the default queue of its device.
/// `options` as for managed_like.
template <AnyView V, class... Options>
auto to_managed(const char* label, const V& view, const Options&... options) {
  const auto result = managed_like(label, view, options...);
  if (result.size() > 0) deep_copy(result.write().view(), view);
  return result;
}

}  // namespace strata::inline STRATA_ABI
