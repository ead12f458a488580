// sort and sort_by_key: the keys of a view of rank 1 in order, in place.
//
//   sort(keys);                                   // ascending
//   sort(keys, Descending{});
//   sort(on(queue), keys, ByNorm{});              // any functor: bool less(const T&, const T&) const
//   sort_by_key(keys, values);                    // values move with their keys; equal keys keep their order
//   sort(on(device).named("renumber"), keys);     // with a label for profiles and messages
//
// sort_by_key is stable, sort is not: where equal keys can be distinguished their order may differ from
// device to device. Ascending and Descending treat -0.0 and 0.0 as equal. A NaN counts as larger than every
// number, and NaNs as equal; sort_by_key may exchange the values of NaNs on Cuda. A user's functor must be a
// strict weak ordering of all elements, which `a < b` is not where there are NaNs.
//
// Keys and values that are not neighbours in memory (a column of a matrix, a tiled or a user-supplied layout)
// are copied into a packed array, sorted there and copied back: one pass over them each way, and their memory
// once more. Views live in one memory; the launch runs on their device, or on
// the device or queue given. Host devices return when done, others after enqueueing. Exceptions of the
// functor come from the launch, or from the next wait, and leave all arrays as they were. Hosts use std::sort
// and std::stable_sort and merge in parallel, with up to twice the memory of keys and values in addition;
// Cuda uses CUB: radix sort for arithmetic keys in ascending or descending order, else merge sort, with as
// much memory in addition.
//
// Not part of <strata/strata.hpp>: CUB is expensive to compile.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/algorithms/host_sort.hpp>
#include <strata/algorithms/packed_elements.hpp>
#include <strata/algorithms/place.hpp>
#include <strata/core/order.hpp>
#if defined(__CUDACC__)
#include <strata/devices/cuda/primitives/sort.hpp>
#endif

namespace strata::inline STRATA_ABI {

namespace detail {

template <class V, class Less>
struct SortWork {
  using key_type = typename V::value_type;
  static constexpr bool waits = false;
  V view;  // for the launch to know where it lives
  key_type* keys;
  index_t count;
  Less less;

  void operator()(const Runner& runner) const {
    sort_on_host<typename V::memory_space>(runner, keys, count, less);
  }
  template <class Execution>
  auto on(Execution execution, const LaunchInfo& info) const
      -> decltype(sort_keys(execution, info, this->keys, this->count, this->less)) {
    sort_keys(execution, info, keys, count, less);
  }
};

template <class K, class V, class Less>
struct SortPairsWork {
  using key_type = typename K::value_type;
  using value_type = typename V::value_type;
  static constexpr bool waits = false;
  K keys_view;
  V values_view;
  key_type* keys;
  value_type* values;
  index_t count;
  Less less;

  void operator()(const Runner& runner) const {
    sort_pairs_on_host<typename K::memory_space, typename V::memory_space>(runner, keys, values, count, less);
  }
  template <class Execution>
  auto on(Execution execution, const LaunchInfo& info) const
      -> decltype(sort_pairs(execution, info, this->keys, this->values, this->count, this->less)) {
    sort_pairs(execution, info, keys, values, count, less);
  }
};

template <class K, class Less>
constexpr bool check_less() {
  using T = typename K::value_type;
  if constexpr (std::is_same_v<Less, Ascending> || std::is_same_v<Less, Descending>) {
    constexpr bool comparable = requires(const T& a, const T& b) { static_cast<bool>(a < b); };
    static_assert(
        comparable,
        "strata: sort: the elements have no operator<: give an order, a functor bool less(const T&, "
        "const T&) const");
    return comparable;
  } else {
    constexpr bool callable = std::is_invocable_r_v<bool, const Less&, const T&, const T&>;
    static_assert(
        callable,
        "strata: sort: the order cannot be called as less(const T&, const T&) const and give a bool");
    return callable;
  }
}

template <class Where, AnyView K, class Less = Ascending>
void launch_sort(const char* label, const Where& where, const K& keys, const Less& less = {}) {
  if constexpr (check_sorted_view<K>() && check_less<K, Less>()) {
    require_rank_one("sort", keys);
    if (!has_contiguous_elements(keys)) {
      const auto packed = packed_like(label, where, keys);
      for_anywhere(label, where, keys.extent(0), with(Pack{}, keys, packed));
      launch_sort(label, where, packed, less);
      for_anywhere(label, where, keys.extent(0), with(Unpack{}, keys, packed));
      return;
    }
    auto* const data = contiguous_elements("sort", keys);
    const index_t count = keys.extent(0);
    launch_work<K, Less>(label, where, count, [&] { return SortWork<K, Less>{keys, data, count, less}; });
  }
}

template <class Where, AnyView K, AnyView V, class Less = Ascending>
void launch_sort_by_key(const char* label, const Where& where, const K& keys, const V& values,
                        const Less& less = {}) {
  using D = typename DeviceFor<Where, K>::type;
  static_assert(SameMemoryFor<D, typename V::device_type>::value);
  if constexpr (check_sorted_view<K>() && check_sorted_view<V>() && check_less<K, Less>()) {
    require_rank_one("sort_by_key", keys);
    require_rank_one("sort_by_key", values);
    require_same_indices("sort_by_key", keys, values);
    require_apart("sort_by_key", keys, values);
    if (!has_contiguous_elements(keys) || !has_contiguous_elements(values)) {
      const auto packed_keys = packed_like(label, where, keys);
      const auto packed_values = packed_like(label, where, values);
      for_anywhere(label, where, keys.extent(0), with(Pack{}, keys, packed_keys));
      for_anywhere(label, where, keys.extent(0), with(Pack{}, values, packed_values));
      launch_sort_by_key(label, where, packed_keys, packed_values, less);
      for_anywhere(label, where, keys.extent(0), with(Unpack{}, keys, packed_keys));
      for_anywhere(label, where, keys.extent(0), with(Unpack{}, values, packed_values));
      return;
    }
    auto* const key_data = contiguous_elements("sort_by_key", keys);
    auto* const value_data = contiguous_elements("sort_by_key", values);
    const index_t count = keys.extent(0);
    launch_work<K, Less>(label, where, count, [&] {
      return SortPairsWork<K, V, Less>{keys, values, key_data, value_data, count, less};
    });
  }
}

}  // namespace detail

/// sort([on(...),] keys[, less]). Sorts the elements of a view of rank 1 in the order of `less`. The head of
/// this file says where, how, and what it throws.
template <detail::OnOrView First, class... Rest>
void sort(const First& first, const Rest&... rest) {
  if constexpr (detail::is_on_v<First>) detail::launch_sort(detail::label_of(first, "sort"), first, rest...);
  else detail::launch_sort("sort", detail::Anywhere{}, first, rest...);
}

/// sort_by_key([on(...),] keys, values[, less]). ShapeMismatch where the indices of keys and values differ,
/// LayoutError where they share memory.
template <detail::OnOrView First, AnyView Second, class... Rest>
void sort_by_key(const First& first, const Second& second, const Rest&... rest) {
  if constexpr (detail::is_on_v<First>)
    detail::launch_sort_by_key(detail::label_of(first, "sort_by_key"), first, second, rest...);
  else detail::launch_sort_by_key("sort_by_key", detail::Anywhere{}, first, second, rest...);
}

}  // namespace strata::inline STRATA_ABI
