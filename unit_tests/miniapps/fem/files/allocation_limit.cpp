// SPDX-License-Identifier: Apache-2.0
#include "miniapps/fem/files/allocation_limit.hpp"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <new>

#include <malloc.h>

namespace {

std::atomic<std::size_t> refused{0};
std::atomic<std::ptrdiff_t> memory_limit{0};
std::atomic<std::ptrdiff_t> in_use{0};  // less than nothing where what was there before is freed
std::atomic<std::ptrdiff_t> peak{0};

std::ptrdiff_t size_of(void* memory) { return static_cast<std::ptrdiff_t>(malloc_usable_size(memory)); }

}  // namespace

namespace fem_files_testing {

std::size_t refused_allocation() { return refused; }

void limit_memory(std::size_t bytes) {
  in_use = 0;
  if (bytes != 0) peak = 0;
  memory_limit = static_cast<std::ptrdiff_t>(bytes);
}
std::size_t peak_memory() { return static_cast<std::size_t>(peak.load()); }

}  // namespace fem_files_testing

void* operator new(std::size_t size) {
  const std::ptrdiff_t most = memory_limit;
  const std::ptrdiff_t then = in_use + static_cast<std::ptrdiff_t>(size);
  if (most != 0 && then > most) {
    refused = size;
    throw std::bad_alloc();
  }
  void* memory = std::malloc(size == 0 ? 1 : size);
  if (memory == nullptr) throw std::bad_alloc();
  if (most != 0) {
    in_use += size_of(memory);
    peak = std::max(peak.load(), in_use.load());
  }
  return memory;
}
void operator delete(void* memory) noexcept {
  if (memory_limit != 0 && memory != nullptr) in_use -= size_of(memory);
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept { operator delete(memory); }
