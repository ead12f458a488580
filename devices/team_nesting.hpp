// Tags that say over which threads a loop inside a team kernel is distributed, and for whom a value is
// computed once. They choose a member's function; every device's member has for_items, reduce_items,
// scan_items, single and broadcast for each tag.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/core/config.hpp>

namespace strata::inline STRATA_ABI::detail {

struct OverMembers {};          // every item is of one member, which works on it with all its lanes
struct OverLanes {};            // of one lane of the calling member
struct OverMembersAndLanes {};  // of one lane of one member

struct OneOfTeam {};
struct OneOfMember {};

}  // namespace strata::inline STRATA_ABI::detail
