// order_picture: the order of tasks over tiles, drawn as SVG: as perf_tests/report draws that of simulations.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <strata/miniapps/factorize/task_watch.hpp>

namespace strata::inline STRATA_ABI::factorize {

/// What the picture is of.
struct PictureOf {
  std::string title;
  int rows = 0, columns = 0;                                 ///< of tiles
  int steps = 0;                                             ///< k is less
  bool goes_back = false;                                    ///< the first step has the last k
  std::function<bool(int k, int m, int n)> is_updated = {};  ///< which tiles a step updates
  std::vector<std::string> devices = {};                     ///< their names
  double memory_tiles = 0;                                   ///< that a device has room for; 0: all
};

/// A panel for each of the first four steps k, or where several devices share the work for each of the first
/// four of them, at the first step: each tile has the colour of when its task ended among those of its
/// device, one for each thousand, from light to dark.
std::string order_picture(const PictureOf& of, const std::vector<TileTask>& order);

/// The order as JSON, in the format of strata-simulate --order.
std::string order_json(const std::string& workload, int tiles, const std::string& scheduler,
                       const std::vector<TileTask>& order);

}  // namespace strata::inline STRATA_ABI::factorize
