// Figures 4 and 5 of the Kokkos Array paper, and the creation of section 3.2: arrays, mirrors, copies.
// ERRATA.md lists what differs from print.
// SPDX-License-Identifier: Apache-2.0
#include "test_devices.hpp"

namespace {
namespace paper {

using namespace strata;
using DeviceHost = Host;

template <class Array>
void fill(const Array& x) {
  for (index_t i = 0; i < x.extent(0); ++i)
    for (int j = 0; j < 10; ++j)
      for (int k = 0; k < 20; ++k) x(i, j, k) = static_cast<double>(i) * 200 + j * 20 + k + 0.5;
}

template <class Array>
void verify_equal_member_data(const Array& x, const Array& y) {
  ASSERT_EQ(x.size(), y.size());
  for (index_t i = 0; i < x.extent(0); ++i)
    for (int j = 0; j < 10; ++j)
      for (int k = 0; k < 20; ++k) EXPECT_EQ(x(i, j, k), y(i, j, k)) << i << ' ' << j << ' ' << k;
}

// Row sums of x in every column of y, times the column: the computation that figure 4 leaves out.
template <class Device>
class RowSums {
 public:
  typedef Device device_type;
  MDArray<double, Device> x, y;

  STRATA_FUNCTION
  void operator()(int iP) const {
    double sum = 0;
    for (int i = 0; i < x.dimension(1); ++i) sum += x(iP, i);
    for (int i = 0; i < y.dimension(1); ++i) y(iP, i) = sum * i;
  }
};

// Figure 4, with what it says in comments.
template <class Device>
void figure_4(int nP, int nX, int nY) {
  typedef MDArray<double, Device> array_type;

  array_type x = create_mdarray<array_type>(nP, nX);
  array_type y = create_mdarray<array_type>(nP, nY);

  typename array_type::HostMirror xh = create_mirror(x);
  typename array_type::HostMirror yh = create_mirror(y);

  // read data into 'xh' on the host process
  for (int i = 0; i < nP; ++i)
    for (int j = 0; j < nX; ++j) xh(i, j) = i + 0.25 * j;
  deep_copy(x, xh);

  // perform computations on the device
  // inputting 'x' and outputting 'y'
  parallel_for(nP, RowSums<Device>{x, y});

  deep_copy(yh, y);
  // write data from 'yh' on the host process
  for (int i = 0; i < nP; ++i)
    for (int j = 0; j < nY; ++j) EXPECT_EQ(yh(i, j), (nX * i + 0.125 * nX * (nX - 1)) * j) << i << ' ' << j;
}

// Figure 5, line by line.
template <class Device>
void illustrative_test_function(size_t N) {
  typedef MDArray<double, Device> array_type;

  array_type dev_z;
  typename array_type::HostMirror host_z;

  {
    array_type dev_x;
    typename array_type::HostMirror host_x, host_y;

    dev_x = create_mdarray<double, Device>(N, 10, 20);
    dev_z = create_mdarray<double, Device>(N, 10, 20);

    host_x = create_mirror(dev_x);
    host_y = create_mirror(dev_z);

    host_z = host_y;  // View the same data (shallow copy)

    fill(host_x);  // Fill 'host_x' with test data ...

    deep_copy(dev_x, host_x);  // Copy device <- host
    deep_copy(dev_z, dev_x);   // Copy device <- device
    deep_copy(host_y, dev_z);  // Copy host   <- device

    verify_equal_member_data(host_x, host_z);

    EXPECT_EQ(dev_x.use_count(), 1);
    EXPECT_EQ(host_z.use_count(), 2);
    EXPECT_TRUE(host_z == host_y);
  }  // The destructors deallocate the host_x and dev_x data.

  // Data originally allocated for 'host_y' still exists
  // because this data is still viewed by 'host_z'
  EXPECT_EQ(host_z.use_count(), 1);
  const auto expected = create_mirror(dev_z);
  fill(expected);
  verify_equal_member_data(expected, host_z);
}

}  // namespace paper

template <class Device>
class PaperArrays : public ::testing::Test {};
TYPED_TEST_SUITE(PaperArrays, strata_tests::TestDevices, strata_tests::DeviceName);

TYPED_TEST(PaperArrays, Figure4MirrorsDataToTheDeviceAndBack) {
  paper::figure_4<TypeParam>(101, 3, 5);
  paper::figure_4<TypeParam>(1, 1, 1);
}

TYPED_TEST(PaperArrays, Figure5CopiesAndSharesArrays) {
  paper::illustrative_test_function<TypeParam>(37);
  paper::illustrative_test_function<TypeParam>(1);
  paper::illustrative_test_function<TypeParam>(0);
}

TYPED_TEST(PaperArrays, Section32CreatesAnArrayOfTheHost) {
  using namespace paper;
  const int nP = 7, n1 = 3, n2 = 2;

  MDArray<double, DeviceHost> x = create_mdarray<MDArray<double, DeviceHost>>(nP, n1, n2);

  EXPECT_EQ(x.rank(), 3);
  EXPECT_EQ(x.dimension(0), nP);
  EXPECT_EQ(x.dimension(1), n1);
  EXPECT_EQ(x.dimension(2), n2);
  EXPECT_EQ(x.size(), nP * n1 * n2);
}

}  // namespace
