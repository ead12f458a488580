// Conversion between views and mdspans, over every implementation of mdspan at hand: a small one of the
// test's own, always; CUDA's and the standard library's where they are found.
// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "test_devices.hpp"

#if __has_include(<version>)
#include <version>
#endif
#if defined(__cpp_lib_mdspan)
#include <mdspan>
#endif
#if __has_include(<cuda/std/mdspan>)
#include <cuda/std/mdspan>
#endif

// The least that is an mdspan.
namespace small {

inline constexpr std::size_t dynamic_extent = SIZE_MAX;

template <class Index, std::size_t... N>
class extents {
 public:
  using index_type = Index;
  using size_type = std::make_unsigned_t<Index>;
  extents() = default;
  template <class... I>
  requires(sizeof...(I) == sizeof...(N) && sizeof...(I) > 0) constexpr explicit extents(I... n)
      : extent_{static_cast<Index>(n)...} {}
  static constexpr std::size_t rank() { return sizeof...(N); }
  static constexpr std::size_t static_extent(std::size_t r) {
    return std::array<std::size_t, sizeof...(N) + 1>{N...}[r];
  }
  constexpr Index extent(std::size_t r) const { return extent_[r]; }

 private:
  std::array<Index, sizeof...(N) + 1> extent_{static_cast<Index>(N)...};
};

template <class E, bool Right>
class dense_mapping {
 public:
  using extents_type = E;
  using index_type = typename E::index_type;
  dense_mapping() = default;
  constexpr explicit dense_mapping(const E& e) : extents_(e) {}
  static constexpr bool is_always_exhaustive() { return true; }
  static constexpr bool is_always_strided() { return true; }
  static constexpr bool is_strided() { return true; }
  constexpr const E& extents() const { return extents_; }
  constexpr index_type stride(std::size_t r) const {
    index_type s = 1;
    for (std::size_t q = Right ? r + 1 : 0; q < (Right ? E::rank() : r); ++q) s *= extents_.extent(q);
    return s;
  }
  constexpr index_type required_span_size() const {
    index_type n = 1;
    for (std::size_t q = 0; q < E::rank(); ++q) n *= extents_.extent(q);
    return n;
  }

 private:
  E extents_{};
};

struct layout_right {
  template <class E>
  using mapping = dense_mapping<E, true>;
};
struct layout_left {
  template <class E>
  using mapping = dense_mapping<E, false>;
};
struct layout_stride {
  template <class E>
  class mapping {
   public:
    using extents_type = E;
    using index_type = typename E::index_type;
    mapping() = default;
    constexpr mapping(const E& e, const std::array<index_type, E::rank()>& strides)
        : extents_(e), strides_(strides) {}
    static constexpr bool is_always_exhaustive() { return false; }
    static constexpr bool is_always_strided() { return true; }
    static constexpr bool is_strided() { return true; }
    constexpr const E& extents() const { return extents_; }
    constexpr index_type stride(std::size_t r) const { return strides_[r]; }
    constexpr const std::array<index_type, E::rank()>& strides() const { return strides_; }
    constexpr index_type required_span_size() const {
      index_type span = 1;
      for (std::size_t r = 0; r < E::rank(); ++r) span += (extents_.extent(r) - 1) * strides_[r];
      return span;
    }

   private:
    E extents_{};
    std::array<index_type, E::rank()> strides_{};
  };
};
// Without strides: a lookup in a space-filling order, say.
struct layout_unstrided {
  template <class E>
  class mapping {
   public:
    using extents_type = E;
    using index_type = typename E::index_type;
    mapping() = default;
    constexpr explicit mapping(const E& e) : extents_(e) {}
    static constexpr bool is_always_exhaustive() { return true; }
    static constexpr bool is_always_strided() { return false; }
    static constexpr bool is_strided() { return false; }
    constexpr const E& extents() const { return extents_; }
    constexpr index_type stride(std::size_t) const { return 0; }
    constexpr index_type required_span_size() const { return 1; }

