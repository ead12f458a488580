// What is known of a kernel by the views that it reaches: how many items a thread of a GPU takes, whether
// it writes, whether it may be compiled for arrays that are separate.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <type_traits>

#include <strata/algorithms/bound_views.hpp>
#include <strata/algorithms/kernel_parameters.hpp>
#include <strata/devices/array_addresses.hpp>

namespace strata::inline STRATA_ABI::detail {

// Kernels of a few arrays of rank 1 probably stream: an item reads or writes one element of each. A
// thread of a GPU then processes as many items as have 16 bytes of an array in flight, like a wide load. (An
// item of arrays of more dimensions has enough loads of its own.)
template <class... V>
constexpr int items_in_flight_of() {
  constexpr std::size_t most_arrays = 4, wanted_bytes = 16, most_items = 8;
  if constexpr (sizeof...(V) > 0 && sizeof...(V) <= most_arrays &&
                ((V::extents_type::max_rank_value == 1) && ...)) {
    std::size_t items = most_items;
    ((items = items * sizeof(typename V::value_type) > wanted_bytes
                  ? wanted_bytes / sizeof(typename V::value_type)
                  : items),
     ...);
    return items == 0 ? 1 : static_cast<int>(items);
  } else {
    return 1;
  }
}

// A view of rank 1 of numbers of four bytes, whose elements are not in blocks.
template <class V>
inline constexpr bool is_narrow_line = requires(const typename V::mapping_type& mapping) {
  requires V::extents_type::max_rank_value == 1 && sizeof(typename V::value_type) == 4;
  mapping.stride(0);
};

// The numbers in a row of a view, where they are known at compile time and of four bytes; else 0.
template <class V>
constexpr index_t narrow_row_size() {
  using E = typename V::extents_type;
  constexpr bool narrow = is_read_by_value<typename V::value_type> && sizeof(typename V::value_type) == 4;
  return narrow && E::max_rank_value > 1 ? static_product<E>(1) : 0;
}
// Views whose rows, of an item each, have so many numbers of four bytes that their loads and stores fill a
// thread of a GPU, and no more than its registers hold beside what is computed. Larger numbers take the
// registers that there are anyway.
template <class... V>
constexpr bool have_wide_rows() {
  constexpr index_t fewest = 16, most = 64;
  index_t sum = 0;
  bool all = sizeof...(V) > 0;
  ((all = all && narrow_row_size<V>() >= fewest, sum += narrow_row_size<V>()), ...);
  return all && sum <= most;
}

// Whether a kernel writes elements of its views, as far as their types show: it may write those that are not
// const. Where all are so and none was declared to be read, the program probably declares nothing: then this
// is false.
template <class... V>
inline constexpr bool writes_views_of = (!std::is_const_v<typename V::element_type> || ...) &&
                                        ((std::is_const_v<typename V::element_type> || is_read_rows<V>) ||
                                         ...);

// What is known of a kernel that reaches arrays by these lines only, at least one.
template <class... V>
struct LineTraits {
  static constexpr int items_in_flight = items_in_flight_of<V...>();
  static constexpr bool writes_views = writes_views_of<V...>;
  static constexpr bool only_reads = ((std::is_const_v<typename V::element_type> || is_read_rows<V>)&&...);
  static constexpr std::size_t item_bytes = (sizeof(typename V::value_type) + ...);
  static constexpr bool have_addresses = sizeof...(V) > 1 && sizeof...(V) <= ArrayAddresses::most &&
                                         !checked_build;
  // Whether a loop, and a reduction, may be compiled for arrays that are separate, too. Of what is declared
  // to be read, elements are read ahead anyway.
  static constexpr bool may_be_separate = have_addresses && items_in_flight > 1;
  static constexpr bool may_reduce_separate = have_addresses && writes_views;
  // A scan: as far as registers hold what 16 items have, of all lines but the largest; one is only written.
  static constexpr bool may_scan_separate = [] {
    int all = 0, largest = 0;  // nvcc warns of sizes that are compared with 0
    ((all += noted_bytes<V>, largest = noted_bytes<V> > largest ? noted_bytes<V> : largest), ...);
    return have_addresses && all > largest && all - largest <= 8;
  }();
  // Streams of numbers of four bytes.
  static constexpr bool has_narrow_lines = items_in_flight == 4 && ((is_narrow_line<V>)&&...);
};
template <>
struct LineTraits<> {
  static constexpr int items_in_flight = 1;
  static constexpr std::size_t item_bytes = 0;  // not known
  static constexpr bool writes_views = false, only_reads = false, may_be_separate = false,
                        may_reduce_separate = false, may_scan_separate = false, has_narrow_lines = false;
};
template <class>
struct LineTraitsOf;
template <class... V>
struct LineTraitsOf<TypeList<V...>> : LineTraits<V...> {};

}  // namespace strata::inline STRATA_ABI::detail
