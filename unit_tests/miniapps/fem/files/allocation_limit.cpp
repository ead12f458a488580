#include "miniapps/fem/files/allocation_limit.hpp"

#include <atomic>
#include <cstdlib>
#include <new>

namespace {

std::atomic<std::size_t> limit{0};
std::atomic<std::size_t> refused{0};

}  // namespace

namespace fem_files_testing {

void limit_allocations(std::size_t bytes) { limit = bytes; }
std::size_t refused_allocation() { return refused; }

}  // namespace fem_files_testing

void* operator new(std::size_t size) {
  if (limit != 0 && size > limit) {
    refused = size;
    throw std::bad_alloc();
  }
  void* memory = std::malloc(size == 0 ? 1 : size);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
