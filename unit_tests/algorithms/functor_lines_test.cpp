// Functors that hold their arrays, as the paper's do: which are found in them, and that results are those of
// items one after the other whichever arrays share memory.
// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <utility>
#include <vector>

#include "arrays.hpp"
#include "core/random.hpp"

namespace {

using namespace strata;
using namespace strata_tests;
using detail::members_of;
using detail::TypeList;

// ---- which lines a functor holds

using Line = Vector<double, Serial>;
using ReadLine = decltype(read_only(Line()));
using BareLine = Line::unmanaged_type;
using Matrix = MDArray<double, Serial, rank<2>>;

struct Axpy {
  double a;
  Line x, y;
};
struct OneLine {
  Line x;
};
struct Mixture {
  BareLine x;
  bool b;
  char c;
  int bits : 3;
  ReadLine y;
  long double l;
  index_t n;
};
struct Eight {
  Line a, b, c, d, e, f, g, h;
};
static_assert(members_of<Axpy>() == 3 && members_of<OneLine>() == 1 && members_of<Mixture>() == 7 &&
              members_of<Eight>() == 8);
static_assert(std::is_same_v<detail::FunctorLines<Axpy>::Lines, TypeList<Line, Line>>);
static_assert(std::is_same_v<detail::FunctorLines<Mixture>::Lines, TypeList<BareLine, ReadLine>>);
static_assert(detail::KernelTraits<Axpy>::may_be_separate != checked_build);

struct Empty {};
struct Inner {
  double a, b;
};
struct Single {
  double a;
};
struct WithArray {
  Line x;
  int k[3];
};
struct WithArrayOfOne {
  double d[1];
  Line x;
};
struct WithLines {
  Line x;
  Line y[2];
};
struct WithAggregate {
  Line x;
  Inner n;
};
struct WithSingle {
  Single s;
  Line x;
};
struct WithEmpty {
  Line x;
  Empty e;
  Line y;
};
struct WithAddress {
  Line x, y;
  double* p;
};
struct WithReference {
  Line x, y;
  double& r;
};
struct ReferenceThatIsAssigned {
  const double& r;
  Line x, y;
  ReferenceThatIsAssigned& operator=(const ReferenceThatIsAssigned&) { return *this; }
};
struct WithText {
  Line x, y;
  std::string s;
};
// Made of anything that converts to an address.
struct Handle {
  Handle() = default;
  template <class T>
  requires std::is_convertible_v<T, int*> Handle(T) {}
};
struct WithHandle {
  Line x;
  Handle h;
  Line y;
};
struct WithUnion {
  Line x, y;
  union {
    double d;
    float f;
  };
};
struct WithMatrix {
  Line x, y;
  Matrix m;
};
struct WithEnum {
  Line x, y;
  enum { A } e;
};
struct DerivedOfLines : OneLine {
  Line y;
};
struct DerivedOfEmpty : Empty {
  Line x, y;
};
struct Nine {
  Line a, b, c, d, e, f, g, h, i;
};
class Constructed {
 public:
  Constructed(const Line& a, const Line& b) : x(a), y(b) {}
  Line x, y;
};
struct AtomicLine {
  Line x;
  decltype(atomic(Line())) y;
};
template <class... K>
inline constexpr bool none_known = (std::is_same_v<typename detail::FunctorLines<K>::Lines, TypeList<>> &&
                                    ...);
static_assert(none_known<Empty, WithArray, WithArrayOfOne, WithLines, WithAggregate, WithSingle, WithEmpty>);
static_assert(none_known<WithAddress, WithReference, ReferenceThatIsAssigned, WithText, WithHandle, WithUnion,
                         WithMatrix, WithEnum>);
static_assert(none_known<DerivedOfLines, DerivedOfEmpty, Nine, Constructed, AtomicLine>);

// ---- of which lines elements may be loaded that a kernel does not reach

TEST(ElementsOfLines, AreHeldByLinesThatAreInMemoryAsAWhole) {
  using Offset = View<double, Serial, RankExtents<1>, LayoutOffset<LayoutRight>>;
  const auto holds = [](const auto& line, index_t begin, index_t end) {
    return detail::holds_elements(line, begin, end);
  };
  const Line x = create<Line>("x", 10);
  const index_t first = -3;
  const auto offset = create<Offset>("offset", Offset::mapping_type(RankExtents<1>(10), &first));
  const Line begins_later = create_slice<Line>("rows 4 to 8", Line::extents_type(10), {4, 8});
  const Line ends_earlier = create_slice<Line>("rows 0 to 5", Line::extents_type(10), {0, 5});

  EXPECT_TRUE(holds(x, 0, 10) && holds(BareLine(x), 2, 5) && holds(offset, -3, 7));
  EXPECT_FALSE(holds(x, 0, 11) || holds(x, -1, 5) || holds(offset, -4, 7) || holds(offset, -3, 8));
  EXPECT_FALSE(holds(begins_later, 4, 8) || holds(ends_earlier, 0, 5));
  EXPECT_FALSE(holds(Line(), 0, 1));
  EXPECT_TRUE(holds(Line(), 3, 3));                                     // there are none
  EXPECT_TRUE(holds(read_only(x), 0, 20) && holds(ReadLine(), 0, 20));  // are not loaded by others
}

// ---- results

template <class D>
class FunctorOfLines : public ::testing::Test {};
TYPED_TEST_SUITE(FunctorOfLines, TestDevices, DeviceName);

// An item reads and writes element i of each array, twice of some, in an order that counts.
template <class V>
struct Mixed {
  using device_type = typename V::device_type;
  V a;
  int factor;
  V b, c;
  STRATA_FUNCTION void operator()(auto i) const {
    c(i) = factor + b(i) % 7;
    a(i) = b(i) + c(i);
    b(i) += 3 * a(i);
    c(i) -= b(i);
  }
};
template <class V, class R>
struct Update {
  using device_type = typename V::device_type;
  using value_type = double;
  V x, y;
  R z;
  double alpha;
  STRATA_FUNCTION void operator()(auto i, double& sum) const {
    const double old = x(i);
    x(i) = old + alpha * y(i);
    y(i) -= z(i) * x(i);
    sum += x(i) * y(i);
  }
  STRATA_FUNCTION static void init(double& sum) { sum = 0; }
  STRATA_FUNCTION static void join(double& sum, const double& other) { sum += other; }
};
// Bound to its views, with two results.
struct UpdateBound {
  STRATA_FUNCTION void operator()(auto i, auto x, auto y, auto z, double& sum, double& most) const {
    const double old = x(i);
    x(i) = old + 0.5 * y(i);
    y(i) -= z(i) * x(i);
    sum += x(i) * y(i);
    if (y(i) > most) most = y(i);
  }
};

template <class D>
constexpr bool is_gpu = is_asynchronous<D> && !std::is_same_v<D, Emulated>;
// More items than a GPU has threads for, so that a thread has several; fewer elsewhere.
template <class D>
index_t draw_count(Random& draw) {
  if (is_gpu<D> && draw(0, 1) == 1) return 1'200'000 + draw(-2000, 2000);
  return draw(1, 3000);
}

TYPED_TEST(FunctorOfLines, HasTheResultsOfItemsOneAfterTheOtherWhicheverArraysShareMemory) {
  using D = TypeParam;
  using V = typename Vector<int, D>::unmanaged_type;
  Random draw;
  for (int trial = 0; trial < trials(20) + 1; ++trial) {
    const index_t n = draw_count<D>(draw), first = draw(0, n / 3), last = n - draw(0, n / 3);
    // Neighbours in one allocation, or at the same place.
    const index_t place[] = {0, draw(0, 1) * n, draw(0, 2) * n};
    const auto all = make_vector<int, D>(3 * n, [](index_t i) { return i % 11; });
    const auto at = [&](index_t begin) { return V(subview(all, range(begin, begin + n))); };
    const int factor = static_cast<int>(draw(1, 9));
    std::vector<int> expected = values_of(all);
    for (index_t i = first; i < last; ++i) {
      int* const base = expected.data() + i;
      int &a = base[place[0]], &b = base[place[1]], &c = base[place[2]];
      c = factor + b % 7;
      a = b + c;
      b += 3 * a;
      c -= b;
    }

    parallel_for(range(first, last), Mixed<V>{at(place[0]), factor, at(place[1]), at(place[2])});

    ASSERT_EQ(values_of(all), expected) << n << " " << place[1] << " " << place[2] << " " << first;
  }
}

// Sums are compared with those of Serial, bit by bit.
TYPED_TEST(FunctorOfLines, HasTheBitsOfAnyOtherSumWhicheverArraysShareMemory) {
  using D = TypeParam;
  Random draw;
  for (int trial = 0; trial < trials(20) + 1; ++trial) {
    const index_t n = draw_count<D>(draw), first = draw(0, n / 3), last = n - draw(0, n / 3);
    const index_t place[] = {0, draw(0, 1) * n, draw(0, 2) * n};
    const auto number = [](index_t i) { return mixed_number(i) * 0x1p-20; };
    const auto run = [&]<class Device>(Device, bool bound) {
      using V = typename Vector<double, Device>::unmanaged_type;
      const auto all = make_vector<double, Device>(3 * n, number);
      const auto at = [&](index_t begin) { return V(subview(all, range(begin, begin + n))); };
      const V x = at(place[0]), y = at(place[1]);
      const auto z = typename V::const_type(at(place[2]));
      double sum = -1, most = -1;
      if (bound) parallel_reduce(range(first, last), with(UpdateBound{}, x, y, z), Sum(sum), Max(most));
      else sum = parallel_reduce(range(first, last), Update<V, typename V::const_type>{x, y, z, 0.5});
      auto values = values_of(all);
      values.push_back(sum);
      values.push_back(most);
      return values;
    };

    for (const bool bound : {false, true}) {
      const auto found = run(D{}, bound), expected = run(Serial{}, bound);
      ASSERT_EQ(found.size(), expected.size());
      for (std::size_t k = 0; k < found.size(); ++k)
        ASSERT_TRUE(same_bits(found[k], expected[k]))
            << n << " " << place[1] << " " << place[2] << " " << first << " " << bound << " at " << k;
    }
  }
}

// Items write elements of items that come later, or came before, of which each is written once, and what they
// write depends on what they find. Numbers that compilers compute with, of any size.
template <class T>
struct WriteAhead {
  index_t distance;
  STRATA_FUNCTION void operator()(auto i, auto x, auto y, long long& sum) const {
    const auto at = i + distance;
    y(at) = static_cast<T>(y(at) == T(0) ? 7 : y(at) + x(i));
    sum += x(i) + 3 * y(at);
  }
};
// The same at a distance that compilers know.
template <class T, int Distance>
struct WriteAheadBy {
  STRATA_FUNCTION void operator()(auto i, auto x, auto y, long long& sum) const {
    WriteAhead<T>{Distance}(i, x, y, sum);
  }
};
template <class T, class D, class K>
void expect_written_ahead(const K& kernel, index_t distance, index_t n, index_t first) {
  const auto number = [](index_t i) { return static_cast<T>(i % 3); };
  const auto x = make_vector<T, D>(n, number), y = make_vector<T, D>(n, number);
  std::vector<T> expected = values_of(y);
  const index_t begin = std::max(first, -distance), end = std::min(n, n - distance);
  long long expected_sum = 0, sum = -1;
  for (index_t i = begin; i < end; ++i) {
    T& at = expected[static_cast<std::size_t>(i + distance)];
    at = static_cast<T>(at == T(0) ? 7 : at + number(i));
    expected_sum += number(i) + 3 * at;
  }

  parallel_reduce(range(begin, end), with(kernel, typename decltype(x)::const_type(x), y), Sum(sum));

  EXPECT_EQ(sum, expected_sum) << n << " from " << first << ", distance " << distance;
  EXPECT_EQ(values_of(y), expected) << n << " from " << first << ", distance " << distance;
}
TYPED_TEST(FunctorOfLines, MayWriteElementsOfOtherItemsInReductions) {
  using D = TypeParam;
  Random draw;
  for (int trial = 0; trial < trials(6) + 1; ++trial) {
    const index_t n = draw_count<D>(draw) + 600, first = draw(0, 500), distance = draw(-512, 512);
    expect_written_ahead<int, D>(WriteAhead<int>{distance}, distance, n, first);
    expect_written_ahead<int, D>(WriteAheadBy<int, 64>(), 64, n, first);
    expect_written_ahead<std::int16_t, D>(WriteAheadBy<std::int16_t, -128>(), -128, n, first);
    expect_written_ahead<std::int8_t, D>(WriteAheadBy<std::int8_t, 32>(), 32, n, first);
    expect_written_ahead<std::int64_t, D>(WriteAheadBy<std::int64_t, 192>(), 192, n, first);
  }
}

// By the address of the first element, which Emulated refuses to kernels.
template <class V>
STRATA_FUNCTION double by_address(const V& line, index_t i) {
  if constexpr (std::is_same_v<typename V::device_type, Emulated>) return line(i);
  else return line.data()[i - line.begin(0)];
}
// Lines that own their memory, whose first index is any, and which may have fewer elements than the loop, or
// none and no memory.
template <class V, class R>
struct AddFrom {
  using device_type = typename V::device_type;
  using value_type = double;
  V x, y, few;
  R read;
  template <class Line>
  STRATA_FUNCTION static bool has(const Line& line, index_t i) {
    return line.begin(0) <= i && i < line.end(0);
  }
  STRATA_FUNCTION double next(index_t i) const {
    return by_address(x, i) + 0.5 * y(i) + (has(few, i) ? by_address(few, i) : 0) -
           (has(read, i) ? read(i) : 0);
  }
  STRATA_FUNCTION void operator()(index_t i) const {
    x(i) = next(i);
    y(i) -= 0.25 * x(i);
  }
  STRATA_FUNCTION void operator()(index_t i, double& sum) const {
    (*this)(i);
    sum += x(i) + y(i);
  }
  STRATA_FUNCTION void operator()(index_t i, double& prefix, bool is_final) const {
    prefix += has(read, i) ? by_address(read, i) : 1;
    if (is_final) y(i) = prefix + by_address(x, i);
  }
  STRATA_FUNCTION static void init(double& sum) { sum = 0; }
  STRATA_FUNCTION static void join(double& sum, const double& other) { sum += other; }
};

enum class How { For, Reduce, Scan };
struct LineOf {
  index_t begin, count;
};

// The elements of two lines, and a sum where there is one.
template <class D>
std::vector<double> added_from(How how, index_t first, index_t last, const LineOf (&lines)[4]) {
  using V = View<double, D, RankExtents<1>, LayoutOffset<LayoutRight>>;
  const auto line = [&](int number) {
    const auto [begin, count] = lines[number];
    if (count == 0) return V();
    const V v = create<V>("line", typename V::mapping_type(RankExtents<1>(count), &begin));
    const auto host = create_mirror(v);
    for (index_t i = 0; i < count; ++i) host(begin + i) = mixed_number(4 * i + number) * 0x1p-20;
    deep_copy(v, host);
    return v;
  };
  const V x = line(0), y = line(1);
  const auto read = read_only(line(3));
  const AddFrom<V, std::remove_const_t<decltype(read)>> functor{x, y, line(2), read};
  std::vector<double> result;
  if (how == How::For) parallel_for(range(first, last), functor);
  else if (how == How::Reduce) result.push_back(parallel_reduce(range(first, last), functor));
  else parallel_scan(range(first, last), functor);
  for (const V& v : {x, y}) {
    const auto host = on_host(v);
    for (index_t i = host.begin(0); i < host.end(0); ++i) result.push_back(host(i));
  }
  return result;
}

TYPED_TEST(FunctorOfLines, MayHoldLinesThatBeginAnywhereAndShorterOnes) {
  using D = TypeParam;
  Random draw;
  for (int trial = 0; trial < trials(12) + 1; ++trial) {
    const index_t count = draw_count<D>(draw), first = draw(-2000, 2000), last = first + count;
    const auto draw_all = [&] {  // the loop's items, and more
      const index_t before = draw(0, 40), after = draw(0, 40);
      return LineOf{first - before, before + count + after};
    };
    const auto draw_line = [&] {
      const index_t kind = draw(0, 2);
      return kind == 0 ? draw_all() : LineOf{first, kind == 1 ? draw(1, count) : 0};
    };
    const LineOf lines[] = {draw_all(), draw_all(), draw_line(), draw_line()};
    for (const How how : {How::For, How::Reduce, How::Scan}) {
      const auto found = added_from<D>(how, first, last, lines);
      const auto expected = added_from<Serial>(how, first, last, lines);
      ASSERT_EQ(found.size(), expected.size());
      for (std::size_t k = 0; k < found.size(); ++k)
        ASSERT_TRUE(same_bits(found[k], expected[k]))
            << count << " from " << first << ", lines from " << lines[0].begin << ", " << lines[1].begin
            << ", " << lines[2].begin << " (" << lines[2].count << "), " << lines[3].begin << " ("
            << lines[3].count << "), way " << static_cast<int>(how) << " at " << k;
    }
  }
}

}  // namespace
