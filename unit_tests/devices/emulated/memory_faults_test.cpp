// The memory of `Emulated`: what every wrong access says. Death tests run their statement in a copy of the
// process.
// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>

#include <strata/devices/emulated/access.hpp>
#include <strata/devices/emulated/allocation_list.hpp>
#include <strata/devices/emulated/fault_handler.hpp>
#include <strata/devices/emulated/memory.hpp>

#include "devices/emulated/addresses.hpp"

namespace {

using namespace strata;
using namespace strata::detail;
using namespace emulated_testing;

class EmulatedFault : public testing::Test {
 protected:
  // A process of its own, which may start threads: sanitizers lose count of those of a forked one.
  EmulatedFault() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }

  double* labelled(int instance, std::size_t elements, const char* label) {
    void* block = memory.allocate(instance, elements * sizeof(double));
    register_allocation(block, elements * sizeof(double), label, {.element_bytes = sizeof(double)});
    return static_cast<double*>(block);
  }

  EmulatedMemory memory{8 * mebi, 3};
};
using EmulatedFaultDeathTest = EmulatedFault;

TEST_F(EmulatedFaultDeathTest, HostReadNamesLabelElementAndInstance) {
  double* x = labelled(1, 100, "x");

  EXPECT_DEATH(
      read(x + 12),
      "strata: wrong memory space: a host thread accessed element 12 \\(byte offset 96\\) of \"x\" on "
      "Emulated\\{1\\}; copy it to a host mirror with deep_copy, or run the access in a kernel on "
      "Emulated\\{1\\}\n");
}

TEST_F(EmulatedFaultDeathTest, HostWriteFromAnyThreadIsExplained) {
  double* x = labelled(2, 100, "x");

  EXPECT_DEATH(std::thread([x] { *const_cast<volatile double*>(x) = 1; }).join(),
               "a host thread accessed element 0 \\(byte offset 0\\) of \"x\" on Emulated\\{2\\}");
}

TEST_F(EmulatedFaultDeathTest, KernelOnAnotherInstanceNamesBoth) {
  double* x = labelled(1, 100, "x");
  double* y = labelled(0, 100, "y");
  const auto run = [this](int instance, double* view) {
    const EmulatedWorkerScope scope(memory, instance);
    read(view);
  };

  EXPECT_DEATH(
      run(0, x + 3),
      "strata: wrong memory space: a kernel on Emulated\\{0\\} accessed element 3 \\(byte offset 24\\) of "
      "\"x\" on Emulated\\{1\\}; deep_copy it to Emulated\\{0\\}, or run the kernel on Emulated\\{1\\}\n");
  EXPECT_DEATH(run(2, x), "a kernel on Emulated\\{2\\} accessed element 0 .* of \"x\" on Emulated\\{1\\}");
  EXPECT_DEATH(run(1, y + 99),
               "a kernel on Emulated\\{1\\} accessed element 99 .* of \"y\" on Emulated\\{0\\}");
}

TEST_F(EmulatedFaultDeathTest, KernelThatBypassesTheViewIsTold) {
  double* x = labelled(1, 100, "x");
  const auto run = [&] {
    const EmulatedWorkerScope scope(memory, 1);
    *const_cast<volatile double*>(x) = 0;
  };

  EXPECT_DEATH(run(),
               "a kernel on Emulated\\{1\\} accessed element 0 .* of \"x\" on Emulated\\{1\\} through a raw "
               "address; access it through its view\n");
}

TEST_F(EmulatedFaultDeathTest, HostUseAfterFreeSaysSo) {
  double* x = labelled(1, 100, "x");
  memory.deallocate(1, x);

  EXPECT_DEATH(
      read(x + 5),
      "strata: use after free: a host thread accessed element 5 \\(byte offset 40\\) of \"x\", freed from "
      "Emulated\\{1\\}; keep a view of it until the access is done\n");
}

TEST_F(EmulatedFaultDeathTest, KernelUseAfterFreeOfABigArraySaysSo) {
  double* x = labelled(1, 100000, "x");
  memory.deallocate(1, x);
  const auto run = [&] {
    const EmulatedWorkerScope scope(memory, 1);
    read(x + 70000);
  };

  EXPECT_DEATH(run(),
               "use after free: a kernel on Emulated\\{1\\} accessed element 70000 .* of \"x\", freed from");
}

