// Reductions and scans on host threads, whatever the kernel.
// SPDX-License-Identifier: Apache-2.0
#include <string>

#include <gtest/gtest.h>

#include <strata/core/error.hpp>
#include <strata/devices/host/drivers.hpp>

#include "messages.hpp"

namespace {

using namespace strata;
using namespace strata_tests;
using namespace strata::detail;

// Of two threads that are never to begin.
Runner idle_threads(int& runs) {
  return {[](const void* context, const ChunkRange&, ChunkFunction) {
            ++*static_cast<int*>(const_cast<void*>(context));
          },
          &runs, 2};
}

TEST(HostDrivers, AScanSaysWhatMemoryIsMissingBeforeItBegins) {
  int runs = 0;
  double carry = 3;
  ScanTiles tiles{};
  tiles.ops.bytes = sizeof carry;
  tiles.alignment = alignof(double);
  tiles.runs = 512;

  const std::string text =
      message_of<OutOfMemory>([&] { scan_tiles(idle_threads(runs), 0, index_t{1} << 40, tiles, &carry); });

  EXPECT_NE(text.find(std::to_string((std::size_t{1} << 40) * 513 * 8)), std::string::npos) << text;
  EXPECT_NE(text.find("several calls"), std::string::npos) << text;
  EXPECT_EQ(runs, 0);
  EXPECT_EQ(carry, 3);
}

}  // namespace
