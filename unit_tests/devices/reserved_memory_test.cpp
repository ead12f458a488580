// Reserved memory on every device: parts get memory as they are needed, what has memory stays where it is.
// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "core/random.hpp"
#include "test_devices.hpp"

namespace {

using namespace strata;
using namespace strata_tests;
using strata::detail::AllocationRef;
using strata::detail::ReservedMemory;
using Reserved = strata::detail::Ref<ReservedMemory>;

constexpr std::size_t mebi = std::size_t{1} << 20;
constexpr std::size_t whole = 64 * mebi;
constexpr index_t elements_of_a_mebi = index_t{1} << 18;  // of int

template <class D>
using Ints = MDArray<int, D, rank<1>>;
using HostInts = MDArray<int, Serial, rank<1>>;

template <class D>
class ReservedMemoryTest : public ::testing::Test {
 public:
  static Reserved reserve(int instance = 0, std::size_t bytes = whole) {
    return D(instance).backend().reserve({bytes, "parts", sizeof(int), nullptr});
  }
  /// A view of bytes [begin, end), which keeps the memory.
  static Ints<D> part(const Reserved& memory, std::size_t begin, std::size_t end) {
    using Mapping = typename Ints<D>::mapping_type;
    const auto count = static_cast<index_t>((end - begin) / sizeof(int));
    return Ints<D>(AllocationRef::of(memory->allocation()),
                   reinterpret_cast<int*>(static_cast<char*>(memory->data()) + begin),
                   Mapping(typename Ints<D>::extents_type(count)));
  }
  static std::size_t used(int instance = 0) { return D(instance).backend().used(); }
};
// What only devices with memory of their own can do: those that use the host's give null.
template <class D>
class ReservedParts : public ReservedMemoryTest<D> {};
template <class Devices, class... Kept>
struct WithOwnMemory;
template <class... Kept>
struct WithOwnMemory<::testing::Types<>, Kept...> {
  using type = ::testing::Types<Kept...>;
};
// GoogleTest takes no empty list: where no device has such memory, one that does.
template <>
struct WithOwnMemory<::testing::Types<>> {
  using type = ::testing::Types<strata::Emulated>;
};
template <class D, class... Others, class... Kept>
struct WithOwnMemory<::testing::Types<D, Others...>, Kept...>
    : std::conditional_t<D::memory_space::host_accessible,
                         WithOwnMemory<::testing::Types<Others...>, Kept...>,
                         WithOwnMemory<::testing::Types<Others...>, Kept..., D>> {};
TYPED_TEST_SUITE(ReservedMemoryTest, TestDevices, DeviceName);
TYPED_TEST_SUITE(ReservedParts, WithOwnMemory<TestDevices>::type, DeviceName);

struct Count {
  int first;
  STRATA_FUNCTION void operator()(index_t i, const auto& x) const { x(i) = first + static_cast<int>(i); }
};
struct Set {
  int value;
  STRATA_FUNCTION void operator()(index_t i, const auto& x) const { x(i) = value; }
};
struct Churn {
  STRATA_FUNCTION void operator()(index_t i, const auto& x) const {
    for (int k = 0; k < 64; ++k) x(i) += 1;
  }
};

/// Elements that are not `first`, `first` + 1, ...
template <class V>
index_t wrong_in(const V& x, int first) {
  const auto host = on_host(x);
  index_t wrong = 0;
  for (index_t i = 0; i < host.extent(0); ++i) wrong += host(i) != first + static_cast<int>(i);
  return wrong;
}

TYPED_TEST(ReservedMemoryTest, IsGivenWhereTheDeviceHasMemoryOfItsOwn) {
  const Reserved memory = this->reserve();

  if (TypeParam::memory_space::host_accessible) {
    EXPECT_FALSE(memory);
    return;
  }
  ASSERT_TRUE(memory);
  EXPECT_NE(memory->data(), nullptr);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory->data()) % 256, 0U);
  EXPECT_EQ(memory->size(), whole);
  EXPECT_EQ(memory->committed(), 0U);
  EXPECT_EQ(memory->allocation().space, TypeParam{}.backend().space());
}

