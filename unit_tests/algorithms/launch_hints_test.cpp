// Launch hints: no hint changes what a kernel does; on Cuda the blocks of threads are as was asked.
// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <strata/algorithms/team.hpp>

#include "arrays.hpp"
#include "messages.hpp"

namespace {

using namespace strata;
using namespace strata_tests;

template <class D>
class LaunchHintsTest : public ::testing::Test {};
TYPED_TEST_SUITE(LaunchHintsTest, TestDevices, DeviceName);

// ---- one dimension

struct AddIndex {
  STRATA_FUNCTION void operator()(auto i, auto x) const { x(i) += 2 * i + 1; }
};
struct Here {};
struct AddIndexHere {
  STRATA_FUNCTION void operator()(Here, auto i, auto x) const { x(i) += 2 * i + 1; }
};
// More bytes than travel with a launch of Cuda.
struct AddFromTable {
  index_t table[5000];
  STRATA_FUNCTION void operator()(index_t i, auto x) const { x(i) += table[i]; }
};
struct SumOfItems {
  STRATA_FUNCTION void operator()(auto i, auto x, index_t& sum) const { sum += x(i); }
};
struct ScanItems {
  STRATA_FUNCTION void operator()(index_t i, auto x, auto y, index_t& sum, bool final) const {
    sum += x(i);
    if (final) y(i) = sum;
  }
};
struct AddToTeamsItem {
  STRATA_FUNCTION void operator()(const auto& member, auto x) const {
    single(per_team(member), [&] { x(member.league_rank()) += 2 * member.league_rank() + 1; });
  }
};

// Launches AddIndex over `work`, which is [first, last).
template <class D, class R, class K = AddIndex>
void expect_items(const R& work, index_t first, index_t last, const K& kernel = {}) {
  const auto x = make_vector<index_t, D>(1200, [](index_t) { return 5; });

  parallel_for(work, with(kernel, x));

  std::vector<index_t> expected(1200, 5);
  for (index_t i = first; i < last; ++i) expected[static_cast<std::size_t>(i)] += 2 * i + 1;
  EXPECT_EQ(values_of(x), expected);
}

TYPED_TEST(LaunchHintsTest, ChangeNoResultOfAKernelOverOneDimension) {
  using D = TypeParam;
  for (const int n : {0, 1, 31, 32, 33, 1000}) {
    expect_items<D>(launch_bounds<32>(n), 0, n);
    expect_items<D>(launch_bounds<1024, 1>(range(3, n)), 3, n);
    expect_items<D>(block_size(64, range(3, n).dynamic(7)), 3, n);
    expect_items<D>(prefer_occupancy(25, n), 0, n);
    expect_items<D>(launch_bounds<128, 4>(block_size(256, prefer_occupancy(50, n))), 0, n);
  }
}

TYPED_TEST(LaunchHintsTest, ComposeWithTagsInAnyOrder) {
  using D = TypeParam;
  expect_items<D>(tagged<Here>(launch_bounds<64>(range(3, 700))), 3, 700, AddIndexHere{});
  expect_items<D>(launch_bounds<64>(tagged<Here>(range(3, 700))), 3, 700, AddIndexHere{});
  expect_items<D>(block_size(32, tagged<Here>(prefer_occupancy(10, 700))), 0, 700, AddIndexHere{});
}

// Kernels over rows of many numbers of four bytes have launch bounds of their own on Cuda, where the program
// gives no hint.
template <class T, index_t... N>
constexpr bool is_wide = detail::KernelTraits<With<AddIndex, decltype(read_only(MDArray<T, Serial, N...>())),
                                                   MDArray<T, Serial, N...>>>::has_wide_items;
static_assert(is_wide<float, 3, 8> && is_wide<int, 16> && is_wide<int, 32>);
static_assert(!is_wide<double, 3, 8> && !is_wide<float, 15> && !is_wide<float, rank<3>> &&
              !is_wide<float, rank<1>> && !is_wide<float, 33> && !is_wide<std::uint8_t, 32>);
using WideRows = MDArray<float, Serial, 3, 8>;
static_assert(!detail::KernelTraits<With<AddIndex, WideRows>>::has_wide_items,
              "nothing is declared to be read");

// Of boxes, threads do not walk over items that read a row each.
template <int Rank, class... V>
constexpr bool reads_rows = detail::reads_rows_in<With<AddIndex, decltype(read_only(V()))..., V...>, Rank>;
static_assert(reads_rows<2, MDArray<double, Serial, rank<3>>> &&
              reads_rows<2, MDArray<double, Serial, 5, 8>> &&
              reads_rows<3, MDArray<float, Serial, rank<3>>, MDArray<float, Serial, rank<4>>>);
static_assert(!reads_rows<2, MDArray<double, Serial, 5, 3>> &&
              !reads_rows<2, MDArray<double, Serial, rank<2>>> &&
              !reads_rows<1, MDArray<double, Serial, rank<2>>>);
static_assert(!detail::reads_rows_in<With<AddIndex, MDArray<double, Serial, rank<3>>>, 2>,
              "nothing is declared to be read");

struct AddRows {
  STRATA_FUNCTION void operator()(auto i, auto x, auto y) const {
    for (index_t d = 0; d < 3; ++d)
      for (index_t k = 0; k < 8; ++k) y(i, d, k) += x(i, d, 7 - k) + static_cast<float>(d);
  }
};
TYPED_TEST(LaunchHintsTest, ChangeNoResultOfKernelsOverRowsOfManyNumbers) {
  using D = TypeParam;
  using Array = MDArray<float, D, 3, 8>;
  constexpr index_t n = 1111;
  const auto x = create<Array>("x", n);
  const auto value = [](index_t i, index_t d, index_t k) { return static_cast<float>(24 * i + 8 * d + k); };
  const auto host = create_mirror(x);
  const auto fill = [&](const auto& array) {
    for (index_t i = 0; i < n; ++i)
      for (index_t d = 0; d < 3; ++d)
        for (index_t k = 0; k < 8; ++k) host(i, d, k) = value(i, d, k);
    deep_copy(array, host);
  };
  fill(x);
  const auto expect = [&](const auto& work, index_t begin, index_t end) {
    const auto y = create<Array>("y", n);
    fill(y);
    parallel_for(work, with(AddRows{}, read_only(x), y));
    deep_copy(host, y);
    index_t wrong = 0;
    for (index_t i = 0; i < n; ++i)
      for (index_t d = 0; d < 3; ++d)
        for (index_t k = 0; k < 8; ++k) {
          const float added = begin <= i && i < end ? value(i, d, 7 - k) + static_cast<float>(d) : 0;
          wrong += host(i, d, k) != value(i, d, k) + added;
        }
    EXPECT_EQ(wrong, 0) << begin << " to " << end;
  };
  for (const index_t begin : {0, 1, 63, 64, 1000})
    for (const index_t end : {index_t{1000}, index_t{1064}, n}) expect(range(begin, end), begin, end);
  expect(block_size(1024, range(5, n)), 5, n);
  expect(launch_bounds<64, 8>(range(5, n)), 5, n);
  expect(prefer_occupancy(25, range(5, n)), 5, n);
}

TYPED_TEST(LaunchHintsTest, SuitKernelsWithManyParameters) {
  using D = TypeParam;
  AddFromTable kernel;
  for (index_t i = 0; i < 5000; ++i) kernel.table[i] = 2 * i + 1;

  expect_items<D>(launch_bounds<64, 2>(1000), 0, 1000, kernel);
  expect_items<D>(prefer_occupancy(30, range(10, 1000)), 10, 1000, kernel);
}

TYPED_TEST(LaunchHintsTest, ChangeNoResultOfReductionsScansAndTeams) {
  using D = TypeParam;
  const index_t n = 1000;
  const auto x = make_vector<index_t, D>(n, [](index_t i) { return i; });
  const auto y = make_vector<index_t, D>(n, [](index_t) { return 0; });
  index_t sum = 0, total = 0;

  parallel_reduce(launch_bounds<64>(block_size(64, n)), with(SumOfItems{}, x), Sum(sum));
  parallel_scan(prefer_occupancy(50, range(0, n)), with(ScanItems{}, x, y), Sum(total));
  parallel_for(launch_bounds<128>(teams(n)), with(AddToTeamsItem{}, x));

  EXPECT_EQ(sum, n * (n - 1) / 2);
  EXPECT_EQ(total, n * (n - 1) / 2);
  const auto sums = values_of(y), items = values_of(x);
  for (index_t i = 0; i < n; ++i) {
    ASSERT_EQ(sums[static_cast<std::size_t>(i)], i * (i + 1) / 2);
    ASSERT_EQ(items[static_cast<std::size_t>(i)], 3 * i + 1);
  }
}

// ---- several dimensions

// Counts in x how often each item of a box is visited; visits outside it in the last element.
template <int Rank, class D>
struct VisitItems {
  using device_type = D;
  Vector<index_t, D> x;
  index_t lower[Rank];
  index_t upper[Rank];

