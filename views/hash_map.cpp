// SPDX-License-Identifier: Apache-2.0
#include <string>

#include <strata/core/error.hpp>
#include <strata/views/hash_map.hpp>

namespace strata::inline STRATA_ABI::detail {

void fail_hash_capacity(const char* label, index_t capacity) {
  throw ExtentError("HashMap \"" + std::string(label) + "\": asked for room for " + std::to_string(capacity) +
                    " keys; the number is between 0 and 2^60");
}

void fail_rehash(const char* label, index_t capacity, index_t keys) {
  throw ExtentError("HashMap \"" + std::string(label) + "\": rehash to room for " + std::to_string(capacity) +
                    " keys, but it has " + std::to_string(keys) + "; ask for more, or clear() it first");
}

void fail_null_map() {
  throw ExtentError("HashMap: rehash of a null map; make one by create<HashMap<...>>(label, capacity)");
}

}  // namespace strata::inline STRATA_ABI::detail
