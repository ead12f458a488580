// What a run of the loops of a sequence uses of its arrays, as one call: pure logic, that touches no memory.
#pragma once

#include <vector>

#include <strata/core/access_mode.hpp>
#include <strata/core/box.hpp>

namespace strata::inline STRATA_ABI::detail {

/// A part of an array and how it is used.
struct SequenceUse {
  int array;  // its number
  AccessMode mode;
  std::vector<Box> region;  // boxes that share no index, none empty
};

/// Of loops that are done one after the other, each of which declares some uses: what they use together, one
/// array after the other. What is written (out) before it is read is Out; what is read before and written at
/// any time is InOut; the rest is In. Of an array that is `temporary[a]` all is Out.
std::vector<SequenceUse> uses_of_run(const std::vector<const std::vector<SequenceUse>*>& loops,
                                     const std::vector<bool>& temporary);

/// The number of a temporary array that a loop reads (or reads and writes) before all that it reads was
/// written by one before it; -1 where there is none.
int temporary_read_first(const std::vector<const std::vector<SequenceUse>*>& loops,
                         const std::vector<bool>& temporary);

}  // namespace strata::inline STRATA_ABI::detail
