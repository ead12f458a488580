// DLPack on every device, and what an exported tensor shows.
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
using strata::rank;
using strata::Serial;
using strata::to_dlpack;
using strata_tests::contents;
using strata_tests::DLPackElementType;
using strata_tests::DLPackManaged;
using strata_tests::first_element;
using strata_tests::float64;
using strata_tests::Foreign;
using strata_tests::HostView;
using strata_tests::message_of;

// ---- on every device

// Emulated and devices outside the tree have memory that DLPack does not know.
template <class D>
constexpr bool can_export = D::memory_space::host_accessible || !strata_tests::runs_on_host_threads<D>;

template <class D>
class DLPackOnDevices : public ::testing::Test {};
TYPED_TEST_SUITE(DLPackOnDevices, strata_tests::TestDevices, strata_tests::DeviceName);

struct Number {
  STRATA_FUNCTION void operator()(index_t i, auto x) const {
    for (index_t j = 0; j < x.extent(1); ++j) x(i, j) = static_cast<double>(10 * i + j);
  }
};

TYPED_TEST(DLPackOnDevices, AnArrayGoesThereAndBackWithoutACopy) {
  using A = MDArray<double, TypeParam, rank<2>>;
  if constexpr (!can_export<TypeParam>) GTEST_SKIP() << "its memory cannot be exported";
  auto x = create<A>("x", 4, 3);
  const double* const address = x.data();

  auto tensor = to_dlpack(x);
  x = A();
  const A y = from_dlpack<A>(std::move(tensor), "y");
  strata::parallel_for(4, strata::with(Number{}, y));
  strata::wait(TypeParam());

  EXPECT_FALSE(tensor);
  EXPECT_EQ(y.data(), address);
  EXPECT_STREQ(y.label(), "y");
  const auto host = strata_tests::on_host(y);
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 3; ++j) EXPECT_EQ(host(i, j), 10 * i + j);
}

TYPED_TEST(DLPackOnDevices, TheTensorSaysWhereTheElementsLie) {
  using A = MDArray<float, TypeParam, rank<2>>;
  if constexpr (!can_export<TypeParam>) GTEST_SKIP() << "its memory cannot be exported";
  const A x = create<A>("x", 4, 3);

  const auto tensor = to_dlpack(x);

  const DLPackManaged managed = contents(tensor);
  const std::string kind = TypeParam::memory_space::kind;
  EXPECT_EQ(static_cast<int>(managed.tensor.device.type), kind == "Host"         ? 1
                                                          : kind == "Cuda"       ? 2
                                                          : kind == "CudaPinned" ? 3
                                                                                 : 13);
  EXPECT_EQ(managed.tensor.device.id, 0);
  EXPECT_EQ(first_element<float>(managed), x.data());
}

TYPED_TEST(DLPackOnDevices, MemoryThatNoOtherLibraryReachesIsRefusedByName) {
  using A = MDArray<double, TypeParam, rank<2>>;
  if constexpr (can_export<TypeParam>) GTEST_SKIP() << "its memory can be exported";
  const A x = create<A>("pressure", 4, 3);
  double data[6] = {};
  int deleted = 0;
  Foreign foreign(data, float64, &deleted);
  auto tensor = foreign.tensor();

  const std::string out = message_of<strata::Error>([&] { (void)to_dlpack(x); });
  const std::string in = message_of<strata::Error>([&] { (void)from_dlpack<A>(std::move(tensor)); });

  EXPECT_THROW((void)to_dlpack(x), strata::WrongDevice);
  EXPECT_THROW((void)from_dlpack<A>(std::move(tensor)), strata::WrongDevice);
  EXPECT_NE(out.find("\"pressure\": it lies on"), std::string::npos) << out;
  EXPECT_NE(in.find("no other library can reach"), std::string::npos) << in;
}