   private:
    E extents_{};
  };
};

template <class T>
struct default_accessor {
  using data_handle_type = T*;
  using reference = T&;
  using element_type = T;
};

template <class T, class E, class L = layout_right, class A = default_accessor<T>>
class mdspan {
 public:
  using element_type = T;
  using extents_type = E;
  using layout_type = L;
  using accessor_type = A;
  using mapping_type = typename L::template mapping<E>;
  using index_type = typename E::index_type;
  constexpr mdspan(T* data, const mapping_type& m) : data_(data), mapping_(m) {}
  static constexpr std::size_t rank() { return E::rank(); }
  constexpr index_type extent(std::size_t r) const { return mapping_.extents().extent(r); }
  constexpr index_type stride(std::size_t r) const { return mapping_.stride(r); }
  constexpr T* data_handle() const { return data_; }
  constexpr const mapping_type& mapping() const { return mapping_; }
  constexpr bool is_strided() const { return mapping_.is_strided(); }

 private:
  T* data_;
  mapping_type mapping_;
};

}  // namespace small

namespace {

using strata::dynamic;
using strata::index_t;

// The names of one implementation.
struct Small {
  static constexpr char name[] = "Small";
  template <class... A>
  using mdspan = small::mdspan<A...>;
  template <class I, std::size_t... N>
  using extents = small::extents<I, N...>;
  using layout_right = small::layout_right;
  using layout_left = small::layout_left;
  using layout_stride = small::layout_stride;
};
#if __has_include(<cuda/std/mdspan>)
struct CudaStd {
  static constexpr char name[] = "CudaStd";
  template <class... A>
  using mdspan = cuda::std::mdspan<A...>;
  template <class I, std::size_t... N>
  using extents = cuda::std::extents<I, N...>;
  using layout_right = cuda::std::layout_right;
  using layout_left = cuda::std::layout_left;
  using layout_stride = cuda::std::layout_stride;
};
#endif
#if defined(__cpp_lib_mdspan)
struct Std {
  static constexpr char name[] = "Std";
  template <class... A>
  using mdspan = std::mdspan<A...>;
  template <class I, std::size_t... N>
  using extents = std::extents<I, N...>;
  using layout_right = std::layout_right;
  using layout_left = std::layout_left;
  using layout_stride = std::layout_stride;
};
#endif

using Implementations = ::testing::Types<Small
#if __has_include(<cuda/std/mdspan>)
                                         ,
                                         CudaStd
#endif
#if defined(__cpp_lib_mdspan)
                                         ,
                                         Std
#endif
                                         >;

constexpr std::size_t open = SIZE_MAX;

template <class M>
STRATA_FUNCTION auto& at(const M& m, index_t i, index_t j) {
  return m.data_handle()[static_cast<index_t>(m.stride(0)) * i + static_cast<index_t>(m.stride(1)) * j];
}

template <class>
class Mdspan : public ::testing::Test {};
TYPED_TEST_SUITE(Mdspan, Implementations, strata_tests::DeviceName);

TYPED_TEST(Mdspan, RightAndLeftAreRecognisedFromTheTypeAndStaticExtentsKept) {
  using E = typename TypeParam::template extents<int, open, 3>;
  using Right = typename TypeParam::template mdspan<double, E, typename TypeParam::layout_right>;
  using Left = typename TypeParam::template mdspan<const double, E, typename TypeParam::layout_left>;
  double data[6] = {0, 1, 2, 3, 4, 5};
  const Right right(data, typename Right::mapping_type(E(2, 3)));
  const Left left(data, typename Left::mapping_type(E(2, 3)));

  const auto r = strata::from_mdspan<strata::Serial>(right);
  const auto l = strata::from_mdspan<strata::Threads>(left);

  using Shape = strata::Extents<dynamic, 3>;
  static_assert(
      std::is_same_v<decltype(r), const strata::View<double, strata::Serial, Shape, strata::LayoutRight>>);
  static_assert(std::is_same_v<decltype(l),
                               const strata::View<const double, strata::Threads, Shape, strata::LayoutLeft>>);
  EXPECT_EQ(r.extent(0), 2);
  EXPECT_EQ(r.data(), data);
  EXPECT_EQ(r.use_count(), 0);
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 3; ++j) {
      EXPECT_EQ(r(i, j), 3 * i + j);
      EXPECT_EQ(l(i, j), i + 2 * j);
    }
}

