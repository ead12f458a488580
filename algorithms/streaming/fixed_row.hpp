// fixed_row: an access whose kernel sees all extents but the first at compile time.
//
//   CoherentArray<double, rank<3>> force("force", elements, 3, 8);
//   steps.loop("elements", elements, kernel, fixed_row<3, 8>(out(force)));   // Extents<dynamic, 3, 8>
//
// A coherent array's extents are known at run time; kernels that index a row by constants are faster where
// the compiler knows them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/algorithms/coherent_access.hpp>
#include <strata/core/error.hpp>

namespace strata::inline STRATA_ABI {

namespace detail {

[[noreturn]] void fail_fixed_row(const char* label, int dimension, index_t extent, index_t given);

// A coherent array whose views have the extents N after the first one.
template <class Array, index_t... N>
class FixedRowArray : public Array {
  static_assert(Array::rank == 1 + sizeof...(N),
                "strata: fixed_row<...> gives all extents of the array but the first");

 public:
  using extents_type = Extents<dynamic, N...>;
  using mapping_type = typename Array::layout_type::template mapping<extents_type>;
  template <class U, class D, class Access = DefaultAccess>
  using view_type = View<U, D, extents_type, typename Array::layout_type, Unmanaged<Access>>;

  explicit FixedRowArray(const Array& array)
      : Array(array), mapping_(checked_extents(array, std::make_integer_sequence<int, sizeof...(N)>())) {}
  const mapping_type& mapping() const { return mapping_; }

 private:
  template <int... R>
  static extents_type checked_extents(const Array& array, std::integer_sequence<int, R...>) {
    if (!array) return extents_type(index_t{0});
    const auto check = [&](int dimension, index_t given) {
      if (array.extent(dimension) != given)
        fail_fixed_row(array.label(), dimension, array.extent(dimension), given);
    };
    (check(R + 1, N), ...);
    return extents_type(array.extent(0));
  }

  mapping_type mapping_;
};

}  // namespace detail

/// The same access with views of Extents<dynamic, N...>. Throws ShapeMismatch where the array has other
/// extents.
template <index_t... N, AccessMode Mode, class Array, class Region>
CoherentAccess<Mode, detail::FixedRowArray<Array, N...>, Region> fixed_row(
    const CoherentAccess<Mode, Array, Region>& access) {
  return {detail::FixedRowArray<Array, N...>(access.array), access.region, access.by_default};
}
/// This one does not compile: the array would not be resident any more.
template <index_t... N, class Access>
void fixed_row(const detail::ResidentAccess<Access>&) {
  static_assert(detail::never<Access>,
                "strata: fixed_row of a resident array: write resident(fixed_row<...>(in(x)))");
}

}  // namespace strata::inline STRATA_ABI