template <class D>
bool was_idle = false;
template <class D>
void note_idle() {
  was_idle<D> = D().backend().default_queue().idle();
}
struct Slow {
  STRATA_FUNCTION void operator()(index_t i, auto x) const {
    double sum = x(i, 0);
    for (int k = 0; k < 300000; ++k) sum = sum * 0.999999 + 1;
    x(i, 0) = sum;
  }
};

TYPED_TEST(DLPackOnDevices, MemoryIsGivenBackWhenTheWorkOfTheDefaultQueueIsDone) {
  using A = MDArray<double, TypeParam, rank<2>>;
  if constexpr (!can_export<TypeParam>) GTEST_SKIP() << "its memory cannot be exported";
  const A x = create<A>("x", 3, 2);
  auto own = to_dlpack(x);
  int deleted = 0;
  Foreign foreign(x.data(), float64, &deleted);
  foreign.managed.tensor.device = contents(own).tensor.device;
  foreign.strides[0] = x.stride(0);
  foreign.strides[1] = x.stride(1);
  foreign.extents[0] = 3;
  foreign.extents[1] = 2;
  foreign.before_deleting = note_idle<TypeParam>;
  was_idle<TypeParam> = false;

  {
    const A y = from_dlpack<A>(foreign.tensor());
    strata::parallel_for(3, strata::with(Slow{}, y));
  }

  EXPECT_EQ(deleted, 1);
  EXPECT_TRUE(was_idle<TypeParam>);
}

// ---- exports

TEST(DLPackExport, ShowsShapeStridesElementTypeAndVersion) {
  const auto x = create<HostView<std::int16_t>>("x", 4, 3);
  x(2, 1) = 7;

  const auto tensor = to_dlpack(x);

  const DLPackManaged managed = contents(tensor);
  EXPECT_EQ(managed.head.major, 1U);
  EXPECT_EQ(managed.head.flags, 0U);
  EXPECT_EQ(managed.tensor.rank, 2);
  EXPECT_EQ(managed.tensor.extents[0], 4);
  EXPECT_EQ(managed.tensor.extents[1], 3);
  EXPECT_EQ(managed.tensor.strides[0], 3);
  EXPECT_EQ(managed.tensor.strides[1], 1);
  EXPECT_EQ(first_element<std::int16_t>(managed)[2 * 3 + 1], 7);
}

TEST(DLPackExport, ASubviewBeginsBehindTheAddressOfItsAllocation) {
  const auto x = create<HostView<double, LayoutLeft>>("x", 5, 4);
  for (int i = 0; i < 5; ++i)
    for (int j = 0; j < 4; ++j) x(i, j) = 10 * i + j;

  const auto tensor = to_dlpack(strata::subview(x, strata::range(2, 5), strata::range(1, 4)));

  const DLPackManaged managed = contents(tensor);
  EXPECT_EQ(managed.tensor.data, x.data());
  EXPECT_EQ(managed.tensor.byte_offset, (2 + 5) * sizeof(double));
  EXPECT_EQ(managed.tensor.strides[1], 5);
  EXPECT_EQ(first_element<double>(managed)[1 + 2 * 5], 33);
}

TEST(DLPackExport, OffsetViewsCountFromZero) {
  using V = HostView<int, strata::LayoutOffset<LayoutLeft>>;
  const index_t begins[] = {-1, 2};
  const V x = create<V>("x", V::mapping_type(strata::RankExtents<2>(3, 4), begins));
  x(-1, 2) = 1;
  x(1, 5) = 2;

  const auto tensor = to_dlpack(x);

  EXPECT_EQ(first_element<int>(contents(tensor))[0], 1);
  EXPECT_EQ(first_element<int>(contents(tensor))[2 + 3 * 3], 2);
}

TEST(DLPackExport, NegativeStridesBeginAtTheLastElement) {
  using V = HostView<int, LayoutStrided, 1>;
  const index_t back[] = {-1};
  const V x = create<V>("x", V::mapping_type(strata::RankExtents<1>(5), back));
  for (int i = 0; i < 5; ++i) x(i) = i;

  const auto tensor = to_dlpack(x);

  const DLPackManaged managed = contents(tensor);
  EXPECT_EQ(managed.tensor.byte_offset, 4 * sizeof(int));
  EXPECT_EQ(first_element<int>(managed)[3 * managed.tensor.strides[0]], 3);
}

