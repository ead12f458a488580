// order_picture: the order of tasks over tiles, drawn as SVG: as perf_tests/report draws that of simulations.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include <strata/miniapps/factorize/task_watch.hpp>

namespace strata::inline STRATA_ABI::factorize {

/// What the picture is of.
struct PictureOf {
  std::string title;
  int tiles = 0;                          ///< of a side
  bool is_lower = false;                  ///< only tiles on and below the diagonal are updated
  bool shrinks = false;                   ///< step k updates tiles from row and column k on only
  std::vector<std::string> devices = {};  ///< their names
  double memory_tiles = 0;                ///< that a device has room for; 0: all
};

/// A panel for each of the first four steps k, or where several devices share the work for each of the first
/// four of them, at the first step: each tile has the colour of when its task ended among those of its
/// device, one for each thousand, from light to dark.
std::string order_picture(const PictureOf& of, const std::vector<TileTask>& order);

/// The order as JSON, in the format of strata-simulate --order.
std::string order_json(const std::string& workload, int tiles, const std::string& scheduler,
                       const std::vector<TileTask>& order);

}  // namespace strata::inline STRATA_ABI::factorize
