// MeshRegions: which rows of nodes a part of the elements touches, and the other way round, as loops declare
// it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include <strata/miniapps/fem/mesh_order.hpp>
#include <strata/views/coherent/access_region.hpp>

namespace strata::inline STRATA_ABI::dynamics {

class MeshRegions {
 public:
  /// What rows() takes: one type for all functions, so that what is compiled for each type of access is
  /// compiled once.
  struct RowsBy {
    const MeshRegions* regions;
    ResidentRows (MeshRegions::*of)(ResidentRows) const;
    ResidentRows operator()(ResidentRows items) const { return (regions->*of)(items); }
  };

  /// Of a device that holds all rows.
  MeshRegions(index_t nodes, index_t elements) : nodes_(nodes), elements_(elements) {}
  /// Of parts: `offsets` are where the corners of each node begin.
  MeshRegions(index_t nodes, index_t elements, fem::MeshRanges&& ranges, std::vector<std::int32_t>&& offsets)
      : nodes_(nodes), elements_(elements), ranges_(std::move(ranges)), offsets_(std::move(offsets)) {}

  // Regions, of this object.

  /// The nodes of elements, the elements of nodes, and these as numbers of corners.
  Rows<RowsBy> nodes_of() const { return {{this, &MeshRegions::nodes}}; }
  Rows<RowsBy> elements_of() const { return {{this, &MeshRegions::elements}}; }
  Rows<RowsBy> corners_of() const { return {{this, &MeshRegions::corners}}; }

 private:
  ResidentRows nodes(ResidentRows elements) const {
    return ranges_ ? ranges_->nodes_of(elements) : ResidentRows{0, nodes_};
  }
  ResidentRows elements(ResidentRows nodes) const {
    return ranges_ ? ranges_->elements_of(nodes) : ResidentRows{0, elements_};
  }
  ResidentRows corners(ResidentRows nodes) const {
    if (!ranges_) return {0, 8 * elements_};
    return {offsets_[static_cast<std::size_t>(nodes.begin)], offsets_[static_cast<std::size_t>(nodes.end)]};
  }

  index_t nodes_, elements_;
  std::optional<fem::MeshRanges> ranges_;
  std::vector<std::int32_t> offsets_;
};

}  // namespace strata::inline STRATA_ABI::dynamics