TYPED_TEST(Mdspan, StridesBecomeAStridedView) {
  using E = typename TypeParam::template extents<index_t, open, open>;
  using M = typename TypeParam::template mdspan<int, E, typename TypeParam::layout_stride>;
  int data[40];
  for (int k = 0; k < 40; ++k) data[k] = k;
  using Strides = std::remove_cvref_t<decltype(std::declval<typename M::mapping_type>().strides())>;
  const M m(data, typename M::mapping_type(E(3, 4), Strides{2, 9}));

  const auto v = strata::from_mdspan<strata::Serial>(m);

  static_assert(std::is_same_v<typename decltype(v)::layout_type, strata::LayoutStrided>);
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 4; ++j) EXPECT_EQ(v(i, j), 2 * i + 9 * j);
}

TYPED_TEST(Mdspan, ToAnyStridesKeepsStaticExtentsAndShowsTheSameElements) {
  using A = strata::MDArray<double, strata::Serial, 3>;
  const A x = strata::create<A>("x", 4);
  const auto part = strata::subview(x, strata::range(1, 4), 1);

  const auto m = strata::to_mdspan<TypeParam::template mdspan, TypeParam::template extents,
                                   typename TypeParam::layout_stride>(x);
  const auto p = strata::to_mdspan<TypeParam::template mdspan, TypeParam::template extents,
                                   typename TypeParam::layout_stride>(part);
  at(m, 2, 1) = 7;

  static_assert(decltype(m)::extents_type::static_extent(0) == open);
  static_assert(decltype(m)::extents_type::static_extent(1) == 3);
  EXPECT_EQ(m.extent(0), 4);
  EXPECT_EQ(x(2, 1), 7);
  EXPECT_EQ(p.extent(0), 3);
  EXPECT_EQ(p.data_handle()[p.stride(0)], 7);
  EXPECT_EQ(strata::from_mdspan<strata::Serial>(p)(1), 7);
}

TYPED_TEST(Mdspan, ToANamedTypeThereAndBackGivesTheSameView) {
  using A = strata::MDArray<float, strata::Serial, strata::rank<2>>;
  using M = typename TypeParam::template mdspan<float, typename TypeParam::template extents<int, open, open>,
                                                typename TypeParam::layout_right>;
  const A x = strata::create<A>("x", 5, 2);

  const auto m = strata::to_mdspan<M>(x);
  const auto back = strata::from_mdspan<strata::Serial>(m);

  EXPECT_TRUE(back == x);
  static_assert(std::is_same_v<decltype(back), const A>);
}

TYPED_TEST(Mdspan, OffsetViewsCountFromZero) {
  using V =
      strata::View<int, strata::Serial, strata::RankExtents<2>, strata::LayoutOffset<strata::LayoutLeft>>;
  using M = typename TypeParam::template mdspan<int, typename TypeParam::template extents<int, open, open>,
                                                typename TypeParam::layout_left>;
  const index_t begins[] = {-1, 2};
  const V x = strata::create<V>("x", typename V::mapping_type(strata::RankExtents<2>(3, 4), begins));
  x(-1, 2) = 1;
  x(1, 5) = 2;

  const auto m = strata::to_mdspan<M>(x);

  EXPECT_EQ(at(m, 0, 0), 1);
  EXPECT_EQ(at(m, 2, 3), 2);
}

TYPED_TEST(Mdspan, ADynamicRankIsCheckedAtRunTime) {
  using M2 = typename TypeParam::template mdspan<int, typename TypeParam::template extents<int, open, open>,
                                                 typename TypeParam::layout_right>;
  using M1 = typename TypeParam::template mdspan<int, typename TypeParam::template extents<int, open>,
                                                 typename TypeParam::layout_right>;
  using A = strata::MDArray<int, strata::Serial>;
  const A x = strata::create<A>("x", 5, 2);

  EXPECT_EQ(strata::to_mdspan<M2>(x).extent(0), 5);
  EXPECT_THROW((void)strata::to_mdspan<M1>(x), strata::ExtentError);
}

