// deep_copy between element types: numbers of all kinds, layouts, parts, devices and memories; on queues and
// in graphs; and what is refused.
// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <type_traits>
#include <vector>

#include "messages.hpp"
#include "test_devices.hpp"

namespace {

using strata::create;
using strata::deep_copy;
using strata::index_t;
using strata::MDArray;
using strata::range;
using strata::rank;
using strata::RankExtents;
using strata::Serial;
using strata::subview;
using strata::View;
using strata_tests::expect_parts;
using strata_tests::message_of;
using strata_tests::on_host;

template <class T, class D>
using Line = MDArray<T, D, rank<1>>;
template <class T, class D, class L>
using Matrix = View<T, D, RankExtents<2>, L>;

template <class D>
class DeepCopyConverts : public ::testing::Test {};
TYPED_TEST_SUITE(DeepCopyConverts, strata_tests::TestDevices, strata_tests::DeviceName);

// 0, 1.25, 2.5, 3.75, 4, ...: exact in every floating-point type of the library.
double number(index_t k) { return static_cast<double>(k % 100) + 0.25 * static_cast<double>(k % 4); }

template <class T, class D>
Line<T, D> numbers(index_t n) {
  const auto host = create<Line<T, Serial>>("numbers", n);
  for (index_t k = 0; k < n; ++k) host(k) = static_cast<T>(number(k));
  const auto x = create<Line<T, D>>("x", n);
  deep_copy(x, host);
  return x;
}

template <class To, class From, class D>
void expect_converts(index_t n) {
  const auto x = numbers<From, D>(n);
  const auto y = create<Line<To, D>>("y", n);

  deep_copy(y, x);

  const auto host = on_host(y);
  index_t wrong = 0;
  for (index_t k = 0; k < n; ++k) wrong += host(k) != static_cast<To>(static_cast<From>(number(k)));
  EXPECT_EQ(wrong, 0) << "of " << n << ", " << typeid(From).name() << " to " << typeid(To).name();
}

template <class D, class... T>
void expect_to_and_from(index_t n) {
  (expect_converts<T, double, D>(n), ...);
  (expect_converts<float, T, D>(n), ...);
}

TYPED_TEST(DeepCopyConverts, NumbersOfEveryKind) {
  for (const index_t n : {1, 1003})
    expect_to_and_from<TypeParam, bool, std::int8_t, std::uint8_t, short, unsigned short, int, unsigned, long,
                       unsigned long, strata::half_t, strata::bfloat16_t>(n);
  for (const index_t n : {1, 3, 4, 5, 100000}) {
    expect_converts<float, double, TypeParam>(n);
    expect_converts<double, float, TypeParam>(n);
  }
}

TYPED_TEST(DeepCopyConverts, OnlyThePartThatIsNamed) {
  const auto x = numbers<double, TypeParam>(50);
  const auto y = create<Line<float, TypeParam>>("y", 50);
  deep_copy(y, -1.0F);

  deep_copy(subview(y, range(3, 41)), subview(x, range(5, 43)));

  const auto host = on_host(y);
  for (index_t k = 0; k < 50; ++k)
    EXPECT_EQ(host(k), k < 3 || k >= 41 ? -1.0F : static_cast<float>(number(k + 2)));
}

// Doubles by way of an array of floats of another layout, back to the host.
template <class A, class B>
void expect_layouts(const A& a, const B& b) {
  const auto source = create<Matrix<double, Serial, strata::LayoutRight>>("source", 13, 70);
  const auto back = create<Matrix<double, Serial, strata::LayoutRight>>("back", 13, 70);
  for (index_t i = 0; i < 13; ++i)
    for (index_t j = 0; j < 70; ++j) source(i, j) = static_cast<double>(100 * i + j);

  deep_copy(a, source);
  deep_copy(b, a);
  deep_copy(back, b);

  index_t wrong = 0;
  for (index_t i = 0; i < 13; ++i)
    for (index_t j = 0; j < 70; ++j) wrong += back(i, j) != source(i, j);
  EXPECT_EQ(wrong, 0);
}

TYPED_TEST(DeepCopyConverts, BetweenLayouts) {
  using D = TypeParam;
  using Strided = Matrix<double, D, strata::LayoutStrided>;
  const index_t strides[] = {-1, 15};
  const auto turned =
      create<Strided>("turned", typename Strided::mapping_type(RankExtents<2>(13, 70), strides, 12));
  const auto right = create<Matrix<float, D, strata::LayoutRight>>("right", 13, 70);
  const auto left = create<Matrix<double, D, strata::LayoutLeft>>("left", 13, 70);
  const auto tiled = create<Matrix<float, D, strata::LayoutTiled<4>>>("tiled", 13, 70);
  const auto free = create<MDArray<int, D>>("free", 13, 70);

  expect_layouts(right, left);
  expect_layouts(left, right);
  expect_layouts(left, tiled);
  expect_layouts(tiled, turned);
  expect_layouts(turned, right);
  expect_layouts(free, turned);
}

TYPED_TEST(DeepCopyConverts, BetweenAllPairsOfDevicesAndInstances) {
  const int last = TypeParam::count() - 1;
  const auto a = create<Matrix<float, TypeParam, strata::LayoutRight>>("a", 13, 70);
  expect_layouts(
      a, create<Matrix<double, TypeParam, strata::LayoutLeft>>("b", 13, 70, strata::on(TypeParam(last))));
  strata::KernelDevices::for_each([&]<class Other>(const Other&) {
    const auto b = create<Matrix<double, Other, strata::LayoutLeft>>("b", 13, 70);
    expect_layouts(a, b);
    expect_layouts(b, a);
  });
}

TYPED_TEST(DeepCopyConverts, OnAQueueInItsOrderWithArraysOfTheHost) {
  const strata::Queue<TypeParam> queue;
  const auto x = create<Line<float, TypeParam>>("x", 1003), y = create<Line<float, TypeParam>>("y", 1003);
  const auto source = numbers<double, Serial>(1003), back = create<Line<double, Serial>>("back", 1003);

  deep_copy(queue, x, 5.0F);
  deep_copy(queue, x, source);
  deep_copy(queue, y, x);
  deep_copy(queue, back, y);
  queue.wait();

  index_t wrong = 0;
  for (index_t k = 0; k < 1003; ++k) wrong += back(k) != source(k);
  EXPECT_EQ(wrong, 0);
}

TYPED_TEST(DeepCopyConverts, ComplexNumbersAndScalars) {
  using Wide = strata::complex<double>;
  using Narrow = strata::complex<float>;
  const auto host = create<Line<Wide, Serial>>("host", 5);
  for (int k = 0; k < 5; ++k) host(k) = Wide(k, 0.5 - k);
  const auto x = create<Line<Narrow, TypeParam>>("x", 5);
  const auto v = create<strata::Value<float, TypeParam>>("v");
  double read = 0;

  deep_copy(x, host);
  deep_copy(v, 2.5F);
  deep_copy(read, v);

  EXPECT_EQ(on_host(x)(3), Narrow(3, -2.5F));
  EXPECT_EQ(read, 2.5);
}

TYPED_TEST(DeepCopyConverts, InAGraphWhereBothArraysAreOfTheDevice) {
  const strata::Queue<TypeParam> queue;
  const auto x = numbers<double, TypeParam>(100);
  const auto y = create<Line<float, TypeParam>>("y", 100);
  strata::wait(TypeParam());

  const auto graph = strata::record(queue, [&] { deep_copy(queue, y, x); });
  EXPECT_EQ(on_host(y)(7), 0.0F);
  graph.launch(queue);
  queue.wait();

  EXPECT_EQ(graph.size(), 1);
  EXPECT_EQ(on_host(y)(7), static_cast<float>(number(7)));
  if constexpr (!TypeParam::memory_space::host_accessible) {
    const auto host = create<Line<double, Serial>>("host", 100);
    const std::string message = message_of<strata::Error>(
        [&] { static_cast<void>(strata::record(queue, [&] { deep_copy(queue, y, host); })); });
    expect_parts(message, {"a conversion between two memories cannot be recorded", "\"host\"", "\"y\""});
  }
}

TYPED_TEST(DeepCopyConverts, OtherShapesAndOverlapsAreRefused) {
  const auto x = create<Line<double, TypeParam>>("x", 8);
  const auto y = create<Line<float, TypeParam>>("y", 7);
  const Line<float, TypeParam> inside(reinterpret_cast<float*>(x.data()) + 4, 8);

  expect_parts(message_of<strata::ShapeMismatch>([&] { deep_copy(y, x); }),
               {"\"y\" has shape (7)", "\"x\" has shape (8)"});
  EXPECT_THROW(deep_copy(inside, x), strata::CopyError);
  EXPECT_NO_THROW(deep_copy(Line<float, TypeParam>(), Line<double, TypeParam>()));
}

TEST(DeepCopyConvertsOnEmulated, AFailedConversionIsReportedByTheWait) {
  using Emulated = strata::Emulated;
  const strata::Queue<Emulated> queue;
  const auto x = create<Line<double, Emulated>>("x", 8);
  const auto y = create<Line<float, Emulated>>("y", 8);
  strata::emulated::fail(strata::emulated::Fault::Copy, 1);

  deep_copy(queue, y, x);

  expect_parts(message_of<strata::CopyError>([&] { queue.wait(); }), {"conversion of \"x\"", "\"y\""});
  EXPECT_EQ(on_host(y)(0), 0.0F);
}

}  // namespace
