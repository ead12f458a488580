// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>
#include <string>

#include <sys/mman.h>

#include <strata/algorithms/elements.hpp>
#include <strata/core/bytes.hpp>
#include <strata/core/copy_plan.hpp>
#include <strata/core/error.hpp>

namespace strata::inline STRATA_ABI::detail {

namespace {

constexpr std::size_t cache_line = 64;
constexpr std::size_t huge_page = std::size_t{2} << 20;

std::string quoted(const char* label) {
  return label != nullptr && *label != 0 ? "\"" + std::string(label) + "\"" : "an unlabelled array";
}

}  // namespace

bool interleave(const LayoutDescriptor& a, const void* a_data, const LayoutDescriptor& b, const void* b_data,
                std::size_t element_bytes) {
  if (a.offset != nullptr || b.offset != nullptr || a.extent[0] != b.extent[0]) return false;
  const auto distance = static_cast<index_t>(reinterpret_cast<std::uintptr_t>(a_data) -
                                             reinterpret_cast<std::uintptr_t>(b_data));
  return !sides_overlap(plan_copy(a, b, element_bytes), distance);
}

void fail_overlap(const char* what, const char* from, const char* to, const char* device, index_t elements) {
  throw LayoutError(std::string(what) + ": the source " + quoted(from) + " and the target " + quoted(to) +
                    " of " + std::to_string(elements) + " elements on " + device +
                    " share memory; give a target of its own");
}

void* take_work_buffer(std::size_t bytes, const char* what) {
  const std::size_t alignment = bytes >= huge_page ? huge_page : cache_line;
  const std::size_t rounded = (bytes + alignment - 1) / alignment * alignment;
  void* const buffer = rounded < bytes ? nullptr : std::aligned_alloc(alignment, rounded);
  if (buffer == nullptr)
    throw OutOfMemory(std::string(what) + ": the system has no " +
                      string_from_bytes(static_cast<index_t>(bytes)) + " of host memory for a buffer");
#if defined(MADV_HUGEPAGE)
  if (alignment == huge_page) madvise(buffer, rounded, MADV_HUGEPAGE);  // a wish: failure costs speed only
#endif
  return buffer;
}

void give_work_buffer(void* buffer) noexcept { std::free(buffer); }

}  // namespace strata::inline STRATA_ABI::detail