TYPED_TEST(ReservedParts, GrowInBothDirectionsAndKeepWhatTheyHold) {
  const Reserved memory = this->reserve();
  const auto middle = this->part(memory, 24 * mebi, 28 * mebi);
  ASSERT_TRUE(memory->commit(24 * mebi, 28 * mebi));
  const std::size_t first = memory->committed();
  parallel_for(middle.extent(0), with(Count{5}, middle));

  ASSERT_TRUE(memory->commit(10 * mebi, 26 * mebi));
  const auto left = this->part(memory, 10 * mebi, 24 * mebi);
  parallel_for(left.extent(0), with(Count{-9}, left));
  ASSERT_TRUE(memory->commit(27 * mebi, 40 * mebi));
  const auto right = this->part(memory, 28 * mebi, 40 * mebi);
  parallel_for(right.extent(0), with(Count{77}, right));

  EXPECT_EQ(wrong_in(middle, 5), 0);
  EXPECT_EQ(wrong_in(left, -9), 0);
  EXPECT_EQ(wrong_in(right, 77), 0);
  EXPECT_GE(first, 4 * mebi);
  EXPECT_LE(first, 4 * mebi + 2 * memory->granule());
  EXPECT_GE(memory->committed(), 30 * mebi);
  EXPECT_LE(memory->committed(), 30 * mebi + 4 * memory->granule());
}

TYPED_TEST(ReservedParts, MeetAndCoverHolesBetweenThem) {
  const Reserved memory = this->reserve();
  for (std::size_t k = 0; k < 60; k += 8) ASSERT_TRUE(memory->commit(k * mebi, (k + 4) * mebi));
  const auto first = this->part(memory, 16 * mebi, 20 * mebi);
  parallel_for(first.extent(0), with(Count{1}, first));

  ASSERT_TRUE(memory->commit(2 * mebi, whole));

  EXPECT_EQ(memory->committed(), whole);
  EXPECT_EQ(wrong_in(first, 1), 0);
  const auto all = this->part(memory, 0, whole);
  parallel_for(all.extent(0), with(Count{3}, all));  // and across what was committed apart
  EXPECT_EQ(wrong_in(all, 3), 0);
}

TYPED_TEST(ReservedParts, WhatHasMemoryIsNotGivenItTwice) {
  const Reserved memory = this->reserve();
  ASSERT_TRUE(memory->commit(8 * mebi, 16 * mebi));
  const std::size_t committed = memory->committed(), used = this->used();

  EXPECT_TRUE(memory->commit(8 * mebi, 16 * mebi));
  EXPECT_TRUE(memory->commit(9 * mebi, 10 * mebi));
  EXPECT_TRUE(memory->commit(0, 0));
  EXPECT_TRUE(memory->commit(whole, whole));

  EXPECT_EQ(memory->committed(), committed);
  EXPECT_EQ(this->used(), used);
}

TYPED_TEST(ReservedParts, BytesThatAreNotReservedAreAnErrorThatNamesThem) {
  const Reserved memory = this->reserve();
  std::string message;

  try {
    static_cast<void>(memory->commit(mebi, whole + 1));
  } catch (const OutOfBounds& error) {
    message = error.what();
  }

  for (const std::string part :
       {"[1048576, 67108865)", "\"parts\"", strata_tests::device_name<TypeParam>(), "[0, 67108864)"})
    EXPECT_NE(message.find(part), std::string::npos) << message;
  EXPECT_THROW(static_cast<void>(memory->commit(2, 1)), OutOfBounds);
  EXPECT_EQ(memory->committed(), 0U);
}

TYPED_TEST(ReservedParts, CountWithWhatHasMemoryAndNothingIsLeftBehind) {
  wait(TypeParam{});
  const char* const kind = TypeParam{}.backend().space().kind;
  const std::size_t used = this->used();
  const AllocationTotals before = allocation_totals(kind);
  start_counting();
  {
    const Reserved memory = this->reserve();
    EXPECT_EQ(this->used(), used);
    EXPECT_EQ(allocation_totals(kind).bytes, before.bytes);
    EXPECT_EQ(allocation_totals(kind).count, before.count + 1);

    ASSERT_TRUE(memory->commit(0, 4 * mebi));
    ASSERT_TRUE(memory->commit(20 * mebi, 30 * mebi));

    EXPECT_EQ(this->used(), used + memory->committed());
    EXPECT_EQ(allocation_totals(kind).bytes, before.bytes + memory->committed());
    EXPECT_EQ(allocation_totals(kind).count, before.count + 1);
    for (const auto& held : counters().memories)
      if (held.kind == kind) {
        EXPECT_EQ(held.live_bytes, before.bytes + memory->committed());
      }
  }
  stop_counting();

  for (const auto& held : counters().memories) {
    if (held.kind != kind) continue;
    EXPECT_EQ(held.live_bytes, before.bytes);
    EXPECT_EQ(held.allocations, held.frees);
    EXPECT_EQ(held.allocated_bytes, held.freed_bytes);
  }
  EXPECT_EQ(this->used(), used);
  EXPECT_EQ(allocation_totals(kind).bytes, before.bytes);
  EXPECT_EQ(allocation_totals(kind).count, before.count);
}

