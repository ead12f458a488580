// The values of fields as plain vectors on the host, in the order of the mesh, and back. All wait.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include <strata/miniapps/common/memory.hpp>
#include <strata/miniapps/explicit_dynamics/simulation_errors.hpp>
#include <strata/views/coherent/coherent_array.hpp>

namespace strata::inline STRATA_ABI::dynamics {

/// Where nodes or elements are stored, by their numbers in the mesh; empty: in the order of the mesh.
using Places = std::vector<std::int32_t>;

inline index_t place_of(const Places& places, index_t number) {
  return places.empty() ? number : places[static_cast<std::size_t>(number)];
}

/// Calls call(k, index...) for the entries of an array, k counting them in the order of the mesh.
template <class A, class F>
void for_entries(const A& array, const Places& places, const F& call) {
  std::size_t k = 0;
  for (index_t i = 0; i < array.extent(0); ++i) {
    const index_t row = place_of(places, i);
    if constexpr (A::rank == 1) {
      call(k++, row);
    } else if constexpr (A::rank == 2) {
      for (index_t j = 0; j < array.extent(1); ++j) call(k++, row, j);
    } else {
      for (index_t j = 0; j < array.extent(1); ++j)
        for (index_t l = 0; l < array.extent(2); ++l) call(k++, row, j, l);
    }
  }
}
template <class V, class A>
std::vector<V> values_of(const A& array, const Places& places) {
  std::vector<V> values(static_cast<std::size_t>(array.size()));
  miniapp::to_host(array);
  const auto view = array.read();
  for_entries(array, places,
              [&](std::size_t k, auto... index) { values[k] = static_cast<V>(view(index...)); });
  return values;
}
/// Error where there are too many or too few.
template <class A, class V>
void set_values(const A& array, const Places& places, const std::vector<V>& values) {
  const auto size = static_cast<std::size_t>(array.size());
  if (values.size() != size) fail_size("set: numbers", values.size(), size);
  const auto view = array.write();
  for_entries(array, places, [&](std::size_t k, auto... index) {
    view(index...) = static_cast<typename A::value_type>(values[k]);
  });
}
/// The array in the order of the mesh, which sums are made in.
template <class A>
A in_order(const A& array, const Places& places) {
  if (places.empty()) return array;
  A result;
  if constexpr (A::rank == 1) result = A(array.label(), array.extent(0), uninitialized, MemoryMode::Smart);
  else result = A(array.label(), array.extent(0), array.extent(1), uninitialized, MemoryMode::Smart);
  const auto from = array.read();
  const auto to = result.write();
  for (index_t i = 0; i < array.extent(0); ++i) {
    const index_t row = place_of(places, i);
    if constexpr (A::rank == 1) to(i) = from(row);
    else
      for (index_t j = 0; j < array.extent(1); ++j) to(i, j) = from(row, j);
  }
  return result;
}

}  // namespace strata::inline STRATA_ABI::dynamics
