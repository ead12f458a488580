// What the tests of managed memory share: a machine with small pages and round times, arrays, and kernels
// that touch single elements.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "devices/emulated/fixture.hpp"

namespace emulated_testing {

constexpr index_t page = 4096;
constexpr index_t per_page = page / index_t(sizeof(int));

// Seconds, all exact: of a fault, of a page to an instance, to the host and between instances, and of a work
// item.
constexpr double fault = 0x1p-12, up = 0x1p-8, down = 0x1p-7, peer = 0x1p-9, item = 0x1p-10;

class ManagedTest : public EmulatedTest {
 protected:
  void SetUp() override {
    emulated::Config config = round_config();
    config.managed_page = page;
    config.fault_latency = fault;
    emulated::configure(config);
  }
};

inline detail::DeviceInstance& shared_memory(detail::SharedMemory kind, int instance = 0) {
  const char* reason = nullptr;
  return *Emulated{instance}.backend().shared_memory(kind, reason);
}

/// An array of int in memory that the host and kernels reach.
class SharedArray {
 public:
  explicit SharedArray(index_t count, detail::SharedMemory kind = detail::SharedMemory::Managed)
      : memory_(shared_memory(kind)),
        record_(memory_.allocate({std::size_t(count) * sizeof(int), "x", sizeof(int), nullptr})) {}

  volatile int& operator[](index_t i) const { return data()[i]; }
  int* data() const { return static_cast<int*>(record_.get()->data); }
  /// The address that kernels on the instance resolve.
  int* in(Emulated instance) const {
    return reinterpret_cast<int*>(
        instance.backend().address_in_kernels(reinterpret_cast<char*>(data()), record_.get()->space));
  }
  detail::PageMoves moves() const { return memory_.page_moves(data()); }
  detail::ManagedRange range(index_t first, index_t count, bool reads, bool writes,
                             bool shared = false) const {
    return {reinterpret_cast<char*>(data() + first), std::size_t(count) * sizeof(int), reads, writes, shared};
  }
  SpaceId space() const { return record_.get()->space; }
  detail::DeviceInstance& memory() const { return memory_; }

 private:
  detail::DeviceInstance& memory_;
  detail::AllocationRef record_;
};

inline SharedArray pages(index_t count) { return SharedArray(count * per_page); }

inline std::size_t prefetch(const Queue<Emulated>& queue, const detail::ManagedRange& range,
                            bool to_host = false) {
  return queue.state().prefetch(&range, 1, to_host);
}

/// The element that a kernel has at `x`; each access is made, and made there.
template <class T>
volatile T& element(T* x) {
  return *detail::emulated_resolve(x);
}

/// Item i adds to the element at i * stride.
struct AddEvery {
  int* x;
  index_t stride;
  int value = 1;
  void operator()(index_t i) const { element(x + i * stride) = element(x + i * stride) + value; }
};
/// Item i reads it, and adds it up.
struct SumEvery {
  const int* x;
  index_t stride;
  std::atomic<int>* sum;
  void operator()(index_t i) const { sum->fetch_add(element(x + i * stride)); }
};

inline int sum_every(const Queue<Emulated>& queue, const int* x, index_t stride, index_t count) {
  std::atomic<int> sum{0};
  parallel_for("sum", on(queue), count, SumEvery{x, stride, &sum});
  queue.wait();
  return sum;
}

#define EXPECT_MOVES(array, fault_count, pages_to_devices, pages_to_host)              \
  do {                                                                                 \
    const ::strata::detail::PageMoves now_ = (array).moves();                          \
    EXPECT_TRUE(now_.is_known);                                                        \
    EXPECT_EQ(now_.faults, std::uint64_t(fault_count));                                \
    EXPECT_EQ(now_.to_devices, std::uint64_t(pages_to_devices) * std::uint64_t(page)); \
    EXPECT_EQ(now_.to_host, std::uint64_t(pages_to_host) * std::uint64_t(page));       \
  } while (false)

}  // namespace emulated_testing