TYPED_TEST(ReservedParts, TheLabelOfEveryAddressIsFound) {
  const Reserved memory = this->reserve();
  ASSERT_TRUE(memory->commit(20 * mebi, 24 * mebi));
  struct Found {
    const char* data;
    std::size_t bytes = 0, span = 0;
  } found{static_cast<const char*>(memory->data())};

  visit_allocations(
      [](void* context, const AllocationInfo& info) {
        auto& f = *static_cast<Found*>(context);
        if (f.data != info.data) return;
        EXPECT_STREQ(info.label, "parts");
        f.bytes = info.bytes;
        f.span = info.span;
      },
      &found);

  EXPECT_EQ(found.bytes, memory->committed());
  EXPECT_EQ(found.span, whole);
}

TYPED_TEST(ReservedParts, MayEndWithWorkUnderWay) {
  const Queue<TypeParam> first, second;
  constexpr int rounds = 8;
  const auto result = create<Ints<TypeParam>>("result", elements_of_a_mebi);
  for (int round = 0; round < (is_sanitized ? 2 : 3); ++round) {
    {
      const Reserved memory = this->reserve();
      ASSERT_TRUE(memory->commit(mebi, 3 * mebi));
      // A view without a share in the memory.
      const Ints<TypeParam> x(reinterpret_cast<int*>(static_cast<char*>(memory->data()) + mebi),
                              elements_of_a_mebi);
      parallel_for(on(first), x.extent(0), with(Set{round}, x));
      for (int k = 0; k < rounds; ++k) parallel_for(on(first), x.extent(0), with(Churn{}, x));
      parallel_for(on(first), x.extent(0), with(Churn{}, x));
      deep_copy(first, result, x);
    }
    const Reserved other = this->reserve();
    ASSERT_TRUE(other->commit(0, 4 * mebi));
    const auto y = this->part(other, 0, 4 * mebi);
    parallel_for(on(second), y.extent(0), with(Set{-1000000}, y));
    first.wait();
    second.wait();

    const auto host = on_host(result);
    index_t wrong = 0;
    for (index_t i = 0; i < host.extent(0); ++i) wrong += host(i) != round + 64 * (rounds + 1);
    ASSERT_EQ(wrong, 0) << "round " << round;
  }
}

TYPED_TEST(ReservedParts, ViewsThatShareTheRecordKeepTheMemory) {
  wait(TypeParam{});
  const std::size_t used = this->used();
  {
    Ints<TypeParam> x;
    {
      const Reserved memory = this->reserve();
      ASSERT_TRUE(memory->commit(0, 4 * mebi));
      x = this->part(memory, 0, 4 * mebi);
    }
    parallel_for(x.extent(0), with(Count{8}, x));

    EXPECT_EQ(wrong_in(x, 8), 0);
    EXPECT_STREQ(x.label(), "parts");
    EXPECT_GE(this->used(), used + 4 * mebi);
  }
  wait(TypeParam{});
  EXPECT_EQ(this->used(), used);
}

TYPED_TEST(ReservedParts, AreCopiedToTheHostAndBackAcrossPiecesAndFilled) {
  const Reserved memory = this->reserve();
  for (std::size_t k = 0; k < 32; k += 4) ASSERT_TRUE(memory->commit(k * mebi, (k + 4) * mebi));
  const auto x = this->part(memory, mebi, 31 * mebi);
  const auto host = create<HostInts>("host", x.extent(0));
  for (index_t i = 0; i < host.extent(0); ++i) host(i) = static_cast<int>(i) - 3;

  deep_copy(x, host);
  EXPECT_EQ(wrong_in(x, -3), 0);
  deep_copy(subview(x, range(index_t{5}, 20 * elements_of_a_mebi)), 42);

  const auto back = on_host(x);
  EXPECT_EQ(back(4), 1);
  EXPECT_EQ(back(5), 42);
  EXPECT_EQ(back(20 * elements_of_a_mebi - 1), 42);
  EXPECT_EQ(back(20 * elements_of_a_mebi), static_cast<int>(20 * elements_of_a_mebi) - 3);
}

TYPED_TEST(ReservedParts, AreCopiedBetweenInstancesAlsoWhatGrewAfterTheFirstCopy) {
  if (TypeParam::count() < 2) GTEST_SKIP() << "there is one instance";
  const Reserved here = this->reserve(0), there = this->reserve(1);
  for (const std::size_t k : {std::size_t{0}, std::size_t{8}, std::size_t{24}}) {
    ASSERT_TRUE(here->commit(k * mebi, (k + 8) * mebi));
    ASSERT_TRUE(there->commit(k * mebi, (k + 8) * mebi));
    const auto x = this->part(here, k * mebi, (k + 8) * mebi),
               y = this->part(there, k * mebi, (k + 8) * mebi);
    parallel_for(x.extent(0), with(Count{static_cast<int>(k)}, x));

    deep_copy(y, x);
    EXPECT_EQ(wrong_in(y, static_cast<int>(k)), 0);
    const Queue<TypeParam> queue(TypeParam(1));
    parallel_for(on(queue), y.extent(0), with(Count{-1}, y));
    deep_copy(queue, x, y);
    queue.wait();
    EXPECT_EQ(wrong_in(x, -1), 0);
  }
}

