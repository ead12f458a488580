// MultiVector and Value on every device.
// SPDX-License-Identifier: Apache-2.0
#include "test_devices.hpp"

namespace {

using strata::create;
using strata::index_t;
using strata_tests::on_host;

template <class D>
class MultiVectors : public ::testing::Test {};
TYPED_TEST_SUITE(MultiVectors, strata_tests::TestDevices, strata_tests::DeviceName);

struct Fill {
  STRATA_FUNCTION void operator()(index_t i, auto v) const {
    for (index_t k = 0; k < v.extent(1); ++k) v(i, k) = static_cast<double>(100 * k + i);
  }
};

TYPED_TEST(MultiVectors, EachVectorIsContiguousAndOneIndexIsTheFirstVector) {
  const auto v = strata::create_multivector<strata::MultiVector<double, TypeParam>>(10, 3);

  strata::parallel_for(10, strata::with(Fill{}, v));

  const auto host = on_host(v);
  EXPECT_EQ(host(4, 2), 204);
  EXPECT_EQ(host(4), 4);
  EXPECT_EQ(host.stride(0), 1);
  EXPECT_EQ(host.stride(1), 10);
  EXPECT_EQ(&host(0, 1), host.data() + 10);
}

TYPED_TEST(MultiVectors, ASingleVectorNeedsNoCount) {
  const auto v = create<strata::MultiVector<double, TypeParam>>("v", 10);

  EXPECT_EQ(v.rank(), 1);
  EXPECT_EQ(v.extent(0), 10);
  EXPECT_EQ(v.extent(1), 1);
  EXPECT_EQ(v.size(), 10);
  EXPECT_EQ(on_host(v)(9), 0.0);
}

struct AddToValue {
  STRATA_FUNCTION void operator()(index_t, auto v) const { *v += 5; }
};

TYPED_TEST(MultiVectors, AValueIsReadAndWrittenOnTheDeviceAndTheHost) {
  const auto v = strata::create_value<strata::Value<int, TypeParam>>();
  strata::deep_copy(v, 2);

  strata::parallel_for(1, strata::with(AddToValue{}, v));

  int result = 0;
  strata::deep_copy(result, v);
  EXPECT_EQ(result, 7);
  EXPECT_EQ(v.size(), 1);
  EXPECT_EQ(v.rank(), 0);
}

}  // namespace
