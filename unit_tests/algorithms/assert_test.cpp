// STRATA_ASSERT: told once by checked builds, without cost in others.
// SPDX-License-Identifier: Apache-2.0
#include <string>

#include <strata/core/assert.hpp>

#include "messages.hpp"
#include "test_devices.hpp"

namespace {

using strata::AssertionFailed;
using strata::create;
using strata::index_t;
using strata::MDArray;
using strata::rank;
using strata_tests::expect_parts;
using strata_tests::message_of;

template <class D>
using Items = MDArray<int, D, rank<1>>;

constexpr int line_of_assertion = __LINE__ + 4;
struct AssertBelow {
  index_t limit;
  STRATA_FUNCTION void operator()(index_t i, auto done) const {
    STRATA_ASSERT(i < limit, "more items than the limit allows");
    done(i) = 1;
  }
};

template <class D>
class Assert : public ::testing::Test {
 protected:
  void SetUp() override {
    if constexpr (!strata::checked_build) GTEST_SKIP() << "assertions are evaluated in checked builds only";
  }
};
TYPED_TEST_SUITE(Assert, strata_tests::TestDevices, strata_tests::DeviceName);

TYPED_TEST(Assert, AFailureIsThrownByTheLaunchOrTheWaitWithKernelConditionTextAndPlace) {
  const auto done = create<Items<TypeParam>>("done", 100);

  const std::string text = message_of<AssertionFailed>([&] {
    strata::parallel_for("count", 100, strata::with(AssertBelow{40}, done));
    strata::wait(TypeParam());
  });

  expect_parts(text, {"count", "i < limit", "more items than the limit allows",
                      "assert_test.cpp:" + std::to_string(line_of_assertion)});
}

TYPED_TEST(Assert, AConditionThatHoldsTellsNothing) {
  const auto done = create<Items<TypeParam>>("done", 100);

  EXPECT_NO_THROW({
    strata::parallel_for(100, strata::with(AssertBelow{100}, done));
    strata::wait(TypeParam());
  });
}

TYPED_TEST(Assert, TheKernelGoesOnAndTheFailureIsToldOnce) {
  const auto done = create<Items<TypeParam>>("done", 100);

  EXPECT_NE(message_of<AssertionFailed>([&] {
              strata::parallel_for(100, strata::with(AssertBelow{0}, done));
              strata::wait(TypeParam());
            }),
            "");
  EXPECT_NO_THROW(strata::wait(TypeParam()));

  const auto host = strata_tests::on_host(done);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(host(i), 1) << i;
}

struct AssertThenWriteOutside {
  STRATA_FUNCTION void operator()(index_t, auto x) const {
    STRATA_ASSERT(x.extent(0) == 9);
    x(10) = 1;
  }
};
struct WriteOutsideThenAssert {
  STRATA_FUNCTION void operator()(index_t, auto x) const {
    x(10) = 1;
    STRATA_ASSERT(x.extent(0) == 9);
  }
};

TYPED_TEST(Assert, OfAssertionsAndBadAccessesTheFirstIsTold) {
  const auto x = create<Items<TypeParam>>("x", 10);

  expect_parts(message_of<AssertionFailed>([&] {
                 strata::parallel_for(1, strata::with(AssertThenWriteOutside{}, x));
                 strata::wait(TypeParam());
               }),
               {"AssertThenWriteOutside", "x.extent(0) == 9 failed"});
  EXPECT_THROW(
      {
        strata::parallel_for(1, strata::with(WriteOutsideThenAssert{}, x));
        strata::wait(TypeParam());
      },
      strata::OutOfBounds);
}

struct AssertWithLongTexts {
  STRATA_FUNCTION void operator()(index_t i, auto) const {
    STRATA_ASSERT(i < 0,
                  "0123456789 0123456789 0123456789 0123456789 0123456789 0123456789 0123456789 0123456789 "
                  "0123456789 0123456789 0123456789 0123456789 0123456789 0123456789 01234 then it is cut");
  }
};

TYPED_TEST(Assert, OfALongTextTheBeginningIsTold) {
  const auto x = create<Items<TypeParam>>("x", 1);

  const std::string text = message_of<AssertionFailed>([&] {
    strata::parallel_for(1, strata::with(AssertWithLongTexts{}, x));
    strata::wait(TypeParam());
  });

  expect_parts(text, {"i < 0", "0123456789 01234;"});
  EXPECT_EQ(text.find("then it is cut"), std::string::npos) << text;
}

struct AssertInReduction {
  STRATA_FUNCTION void operator()(index_t i, auto x, int& sum) const {
    STRATA_ASSERT(x(i) == 0, "not zero");
    sum += x(i);
  }
};

TYPED_TEST(Assert, AFailureInAReductionIsToldToo) {
  const auto x = create<Items<TypeParam>>("x", 1000);
  strata::deep_copy(x, 1);
  int sum = 0;

  const std::string text = message_of<AssertionFailed>([&] {
    strata::parallel_reduce("total", 1000, strata::with(AssertInReduction{}, x), strata::Sum(sum));
    strata::wait(TypeParam());
  });

  expect_parts(text, {"total", "not zero"});
}

TEST(AssertOutsideKernels, ThrowsAtOnceInCheckedBuildsAndIsNotEvaluatedInOthers) {
  int evaluated = 0;
  const auto holds = [&] {
    ++evaluated;
    return false;
  };

  const auto asserted = [&] { STRATA_ASSERT(holds(), "on the host"); };

  if (strata::checked_build)
    expect_parts(message_of<AssertionFailed>(asserted), {"holds()", "on the host", "assert_test.cpp"});
  else EXPECT_NO_THROW(asserted());
  EXPECT_EQ(evaluated, strata::checked_build ? 1 : 0);
}

}  // namespace
