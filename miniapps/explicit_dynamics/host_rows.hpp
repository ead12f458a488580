// Arrays of a device as plain vectors on the host, in the order of their indices, and back. All wait.
#pragma once

#include <vector>

#include <strata/core/layout_right.hpp>
#include <strata/devices/serial/device.hpp>
#include <strata/miniapps/explicit_dynamics/simulation_errors.hpp>
#include <strata/views/deep_copy.hpp>

namespace strata::inline STRATA_ABI::dynamics {

template <class Array>
using HostRows = View<typename Array::value_type, Serial, typename Array::extents_type, LayoutRight>;

template <class Array>
std::vector<typename Array::value_type> host_values(const Array& array) {
  std::vector<typename Array::value_type> values(static_cast<std::size_t>(array.size()));
  if (!values.empty()) deep_copy(HostRows<Array>(values.data(), array.extent(0)), array);
  return values;
}

/// `values` are as many as the array has.
template <class Array>
void set_rows(const Array& array, std::vector<typename Array::value_type>& values) {
  if (!values.empty()) deep_copy(array, HostRows<Array>(values.data(), array.extent(0)));
}

template <class Array>
std::vector<double> download(const Array& array) {
  const auto values = host_values(array);
  return {values.begin(), values.end()};
}

/// Error when there are too many or too few.
template <class Array>
void upload(const Array& array, const std::vector<double>& values) {
  const auto size = static_cast<std::size_t>(array.size());
  if (values.size() != size) fail_size("set: numbers", values.size(), size);
  std::vector<typename Array::value_type> typed(size);
  for (std::size_t k = 0; k < size; ++k) typed[k] = static_cast<typename Array::value_type>(values[k]);
  set_rows(array, typed);
}

}  // namespace strata::inline STRATA_ABI::dynamics
