// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include <strata/miniapps/fem/host_mesh.hpp>

namespace strata::inline STRATA_ABI::fem {

SideSet sorted(const SideSet& set) {
  std::vector<std::pair<std::int32_t, std::int8_t>> sides;
  for (std::size_t k = 0; k < set.elements.size(); ++k) sides.emplace_back(set.elements[k], set.faces[k]);
  std::sort(sides.begin(), sides.end());
  sides.erase(std::unique(sides.begin(), sides.end()), sides.end());
  SideSet result{set.id, set.name, {}, {}};
  for (const auto& [element, face] : sides) {
    result.elements.push_back(element);
    result.faces.push_back(face);
  }
  return result;
}

}  // namespace strata::inline STRATA_ABI::fem
