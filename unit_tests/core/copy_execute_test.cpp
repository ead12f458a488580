// Host copies against a loop over single elements: every rank, random strides, tiles, phases and element
// sizes, and pools that cut the work anywhere. A failure prints the seed; STRATA_TEST_SEED repeats it.
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <strata/core/cache_lines.hpp>
#include <strata/core/copy_execute.hpp>
#include <strata/core/error.hpp>

#include "core/random.hpp"

namespace {

using namespace strata;
using namespace strata::detail;

using Bytes = std::vector<unsigned char>;

std::uint64_t test_seed() {
  const char* text = std::getenv("STRATA_TEST_SEED");
  const std::uint64_t seed = text != nullptr ? std::strtoull(text, nullptr, 10) : std::random_device{}();
  ::testing::Test::RecordProperty("seed", std::to_string(seed));
  return seed;
}

// Two threads, which take alternate chunks of a third of the range.
void run_on_two_threads(const void* pool, index_t n, ChunkRunner::Chunk chunk, const void* context) {
  if (pool != nullptr) ++*static_cast<std::atomic<int>*>(const_cast<void*>(pool));
  const index_t third = n / 3;
  std::thread other([&] { chunk(context, third, 2 * third); });
  chunk(context, 0, third);
  chunk(context, 2 * third, n);
  other.join();
}

template <class F>
void for_each_index(const LayoutDescriptor& layout, F f) {
  index_t index[max_rank] = {};
  for (index_t i = 0; i < element_count(layout); ++i) {
    f(index);
    for (int r = layout.rank; r-- > 0;) {
      if (++index[r] < layout.extent[r]) break;
      index[r] = 0;
    }
  }
}

struct Range {
  index_t low = 0;
  index_t high = 0;  // one past the last
};

Range range_of(const LayoutDescriptor& layout) {
  Range range{INT64_MAX, INT64_MIN};
  for_each_index(layout, [&](const index_t* i) {
    const index_t offset = offset_of(layout, i);
    range = {std::min(range.low, offset), std::max(range.high, offset + 1)};
  });
  return element_count(layout) == 0 ? Range{} : range;
}

class RandomLayouts {
 public:
  explicit RandomLayouts(std::uint64_t seed) : random_(seed) {}

  index_t up_to(index_t most) { return std::uniform_int_distribution<index_t>(0, most)(random_); }
  bool one_in(index_t n) { return up_to(n - 1) == 0; }

  std::vector<index_t> extents(index_t elements) {
    std::vector<index_t> result(static_cast<std::size_t>(up_to(max_rank)));
    for (index_t& e : result) {
      e = one_in(60) ? 0 : one_in(5) ? 1 : 1 + up_to(std::min<index_t>(elements, one_in(3) ? 70 : 9) - 1);
      elements = std::max<index_t>(1, elements / std::max<index_t>(e, 1));
    }
    std::shuffle(result.begin(), result.end(), random_);
    return result;
  }

  // An injective layout: indices nested in a random order, often padded or descending; index 0 often tiled,
  // its lanes anywhere in the order and its tiles outermost or anywhere outside the lanes.
  LayoutDescriptor layout(const std::vector<index_t>& extents) {
    LayoutDescriptor d;
    d.rank = static_cast<int>(extents.size());
    std::copy(extents.begin(), extents.end(), d.extent);
    d.shift = one_in(2) ? 0 : up_to(2000) - 1000;
    const bool tiled = d.rank > 0 && one_in(2);
    const bool padded = one_in(2), descending = one_in(3);
    if (tiled) {
      d.tile_log2 = static_cast<int>(up_to(5));
      d.phase = one_in(2) ? 0 : up_to(100) - 50;
    }

    constexpr int tile_digit = max_rank;
    std::vector<int> order(extents.size());
    std::iota(order.begin(), order.end(), 0);
    if (one_in(3)) std::reverse(order.begin(), order.end());
    if (one_in(3)) std::shuffle(order.begin(), order.end(), random_);
    if (tiled) order.insert(one_in(2) ? order.begin() : order.begin() + up_to(d.rank), tile_digit);

    index_t next = padded && one_in(2) ? 1 + up_to(2) : 1;
    for (std::size_t k = order.size(); k-- > 0;) {
      const int r = order[k];
      const index_t sign = descending && one_in(2) ? -1 : 1;
      index_t extent =
          r == tile_digit ? (extents[0] >> d.tile_log2) + 2 : extents[static_cast<std::size_t>(r)];
      if (r == 0 && tiled) extent = index_t{1} << d.tile_log2;
      (r == tile_digit ? d.tile_stride : d.stride[r]) = sign * next;
      next *= std::max<index_t>(extent, 1);
      if (padded && one_in(3)) next += up_to(3);
    }
    const Range range = range_of(d);
    d.span = range.high - range.low;
    return d;
  }

