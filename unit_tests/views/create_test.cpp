// create on every device: zero-filling, options, and what is refused with which message.
// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <string>

#include "messages.hpp"
#include "test_devices.hpp"

namespace {

using strata::create;
using strata::index_t;
using strata::MDArray;
using strata::rank;
using strata_tests::message_of;
using strata_tests::on_host;

template <class D>
class Create : public ::testing::Test {};
TYPED_TEST_SUITE(Create, strata_tests::TestDevices, strata_tests::DeviceName);

struct Dirty {
  STRATA_FUNCTION void operator()(index_t i, auto x) const { x(i) = -1; }
};

TYPED_TEST(Create, ElementsAreZeroAlsoWhereTheMemoryWasUsedBefore) {
  using A = MDArray<int, TypeParam, rank<1>>;
  for (int round = 0; round < 3; ++round) {
    const A x = create<A>("x", 100'000);
    const auto host = on_host(x);
    int sum = 0;
    for (int i = 0; i < 100'000; ++i) sum += host(i);
    EXPECT_EQ(sum, 0);
    strata::parallel_for(100'000, strata::with(Dirty{}, x));
  }
}

TYPED_TEST(Create, OptionsComeInAnyOrder) {
  using A = MDArray<int, TypeParam, rank<2>>;
  const TypeParam device;
  const strata::Queue<TypeParam> queue(device);

  const A on_device = create<A>("a", 5, 3, strata::on(device));
  const A on_queue = create<A>("b", 5, 3, strata::on(queue));
  const A first = create<A>("c", 5, 3, strata::uninitialized, strata::on(queue));
  const A second = create<A>("d", 5, 3, strata::on(queue), strata::uninitialized);
  queue.wait();

  EXPECT_EQ(on_host(on_device)(4, 2), 0);
  EXPECT_EQ(on_host(on_queue)(4, 2), 0);
  EXPECT_EQ(first.extent(1) + second.extent(1), 6);
}

TYPED_TEST(Create, EveryInstanceGetsItsOwnArrays) {
  using A = MDArray<int, TypeParam, rank<1>>;
  for (int i = 0; i < TypeParam::count(); ++i) {
    const A x = create<A>("x", 10, strata::on(TypeParam(i)));
    EXPECT_EQ(x.allocation().get()->space.instance, i);
    EXPECT_EQ(on_host(x)(9), 0);
  }
  EXPECT_THROW((void)TypeParam(TypeParam::count()), strata::NoSuchDevice);
  EXPECT_THROW((void)TypeParam(-1), strata::NoSuchDevice);
}

TYPED_TEST(Create, AnArrayWithoutElementsIsNoNullView) {
  const auto x = create<MDArray<double, TypeParam, rank<2>>>("empty", 0, 3);

  EXPECT_TRUE(x);
  EXPECT_EQ(x.size(), 0);
  EXPECT_EQ(x.extent(1), 3);
}

TYPED_TEST(Create, NegativeExtentsAreRefused) {
  const auto text =
      message_of<strata::ExtentError>([] { (void)create<MDArray<double, TypeParam, rank<2>>>("x", 3, -4); });

  EXPECT_NE(text.find("extent 1 is -4"), std::string::npos) << text;
  EXPECT_THROW((void)(create<MDArray<double, TypeParam, 3>>("x", 5, 4)), strata::ExtentError);
}

TYPED_TEST(Create, ElementsOrBytesThatCannotBeCountedAreRefused) {
  const index_t big = index_t{1} << 40;
  using A = MDArray<double, TypeParam, rank<2>>;

  EXPECT_THROW((void)create<A>("x", big, big), strata::ExtentError);
  EXPECT_THROW((void)create<A>("x", big, index_t{1} << 22),
               strata::ExtentError);  // 2^62 elements, 2^65 bytes
}

TYPED_TEST(Create, OutOfMemorySaysWhatWasAskedAndListsTheLargestAllocations) {
  using A = MDArray<double, TypeParam, rank<2>>;
  const A large = create<A>("the large one", 3000, 1000);
  const A small = create<A>("the small one", 10, 10);

  const auto text = message_of<strata::OutOfMemory>(
      [] { (void)create<A>("too much", index_t{1} << 30, index_t{1} << 24, strata::uninitialized); });

  for (const char* part : {"\"too much\"", "1073741824 x 16777216", "144115188075855872 bytes",
                           strata_tests::device_name<TypeParam>(), "\"the large one\" 24000000 bytes"})
    EXPECT_NE(text.find(part), std::string::npos) << "no " << part << " in: " << text;
  EXPECT_LT(text.find("the large one"), text.find("the small one"));
}

TYPED_TEST(Create, ThePapersSpellingsMakeZeroedArraysWithoutALabel) {
  const auto x = strata::create_mdarray<MDArray<double, TypeParam, 3, 8>>(10);
  const auto v = strata::create_value<strata::Value<double, TypeParam>>();

  EXPECT_STREQ(x.label(), "");
  EXPECT_EQ(x.size(), 240);
  EXPECT_EQ(on_host(x)(9, 2, 7), 0.0);
  EXPECT_EQ(*on_host(v), 0.0);
}

struct Pair {
  float a;
  std::int16_t b;
};

TYPED_TEST(Create, SmallStructuresAreElements) {
  const auto x = create<MDArray<Pair, TypeParam, rank<1>>>("pairs", 7);

  strata::deep_copy(x, Pair{1.5f, 3});

  EXPECT_EQ(on_host(x)(6).a, 1.5f);
  EXPECT_EQ(on_host(x)(6).b, 3);
}

TEST(CreateOnEmulated, AQueueOfAnotherInstanceIsRefused) {
  using A = MDArray<int, strata::Emulated, rank<1>>;
  if (strata::Emulated::count() < 2) GTEST_SKIP() << "one emulated instance only";
  const strata::Queue<strata::Emulated> queue(strata::Emulated(1));
  strata::On<strata::Emulated> where = strata::on(queue);
  where.device = strata::Emulated(0);

  EXPECT_THROW((void)create<A>("x", 10, where), strata::WrongDevice);
}

}  // namespace
