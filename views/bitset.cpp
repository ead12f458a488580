// SPDX-License-Identifier: Apache-2.0
#include <string>

#include <strata/core/error.hpp>
#include <strata/views/bitset.hpp>

namespace strata::inline STRATA_ABI::detail {

void fail_bitset_size(const char* label, index_t size) {
  throw ExtentError("Bitset \"" + std::string(label) + "\": asked for " + std::to_string(size) +
                    " bits; the number is not negative");
}

}  // namespace strata::inline STRATA_ABI::detail
