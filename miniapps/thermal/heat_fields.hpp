// HeatFields: the numbers that a heat problem has for each node. They are on the device whatever the size of
// the mesh, in the mesh's own order of nodes, so that sums over them are the same wherever the rest is.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <vector>

#include <strata/devices/serial/device.hpp>
#include <strata/miniapps/fem/arrays.hpp>
#include <strata/miniapps/thermal/element_system.hpp>
#include <strata/miniapps/thermal/parameters.hpp>
#include <strata/views/deep_copy.hpp>
#include <strata/views/mirror.hpp>

namespace strata::inline STRATA_ABI::thermal {

/// A number of T for each node.
template <class Device, class T>
using NodeField = typename fem::PlainArrays<Device>::template node_array<T, rank<1>>;
/// The number of the condition that gives a node's temperature, or free_node.
template <class Device>
using NodeConditions = NodeField<Device, std::int32_t>;
/// Numbers of a material (element_system.hpp), for each block.
template <class Device, class T>
using MaterialTable = typename fem::PlainArrays<Device>::template node_array<T, material_columns>;

template <class Device, class T>
struct HeatFields {
  using Field = NodeField<Device, T>;

  Field temperature;                  // the state, and the solution
  Field change;                       // since the begin of the time step
  Field before, change_before;        // the last Newton step, where steps may be taken back
  Field given;                        // temperatures, where
  NodeConditions<Device> conditions;  // names a condition
  Field lift;          // goes in: what convection adds to the diagonal; comes out: what given temperatures
                       // contribute to free rows
  Field b, y;          // the system's right-hand side and solution
  Field inflow, film;  // heat in through faces at temperature 0, and less for each degree

  /// How many fields of T a problem has.
  static int field_count(const Problem& problem) {
    return 6 + (problem.beta != 0 ? 2 : 0) + (problem.has_inflows ? 2 : 0);
  }
};

/// Writes materials to a table in host memory.
template <class Table>
void set_materials(const Table& table, const std::vector<Material>& materials) {
  using T = typename Table::value_type;
  for (std::size_t b = 0; b < materials.size(); ++b) {
    table(b, conductivity_column) = static_cast<T>(materials[b].conductivity);
    table(b, capacity_column) = static_cast<T>(materials[b].capacity);
    table(b, source_column) = static_cast<T>(materials[b].source);
  }
}
/// The materials as a table on the device.
template <class Table>
Table make_material_table(const std::vector<Material>& materials, const typename Table::device_type& device) {
  const Table table = create<Table>("materials", static_cast<index_t>(materials.size()), on(device));
  const auto host = create_mirror(table);
  set_materials(host, materials);
  deep_copy(table, host);
  return table;
}

/// The numbers of an array of rank 1, on the host.
template <class To = double, class Array>
std::vector<To> numbers_on_host(const Array& array) {
  using Number = std::remove_const_t<typename Array::value_type>;
  using Target = View<Number, Serial, typename Array::extents_type, LayoutRight>;
  std::vector<Number> list(static_cast<std::size_t>(array.extent(0)));
  if (!list.empty()) deep_copy(Target(list.data(), array.extent(0)), array);
  return {list.begin(), list.end()};
}

/// Does the work, waits for the queue, and adds the seconds.
template <class Queue, class Work>
void timed(const Queue& queue, double& seconds, const Work& work) {
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  work();
  queue.wait();
  seconds += std::chrono::duration<double>(Clock::now() - start).count();
}

}  // namespace strata::inline STRATA_ABI::thermal
