// Checked builds: a bad index never crashes, it is told once, with kernel, label, index and extents.
// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <string>

#include "core/random.hpp"
#include "messages.hpp"
#include "test_devices.hpp"

namespace {

using strata::create;
using strata::index_t;
using strata::MDArray;
using strata::OutOfBounds;
using strata::rank;
using strata_tests::expect_parts;
using strata_tests::message_of;

template <class D>
class Check : public ::testing::Test {
 protected:
  void SetUp() override {
    if constexpr (!strata::checked_build) GTEST_SKIP() << "accesses are checked in checked builds only";
  }
};
TYPED_TEST_SUITE(Check, strata_tests::TestDevices, strata_tests::DeviceName);

// Writes one element outside of x, and then all elements of done.
struct WriteOutside {
  index_t bad_item, i, j;
  STRATA_FUNCTION void operator()(index_t item, auto x, auto done) const {
    if (item == bad_item) x(i, j) = 5;
    done(item) = 1;
  }
};

template <class D>
struct Arrays {
  MDArray<int, D, rank<2>> x = create<MDArray<int, D, rank<2>>>("pressure", 8, 4);
  MDArray<int, D, rank<1>> done = create<MDArray<int, D, rank<1>>>("done", 100);
};

TYPED_TEST(Check, AWriteOutsideInAKernelIsThrownByTheLaunchOrTheWait) {
  const Arrays<TypeParam> a;

  const std::string text = message_of<OutOfBounds>([&] {
    strata::parallel_for("update", 100, strata::with(WriteOutside{40, 7, 4}, a.x, a.done));
    strata::wait(TypeParam());
  });

  expect_parts(text, {"update", "\"pressure\"", "(7, 4)", "[0, 8) x [0, 4)"});
}

TYPED_TEST(Check, NegativeIndicesAreOutsideAndUnnamedKernelsAreNamedByTheirType) {
  const Arrays<TypeParam> a;

  const std::string text = message_of<OutOfBounds>([&] {
    strata::parallel_for(100, strata::with(WriteOutside{0, -1, 0}, a.x, a.done));
    strata::wait(TypeParam());
  });

  expect_parts(text, {"WriteOutside", "(-1, 0)"});
}

TYPED_TEST(Check, TheKernelGoesOnAndTheErrorIsToldOnce) {
  const Arrays<TypeParam> a;

  EXPECT_NE(message_of<OutOfBounds>([&] {
              strata::parallel_for(100, strata::with(WriteOutside{40, 100, 100}, a.x, a.done));
              strata::wait(TypeParam());
            }),
            "");
  EXPECT_NO_THROW(strata::wait(TypeParam()));

  const auto done = strata_tests::on_host(a.done), x = strata_tests::on_host(a.done);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(done(i), 1) << i;
  const auto pressure = strata_tests::on_host(a.x);
  for (int i = 0; i < 8; ++i)
    for (int j = 0; j < 4; ++j) EXPECT_EQ(pressure(i, j), 0);
}

struct WriteTwiceOutside {
  STRATA_FUNCTION void operator()(index_t item, auto x) const {
    if (item != 0) return;
    x(8, 0) = 1;
    x(9, 9) = 2;
  }
};

TYPED_TEST(Check, TheFirstErrorOfALaunchWins) {
  const Arrays<TypeParam> a;

  const std::string text = message_of<OutOfBounds>([&] {
    strata::parallel_for(1, strata::with(WriteTwiceOutside{}, a.x));
    strata::wait(TypeParam());
  });

  expect_parts(text, {"(8, 0)"});
}

struct TooManyIndices {
  STRATA_FUNCTION void operator()(index_t i, auto x) const { x(i, 0, 0) = 1; }
};

TYPED_TEST(Check, MoreIndicesThanADynamicRankHasAreABadAccess) {
  const auto x = create<MDArray<int, TypeParam>>("x", 4, 4);

  const std::string text = message_of<OutOfBounds>([&] {
    strata::parallel_for(1, strata::with(TooManyIndices{}, x));
    strata::wait(TypeParam());
  });

  expect_parts(text, {"(0, 0, 0)", "rank 2"});
}

struct WriteRow {
  index_t row;
  STRATA_FUNCTION void operator()(index_t, auto x) const { x(row, 0) = 1; }
};

TYPED_TEST(Check, RowsThatAreNotResidentAreABadAccessThatSaysWhichAre) {
  using A = MDArray<int, TypeParam, rank<2>>;
  const A slice = strata::create_slice<A>("slice", strata::RankExtents<2>(20, 3), {5, 9});

  EXPECT_NO_THROW({
    strata::parallel_for(1, strata::with(WriteRow{8}, slice));
    strata::wait(TypeParam());
  });
  const std::string text = message_of<OutOfBounds>([&] {
    strata::parallel_for(1, strata::with(WriteRow{9}, slice));
    strata::wait(TypeParam());
  });

  expect_parts(text, {"\"slice\"", "(9, 0)", "lies in the array", "rows [5, 9)"});
}

struct ReadOutsideOfSubview {
  STRATA_FUNCTION void operator()(index_t i, auto x) const {
    const auto row = strata::subview(x, i, strata::everything);
    row(0) = row(4);
  }
};

TYPED_TEST(Check, SubviewsInKernelsAreChecked) {
  const Arrays<TypeParam> a;

  const std::string text = message_of<OutOfBounds>([&] {
    strata::parallel_for(1, strata::with(ReadOutsideOfSubview{}, a.x));
    strata::wait(TypeParam());
  });

  expect_parts(text, {"(4)", "[0, 4)", "pressure"});
}

class CheckOnHost : public ::testing::Test {
 protected:
  void SetUp() override {
    if constexpr (!strata::checked_build) GTEST_SKIP() << "accesses are checked in checked builds only";
  }
};

TEST_F(CheckOnHost, ABadAccessOutsideKernelsThrowsAtOnce) {
  const auto x = create<MDArray<int, strata::Serial, rank<2>>>("x", 3, 4);

  expect_parts(message_of<OutOfBounds>([&] { x(3, 0) = 1; }), {"\"x\"", "(3, 0)", "[0, 3) x [0, 4)"});
  EXPECT_THROW((void)x(0, -1), OutOfBounds);
  EXPECT_NO_THROW((void)x(2, 3));
}

TEST_F(CheckOnHost, NullAndEmptyAndUnmanagedViewsAreChecked) {
  const MDArray<int, strata::Serial, rank<1>> null;
  int data[3] = {};
  const MDArray<int, strata::Serial, rank<1>> unmanaged(data, 3);

  EXPECT_THROW((void)null(0), OutOfBounds);
  expect_parts(message_of<OutOfBounds>([&] { (void)unmanaged(3); }), {"unmanaged", "(3)"});
}

TEST_F(CheckOnHost, AViewOfAPartOfAnArrayIsNotCalledTheArray) {
  const auto x = create<MDArray<int, strata::Serial, rank<1>>>("x", 10);
  const MDArray<int, strata::Serial, rank<1>> part(x.data() + 4, 3);

  const MDArray<int, strata::Serial, rank<1>> beginning(x.data(), 3);
  const MDArray<int, strata::Serial, rank<1>> all_of_it(x.data(), 10);

  const std::string of_part = message_of<OutOfBounds>([&] { (void)part(3); });
  const std::string of_beginning = message_of<OutOfBounds>([&] { (void)beginning(3); });
  const std::string of_all = message_of<OutOfBounds>([&] { (void)all_of_it(10); });

  expect_parts(of_part, {"(3) of a view that begins 16 bytes into \"x\"", "[0, 3)"});
  expect_parts(of_beginning, {"(3) of a view of the first 12 bytes of \"x\"", "[0, 3)"});
  expect_parts(of_all, {"index (10) of \"x\""});
}

TEST_F(CheckOnHost, OffsetRangesAreChecked) {
  using V =
      strata::View<int, strata::Serial, strata::RankExtents<1>, strata::LayoutOffset<strata::LayoutRight>>;
  const index_t begins[] = {-2};
  const V x = create<V>("x", V::mapping_type(strata::RankExtents<1>(4), begins));

  EXPECT_NO_THROW((void)x(-2));
  EXPECT_NO_THROW((void)x(1));
  EXPECT_THROW((void)x(2), OutOfBounds);
  expect_parts(message_of<OutOfBounds>([&] { (void)x(-3); }), {"[-2, 2)"});
}

TEST_F(CheckOnHost, SubviewsThatLeaveTheirArrayAreRefused) {
  const auto x = create<MDArray<int, strata::Serial, rank<2>>>("x", 3, 4);

  EXPECT_THROW((void)strata::subview(x, 3, strata::everything), strata::LayoutError);
  EXPECT_THROW((void)strata::subview(x, strata::range(1, 4), 0), strata::LayoutError);
}

TEST_F(CheckOnHost, LeavingOutIndicesOfARightArrayIsABadAccess) {
  const auto x = create<MDArray<int, strata::Serial>>("x", 3, 4);
  const auto one = create<MDArray<int, strata::Serial>>("one", 3, 1);
  const auto vectors = create<strata::MultiVector<int, strata::Serial>>("vectors", 3, 4);

  EXPECT_THROW((void)x(1), OutOfBounds);
  EXPECT_NO_THROW((void)one(1));
  EXPECT_NO_THROW((void)vectors(1));
}

// Of rows that memory holds and the array has, and within the extents: any others are a bad access, however
// far.
template <int Rank, class Layout>
void expect_checks(strata_tests::Random& draw) {
  using E = strata::RankExtents<Rank>;
  using V = strata::View<int, strata::Serial, E, Layout>;
  static int memory[4096];
  index_t n[Rank];
  for (index_t& extent : n) extent = draw(0, 5);
  const strata::ResidentRows rows{draw(-2, n[0] + 2), draw(-2, n[0] + 2)};
  const E extents(n, Rank);
  const bool is_slice = draw(0, 1) == 0;
  const V x(memory + 2048,
            is_slice ? typename V::mapping_type(extents, rows) : typename V::mapping_type(extents));
  for (int trial = 0; trial < 20; ++trial) {
    index_t i[Rank];
    bool good = true;
    for (int r = 0; r < Rank; ++r) {
      const index_t all[] = {draw(0, 4), -1, n[r] - 1, n[r], INT64_MIN, INT64_MAX, rows.begin, rows.end};
      i[r] = all[draw(0, 3) > 0 ? 0 : draw(1, 7)];
      good = good && i[r] >= 0 && i[r] < n[r];
    }
    if (is_slice) good = good && i[0] >= rows.begin && i[0] < rows.end;
    const auto access = [&]<std::size_t... R>(std::index_sequence<R...>) { (void)x(i[R]...); };
    if (good) EXPECT_NO_THROW(access(std::make_index_sequence<Rank>()));
    else EXPECT_THROW(access(std::make_index_sequence<Rank>()), OutOfBounds) << i[0] << " of " << n[0];
  }
}

TEST_F(CheckOnHost, AnyIndexIsCheckedAgainstExtentsAndRows) {
  strata_tests::Random draw;
  for (int trial = 0; trial < strata_tests::trials(2000); ++trial) {
    expect_checks<1, strata::LayoutRight>(draw);
    expect_checks<2, strata::LayoutRight>(draw);
    expect_checks<3, strata::LayoutLeft>(draw);
    expect_checks<2, strata::LayoutStrided>(draw);
    expect_checks<2, strata::LayoutTiled<8>>(draw);
  }
}

}  // namespace
