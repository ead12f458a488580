// LaneIndex: a work index split into a block and a lane, so that compilers vectorise across work items.
//
// Hosts vectorise a loop over the lanes of one block. An integer index would hide from the compiler that
// lanes of a tiled array are neighbours: `i / W` and `i % W` defeat it. Given the pair instead, a tiled
// layout adds the lane to an address that is the same for the whole block. Elsewhere the pair converts to the
// integer.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <type_traits>

#if defined(__GLIBCXX__) && __has_include(<bits/cpp_type_traits.h>)
#include <bits/cpp_type_traits.h>
#endif

#include <strata/core/config.hpp>

namespace strata::inline STRATA_ABI {

/// The work index `block * Lanes + lane`, 0 <= lane < Lanes; `Lanes` is a power of two.
template <int Lanes>
struct LaneIndex {
  static_assert(Lanes > 0 && (Lanes & (Lanes - 1)) == 0, "strata: the number of lanes is a power of two");
  /// The lanes of a block; item number block * lanes + lane.
  static constexpr int lanes = Lanes;

  /// The number of the block, and the lane within it.
  index_t block;
  int lane;

  /// The index as a number.
  STRATA_FUNCTION constexpr operator index_t() const { return block * Lanes + lane; }
  /// The same item in blocks of fewer lanes.
  template <int Fewer>
  requires(Fewer < Lanes) STRATA_FUNCTION constexpr operator LaneIndex<Fewer>() const {
    return {block * (Lanes / Fewer) + lane / Fewer, lane % Fewer};
  }
};

/// Whether it is a LaneIndex<N>.
template <class>
inline constexpr bool is_lane_index_v = false;
template <int Lanes>
inline constexpr bool is_lane_index_v<LaneIndex<Lanes>> = true;

/// The types that may index an array: integers, enumerations and lane indices.
template <class I>
concept IndexLike = std::is_convertible_v<I, index_t> && !std::is_floating_point_v<std::remove_cvref_t<I>>;

}  // namespace strata::inline STRATA_ABI

// std::sin(i), std::sqrt(i), std::pow(x, i) and the like accept integers. This specialisation makes them
// treat a lane index as an integer, so that a kernel is written alike for any index. libstdc++ (5 to 15) asks
// a template of its own, for which the standard has no substitute; elsewhere such a call is ambiguous: write
// double(i).
#if defined(__GLIBCXX__) && __has_include(<bits/cpp_type_traits.h>)
namespace std {
_GLIBCXX_BEGIN_NAMESPACE_VERSION
template <int Lanes>
struct __is_integer<strata::LaneIndex<Lanes>> : __is_integer<strata::index_t> {};
_GLIBCXX_END_NAMESPACE_VERSION
}  // namespace std
#endif
