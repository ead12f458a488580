// Bitsets on every device: bits of one word that many threads change at once, searches, copies.
// SPDX-License-Identifier: Apache-2.0
#include "algorithms/arrays.hpp"
#include "messages.hpp"
#include "test_devices.hpp"

namespace {

using strata::Bitset;
using strata::create;
using strata::index_t;
using strata_tests::values_of;
using strata_tests::Vector;

template <class D>
class Bitsets : public ::testing::Test {};
TYPED_TEST_SUITE(Bitsets, strata_tests::TestDevices, strata_tests::DeviceName);

// Item i changes bit i / 3: of three threads one changes it.
template <class Bits, class Changes>
struct SetThrice {
  Bits bits;
  Changes changes;
  STRATA_FUNCTION void operator()(auto i) const {
    const index_t bit = index_t(i) / 3;
    if (bit % 5 == 0) return;
    if (bits.set(bit)) strata::atomic_fetch_inc(&changes(0));
    if (!bits.test(bit)) strata::atomic_fetch_inc(&changes(1));
  }
};
template <class Bits, class Changes>
struct Change {
  Bits bits;
  Changes changes;
  STRATA_FUNCTION void operator()(auto i) const {
    const index_t bit = i;
    if (bit % 2 == 0 && bits.reset(bit)) strata::atomic_fetch_inc(&changes(2));
    if (bit % 7 == 0) bits.flip(bit);
  }
};
TYPED_TEST(Bitsets, ThreadsSetResetAndFlipBitsOfOneWord) {
  for (const index_t n : {1, 31, 32, 33, 1000}) {
    const auto bits = create<Bitset<TypeParam>>("bits", n);
    const auto changes = create<Vector<int, TypeParam>>("changes", 3);
    const auto at = strata::on(TypeParam{});

    strata::parallel_for(at, 3 * n, SetThrice<Bitset<TypeParam>, Vector<int, TypeParam>>{bits, changes});
    index_t set = 0, reset = 0, left = 0;
    for (index_t i = 0; i < n; ++i) {
      set += i % 5 != 0;
      reset += i % 5 != 0 && i % 2 == 0;
    }
    EXPECT_EQ(bits.count(), set);
    strata::parallel_for(at, n, Change<Bitset<TypeParam>, Vector<int, TypeParam>>{bits, changes});

    EXPECT_EQ(values_of(changes), (std::vector<int>{static_cast<int>(set), 0, static_cast<int>(reset)}));
    const auto host = create_mirror_and_copy(bits);
    for (index_t i = 0; i < n; ++i) {
      const bool expected = (i % 5 != 0 && i % 2 != 0) != (i % 7 == 0);
      EXPECT_EQ(host.test(i), expected) << i << " of " << n;
      left += expected;
    }
    EXPECT_EQ(bits.count(), left);
    EXPECT_EQ(bits.size(), n);
  }
}

TYPED_TEST(Bitsets, AreSetAsAWholeSearchedAndCopied) {
  const auto bits = create<Bitset<TypeParam>>("bits", 70);
  bits.set_all();
  EXPECT_EQ(bits.count(), 70);

  const auto host = create<Bitset<strata::Serial>>("host", 70);
  deep_copy(host, bits);
  EXPECT_EQ(host.count(), 70);
  EXPECT_EQ(host.find_unset(), -1);
  host.reset(64);
  EXPECT_EQ(host.find_unset(), 64);
  EXPECT_EQ(host.find_unset(65), -1);
  EXPECT_EQ(host.find_set(64), 65);
  deep_copy(bits, host);
  EXPECT_EQ(bits.count(), 69);
  bits.reset_all();
  EXPECT_EQ(bits.count(), 0);
  EXPECT_EQ(create_mirror_and_copy(bits).find_set(3), -1);
}

TEST(Bitset, CopiesOfAnotherNumberOfBitsAreRefused) {
  const auto few = create<Bitset<strata::Serial>>("few", 33);
  const auto many = create<Bitset<strata::Serial>>("many", 64);
  many.set_all();

  strata_tests::expect_parts(strata_tests::message_of<strata::ShapeMismatch>([&] { deep_copy(few, many); }),
                             {"deep_copy of bitsets", "\"few\"", "(33)", "\"many\"", "(64)"});
  EXPECT_EQ(few.count(), 0);
}

TEST(Bitset, OfNoBitsAndOfLessThanNone) {
  const Bitset<strata::Serial> null;
  EXPECT_FALSE(null);
  EXPECT_EQ(null.count(), 0);
  EXPECT_EQ(null.find_set(), -1);
  const auto none = create<Bitset<strata::Emulated>>("none", 0);
  none.set_all();
  EXPECT_EQ(none.count(), 0);
  strata_tests::expect_parts(strata_tests::message_of<strata::ExtentError>(
                                 [] { static_cast<void>(create<Bitset<strata::Serial>>("bits", -1)); }),
                             {"Bitset \"bits\": asked for -1 bits"});
}

}  // namespace
