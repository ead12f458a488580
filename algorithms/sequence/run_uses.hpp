// The uses of a run of the loops of a sequence, as one call. Pure logic: no memory is touched.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include <strata/core/access_mode.hpp>
#include <strata/core/box.hpp>

namespace strata::inline STRATA_ABI::detail::sequences {

/// A part of an array and how it is used.
struct SequenceUse {
  int array;  // its number
  AccessMode mode;
  std::vector<Box> region;  // boxes that share no index, none empty
};

/// The uses of loops that run one after the other, together, one array after the other. A part that is
/// written (out) before it is read is Out; one that is read first and written at any time is InOut; the rest
/// is In. Of an array `a` with `temporary[a]` all is Out.
std::vector<SequenceUse> uses_of_run(const std::vector<const std::vector<SequenceUse>*>& loops,
                                     const std::vector<bool>& temporary);

/// The number of a temporary array of which a loop reads (in, inout) elements that no loop before it has
/// written, or -1.
int temporary_read_first(const std::vector<const std::vector<SequenceUse>*>& loops,
                         const std::vector<bool>& temporary);

}  // namespace strata::inline STRATA_ABI::detail::sequences
