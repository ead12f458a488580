// Elements of slices whose rows lie anywhere, with any stride between them: kernels find them by row numbers
// of 32 and of 64 bits, in views of fixed and of free row lengths, and in views of other types of the same
// rows.
// SPDX-License-Identifier: Apache-2.0
#include <complex>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/random.hpp"
#include "messages.hpp"
#include "test_devices.hpp"

namespace {

using strata::everything;
using strata::Extents;
using strata::index_t;
using strata::LayoutError;
using strata::LayoutLeft;
using strata::LayoutRight;
using strata::LayoutStrided;
using strata::MDArray;
using strata::range;
using strata::rank;
using strata::RankExtents;
using strata::ResidentRows;
using strata::Serial;
using strata::subview;
using strata::View;
using strata_tests::message_of;

constexpr int columns = 3, most_rows = 7, memory_size = 400;
constexpr index_t far_row = index_t{1} << 27;  // the least distance of rows of a fixed length that is refused
using Fixed = Extents<strata::dynamic, columns>;
using Free = RankExtents<2>;

STRATA_FUNCTION int value_at(index_t row, int column) { return static_cast<int>(row % 100000) * 10 + column; }

// Writes the rows that begin at `first`, and adds to each element what views of other types find there.
template <class Row>
struct WriteRows {
  index_t first;
  STRATA_FUNCTION void operator()(index_t i, auto x) const {
    const auto row = static_cast<Row>(first + i);
    for (int j = 0; j < columns; ++j) x(row, j) = value_at(first + i, j);
  }
};
template <class Row, class Other>
struct AddAsOther {
  index_t first;
  STRATA_FUNCTION void operator()(index_t i, auto x) const {
    const Other other(x);
    const auto row = static_cast<Row>(first + i);
    for (int j = 0; j < columns; ++j) {
      const auto found = other(row, j);
      x(row, j) += found;
    }
  }
};

// Rows [begin, end) of an array of `rows` rows, the first at element `at` of the memory.
struct Slice {
  index_t rows, begin, end, stride, at;
};
Slice drawn_slice(strata_tests::Random& draw, bool is_left) {
  Slice s{};
  const index_t far[] = {0,
                         1,
                         draw(0, 1000),
                         INT32_MAX - draw(0, 10),
                         (index_t{1} << 31) + draw(0, 1000),
                         index_t{5000000000} + draw(0, 1000)};
  s.begin = far[draw(0, 5)];
  s.end = s.begin + draw(1, most_rows);
  s.rows = s.end + draw(0, 3);
  s.stride = is_left ? draw(most_rows, 40) : draw(columns, 40);
  if (!is_left && draw(0, 2) == 0) s.stride = -s.stride;
  s.at = s.stride < 0 ? -s.stride * most_rows : draw(0, 20);
  return s;
}

template <class T, class D, class E, class L>
class Case {
  using V = View<T, D, E, L>;
  using Other = View<const T, D, RankExtents<2>, L>;

 public:
  explicit Case(strata_tests::Random& draw)
      : memory_(strata::create<MDArray<T, D, rank<1>>>("memory", memory_size)),
        slice_(drawn_slice(draw, is_left)) {
    strata::deep_copy(memory_, T(-1));
    const E extents(slice_.rows, columns);
    const typename V::mapping_type mapping(extents, ResidentRows{slice_.begin, slice_.end}, slice_.stride);
    const V x(memory_.data() + slice_.at, mapping);
    EXPECT_EQ(x.data(), memory_.data() + slice_.at);
    const index_t count = slice_.end - slice_.begin;
    const LayoutStrided::mapping<E> strides(mapping);
    const View<T, D, E, LayoutStrided> strided(x.data(), strides);
    EXPECT_EQ(strided.data(), x.data());
    if (slice_.end < INT32_MAX) {
      strata::parallel_for(count, strata::with(WriteRows<int>{slice_.begin}, x));
      strata::parallel_for(count, strata::with(AddAsOther<int, Other>{slice_.begin}, x));
    } else {
      strata::parallel_for(count, strata::with(WriteRows<index_t>{slice_.begin}, x));
      strata::parallel_for(count, strata::with(AddAsOther<index_t, Other>{slice_.begin}, x));
    }
    strata::parallel_for(count,
                         strata::with(AddAsOther<index_t, View<T, D, E, LayoutStrided>>{slice_.begin}, x));
    check();
  }

 private:
  static constexpr bool is_left = std::is_same_v<L, LayoutLeft>;

