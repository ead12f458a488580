// Atomic operations on every device, of every size and scope.
// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "algorithms/arrays.hpp"
#include "test_devices.hpp"

namespace {

using strata::create;
using strata::index_t;
using strata_tests::make_vector;
using strata_tests::values_of;
using strata_tests::Vector;

template <class D>
class Atomics : public ::testing::Test {};
TYPED_TEST_SUITE(Atomics, strata_tests::TestDevices, strata_tests::DeviceName);

constexpr index_t items = 6000;

// One operation an element of x; which scope and order does not change the result of a sum of all.
template <class X>
struct EveryOperation {
  using T = typename X::value_type;
  X x;
  STRATA_FUNCTION void operator()(auto index) const {
    const index_t i = index;
    const T small = static_cast<T>(i % 100);
    strata::atomic_fetch_add(&x(0), static_cast<T>(i % 2));
    strata::atomic_fetch_add(&x(0), T(1), strata::system_scope, strata::order_acq_rel);
    strata::atomic_fetch_sub(&x(1), T(1));
    strata::atomic_fetch_min(&x(2), small);
    strata::atomic_fetch_max(&x(3), small, strata::system_scope);
    strata::atomic_fetch_inc(&x(4));
    strata::atomic_fetch_dec(&x(5), strata::device_scope, strata::order_seq_cst);
    if (i % 2000 == 0) strata::atomic_fetch_mul(&x(6), T(2));
    strata::atomic_fetch_update(&x(7), [](T old) { return static_cast<T>(old < 90 ? old + 1 : 0); });
    if constexpr (std::is_integral_v<T>) {
      strata::atomic_fetch_and(&x(8), static_cast<T>(i < 3000 ? ~T(2) : ~T(8)));
      strata::atomic_fetch_or(&x(9), static_cast<T>(1 << (i % 6)));
      strata::atomic_fetch_xor(&x(10), static_cast<T>(i % 3 == 0 ? 5 : 0));
    }
  }
};

template <class D, class T>
void expect_every_operation() {
  const auto x = make_vector<T, D>(11, [](index_t e) { return e == 2 ? 101 : e == 6 ? 3 : e == 8 ? 15 : 0; });

  strata::parallel_for(strata::on(D{}), strata::range(items).dynamic(32), EveryOperation<Vector<T, D>>{x});

  const auto found = values_of(x);
  const auto sum = [](index_t s) {
    return static_cast<T>(static_cast<std::conditional_t<std::is_integral_v<T>, index_t, T>>(s));
  };
  EXPECT_EQ(found[0], sum(items * 3 / 2)) << sizeof(T);
  EXPECT_EQ(found[1], sum(-items)) << sizeof(T);
  EXPECT_EQ(found[2], T(0)) << sizeof(T);
  EXPECT_EQ(found[3], T(99)) << sizeof(T);
  EXPECT_EQ(found[4], sum(items)) << sizeof(T);
  EXPECT_EQ(found[5], sum(-items)) << sizeof(T);
  EXPECT_EQ(found[6], T(24)) << sizeof(T);
  EXPECT_EQ(found[7], T(items % 91)) << sizeof(T);
  if (!std::is_integral_v<T>) return;
  EXPECT_EQ(found[8], T(5)) << sizeof(T);
  EXPECT_EQ(found[9], T(63)) << sizeof(T);
  EXPECT_EQ(found[10], T(items / 3 % 2 * 5)) << sizeof(T);
}

TYPED_TEST(Atomics, NoUpdateIsLostForAnyTypeAndOperation) {
  expect_every_operation<TypeParam, std::int8_t>();
  expect_every_operation<TypeParam, std::uint8_t>();
  expect_every_operation<TypeParam, std::int16_t>();
  expect_every_operation<TypeParam, std::uint16_t>();
  expect_every_operation<TypeParam, std::int32_t>();
  expect_every_operation<TypeParam, std::uint32_t>();
  expect_every_operation<TypeParam, std::int64_t>();
  expect_every_operation<TypeParam, std::uint64_t>();
  expect_every_operation<TypeParam, long long>();
  expect_every_operation<TypeParam, char>();
  expect_every_operation<TypeParam, float>();
  expect_every_operation<TypeParam, double>();
}

// Neighbours of 1 and 2 bytes share a word with the one that changes.
template <class X>
struct Neighbours {
  X x;
  STRATA_FUNCTION void operator()(index_t i) const {
    using T = typename X::value_type;
    strata::atomic_fetch_add(&x(i % 7), T(1));
  }
};

template <class D, class T>
void expect_neighbours() {
  const auto x = create<Vector<T, D>>("x", 7);

  strata::parallel_for(strata::on(D{}), strata::range(700).dynamic(1), Neighbours<Vector<T, D>>{x});

  EXPECT_EQ(values_of(x), std::vector<T>(7, T(100)));
}

TYPED_TEST(Atomics, SmallNeighboursDoNotDisturbEachOther) {
  expect_neighbours<TypeParam, std::uint8_t>();
  expect_neighbours<TypeParam, std::int16_t>();
}

template <class X, class Old>
struct TakeTickets {
  X next;
  Old taken;
  STRATA_FUNCTION void operator()(index_t i) const {
    const auto ticket = strata::atomic_fetch_add(&next(0), 1);
    strata::atomic_fetch_inc(&taken(static_cast<index_t>(ticket)));
    if (i % 10 == 0) strata::atomic_exchange(&next(1), static_cast<int>(i));
  }
};

TYPED_TEST(Atomics, WhatWasThereBeforeIsToldToOneOnly) {
  const auto next = create<Vector<int, TypeParam>>("next", 2);
  const auto taken = create<Vector<int, TypeParam>>("taken", items);

  strata::parallel_for(strata::on(TypeParam{}), strata::range(items).dynamic(8),
                       TakeTickets<Vector<int, TypeParam>, Vector<int, TypeParam>>{next, taken});

  EXPECT_EQ(values_of(taken), std::vector<int>(items, 1));
  EXPECT_EQ(values_of(next)[1] % 10, 0);
}

struct alignas(16) Pair {  // an invariant that a torn access breaks: twice == 2 * count
  std::int64_t count;
  double twice;
};

template <class X>
struct UpdatePairs {
  X x;
  STRATA_FUNCTION void operator()(index_t i) const {
    strata::atomic_fetch_update(&x(0), [](Pair p) { return Pair{p.count + 1, p.twice + 2}; });
    const Pair seen = strata::atomic_load(&x(0));
    if (seen.twice != 2 * static_cast<double>(seen.count)) strata::atomic_store(&x(1), seen);
    const Pair old = strata::atomic_exchange(&x(2), Pair{i, 2 * static_cast<double>(i)});
    if (old.twice != 2 * static_cast<double>(old.count)) strata::atomic_store(&x(1), old);
    Pair expected{-1, 0};
    if (!strata::atomic_compare_exchange(&x(3), expected, Pair{0, 0}) &&
        expected.twice != 2 * static_cast<double>(expected.count))
      strata::atomic_store(&x(1), expected);
  }
};

TYPED_TEST(Atomics, StructsOf16BytesChangeAsOne) {
  const auto x = create<Vector<Pair, TypeParam>>("x", 4);

  strata::parallel_for(strata::on(TypeParam{}), strata::range(items).dynamic(16),
                       UpdatePairs<Vector<Pair, TypeParam>>{x});

  const auto found = values_of(x);
  EXPECT_EQ(found[0].count, items);
  EXPECT_EQ(found[0].twice, 2.0 * items);
  EXPECT_EQ(found[1].count, 0) << "a torn value was seen";
  EXPECT_EQ(found[1].twice, 0) << "a torn value was seen";
}

// Nine words, of which a torn access shows two values.
struct Nine {
  long word[9];
  STRATA_FUNCTION bool is_whole() const {
    for (int k = 1; k < 9; ++k)
      if (word[k] != word[0] + k) return false;
    return true;
  }
};
template <class X, class W>
struct UpdateNines {
  X x;
  W wrong;
  STRATA_FUNCTION void operator()(auto index) const {
    const index_t i = index;
    const auto next = [](Nine old) {
      for (long& w : old.word) ++w;
      return old;
    };
    const Nine before = strata::atomic_fetch_update(&x(i % 3), next);
    const Nine now = strata::atomic_load(&x(i % 3));
    if (!before.is_whole() || !now.is_whole()) strata::atomic_fetch_inc(&wrong(0));
    if (i % 100 == 7) {  // to what it is
      Nine found = now;
      while (!strata::atomic_compare_exchange(&x(3), found, now)) {
        if (!found.is_whole()) strata::atomic_fetch_inc(&wrong(0));
      }
      if (!strata::atomic_exchange(&x(4), now).is_whole()) strata::atomic_fetch_inc(&wrong(0));
      strata::atomic_store(&x(4), before);
    }
  }
};
TYPED_TEST(Atomics, LargerStructsChangeAsOneByLocks) {
  using X = Vector<Nine, TypeParam>;
  const auto x = create<X>("x", 5);
  const auto host = strata::create_mirror(x);
  for (int e = 0; e < 5; ++e)
    for (int k = 0; k < 9; ++k) host(e).word[k] = k;
  deep_copy(x, host);
  const auto wrong = create<Vector<int, TypeParam>>("wrong", 1);

  strata::parallel_for(strata::on(TypeParam{}), strata::range(items).dynamic(32),
                       UpdateNines<X, Vector<int, TypeParam>>{x, wrong});

  EXPECT_EQ(values_of(wrong)[0], 0);
  const auto found = values_of(x);
  for (std::size_t e = 0; e < 3; ++e) EXPECT_EQ(found[e].word[0], items / 3);
  for (const Nine& nine : found) EXPECT_TRUE(nine.is_whole());
}

struct Padded {
  double first;
  char letter;
  double last;
};
template <class X>
struct UpdatePadded {
  X x;
  STRATA_FUNCTION void operator()(auto) const {
    const auto next = [](Padded old) { return Padded{old.first + 1, 'b', old.last + 2}; };
    strata::atomic_fetch_update(&x(0), next);
  }
};
TYPED_TEST(Atomics, StructsWithPaddingAreUpdatedWhateverItIs) {
  using X = Vector<Padded, TypeParam>;
  const auto x = create<X>("x", 1);
  const auto host = strata::create_mirror(x);
  std::memset(static_cast<void*>(&host(0)), 0x5a, sizeof(Padded));
  host(0).first = host(0).last = 0;
  deep_copy(x, host);

  strata::parallel_for(strata::on(TypeParam{}), strata::range(items).dynamic(32), UpdatePadded<X>{x});

  const Padded found = values_of(x)[0];
  EXPECT_EQ(found.first, items);
  EXPECT_EQ(found.letter, 'b');
  EXPECT_EQ(found.last, 2 * items);
}

struct Triple {  // without a default constructor
  STRATA_FUNCTION explicit Triple(long n) : a(n), b(n), c(n) {}
  long a, b, c;
};
struct NextTriple {
  STRATA_FUNCTION Triple operator()(const Triple& t) const { return Triple(t.a + 1); }
};
TEST(Atomic, LargeStructsNeedNoDefaultConstructor) {
  Triple x(1), expected(7);

  EXPECT_EQ(strata::atomic_load(&x).c, 1);
  strata::atomic_store(&x, Triple(2));
  EXPECT_EQ(strata::atomic_exchange(&x, Triple(3), strata::block_scope).c, 2);
  EXPECT_FALSE(strata::atomic_compare_exchange(&x, expected, Triple(8)));
  EXPECT_EQ(expected.c, 3);
  EXPECT_TRUE(strata::atomic_compare_exchange(&x, expected, Triple(4)));
  EXPECT_EQ(strata::atomic_fetch_update(&x, NextTriple{}).b, 4);
  EXPECT_EQ(x.b, 5);
}

// Operations without an instruction, one an element, in any order.
template <class X>
struct OtherOperations {
  using T = typename X::value_type;
  X x;
  STRATA_FUNCTION void operator()(auto index) const {
    const index_t i = index;
    if (i < 5) strata::atomic_fetch_div(&x(0), T(2));
    if constexpr (std::is_integral_v<T>) {
      if (i < 3) strata::atomic_fetch_lshift(&x(1), T(2));
      if (i < 2) strata::atomic_fetch_rshift(&x(2), T(1), strata::device_scope, strata::order_acq_rel);
      strata::atomic_fetch_nand(&x(3), static_cast<T>(~T(0)));  // not: an even number of times
      strata::atomic_fetch_mod(&x(4), T(7));
      if constexpr (std::is_unsigned_v<T>) {
        strata::atomic_fetch_inc_mod(&x(5), T(100));
        strata::atomic_fetch_dec_mod(&x(6), T(100));
      }
    }
  }
};
template <class D, class T>
void expect_other_operations() {
  const auto x = make_vector<T, D>(7, [](index_t e) { return e == 0 ? 96 : e == 4 ? 46 : 5; });

  strata::parallel_for(strata::on(D{}), strata::range(items).dynamic(32), OtherOperations<Vector<T, D>>{x});

  const auto found = values_of(x);
  EXPECT_EQ(found[0], T(3)) << sizeof(T);
  if constexpr (!std::is_integral_v<T>) return;
  EXPECT_EQ(found[1], static_cast<T>(static_cast<unsigned>(5 * 64)));
  EXPECT_EQ(found[2], T(1));
  EXPECT_EQ(found[3], T(5));
  EXPECT_EQ(found[4], T(4));
  if constexpr (!std::is_unsigned_v<T>) return;
  EXPECT_EQ(found[5], T((5 + items) % 101));
  EXPECT_EQ(found[6], T((5 + 101 * 100 - items) % 101));
}
TYPED_TEST(Atomics, QuotientsRemaindersShiftsAndCountersLoseNoUpdate) {
  using D = TypeParam;
  expect_other_operations<D, std::uint8_t>();
  expect_other_operations<D, short>();
  expect_other_operations<D, unsigned>();
  expect_other_operations<D, long>();
  expect_other_operations<D, unsigned long>();
  expect_other_operations<D, float>();
  expect_other_operations<D, double>();
}
template <class A>
struct UseReferences {
  A a;
  STRATA_FUNCTION void operator()(auto) const {
    a(0) /= 2;
    a(1) %= 10;
    a(2) <<= 1;
    a(3) >>= 2;
  }
};
TYPED_TEST(Atomics, ReferencesHaveTheSameOperators) {
  const auto x = create<Vector<int, TypeParam>>("x", 4);
  deep_copy(x, 96);

  strata::parallel_for(strata::on(TypeParam{}), 3,
                       UseReferences<decltype(strata::atomic(x))>{strata::atomic(x)});

  EXPECT_EQ(values_of(x), (std::vector<int>{12, 6, 768, 1}));
}

struct alignas(8) Complex {
  float re, im;
};
template <class X>
struct AddComplex {
  X x;
  STRATA_FUNCTION void operator()(index_t i) const {
    const auto v = static_cast<float>(i % 3);
    strata::atomic_fetch_update(&x(0), [v](Complex c) { return Complex{c.re + 1, c.im + v}; });
  }
};

TYPED_TEST(Atomics, FetchUpdateTakesSmallStructs) {
  const auto x = create<Vector<Complex, TypeParam>>("x", 1);

  strata::parallel_for(strata::on(TypeParam{}), strata::range(items).dynamic(16),
                       AddComplex<Vector<Complex, TypeParam>>{x});

  const auto found = values_of(x)[0];
  EXPECT_EQ(found.re, items);
  EXPECT_EQ(found.im, items);
}

template <class X>
struct RealExtremes {
  X x;
  STRATA_FUNCTION void operator()(index_t i) const {
    using T = typename X::value_type;
    const T v = static_cast<T>((i * 7919) % 1000 - 500) / 8;
    strata::atomic_fetch_min(&x(0), v);
    strata::atomic_fetch_max(&x(1), v);
    strata::atomic_fetch_min(&x(2), static_cast<T>(i + 1));   // positive only
    strata::atomic_fetch_max(&x(3), static_cast<T>(-i - 1));  // negative only
    strata::atomic_fetch_min(&x(4), static_cast<T>(-i - 1));
    strata::atomic_fetch_max(&x(5), static_cast<T>(i + 1));
    strata::atomic_fetch_min(&x(6), v - v == 0 && i == 5 ? std::numeric_limits<T>::quiet_NaN() : v);
    strata::atomic_fetch_max(&x(7), i == 6 ? -std::numeric_limits<T>::quiet_NaN() : v);
  }
};

template <class D, class T>
void expect_real_extremes() {
  const T infinity = std::numeric_limits<T>::infinity();
  const auto x = make_vector<T, D>(8, [&](index_t e) {
    return e == 0 || e == 2 || e == 6 ? infinity : e == 1 || e == 3 || e == 7 ? -infinity : T(0);
  });

  strata::parallel_for(strata::on(D{}), strata::range(1000).dynamic(16), RealExtremes<Vector<T, D>>{x});

  EXPECT_EQ(values_of(x), (std::vector<T>{T(-62.5), T(62.375), 1, -1, -1000, 1000, T(-62.5), T(62.375)}));
}

TYPED_TEST(Atomics, ExtremesOfRealNumbersOfBothSigns) {
  expect_real_extremes<TypeParam, float>();
  expect_real_extremes<TypeParam, double>();
}

TEST(Atomic, OperationsReturnWhatWasThere) {
  int n = 5;
  double x = 1.5;

  EXPECT_EQ(strata::atomic_fetch_add(&n, 2), 5);
  EXPECT_EQ(strata::atomic_fetch_sub(&n, 1), 7);
  EXPECT_EQ(strata::atomic_fetch_mul(&n, 3), 6);
  EXPECT_EQ(strata::atomic_fetch_min(&n, 10), 18);
  EXPECT_EQ(strata::atomic_fetch_max(&n, 4), 10);
  EXPECT_EQ(strata::atomic_fetch_and(&n, 6), 10);
  EXPECT_EQ(strata::atomic_fetch_or(&n, 9), 2);
  EXPECT_EQ(strata::atomic_fetch_xor(&n, 1), 11);
  EXPECT_EQ(strata::atomic_fetch_inc(&n), 10);
  EXPECT_EQ(strata::atomic_fetch_dec(&n), 11);
  EXPECT_EQ(strata::atomic_exchange(&n, 3), 10);
  EXPECT_EQ(strata::atomic_load(&n), 3);
  EXPECT_EQ(strata::atomic_fetch_add(&x, 1), 1.5);
  EXPECT_EQ(strata::atomic_load(static_cast<const double*>(&x)), 2.5);
  bool flag = false;
  EXPECT_FALSE(strata::atomic_fetch_or(&flag, true));
  EXPECT_TRUE(flag);
}

TEST(Atomic, ACompareExchangeThatFailsTellsWhatIsThere) {
  std::uint8_t small = 7, expected_small = 8;
  alignas(16) Pair pair{1, 2}, expected_pair{1, -2};

  EXPECT_FALSE(strata::atomic_compare_exchange(&small, expected_small, 9));
  EXPECT_EQ(expected_small, 7);
  EXPECT_TRUE(strata::atomic_compare_exchange(&small, expected_small, 9));
  EXPECT_EQ(small, 9);
  EXPECT_FALSE(strata::atomic_compare_exchange(&pair, expected_pair, Pair{3, 4}));
  EXPECT_EQ(expected_pair.twice, 2);
  EXPECT_TRUE(strata::atomic_compare_exchange(&pair, expected_pair, Pair{3, 4}));
  EXPECT_EQ(pair.count, 3);
}

TEST(Atomic, IntegersWrapAround) {
  std::int32_t n = std::numeric_limits<std::int32_t>::max();
  std::int8_t small = 127;
  const strata::AtomicReference<std::int32_t> reference(&n);

  EXPECT_EQ(++reference, std::numeric_limits<std::int32_t>::min());
  EXPECT_EQ(strata::atomic_fetch_mul(&n, 3), std::numeric_limits<std::int32_t>::min());
  strata::atomic_fetch_inc(&small);
  EXPECT_EQ(small, -128);
}

template <class T>
void expect_wrapped_quotients() {
  constexpr T least = std::numeric_limits<T>::min();
  T quotient = least, remainder = least, seven = 7;
  const T minus_one = -1;

  EXPECT_EQ(strata::atomic_fetch_div(&quotient, minus_one), least);
  EXPECT_EQ(strata::atomic_fetch_mod(&remainder, minus_one), least);
  strata::atomic_fetch_div(&seven, minus_one);

  EXPECT_EQ(quotient, least) << sizeof(T);
  EXPECT_EQ(remainder, 0) << sizeof(T);
  EXPECT_EQ(seven, -7) << sizeof(T);
}
TEST(Atomic, QuotientsOfTheLeastIntegerAndMinusOneWrapAround) {
  expect_wrapped_quotients<std::int8_t>();
  expect_wrapped_quotients<std::int16_t>();
  expect_wrapped_quotients<std::int32_t>();
  expect_wrapped_quotients<std::int64_t>();
}

// What a thread wrote before a release is seen by one that acquired it.
template <class X>
struct HandOver {
  X x;
  STRATA_FUNCTION void operator()(index_t i) const {
    if (i == 0) {
      x(1) = 42;
      strata::atomic_store(&x(0), 1, strata::system_scope, strata::order_release);
    } else if (strata::atomic_load(&x(0), strata::system_scope, strata::order_acquire) == 1 && x(1) != 42) {
      strata::atomic_fetch_inc(&x(2));
    }
  }
};

TYPED_TEST(Atomics, AcquireSeesWhatReleaseLeft) {
  for (int run = 0; run < 50; ++run) {
    const auto x = create<Vector<int, TypeParam>>("x", 3);

    strata::parallel_for(strata::on(TypeParam{}), strata::range(64).dynamic(1),
                         HandOver<Vector<int, TypeParam>>{x});

    ASSERT_EQ(values_of(x), (std::vector<int>{1, 42, 0}));
  }
}

}  // namespace