TEST(DLPackExport, ViewsOfConstElementsAreReadOnly) {
  const HostView<const double> x = create<HostView<double>>("x", 2, 2);

  EXPECT_EQ(contents(to_dlpack(x)).head.flags, 1U);
  EXPECT_EQ(contents(to_dlpack(strata::read_only(x))).head.flags, 1U);
}

TEST(DLPackExport, KeepsTheMemoryUntilTheDeleterIsCalled) {
  auto x = create<HostView<double>>("kept", 2, 2);
  const auto before = strata::allocation_totals(strata::HostSpace::kind).count;

  auto tensor = to_dlpack(x);
  EXPECT_EQ(x.use_count(), 2);
  x = {};
  EXPECT_EQ(strata::allocation_totals(strata::HostSpace::kind).count, before);
  DLManagedTensorVersioned* const given = tensor.release();
  DLPackTensor taken(given);
  taken = DLPackTensor();

  EXPECT_EQ(strata::allocation_totals(strata::HostSpace::kind).count, before - 1);
}

TEST(DLPackExport, ValuesAndEmptyArraysAreTensorsAndNullViewsAreNone) {
  const auto value = strata::create_value<strata::Value<int, Serial>>();
  *value = 3;
  const auto empty = create<HostView<double>>("empty", 0, 3);

  const auto v = to_dlpack(value);
  const auto e = to_dlpack(empty);

  EXPECT_EQ(contents(v).tensor.rank, 0);
  EXPECT_EQ(*first_element<int>(contents(v)), 3);
  EXPECT_EQ(contents(e).tensor.data, nullptr);
  EXPECT_EQ(contents(e).tensor.extents[1], 3);
  EXPECT_THROW((void)to_dlpack(HostView<double>()), DLPackError);
}

TEST(DLPackExport, AnUnmanagedViewIsShownAtItsAddress) {
  double data[6] = {};
  const HostView<double> x(data, 2, 3);

  const auto tensor = to_dlpack(x);

  EXPECT_EQ(contents(tensor).tensor.data, data);
  EXPECT_EQ(contents(tensor).tensor.byte_offset, 0U);
}

TEST(DLPackExport, ASliceThatHoldsSomeRowsOnlyIsRefused) {
  using V = HostView<double>;
  const V x = create<V>("x", 4, 3);
  const V slice(x.allocation(), x.data(), V::mapping_type(strata::RankExtents<2>(100, 3), {10, 14}));

  EXPECT_THROW((void)to_dlpack(slice), strata::OutOfBounds);
}

template <class T>
DLPackElementType exported_type() {
  return contents(to_dlpack(create<HostView<T, LayoutRight, 1>>("x", 2))).tensor.element;
}

TEST(DLPackExport, EveryElementTypeHasItsCode) {
  const auto expect = [](DLPackElementType type, int code, int bits) {
    EXPECT_EQ(type.code, code);
    EXPECT_EQ(type.bits, bits);
    EXPECT_EQ(type.lanes, 1);
  };
  expect(exported_type<std::int8_t>(), 0, 8);
  expect(exported_type<std::int64_t>(), 0, 64);
  expect(exported_type<std::uint32_t>(), 1, 32);
  expect(exported_type<strata::half_t>(), 2, 16);
  expect(exported_type<float>(), 2, 32);
  expect(exported_type<double>(), 2, 64);
  expect(exported_type<strata::bfloat16_t>(), 4, 16);
  expect(exported_type<strata::complex<float>>(), 5, 64);
  expect(exported_type<strata::complex<double>>(), 5, 128);
  expect(exported_type<bool>(), 6, 8);
}

}  // namespace