TYPED_TEST(Mdspan, WhatTheTypeCannotShowIsRefused) {
  using Fixed =
      typename TypeParam::template mdspan<double, typename TypeParam::template extents<int, open, 4>,
                                          typename TypeParam::layout_right>;
  using Right =
      typename TypeParam::template mdspan<double, typename TypeParam::template extents<int, open, open>,
                                          typename TypeParam::layout_right>;
  using Short =
      typename TypeParam::template mdspan<double,
                                          typename TypeParam::template extents<signed char, open, open>,
                                          typename TypeParam::layout_right>;
  using A = strata::MDArray<double, strata::Serial, strata::rank<2>>;
  const A x = strata::create<A>("x", 50, 3);

  EXPECT_THROW((void)strata::to_mdspan<Fixed>(x), strata::ExtentError);
  EXPECT_THROW((void)strata::to_mdspan<Right>(strata::subview(x, strata::everything, strata::range(0, 2))),
               strata::LayoutError);
  EXPECT_THROW((void)strata::to_mdspan<Short>(x), strata::ExtentError);
}

TYPED_TEST(Mdspan, RankZeroAndNullViewsConvert) {
  using M0 = typename TypeParam::template mdspan<int, typename TypeParam::template extents<int>,
                                                 typename TypeParam::layout_right>;
  using M1 = typename TypeParam::template mdspan<int, typename TypeParam::template extents<int, open>,
                                                 typename TypeParam::layout_right>;
  const auto value = strata::create_value<strata::Value<int, strata::Serial>>();
  *value = 3;

  const auto m = strata::to_mdspan<M0>(value);
  const auto null = strata::to_mdspan<M1>(strata::MDArray<int, strata::Serial, strata::rank<1>>());

  EXPECT_EQ(*m.data_handle(), 3);
  EXPECT_EQ(*strata::from_mdspan<strata::Serial>(m), 3);
  EXPECT_EQ(null.data_handle(), nullptr);
  EXPECT_EQ(null.extent(0), 0);
}

TEST(MdspanLayouts, ALayoutWithoutStridesIsRefused) {
  using E = small::extents<int, open, open>;
  using M = small::mdspan<int, E, small::layout_unstrided>;
  int data[6] = {};
  const M m(data, M::mapping_type(E(2, 3)));

  EXPECT_THROW((void)strata::from_mdspan<strata::Serial>(m), strata::LayoutError);
}

template <class>
class MdspanInKernels : public ::testing::Test {};
TYPED_TEST_SUITE(MdspanInKernels, strata_tests::TestDevices, strata_tests::DeviceName);

// A library that takes mdspans, called from a kernel.
template <class M>
STRATA_FUNCTION void add_row_number(const M& m, index_t i) {
  for (index_t j = 0; j < static_cast<index_t>(m.extent(1)); ++j) at(m, i, j) += static_cast<double>(i);
}

struct AddRowNumbers {
  STRATA_FUNCTION void operator()(index_t i, auto x) const {
    add_row_number(strata::to_mdspan<small::mdspan, small::extents, small::layout_stride>(x), i);
  }
};

TYPED_TEST(MdspanInKernels, AnMdspanMadeInAKernelReachesTheMemoryOfTheDevice) {
  using A = strata::MDArray<double, TypeParam, 3>;
  const A x = strata::create<A>("x", 40);
  strata::deep_copy(x, 1.0);

  strata::parallel_for(40, strata::with(AddRowNumbers{}, x));

  const auto host = strata_tests::on_host(x);
  for (int i = 0; i < 40; ++i)
    for (int j = 0; j < 3; ++j) EXPECT_EQ(host(i, j), 1.0 + i);
}

}  // namespace
