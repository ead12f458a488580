// SPDX-License-Identifier: Apache-2.0
#include "common/ceiling.hpp"

#include <new>

#include <sys/mman.h>

namespace perf {

void* allocate_plain(std::size_t bytes) {
  constexpr std::size_t huge_page = std::size_t{2} << 20;
  const std::size_t whole = (bytes + huge_page - 1) / huge_page * huge_page;
  void* const data = ::operator new(whole, std::align_val_t(huge_page));
#if defined(MADV_HUGEPAGE)
  if (bytes >= huge_page) madvise(data, whole, MADV_HUGEPAGE);
#endif
  return data;
}

}  // namespace perf