TYPED_TEST(ReservedParts, ManyMayLiveAtOnceAndOverlapNowhere) {
  std::vector<Reserved> all;
  for (int k = 0; k < 8; ++k) {
    all.push_back(this->reserve(0, whole / 4));
    ASSERT_TRUE(all.back());
    ASSERT_TRUE(all.back()->commit(0, whole / 4));
    const auto x = this->part(all.back(), 0, whole / 4);
    parallel_for(x.extent(0), with(Count{1000 * k}, x));
  }

  for (int k = 0; k < 8; ++k) EXPECT_EQ(wrong_in(this->part(all[std::size_t(k)], 0, whole / 4), 1000 * k), 0);
}

// ---- memory that repeats itself

TYPED_TEST(ReservedParts, RepeatThemselvesByAllAddresses) {
  const std::size_t granule = TypeParam{}.backend().repeat_granule();
  if (granule == 0) GTEST_SKIP() << "there are no addresses for it";
  const std::size_t period = (3 * mebi / granule + 1) * granule, used = this->used();
  {
    const Reserved memory = this->reserve(0, 3 * period);
    ASSERT_TRUE(memory->commit_repeating(period));

    const auto first = this->part(memory, 0, period),
               across = this->part(memory, period - mebi, 2 * period - mebi);
    parallel_for(first.extent(0), with(Set{-1}, first));
    parallel_for(across.extent(0), with(Count{5}, across));  // the last mebi, and then all but that

    EXPECT_EQ(wrong_in(this->part(memory, 2 * period - mebi, 2 * period), 5), 0);
    EXPECT_EQ(wrong_in(this->part(memory, 0, period - mebi), 5 + static_cast<int>(elements_of_a_mebi)), 0);
    EXPECT_EQ(
        wrong_in(this->part(memory, 2 * period, 3 * period - mebi), 5 + static_cast<int>(elements_of_a_mebi)),
        0);
    EXPECT_EQ(memory->committed(), period);
    EXPECT_EQ(this->used(), used + period);
    EXPECT_EQ(memory->allocation().held, period);
    EXPECT_TRUE(memory->commit(0, 2 * period));  // has memory
    EXPECT_FALSE(memory->commit_repeating(period));
    EXPECT_EQ(this->used(), used + period);
  }
  wait(TypeParam{});
  EXPECT_EQ(this->used(), used);
}

TYPED_TEST(ReservedParts, AreNotRepeatedAnyMoreWhenOthersGetTheirAddresses) {
  const std::size_t granule = TypeParam{}.backend().repeat_granule();
  if (granule == 0) GTEST_SKIP() << "there are no addresses for it";
  const std::size_t period = (3 * mebi / granule + 1) * granule;
  for (int round = 0; round < 3; ++round) {
    {
      const Reserved memory = this->reserve(0, 2 * period);
      ASSERT_TRUE(memory->commit_repeating(period));
    }
    wait(TypeParam{});
    const Reserved other = this->reserve(0, 2 * period);
    ASSERT_TRUE(other->commit(0, 2 * period));
    const auto all = this->part(other, 0, 2 * period);
    parallel_for(all.extent(0), with(Count{round}, all));
    EXPECT_EQ(wrong_in(all, round), 0);
  }
}

TYPED_TEST(ReservedParts, RepeatOnlyWhereNothingWasCommittedAndThereIsEnough) {
  const auto& backend = TypeParam{}.backend();
  const std::size_t granule = backend.repeat_granule(), used = this->used();
  if (granule == 0) GTEST_SKIP() << "there are no addresses for it";
  const Reserved memory = this->reserve();
  ASSERT_TRUE(memory->commit(0, mebi));
  const std::size_t committed = memory->committed();

  EXPECT_FALSE(memory->commit_repeating(granule));
  EXPECT_EQ(memory->committed(), committed);
  EXPECT_THROW(static_cast<void>(memory->commit_repeating((whole / granule + 1) * granule)), OutOfBounds);

  const std::size_t too_much = (backend.capacity() / granule + 1) * granule;
  const Reserved large = this->reserve(0, too_much);
  ASSERT_TRUE(large);
  EXPECT_FALSE(large->commit_repeating(too_much));
  EXPECT_EQ(large->committed(), 0U);
  EXPECT_EQ(this->used(), used + committed);
  EXPECT_TRUE(large->commit(0, 4 * granule));
}

}  // namespace