  void check() const {
    std::vector<T> expected(memory_size, T(-1));
    for (index_t i = 0; i < slice_.end - slice_.begin; ++i)
      for (int j = 0; j < columns; ++j) {
        const index_t from = is_left ? i + j * slice_.stride : i * slice_.stride + j;
        expected[static_cast<std::size_t>(slice_.at + from)] = 4 * value_at(slice_.begin + i, j);
      }
    const auto found = strata_tests::on_host(memory_);
    for (int k = 0; k < memory_size; ++k)
      ASSERT_EQ(found(k), expected[static_cast<std::size_t>(k)])
          << "element " << k << "; rows " << slice_.begin << " to " << slice_.end << ", stride "
          << slice_.stride << ", from " << slice_.at;
  }

  MDArray<T, D, rank<1>> memory_;
  Slice slice_;
};

template <class D>
class SliceAccess : public ::testing::Test {};
TYPED_TEST_SUITE(SliceAccess, strata_tests::TestDevices, strata_tests::DeviceName);

TYPED_TEST(SliceAccess, FindsTheElementsOfRowsAnywhere) {
  using D = TypeParam;
  strata_tests::Random draw;
  for (int trial = 0; trial < strata_tests::trials(20) && !this->HasFatalFailure(); ++trial) {
    Case<int, D, Fixed, LayoutRight>{draw};
    Case<double, D, Fixed, LayoutRight>{draw};  // by a stride of bytes, on a GPU
    Case<int, D, Free, LayoutRight>{draw};
    Case<int, D, Fixed, LayoutLeft>{draw};
  }
}

// Where no memory is that large: where elements would be, from row 0 on.
template <class T>
struct Places {
  STRATA_FUNCTION void operator()(index_t i, auto rows, auto x, auto places) const {
    const index_t origin = static_cast<index_t>(reinterpret_cast<std::uintptr_t>(x.address_of(0, 0)));
    const auto from_row_0 = [&](T* address) {
      return static_cast<index_t>(reinterpret_cast<std::uintptr_t>(address)) - origin;
    };
    places(i, 0) = from_row_0(x.address_of(rows(i), 2)) / static_cast<index_t>(sizeof(T));
    places(i, 1) = from_row_0(x.address_of(static_cast<int>(rows(i)), 2)) / static_cast<index_t>(sizeof(T));
  }
};

// Rows of elements of 8 to 16 bytes are found by a number of bytes, on a GPU.
template <class T, class D>
void expect_rows_far_apart() {
  using V = View<T, D, Fixed, LayoutRight>;
  const auto memory = strata::create<MDArray<T, D, rank<1>>>("memory", 8);
  const auto rows = strata::create<MDArray<index_t, D, rank<1>>>("rows", 3);
  const auto places = strata::create<MDArray<index_t, D, 2>>("places", 3);
  const auto numbers = strata::create_mirror_view(rows);
  numbers(0) = 0, numbers(1) = 1000, numbers(2) = 1 << 20;
  strata::deep_copy(rows, numbers);
  for (const index_t stride : {far_row - 1, 1 - far_row, index_t{-columns}}) {
    const V x(memory.data(), typename V::mapping_type(Fixed(index_t{1} << 31, columns), {0, 1}, stride));

    strata::parallel_for(3, strata::with(Places<T>{}, rows, x, places));

    const auto found = strata_tests::on_host(places);
    for (int i = 0; i < 3; ++i)
      for (int of = 0; of < 2; ++of)
        EXPECT_EQ(found(i, of), numbers(i) * stride + 2)
            << i << " by " << stride << ", elements of " << sizeof(T) << " bytes";
  }
}

TYPED_TEST(SliceAccess, RowsMayBeAlmostTwoToThe27Apart) {
  using D = TypeParam;
  expect_rows_far_apart<signed char, D>();
  expect_rows_far_apart<std::complex<double>, D>();
}

// Kernels, too, find that a view is of nothing, whatever the rows that it would have.
struct IsNothing {
  STRATA_FUNCTION void operator()(index_t, auto x, auto found) const {
    found(0) = x ? 1 : 2;
    found(1) = x.size() == 0 ? 2 : 1;
  }
};

TYPED_TEST(SliceAccess, SlicesOfNothingAreNullInKernels) {
  using D = TypeParam;
  using V = View<int, D, Fixed, LayoutRight>;
  const V nothing(nullptr, typename V::mapping_type(Fixed(100, columns), ResidentRows{5, 9}));
  const auto found = strata::create<MDArray<int, D, rank<1>>>("found", 2);

  strata::parallel_for(1, strata::with(IsNothing{}, nothing, found));

  const auto of = strata_tests::on_host(found);
  EXPECT_EQ(of(0), 2);
  EXPECT_EQ(of(1), 2);
}

#ifndef __CUDACC__

TEST(SliceAccess, RowsOfAFixedLengthFurtherApartAreRefused) {
  constexpr index_t far = far_row;
  using Map = LayoutRight::mapping<Fixed>;
  using FreeMap = LayoutRight::mapping<Free>;
  const FreeMap free(Free(9, columns), {0, 9}, far);

  EXPECT_EQ(free(2, 1), 2 * far + 1);
  EXPECT_NO_THROW(Map(Fixed(9, columns), ResidentRows{0, 9}, far - 1));
  EXPECT_THROW(Map(Fixed(9, columns), ResidentRows{0, 9}, far), LayoutError);
  EXPECT_THROW((Map(free)), LayoutError);
  const std::string message = message_of<LayoutError>([&] {
    Map(Fixed(9, columns), ResidentRows{0, 9}, far);
  });
  strata_tests::expect_parts(message, {"2^27", "134217728", "run time"});
}

TEST(SliceAccess, SlicesOfNothingAreNullViews) {
  using V = View<int, Serial, Fixed, LayoutRight>;
  const V nothing(nullptr, V::mapping_type(Fixed(100, columns), ResidentRows{5, 9}));
  const V::const_type other(nothing);

  EXPECT_FALSE(nothing);
  EXPECT_EQ(nothing.data(), nullptr);
  EXPECT_EQ(other.data(), nullptr);
  EXPECT_EQ(nothing.size(), 0);
  EXPECT_TRUE(nothing == other);
}

// Views that hold the address of index 0, as on GPUs, on a host: beside views of the same elements that hold
// the address of the first of them.
struct OriginSpace {
  static constexpr char kind[] = "Origin";
  static constexpr bool host_accessible = true, views_hold_origin = true;
  template <class T>
  static constexpr T* resolve(T* address) {
    return address;
  }
};
struct Origin {
  using memory_space = OriginSpace;
  using size_type = Serial::size_type;
};

template <class D, class E, class L>
using Bare = typename View<int, D, E, L>::unmanaged_type;

// The indices of elements are those from `first` on in `count` rows, and all of the other dimensions.
template <class A, class B>
void expect_same(const A& a, const B& b, index_t first, index_t count) {
  ASSERT_EQ(a.data(), b.data());
  ASSERT_EQ(static_cast<bool>(a), static_cast<bool>(b));
  ASSERT_EQ(a.size(), b.size());
  ASSERT_EQ(a.origin(), b.origin());
  constexpr int rank = A::extents_type::max_rank_value;
  const auto same_at = [&]<std::size_t... R>(const index_t* i, std::index_sequence<R...>) {
    return &a(i[R]...) == &b(i[R]...);
  };
  index_t i[rank], begin[rank], end[rank];
  for (int r = 0; r < rank; ++r) i[r] = begin[r] = a.begin(r), end[r] = a.end(r);
  i[0] = begin[0] = first, end[0] = first + count;
  for (bool more = count > 0; more;) {
    ASSERT_TRUE(same_at(i, std::make_index_sequence<rank>())) << "row " << i[0];
    int r = rank - 1;
    while (r >= 0 && ++i[r] == end[r]) i[r] = begin[r], --r;
    more = r >= 0;
  }
}

// The same views, and those that are made of them: of constant elements, of strides, of a rank known at run
// time, of parts.
template <class E, class L>
void expect_same_views(int* data, const typename L::template mapping<E>& mapping, index_t first,
                       index_t count) {
  const Bare<Origin, E, L> a(data, mapping);
  const Bare<Serial, E, L> b(data, mapping);
  expect_same(a, b, first, count);
  expect_same(typename Bare<Origin, E, L>::const_type(a), typename Bare<Serial, E, L>::const_type(b), first,
              count);
  const auto nothing = Bare<Origin, E, L>(nullptr, mapping);
  EXPECT_FALSE(nothing);
  EXPECT_FALSE((typename Bare<Origin, E, L>::const_type(nothing)));
  EXPECT_EQ(nothing.data(), nullptr);
  EXPECT_EQ(nothing.size(), 0);
  if constexpr (std::is_constructible_v<Bare<Origin, E, LayoutStrided>, Bare<Origin, E, L>>)
    expect_same(Bare<Origin, E, LayoutStrided>(a), Bare<Serial, E, LayoutStrided>(b), first, count);
  if constexpr (std::is_constructible_v<Bare<Origin, Free, L>, Bare<Origin, E, L>>)
    expect_same(Bare<Origin, Free, L>(a), Bare<Serial, Free, L>(b), first, count);
  if constexpr (E::max_rank_value == 2) {
    expect_same(subview(a, range(first, first + count), range(1, 2)),
                subview(b, range(first, first + count), range(1, 2)), 0, count);
    expect_same(subview(a, range(first, first + count), 1), subview(b, range(first, first + count), 1), 0,
                count);
  } else if constexpr (E::max_rank_value == 3) {
    expect_same(subview(a, range(first, first + count), 1, everything),
                subview(b, range(first, first + count), 1, everything), 0, count);
  }
}

template <class L>
inline constexpr bool counts_to_2_31 = sizeof(typename L::template mapping<Free>::index_type) == 4;

// Whole arrays, slices of them that begin anywhere, and arrays whose indices do.
template <class E, class L>
void expect_same_cases(strata_tests::Random& draw) {
  static int memory[8192];
  using M = typename L::template mapping<E>;
  constexpr int rank = E::max_rank_value;
  index_t n[rank];
  for (int r = 0; r < rank; ++r)
    n[r] = E::static_extent(r) == strata::dynamic ? draw(2, 5) : E::static_extent(r);
  int* const data = memory + 4096;
  expect_same_views<E, L>(data, M(E(n, rank)), 0, n[0]);
  const index_t far[] = {0, draw(1, 9), 1000, counts_to_2_31<L> ? 4000 : index_t{5000000000} + draw(0, 9)};
  const index_t first = far[draw(0, 3)], count = n[0];
  n[0] = first + count + draw(0, 3);
  expect_same_views<E, L>(data, M(E(n, rank), ResidentRows{first, first + count}), first, count);
}
template <class E, class L>
void expect_same_offset_cases(strata_tests::Random& draw) {
  static int memory[4096];
  using Offset = strata::LayoutOffset<L>;
  constexpr int rank = E::max_rank_value;
  index_t n[rank], begin[rank];
  const index_t most = counts_to_2_31<L> ? 1000 : 1000000000;
  for (int r = 0; r < rank; ++r) n[r] = draw(2, 5), begin[r] = draw(-most, most);
  const typename Offset::template mapping<E> mapping(E(n, rank), begin);
  expect_same(Bare<Origin, E, Offset>(memory, mapping), Bare<Serial, E, Offset>(memory, mapping), begin[0],
              n[0]);
}

TEST(SliceAccess, FromTheAddressOfIndex0TheElementsAreTheSame) {
  using strata::Index32, strata::LayoutTiled;
  using Line = RankExtents<1>;
  using Cube = RankExtents<3>;
  using FixedCube = Extents<strata::dynamic, 2, 3>;
  strata_tests::Random draw;
  for (int trial = 0; trial < strata_tests::trials(200) && !::testing::Test::HasFatalFailure(); ++trial) {
    expect_same_cases<Line, LayoutRight>(draw);
    expect_same_cases<Line, LayoutLeft>(draw);
    expect_same_cases<Line, LayoutTiled<4>>(draw);
    expect_same_cases<Free, LayoutRight>(draw);
    expect_same_cases<Free, LayoutLeft>(draw);
    expect_same_cases<Free, LayoutStrided>(draw);
    expect_same_cases<Free, LayoutTiled<4>>(draw);
    expect_same_cases<Free, Index32<LayoutRight>>(draw);
    expect_same_cases<Free, Index32<LayoutLeft>>(draw);
    expect_same_cases<Fixed, LayoutRight>(draw);
    expect_same_cases<Fixed, LayoutLeft>(draw);
    expect_same_cases<Fixed, LayoutTiled<4>>(draw);
    expect_same_cases<Cube, LayoutRight>(draw);
    expect_same_cases<Cube, LayoutLeft>(draw);
    expect_same_cases<FixedCube, LayoutRight>(draw);
    expect_same_offset_cases<Line, LayoutRight>(draw);
    expect_same_offset_cases<Free, LayoutRight>(draw);
    expect_same_offset_cases<Free, LayoutLeft>(draw);
    expect_same_offset_cases<Free, LayoutStrided>(draw);
    expect_same_offset_cases<Free, LayoutTiled<4>>(draw);
    expect_same_offset_cases<Free, Index32<LayoutRight>>(draw);
  }
}

constexpr int six[] = {0, 1, 2, 10, 11, 12};
constexpr View<const int, Serial, Extents<2, 3>, LayoutRight>::unmanaged_type of_six(six);
static_assert(of_six(1, 2) == 12 && of_six.data() == six && of_six.size() == 6 && of_six);

#endif

}  // namespace