 private:
  std::mt19937_64 random_;
};

std::string text_of(const LayoutDescriptor& d) {
  std::string text = "extents";
  for (int r = 0; r < d.rank; ++r)
    text += " " + std::to_string(d.extent[r]) + ":" + std::to_string(d.stride[r]);
  return text + " tile_log2 " + std::to_string(d.tile_log2) + " tile_stride " +
         std::to_string(d.tile_stride) + " phase " + std::to_string(d.phase) + " shift " +
         std::to_string(d.shift);
}

// Memory of an array with a margin on both sides, filled with bytes that tell positions apart.
struct Memory {
  Memory(const LayoutDescriptor& layout, index_t element_bytes, unsigned salt) : range(range_of(layout)) {
    bytes.resize(static_cast<std::size_t>((range.high - range.low + 2) * element_bytes));
    for (std::size_t i = 0; i < bytes.size(); ++i)
      bytes[i] = static_cast<unsigned char>((i * 2654435761u + salt) >> 13);
    first = (1 - range.low) * element_bytes;
  }
  unsigned char* base() { return bytes.data() + first; }

  Range range;
  Bytes bytes;
  index_t first;
};

constexpr index_t element_sizes[] = {1, 2, 3, 4, 8, 12, 16, 24, 40, 100};

void expect_copy_like_a_loop(const LayoutDescriptor& dst, const LayoutDescriptor& src, index_t size,
                             const ChunkRunner& runner) {
  Memory from(src, size, 1), to(dst, size, 2);
  Memory expected = to;
  for_each_index(dst, [&](const index_t* i) {
    std::memcpy(expected.base() + offset_of(dst, i) * size, from.base() + offset_of(src, i) * size,
                static_cast<std::size_t>(size));
  });

  copy_on_host(to.base(), dst, from.base(), src, static_cast<std::size_t>(size), runner);

  ASSERT_TRUE(to.bytes == expected.bytes)
      << "dst " << text_of(dst) << "\nsrc " << text_of(src) << "\nbytes " << size;
}

TEST(CopyExecute, RandomCopiesEqualALoopOverElements) {
  const std::uint64_t seed = test_seed();
  SCOPED_TRACE("STRATA_TEST_SEED=" + std::to_string(seed));
  RandomLayouts random(seed);

  for (int trial = 0; trial < strata_tests::trials(3000); ++trial) {
    const auto extents = random.extents(trial % 50 == 0 ? 20000 : 600);
    const LayoutDescriptor dst = random.layout(extents);
    const LayoutDescriptor src = random.one_in(8) ? dst : random.layout(extents);
    const index_t size = element_sizes[random.up_to(std::size(element_sizes) - 1)];
    ASSERT_NO_FATAL_FAILURE(expect_copy_like_a_loop(dst, src, size, {})) << "trial " << trial;
  }
}

TEST(CopyExecute, RandomLargeCopiesOnTwoThreadsEqualALoopOverElements) {
  const std::uint64_t seed = test_seed();
  SCOPED_TRACE("STRATA_TEST_SEED=" + std::to_string(seed));
  RandomLayouts random(seed);
  std::atomic<int> calls = 0;

  const std::vector<std::vector<index_t>> shapes = {{331, 7, 211}, {3, 150001}, {500009}, {13, 5, 3, 7, 401}};
  const int trials = strata_tests::is_sanitized ? 4 : 12;
  for (int trial = 0; trial < trials; ++trial) {
    const auto& extents = shapes[static_cast<std::size_t>(trial) % shapes.size()];
    const index_t size = element_sizes[3 + random.up_to(4)];
    ASSERT_NO_FATAL_FAILURE(expect_copy_like_a_loop(random.layout(extents), random.layout(extents), size,
                                                    {run_on_two_threads, &calls}))
        << "trial " << trial;
  }

  EXPECT_GT(calls.load(), 0);
}

// Rows to columns and columns to rows, larger than what caches hold: elements of each size have a way of
// theirs.
TEST(CopyExecute, LargeTransposesEqualALoopOverElements) {
  const std::uint64_t seed = test_seed();
  SCOPED_TRACE("STRATA_TEST_SEED=" + std::to_string(seed));
  RandomLayouts random(seed);
  std::atomic<int> calls = 0;

  const int trials = strata_tests::is_sanitized ? 5 : 15;
  constexpr index_t sizes[] = {1, 2, 4, 8, 12};
  for (int trial = 0; trial < trials; ++trial) {
    const index_t rows = 130 + random.up_to(200), columns = 1030 + random.up_to(1500);
    LayoutDescriptor by_rows;
    by_rows.rank = 2;
    by_rows.extent[0] = rows;
    by_rows.extent[1] = columns;
    LayoutDescriptor by_columns = by_rows;
    by_rows.stride[0] = columns + random.up_to(3);
    by_rows.stride[1] = by_columns.stride[0] = 1;
    by_columns.stride[1] = rows + random.up_to(3);
    for (LayoutDescriptor* layout : {&by_rows, &by_columns}) {
      const Range range = range_of(*layout);
      layout->span = range.high - range.low;
    }
    if (random.one_in(2)) std::swap(by_rows, by_columns);
    const ChunkRunner runner = random.one_in(2) ? ChunkRunner{} : ChunkRunner{run_on_two_threads, &calls};
    ASSERT_NO_FATAL_FAILURE(expect_copy_like_a_loop(by_rows, by_columns, sizes[trial % 5], runner))
        << "trial " << trial;
  }
}

TEST(CopyExecute, RandomFillsEqualALoopOverElements) {
  const std::uint64_t seed = test_seed();
  SCOPED_TRACE("STRATA_TEST_SEED=" + std::to_string(seed));
  RandomLayouts random(seed);

  for (int trial = 0; trial < strata_tests::trials(2000); ++trial) {
    const LayoutDescriptor dst = random.layout(random.extents(trial % 50 == 0 ? 60000 : 600));
    const index_t size = element_sizes[random.up_to(std::size(element_sizes) - 1)];
    Bytes value(static_cast<std::size_t>(size), static_cast<unsigned char>(random.up_to(255)));
    if (random.one_in(2)) std::iota(value.begin(), value.end(), value[0]);
    Memory to(dst, size, 2);
    Memory expected = to;
    for_each_index(dst, [&](const index_t* i) {
      std::memcpy(expected.base() + offset_of(dst, i) * size, value.data(), value.size());
    });

    fill_on_host(to.base(), dst, value.data(), value.size(), {run_on_two_threads, nullptr});

    ASSERT_TRUE(to.bytes == expected.bytes) << text_of(dst) << "\nbytes " << size << " trial " << trial;
  }
}

LayoutDescriptor row_major(index_t rows, index_t columns, index_t pitch) {
  LayoutDescriptor d;
  d.rank = 2;
  d.extent[0] = rows;
  d.extent[1] = columns;
  d.stride[0] = pitch;
  d.stride[1] = 1;
  d.span = (rows - 1) * pitch + columns;
  return d;
}

// As between rows and tiles of eight: squares of eight go through registers, what is left by element.
TEST(CopyExecute, NarrowTransposesOfSmallElementsEqualALoopOverElements) {
  const std::uint64_t seed = test_seed();
  SCOPED_TRACE("STRATA_TEST_SEED=" + std::to_string(seed));
  RandomLayouts random(seed);
  for (int trial = 0; trial < 200; ++trial) {
    const index_t rows = 6 + random.up_to(11), columns = 1 + random.up_to(400);
    LayoutDescriptor by_rows = row_major(rows, columns, columns + random.up_to(20));
    LayoutDescriptor by_columns = by_rows;
    by_columns.stride[0] = 1;
    by_columns.stride[1] = rows + random.up_to(3);
    by_columns.span = (columns - 1) * by_columns.stride[1] + rows;
    if (random.one_in(2)) std::swap(by_rows, by_columns);
    ASSERT_NO_FATAL_FAILURE(expect_copy_like_a_loop(by_rows, by_columns, trial % 4 < 2 ? 1 : 2, {}))
        << "trial " << trial << ": " << rows << " x " << columns;
  }
}

// Element i of a row lies at the place of i with its lowest bit flipped: a layout without strides.
index_t swapped_pairs(const void* mapping, const index_t* index) {
  return index[0] * *static_cast<const index_t*>(mapping) + (index[1] ^ 1);
}

LayoutDescriptor user_supplied(index_t rows, const index_t& columns) {
  LayoutDescriptor d = row_major(rows, columns, columns);
  d.offset = swapped_pairs;
  d.mapping = &columns;
  return d;
}

TEST(CopyExecute, ALongFillKeepsItsPatternAcrossTheChunksOfAllThreads) {
  struct Triple {
    std::uint32_t a, b, c;
    bool operator==(const Triple&) const = default;
  };
  const Triple value{1, 2, 3};
  std::vector<Triple> filled(850 * 600);

  fill_on_host(filled.data(), row_major(850, 600, 600), &value, sizeof value, {run_on_two_threads});

  EXPECT_EQ(std::count(filled.begin(), filled.end(), value), 850 * 600);
}

// Long enough to go past the caches, and just not.
TEST(CopyExecute, FillsPastTheCachesWriteEachElementAndNothingBeside) {
  for (const index_t size : {1, 8, 12, 16})
    for (const bool same_bytes : {false, true})
      for (const index_t more : {-1, 1}) {
        const index_t n = strata::detail::fills_past_cache / size + more;
        Bytes value(static_cast<std::size_t>(size), 7);
        if (!same_bytes) std::iota(value.begin(), value.end(), static_cast<unsigned char>(1));
        const index_t shift = 3 * size;  // of the first element from the start of a line
        Bytes memory(static_cast<std::size_t>((n + 6) * size), 0xee);

        fill_on_host(memory.data() + shift, row_major(1, n, n), value.data(), value.size(),
                     {run_on_two_threads});

        // The first element, each like the one before, and what lies beside.
        const auto bytes = static_cast<std::size_t>(size), all = static_cast<std::size_t>(n) * bytes;
        const unsigned char* const first = memory.data() + shift;
        const Bytes beside(3 * bytes, 0xee);
        ASSERT_EQ(std::memcmp(first, value.data(), bytes), 0);
        ASSERT_EQ(std::memcmp(first + bytes, first, all - bytes), 0)
            << n << " elements of " << size << " bytes";
        ASSERT_EQ(std::memcmp(memory.data(), beside.data(), beside.size()), 0);
        ASSERT_EQ(std::memcmp(first + all, beside.data(), beside.size()), 0);
      }
}

TEST(CopyExecute, LinesAreFilledInAndPastTheCache) {
  for (const bool past_cache : {false, true})
    for (const std::size_t count : {0U, 1U, 2U, 1000U}) {
      alignas(64) static char memory[1002 * 64];
      std::memset(memory, 0x55, sizeof memory);
      char line[64];
      std::iota(line, line + 64, static_cast<char>(1));
      strata::detail::fill_lines(memory + 64, line, count, past_cache);

      for (std::size_t i = 0; i < sizeof memory; ++i)
        ASSERT_EQ(memory[i], i / 64 >= 1 && i / 64 <= count ? line[i % 64] : 0x55) << "byte " << i;
    }
}

TEST(CopyExecute, BytesPastTheCacheAreThoseOfTheSourceWhereverBothBegin) {
  RandomLayouts random(test_seed());
  Bytes source(70000), memory(source.size());
  for (std::size_t i = 0; i < source.size(); ++i)
    source[i] = static_cast<unsigned char>((i * 2654435761u) >> 13);
  for (int trial = 0; trial < 200; ++trial) {
    const auto up_to = [&](std::size_t most) {
      return static_cast<std::size_t>(random.up_to(static_cast<index_t>(most)));
    };
    const std::size_t from = up_to(130), to = up_to(130);
    const std::size_t bytes = up_to(trial % 2 == 0 ? 300 : source.size() - 300);
    std::fill(memory.begin(), memory.end(), static_cast<unsigned char>(0xee));
    Bytes expected = memory;
    std::memcpy(expected.data() + to, source.data() + from, bytes);

    strata::detail::copy_past_cache(reinterpret_cast<char*>(memory.data()) + to,
                                    reinterpret_cast<const char*>(source.data()) + from, bytes);

    ASSERT_TRUE(memory == expected) << bytes << " bytes from " << from << " to " << to;
  }
}

// Rows of a copy that is large enough, of lengths for which that is done and not.
TEST(CopyExecute, LargeCopiesOfRowsWriteEachByteAndNothingBeside) {
  constexpr index_t size = 16, shortest = least_past_cache / size;
  for (const index_t columns : {shortest - 1, shortest + 1, index_t{5000}}) {
    if (strata_tests::is_sanitized && columns != 5000) continue;  // a second each
    const index_t rows = copies_past_cache / (columns * size) + 1;
    const LayoutDescriptor wide = row_major(rows, columns, columns + 7);
    const LayoutDescriptor narrow = row_major(rows, columns, columns);
    const bool packs = columns % 2 == 0;
    ASSERT_NO_FATAL_FAILURE(
        expect_copy_like_a_loop(packs ? narrow : wide, packs ? wide : narrow, size, {run_on_two_threads}));
  }
}

TEST(CopyExecute, UserSuppliedLayoutsAreCopiedAndFilledByElement) {
  const index_t columns = 600;
  const LayoutDescriptor user = user_supplied(700, columns);
  const LayoutDescriptor plain = row_major(700, columns, columns + 3);
  const std::uint64_t value = 0x0123456789abcdef;

  for (const ChunkRunner& runner : {ChunkRunner{}, ChunkRunner{run_on_two_threads}}) {
    expect_copy_like_a_loop(user, plain, 8, runner);
    expect_copy_like_a_loop(plain, user, 8, runner);
    std::vector<std::uint64_t> filled(static_cast<std::size_t>(user.span));
    fill_on_host(filled.data(), user, &value, sizeof value, runner);
    EXPECT_EQ(std::count(filled.begin(), filled.end(), value), user.span);
  }
}

TEST(CopyExecute, ElementWisePlansAreRefusedByTheFunctionsOfPieces) {
  const index_t columns = 4;
  const LayoutDescriptor user = user_supplied(3, columns);
  std::vector<int> a(12), b(12);
  const int value = 1;

  EXPECT_THROW(copy_pieces(a.data(), b.data(), plan_copy(user, user, 4)), CopyError);
  EXPECT_THROW(fill_pieces(a.data(), &value, 4, plan_fill(user, 4)), CopyError);
  EXPECT_EQ(a, std::vector<int>(12));
}

TEST(CopyExecute, OverlappingSidesAreRefusedAndNothingIsWritten) {
  std::vector<int> a(100);
  std::iota(a.begin(), a.end(), 0);
  const std::vector<int> before = a;
  const index_t columns = 10;
  const LayoutDescriptor box = row_major(5, 10, 10), user = user_supplied(5, columns);

  EXPECT_THROW(copy_on_host(a.data() + 10, box, a.data(), box, 4), CopyError);
  EXPECT_THROW(copy_on_host(a.data(), user, a.data(), box, 4), CopyError);

  EXPECT_EQ(a, before);
}

TEST(CopyExecute, AnArrayMayBeCopiedOntoItself) {
  std::vector<int> a(100);
  std::iota(a.begin(), a.end(), 0);
  const std::vector<int> before = a;
  const LayoutDescriptor box = row_major(5, 10, 20);

  copy_on_host(a.data(), box, a.data(), box, 4);

  EXPECT_EQ(a, before);
}

TEST(CopyExecute, OneColumnMayBeCopiedToAnother) {
  std::vector<int> a(100);
  std::iota(a.begin(), a.end(), 0);
  const LayoutDescriptor column = row_major(10, 1, 10);

  copy_on_host(a.data() + 7, column, a.data() + 2, column, 4);

  for (std::size_t i = 0; i < 10; ++i) EXPECT_EQ(a[10 * i + 7], a[10 * i + 2]);
}

TEST(CopyExecute, OverlapIsFoundExactlyWhereAnElementIsShared) {
  const std::uint64_t seed = test_seed();
  SCOPED_TRACE("STRATA_TEST_SEED=" + std::to_string(seed));
  RandomLayouts random(seed);
  int shared_count = 0;

  const int trials = strata_tests::trials(3000);
  for (int trial = 0; trial < trials; ++trial) {
    const auto extents = random.extents(80);
    const LayoutDescriptor dst = random.layout(extents), src = random.layout(extents);
    const index_t distance = random.up_to(400) - 200 + src.shift - dst.shift;
    std::vector<index_t> read, written, shared;
    for_each_index(src, [&](const index_t* i) { read.push_back(offset_of(src, i)); });
    for_each_index(dst, [&](const index_t* i) { written.push_back(offset_of(dst, i) + distance); });
    std::sort(read.begin(), read.end());
    std::sort(written.begin(), written.end());
    std::set_intersection(read.begin(), read.end(), written.begin(), written.end(),
                          std::back_inserter(shared));

    const bool found = sides_overlap(plan_copy(dst, src, 4), distance * 4);

    ASSERT_EQ(found, !shared.empty())
        << "dst " << text_of(dst) << "\nsrc " << text_of(src) << "\ndistance " << distance;
    shared_count += found ? 1 : 0;
  }

  EXPECT_GT(shared_count, trials / 30);
  EXPECT_LT(shared_count, trials - trials / 30);
}

TEST(CopyExecute, ElementsMoreThanTwoToThe32BytesApartAreCopied) {
  const index_t pitch = (index_t{1} << 32) + 4096;
  const auto length = static_cast<std::size_t>(3 * pitch);
  void* memory =
      mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) GTEST_SKIP() << "no address space for " << length << " bytes";
  auto* far = static_cast<unsigned char*>(memory);
  const LayoutDescriptor wide = row_major(3, 5, pitch), narrow = row_major(3, 5, 5);
  Bytes in(15), out(15);
  std::iota(in.begin(), in.end(), static_cast<unsigned char>(1));

  copy_on_host(far, wide, in.data(), narrow, 1);
  copy_on_host(out.data(), narrow, far, wide, 1);

  EXPECT_EQ(far[2 * pitch + 4], 15);
  EXPECT_EQ(out, in);
  munmap(memory, length);
}

}  // namespace
