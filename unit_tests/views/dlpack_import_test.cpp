// Views of DLPack tensors that another library made: what is taken, what is refused, and when it is given
// back.
// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <string>

#include "views/dlpack_tensors.hpp"

namespace {

using strata::create;
using strata::DLPackError;
using strata::DLPackTensor;
using strata::from_dlpack;
using strata::index_t;
using strata::LayoutLeft;
using strata::LayoutRight;
using strata::LayoutStrided;
using strata::MDArray;
using strata::Serial;
using strata::to_dlpack;
using strata::detail::DLPackDeviceType;
using strata_tests::float64;
using strata_tests::Foreign;
using strata_tests::HostView;
using strata_tests::message_of;

class DLPackImport : public ::testing::Test {
 protected:
  double data_[12] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
  int deleted_ = 0;
  Foreign foreign_{data_, float64, &deleted_};
};

TEST_F(DLPackImport, TheLastViewCallsTheDeleterOnce) {
  auto x = from_dlpack<HostView<double>>(foreign_.tensor());
  auto part = strata::subview(x, 1, strata::everything);

  EXPECT_EQ(x(1, 2), 5);
  EXPECT_EQ(x.use_count(), 2);
  x = {};
  EXPECT_EQ(deleted_, 0);
  EXPECT_EQ(part(2), 5);
  part = {};
  EXPECT_EQ(deleted_, 1);
}

TEST_F(DLPackImport, ATensorThatNobodyTookIsDeleted) {
  { const auto tensor = foreign_.tensor(); }

  EXPECT_EQ(deleted_, 1);
}

TEST_F(DLPackImport, ATensorWithoutADeleterIsTaken) {
  foreign_.managed.head.deleter = nullptr;

  { EXPECT_EQ((from_dlpack<HostView<double>>(foreign_.tensor())(0, 1)), 1); }

  EXPECT_EQ(deleted_, 0);
}

TEST_F(DLPackImport, WithoutStridesItIsOfTheRightLayout) {
  foreign_.managed.tensor.strides = nullptr;

  const auto x = from_dlpack<HostView<double>>(foreign_.tensor());

  EXPECT_EQ(x(1, 0), 3);
}

TEST_F(DLPackImport, TheByteOffsetIsAdded) {
  foreign_.managed.tensor.byte_offset = 2 * sizeof(double);

  const auto x = from_dlpack<HostView<double>>(foreign_.tensor());

  EXPECT_EQ(x(0, 0), 2);
}

TEST_F(DLPackImport, RowsWithGapsAreRightAndColumnsWithGapsLeft) {
  foreign_.strides[0] = 5;
  const auto right = from_dlpack<HostView<double>>(foreign_.tensor());
  EXPECT_EQ(right(1, 2), 7);

  Foreign columns(data_, float64, &deleted_);
  columns.strides[0] = 1;
  columns.strides[1] = 4;
  const auto left = from_dlpack<HostView<double, LayoutLeft>>(columns.tensor());
  EXPECT_EQ(left(1, 2), 9);
}

TEST_F(DLPackImport, AnyStridesAreStrided) {
  foreign_.strides[0] = -6;
  foreign_.strides[1] = 2;
  foreign_.managed.tensor.byte_offset = 6 * sizeof(double);

  const auto x = from_dlpack<HostView<double, LayoutStrided>>(foreign_.tensor());
  const auto copy = create<HostView<double>>("copy", 2, 3);
  strata::deep_copy(copy, x);

  EXPECT_EQ(x(0, 1), 8);
  EXPECT_EQ(copy(1, 2), 4);
}

TEST_F(DLPackImport, StridesThatTheLayoutDoesNotHaveAreRefusedAndTheTensorIsKept) {
  auto tensor = foreign_.tensor();

  const std::string text = message_of<strata::Error>(
      [&] { (void)from_dlpack<HostView<double, LayoutLeft>>(std::move(tensor), "velocity"); });

  EXPECT_NE(text.find("\"velocity\": the tensor of shape (2, 3) has strides (3, 1)"), std::string::npos)
      << text;
  EXPECT_EQ(deleted_, 0);
  EXPECT_TRUE(tensor);
  EXPECT_EQ((from_dlpack<HostView<double>>(std::move(tensor))(1, 1)), 4);
}

TEST_F(DLPackImport, RowsThatOverlapAreNotRight) {
  foreign_.strides[0] = 2;

  EXPECT_THROW((void)from_dlpack<HostView<double>>(foreign_.tensor()), strata::LayoutError);
}

TEST_F(DLPackImport, StridesOfExtentsOfOneAndOfEmptyArraysDoNotMatter) {
  foreign_.extents[0] = 1;
  foreign_.extents[1] = 1;
  foreign_.strides[0] = 77;
  EXPECT_EQ((from_dlpack<HostView<double, LayoutLeft>>(foreign_.tensor())(0, 0)), 0);

  Foreign none(nullptr, float64, &deleted_);
  none.extents[0] = 0;
  const auto empty = from_dlpack<HostView<double, LayoutLeft>>(none.tensor());
  EXPECT_EQ(empty.size(), 0);
  EXPECT_EQ(empty.extent(1), 3);
  EXPECT_TRUE(empty);
}

TEST_F(DLPackImport, FixedExtentsAndRunTimeRanksAreChecked) {
  using Fixed = MDArray<double, Serial, 3>;
  using Other = MDArray<double, Serial, 4>;
  using Any = MDArray<double, Serial>;
  auto tensor = foreign_.tensor();

  EXPECT_THROW((void)from_dlpack<Other>(std::move(tensor)), strata::ExtentError);
  EXPECT_THROW((void)(from_dlpack<HostView<double, LayoutRight, 1>>(std::move(tensor))), strata::ExtentError);
  const auto fixed = from_dlpack<Fixed>(std::move(tensor));
  const auto any = from_dlpack<Any>(to_dlpack(fixed));

  EXPECT_EQ(fixed(1, 2), 5);
  EXPECT_EQ(any.rank(), 2);
  EXPECT_EQ(any(1, 2), 5);
}

TEST_F(DLPackImport, OtherElementTypesAreRefusedByName) {
  auto tensor = foreign_.tensor();

  const std::string text =
      message_of<strata::Error>([&] { (void)from_dlpack<HostView<float>>(std::move(tensor)); });

  EXPECT_NE(text.find("its elements are float64, those of the view float32"), std::string::npos) << text;
  EXPECT_THROW((void)from_dlpack<HostView<std::int64_t>>(std::move(tensor)), DLPackError);
  EXPECT_THROW((void)from_dlpack<HostView<strata::complex<float>>>(std::move(tensor)), DLPackError);
  foreign_.managed.tensor.element.lanes = 2;
  EXPECT_THROW((void)from_dlpack<HostView<double>>(std::move(tensor)), DLPackError);
}

TEST_F(DLPackImport, ReadOnlyTensorsAndRepeatedElementsNeedConstViews) {
  foreign_.managed.head.flags = 1;
  auto tensor = foreign_.tensor();
  EXPECT_THROW((void)from_dlpack<HostView<double>>(std::move(tensor)), DLPackError);
  EXPECT_EQ((from_dlpack<HostView<const double>>(std::move(tensor))(1, 1)), 4);

  Foreign repeated(data_, float64, &deleted_);
  repeated.strides[0] = 0;
  auto broadcast = repeated.tensor();
  EXPECT_THROW((void)(from_dlpack<HostView<double, LayoutStrided>>(std::move(broadcast))), DLPackError);
  EXPECT_EQ((from_dlpack<HostView<const double, LayoutStrided>>(std::move(broadcast))(1, 1)), 1);
}

TEST_F(DLPackImport, HostViewsTakePinnedAndManagedMemoryAndNotThatOfAGpu) {
  foreign_.managed.tensor.device = {DLPackDeviceType::Cuda, 1};
  auto tensor = foreign_.tensor();

  const std::string text =
      message_of<strata::Error>([&] { (void)from_dlpack<HostView<double>>(std::move(tensor)); });

  EXPECT_NE(text.find("it lies on Cuda{1}"), std::string::npos) << text;
  EXPECT_THROW((void)from_dlpack<HostView<double>>(std::move(tensor)), strata::WrongDevice);
  foreign_.managed.tensor.device = {DLPackDeviceType::CudaPinned, 0};
  EXPECT_EQ((from_dlpack<HostView<double>>(std::move(tensor))(1, 1)), 4);
}

TEST_F(DLPackImport, AnAddressThatElementsCannotHaveIsRefused) {
  foreign_.managed.tensor.byte_offset = 4;

  EXPECT_THROW((void)from_dlpack<HostView<double>>(foreign_.tensor()), strata::LayoutError);
}

TEST_F(DLPackImport, AnotherMajorVersionIsRefusedAndDeleted) {
  foreign_.managed.head.major = 2;

  EXPECT_THROW((void)from_dlpack<HostView<double>>(foreign_.tensor()), DLPackError);

  EXPECT_EQ(deleted_, 1);
}

TEST_F(DLPackImport, WhatIsNoTensorIsRefused) {
  using V = HostView<double, LayoutStrided>;
  auto tensor = foreign_.tensor();

  EXPECT_THROW((void)from_dlpack<V>(DLPackTensor()), DLPackError);
  foreign_.managed.tensor.rank = 9;
  EXPECT_THROW((void)from_dlpack<V>(std::move(tensor)), strata::ExtentError);
  foreign_.managed.tensor.rank = 2;
  foreign_.extents[0] = -1;
  EXPECT_THROW((void)from_dlpack<V>(std::move(tensor)), strata::ExtentError);
  foreign_.extents[0] = 2;
  foreign_.strides[0] = index_t{1} << 62;
  EXPECT_THROW((void)from_dlpack<V>(std::move(tensor)), strata::ExtentError);
  foreign_.strides[0] = 3;
  foreign_.managed.tensor.data = nullptr;
  EXPECT_THROW((void)from_dlpack<V>(std::move(tensor)), DLPackError);
}

}  // namespace
