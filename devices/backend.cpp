#include <strata/devices/backend.hpp>

namespace strata::inline STRATA_ABI::detail {

std::uint64_t next_queue_id() {
  static std::uint64_t id = 0;
  return __atomic_add_fetch(&id, 1, __ATOMIC_RELAXED);
}

}  // namespace strata::inline STRATA_ABI::detail