TEST_F(EmulatedFaultDeathTest, AccessWhereNoArrayLiesSaysSo) {
  auto* nowhere = static_cast<char*>(memory.allocate(1, 256)) + 4096;

  EXPECT_DEATH(read(nowhere),
               "strata: access outside every array: a host thread accessed byte 4096 of the memory on "
               "Emulated\\{1\\}, where no array lies");
}

TEST_F(EmulatedFaultDeathTest, ElementOfAMatrixIsNamedByItsIndices) {
  // 10 x 20 x 3 doubles, layout left, leading stride padded to 16: element (7, 11, 2).
  const std::size_t bytes = 16 * 20 * 3 * sizeof(double);
  auto* x = static_cast<double*>(memory.allocate(0, bytes));
  register_allocation(x, bytes, "x",
                      {.element_bytes = 8, .rank = 3, .extents = {10, 20, 3}, .strides = {1, 16, 320}});

  EXPECT_DEATH(read(x + 7 + 11 * 16 + 2 * 320),
               "accessed element \\(7, 11, 2\\) \\(byte offset 6584\\) of \"x\"");
  EXPECT_DEATH(read(x + 12), "accessed element 12 \\(byte offset 96\\) of \"x\"");
}

TEST_F(EmulatedFaultDeathTest, UnknownElementSizeGivesBytes) {
  auto* x = static_cast<char*>(memory.allocate(0, 100));
  register_allocation(x, 100, "bytes");

  EXPECT_DEATH(read(x + 42), "a host thread accessed byte 42 of \"bytes\" on Emulated\\{0\\}");
}

TEST_F(EmulatedFaultDeathTest, MessageAlsoComesFromASmallSignalStack) {
  double* x = labelled(1, 100, "x");
  const auto run = [&] {
    stack_t stack = {};
    stack.ss_size = std::size_t(SIGSTKSZ);
    stack.ss_sp = malloc(stack.ss_size);
    sigaltstack(&stack, nullptr);
    read(x + 1);
  };

  EXPECT_DEATH(run(), "a host thread accessed element 1 .* of \"x\"");
}

TEST_F(EmulatedFaultDeathTest, ManyThreadsFaultingAtOnceGiveOneMessage) {
  double* x = labelled(1, 100, "x");
  const auto run = [&] {
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) threads.emplace_back([x] { read(x + 1); });
    for (auto& thread : threads) thread.join();
  };

  EXPECT_EXIT(run(), testing::KilledBySignal(SIGABRT), "^[^\n]*strata: wrong memory space: [^\n]*\n$");
}

TEST_F(EmulatedFaultDeathTest, FaultElsewhereGoesToThePreviousHandler) {
  const auto run = [] {
    void* page = mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    read(static_cast<int*>(page));
  };

#if defined(__SANITIZE_ADDRESS__)
  EXPECT_DEATH(run(), "AddressSanitizer");
#elif defined(__SANITIZE_THREAD__)
  EXPECT_DEATH(run(), "ThreadSanitizer");
#else
  EXPECT_EXIT(run(), testing::KilledBySignal(SIGSEGV), "^$");
  EXPECT_EXIT(raise(SIGSEGV), testing::KilledBySignal(SIGSEGV), "^$");
#endif
}

#if defined(__SANITIZE_ADDRESS__)
TEST_F(EmulatedFaultDeathTest, SanitizerSeesSmallUseAfterFreeAndOverrunInKernels) {
  double* freed = labelled(1, 100, "freed");
  memory.deallocate(1, freed);
  auto* tail = static_cast<char*>(memory.allocate(2, 100));
  const auto run = [&](int instance, char* view) {
    const EmulatedWorkerScope scope(memory, instance);
    read(view);
  };

  EXPECT_DEATH(run(1, reinterpret_cast<char*>(freed + 5)), "use-after-poison");
  EXPECT_DEATH(run(2, tail + 100), "use-after-poison");
  run(2, tail + 99);
}
#endif

}  // namespace
