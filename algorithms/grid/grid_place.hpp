// The place of launches whose parts are boxes: grid.hpp.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <vector>

#include <strata/algorithms/coherent_launch.hpp>
#include <strata/algorithms/grid/grid_parts.hpp>

namespace strata::inline STRATA_ABI {

/// Devices whose parts are boxes, cut in `Cuts` dimensions; made by across(...).grid(...).
template <int Cuts, class... D>
struct GridAcross {
  Across<D...> devices;                                                ///< the last index counts fastest
  std::array<std::size_t, Cuts> shape;                                 ///< the parts along each index
  std::vector<std::vector<double>> weights = decltype(weights)(Cuts);  ///< of those; empty: equal

  /// So many parts along each index. Error unless there is a device for each part.
  static GridAcross of(const Across<D...>& devices, const std::array<index_t, Cuts>& parts) {
    detail::check_grid(parts, devices.places.size(), !devices.weights.empty(), devices.balance != nullptr);
    GridAcross grid{devices, {}};
    for (std::size_t d = 0; d < parts.size(); ++d) grid.shape[d] = static_cast<std::size_t>(parts[d]);
    return grid;
  }
  /// With a label for the launches there, as across(...).named has it.
  GridAcross named(const char* text) const {
    GridAcross result = *this;
    result.devices = devices.named(text);
    return result;
  }
  /// With parts of these sizes along each index: {{1, 1}, {2, 1, 1}}. Error unless there is one for each
  /// part, none negative and not all along an index zero.
  GridAcross weighted(std::vector<std::vector<double>> sizes) const {
    detail::check_grid_weights(shape, sizes);
    GridAcross result = *this;
    result.weights = static_cast<std::vector<std::vector<double>>&&>(sizes);
    return result;
  }
  /// Does not compile, as the speed of a device does not say where to cut a grid.
  template <class B>
  GridAcross adaptive(B&) const {
    static_assert(
        detail::never<B>,
        "strata: across(...).grid(...): the speed of a device does not say where to cut a grid: you "
        "wrote adaptive(balance); write weighted({{...}, {...}}), or across(...).adaptive(balance) "
        "without grid");
    return *this;
  }
  /// Does not compile, as parts that are claimed are runs of rows.
  template <class... Options>
  GridAcross dynamic(const Options&...) const {
    static_assert(detail::never<GridAcross, Options...>,
                  "strata: across(...).grid(...): parts that are claimed are runs of rows: you wrote "
                  "dynamic(); write across(...).dynamic() without grid");
    return *this;
  }
};

namespace detail {

template <int Cuts, class... D>
inline constexpr bool is_grid<GridAcross<Cuts, D...>> = true;

template <int Cuts, class... D>
struct PlaceTraits<GridAcross<Cuts, D...>> {
  using Devices = PlaceTraits<Across<D...>>;
  static constexpr bool is_streamed = false;
  static constexpr bool is_one_part = false;
  static constexpr LaunchWay way = LaunchWay::Grid;
  static constexpr int cuts = Cuts;
  static const char* label(const GridAcross<Cuts, D...>& where) { return where.devices.label; }
  static std::size_t count(const GridAcross<Cuts, D...>& where) { return Devices::count(where.devices); }
  template <class F>
  static decltype(auto) visit(const GridAcross<Cuts, D...>& where, std::size_t k, const F& f) {
    return Devices::visit(where.devices, k, f);
  }
};
template <int Cuts, class... D>
struct CompileAt<GridAcross<Cuts, D...>> : CompileAt<Across<D...>> {};

template <int Cuts, class... D>
GridShape shape_of(const GridAcross<Cuts, D...>& where) {
  GridShape shape{{}, Cuts, where.weights, hosts_of(where)};
  std::copy(where.shape.begin(), where.shape.end(), shape.count.begin());
  return shape;
}

}  // namespace detail
}  // namespace strata::inline STRATA_ABI