  template <class... I>
  STRATA_FUNCTION void operator()(I... i) const requires(sizeof...(I) == Rank) {
    const index_t at[Rank] = {static_cast<index_t>(i)...};
    index_t number = 0;
    bool inside = true;
    for (int d = 0; d < Rank; ++d) {
      number = number * (upper[d] - lower[d]) + (at[d] - lower[d]);
      inside = inside && at[d] >= lower[d] && at[d] < upper[d];
    }
    x(inside ? number : x.extent(0) - 1) += 1;
  }
};

// Launches over `work`, which is `box` with hints.
template <class D, int Rank, class R>
void expect_box(const R& work, const MDRange<Rank>& box) {
  VisitItems<Rank, D> kernel{};
  index_t items = 1;
  for (int d = 0; d < Rank; ++d) {
    kernel.lower[d] = box.lower[d];
    kernel.upper[d] = box.upper[d];
    items *= box.upper[d] > box.lower[d] ? box.upper[d] - box.lower[d] : 0;
  }
  kernel.x = create<Vector<index_t, D>>("x", items + 1);

  parallel_for(work, kernel);

  std::vector<index_t> expected(static_cast<std::size_t>(items) + 1, 1);
  expected.back() = 0;
  std::string name = "rank " + std::to_string(Rank) + ":";
  for (int d = 0; d < Rank; ++d)
    name += " [" + std::to_string(box.lower[d]) + ", " + std::to_string(box.upper[d]) + ") by " +
            std::to_string(box.tile[d]);
  EXPECT_EQ(values_of(kernel.x), expected) << name;
}

template <class D, int Rank, std::size_t... Dimension>
void expect_marches(const MDRange<Rank>& box, std::index_sequence<Dimension...>) {
  expect_box<D>(marching(box), box);
  expect_box<D>(last_index_fastest(box), box);
  expect_box<D>(marching(last_index_fastest(box.dynamic())), box);
  (expect_box<D>(marching<Dimension>(box), box), ...);
  (expect_box<D>(last_index_fastest(marching<Dimension>(box)), box), ...);
}
template <class D, int Rank>
void expect_marches(const MDRange<Rank>& box) {
  expect_marches<D>(box, std::make_index_sequence<Rank>());
}

TYPED_TEST(LaunchHintsTest, MarchingVisitsEveryItemOnceInRanks2And3) {
  using D = TypeParam;
  for (const auto& box : {mdrange({1, 1}), mdrange({70, 9}), mdrange({9, 300}), mdrange({-3, 5}, {4, 99}),
                          mdrange({5, 2}, {5, 9}), mdrange({2, 0}), mdrange({0, 0}, {17, 31}, {4, 5}),
                          mdrange({3, 0}, {17, 31}, {0, 100}), mdrange({0, 2}, {17, 31}, {1, 0})})
    expect_marches<D>(box);
  for (const auto& box : {mdrange({1, 1, 1}), mdrange({9, 70, 5}), mdrange({0, 1, 0}, {70, 3, 9}),
                          mdrange({-1, -2, -3}, {4, 9, 8}, {2, 3, 4}), mdrange({3, 4, 5}, {3, 9, 9}),
                          mdrange({0, 0, 0}, {5, 6, 7}, {5, 100, 1})})
    expect_marches<D>(box);
}

TYPED_TEST(LaunchHintsTest, MarchingVisitsEveryItemOnceInRanks4To6) {
  using D = TypeParam;
  expect_marches<D>(mdrange({3, 4, 5, 6}));
  expect_marches<D>(mdrange({0, -1, 1, 2}, {3, 4, 5, 6}, {2, 2, 3, 3}));
  expect_marches<D>(mdrange({2, 3, 4, 3, 2}));
  expect_marches<D>(mdrange({2, 0, 1, 0, 5}, {1, 3, 4, 3, 8}));
  expect_marches<D>(mdrange({2, 3, 2, 3, 2, 3}));
  expect_marches<D>(mdrange({1, -1, 1, -1, 1, -1}, {3, 2, 3, 2, 3, 2}, {1, 2, 3, 1, 2, 0}));
  expect_marches<D>(mdrange({1, 1, 1, 1, 1, 1}));
}

TYPED_TEST(LaunchHintsTest, BoxesLargerThanAGridAreVisitedWhole) {
  using D = TypeParam;
  const auto flat = mdrange({0, 0}, {2, 70000}, {2, 1});
  expect_box<D>(flat, flat);
  const auto deep = mdrange({0, 0, 0}, {2, 2, 70000}, {1, 1, 1});
  expect_box<D>(deep, deep);
  const auto marched = mdrange({0, 0, 0}, {7, 2, 70000}, {3, 2, 1});
  expect_box<D>(marching<0>(marched), marched);
}

TYPED_TEST(LaunchHintsTest, OfAllKindsComposeOverSeveralDimensions) {
  using D = TypeParam;
  const auto box = mdrange({2, 3, 4}, {20, 70, 40});
  expect_box<D>(launch_bounds<64>(marching(box)), box);
  expect_box<D>(marching<1>(launch_bounds<256, 2>(block_size(96, box))), box);
  expect_box<D>(prefer_occupancy(20, last_index_fastest(block_size(1024, box))), box);
}

// ---- errors

TEST(LaunchHints, RefuseBlockSizesThatNoGpuHas) {
  for (const int threads : {-32, 0, 1, 31, 33, 100, 1000, 1025, 1056, 2048})
    EXPECT_THROW(block_size(threads, 10), KernelError) << threads;
  for (const int threads : {32, 64, 96, 1024}) EXPECT_NO_THROW(block_size(threads, 10)) << threads;
  EXPECT_EQ(
      message_of<KernelError>([] { block_size(100, 10); }),
      "block_size: blocks of 100 threads; a block has a multiple of 32 threads, from 32 to 1024: take 96");
}

TEST(LaunchHints, RefusePercentagesThatAreNone) {
  for (const int percent : {-1, 0, 101}) EXPECT_THROW(prefer_occupancy(percent, 10), KernelError) << percent;
  for (const int percent : {1, 100}) EXPECT_NO_THROW(prefer_occupancy(percent, 10)) << percent;
  EXPECT_EQ(message_of<KernelError>([] { prefer_occupancy(120, 10); }),
            "prefer_occupancy: 120 percent of the threads that a multiprocessor can hold; give 1 to 100");
}

// ---- what the threads of a GPU see

#ifdef __CUDACC__

template <class D>
inline constexpr bool is_cuda = !runs_on_host_threads<D>;

struct ThreadNote {
  int threads;  // of the block
  int shared;   // dynamic shared memory, bytes
  int lane;     // threadIdx.x
  index_t id;   // of the thread in the launch
};
STRATA_FUNCTION ThreadNote note_thread() {
#if defined(__CUDA_ARCH__)
  int shared;
  asm("mov.u32 %0, %%dynamic_smem_size;" : "=r"(shared));
  const int threads = static_cast<int>(blockDim.x * blockDim.y * blockDim.z);
  const index_t block = (index_t{blockIdx.z} * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  const index_t thread = (index_t{threadIdx.z} * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
  return {threads, shared, static_cast<int>(threadIdx.x), block * threads + thread};
#else
  return {0, 0, 0, 0};
#endif
}
struct NoteThreads {
  STRATA_FUNCTION void operator()(index_t i, auto x) const { x(i) = note_thread(); }
  STRATA_FUNCTION void operator()(index_t i, index_t j, index_t k, auto x) const {
    x(i, j, k) = note_thread();
  }
};

template <class D, class R>
std::vector<ThreadNote> notes_of(const R& work) {
  const auto x = create<Vector<ThreadNote, D>>("x", 4000);
  parallel_for(work, with(NoteThreads{}, x));
  return values_of(x);
}

TYPED_TEST(LaunchHintsTest, BlocksHaveTheThreadsThatWereAskedFor) {
  using D = TypeParam;
  if constexpr (is_cuda<D>) {
    EXPECT_GE(notes_of<D>(4000)[0].threads, 128);
    EXPECT_EQ(notes_of<D>(block_size(96, 4000))[0].threads, 96);
    EXPECT_EQ(notes_of<D>(block_size(1024, 4000))[0].threads, 1024);
    EXPECT_LE(notes_of<D>(launch_bounds<64>(4000))[0].threads, 64);
    EXPECT_EQ(notes_of<D>(block_size(256, launch_bounds<64>(4000)))[0].threads, 64);
    EXPECT_EQ(notes_of<D>(launch_bounds<512>(block_size(256, block_size(32, 4000))))[0].threads, 256);
  }
}

TYPED_TEST(LaunchHintsTest, OccupancyIsBoundByUnusedSharedMemory) {
  using D = TypeParam;
  if constexpr (is_cuda<D>) {
    EXPECT_EQ(notes_of<D>(4000)[0].shared, 0);
    EXPECT_EQ(notes_of<D>(prefer_occupancy(100, block_size(128, 4000)))[0].shared, 0);
    const int half = notes_of<D>(prefer_occupancy(50, block_size(128, 4000)))[0].shared;
    const int tenth = notes_of<D>(prefer_occupancy(10, block_size(128, 4000)))[0].shared;
    const int least = notes_of<D>(prefer_occupancy(1, block_size(128, 4000)))[0].shared;
    EXPECT_GT(half, 0);
    EXPECT_GT(tenth, 2 * half);
    EXPECT_GT(least, tenth);
  }
}

template <class Layout, class D>
using Notes = MDArrayIn<Layout, ThreadNote, D, rank<3>>;

template <class Layout, class D, class R>
auto notes_of_box(const R& work) {
  const auto x = create<Notes<Layout, D>>("x", 12, 40, 12);
  parallel_for(work, with(NoteThreads{}, x));
  wait(D{});
  return on_host(x);
}

TYPED_TEST(LaunchHintsTest, NeighbouringThreadsHaveNeighbouringIndicesAsTheLayoutWants) {
  using D = TypeParam;
  if constexpr (is_cuda<D>) {
    const auto box = mdrange({12, 40, 12});
    const auto left = notes_of_box<LayoutLeft, D>(box);
    const auto right = notes_of_box<LayoutRight, D>(box);
    const auto said = notes_of_box<LayoutLeft, D>(last_index_fastest(box));
    EXPECT_EQ(left(5, 7, 3).lane, 5);
    EXPECT_EQ(right(5, 7, 3).lane, 3);
    EXPECT_EQ(said(5, 7, 3).lane, 3);
  }
}

TYPED_TEST(LaunchHintsTest, AMarchingThreadTakesAsManyItemsInARowAsItsTileSays) {
  using D = TypeParam;
  if constexpr (is_cuda<D>) {
    const auto box = mdrange({0, 0, 0}, {12, 40, 12}, {5, 0, 7});
    const auto right = notes_of_box<LayoutRight, D>(marching(box));  // along the first dimension
    const auto left = notes_of_box<LayoutLeft, D>(marching(box));    // along the last
    for (index_t k = 1; k < 12; ++k) {
      EXPECT_EQ(right(k, 9, 2).id == right(k - 1, 9, 2).id, k % 5 != 0) << k;
      EXPECT_EQ(left(2, 9, k).id == left(2, 9, k - 1).id, k % 7 != 0) << k;
    }
    EXPECT_NE(right(3, 9, 2).id, right(3, 10, 2).id);
    EXPECT_NE(right(3, 9, 2).id, right(3, 9, 3).id);
  }
}

#endif

}  // namespace
