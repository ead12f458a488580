// Arrays that share memory and arrays that do not: GPUs have a kernel for each, and results are those of
// items one after the other. Which kernels can be compiled so is decided by what a functor may hold.
// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "arrays.hpp"
#include "core/random.hpp"

namespace {

using namespace strata;
using namespace strata_tests;
using detail::holds_no_address;

// ---- what a functor may hold

struct Nothing {};
struct Small {
  float s;
};
struct TwoNumbers {
  double a;
  int b;
};
struct ArrayOfNumbers {
  double a[3];
};
struct Address {
  double* p;
};
struct NumberAndAddress {
  double s;
  double* p;
};
struct Reference {
  double s;
  double& r;
};
struct Addresses {
  double* p[2];
};
struct AddressInside {
  TwoNumbers n;
  Address p;
};
struct SevenNumbersAndAddress {
  double a, b, c, d, e, f, g;
  void* p;
};
struct OfAddress : Address {
  double s;
};
double global;
struct ReferenceByDefault {
  double s;
  double& r = global;
};
union NumberOrAddress {
  double d;
  double* p;
};
struct [[gnu::packed]] Packed {
  double* p;
};
struct Copied {
  Copied() = default;
  Copied(const Copied&) {}
};
struct Constructed {
  explicit Constructed(double* q) : p(q) {}
  double* p;
};
static_assert(holds_no_address<Nothing>() && holds_no_address<Small>() && holds_no_address<TwoNumbers>() &&
              holds_no_address<ArrayOfNumbers>());
static_assert(!holds_no_address<Address>() && !holds_no_address<NumberAndAddress>() &&
              !holds_no_address<Reference>() && !holds_no_address<Addresses>() &&
              !holds_no_address<AddressInside>() && !holds_no_address<SevenNumbersAndAddress>() &&
              !holds_no_address<OfAddress>() && !holds_no_address<Constructed>());
static_assert(!holds_no_address<ReferenceByDefault>() && !holds_no_address<NumberOrAddress>() &&
              !holds_no_address<Packed>() && !holds_no_address<Copied>());

// ---- which memory is shared

using Line = Vector<double, Serial>;

// The bytes of a view, from the address of `base` on.
std::pair<index_t, index_t> bytes_of(const auto& view, const double* base) {
  const detail::Addresses found = detail::addresses_of(view);
  const auto from = reinterpret_cast<std::uintptr_t>(base);
  return {static_cast<index_t>(found.begin - from), static_cast<index_t>(found.end - from)};
}

TEST(AddressesOfLines, AreThoseOfTheFirstAndTheLastElement) {
  const auto plate = create<MDArrayIn<LayoutLeft, double, Serial, rank<2>>>("x", 3, 10);
  const double* base = plate.data();
  using Bytes = std::pair<index_t, index_t>;

  EXPECT_EQ(bytes_of(subview(plate, everything, 0), base), Bytes(0, 24));
  EXPECT_EQ(bytes_of(subview(plate, range(1, 3), 2), base), Bytes(56, 72));
  EXPECT_EQ(bytes_of(subview(plate, 1, everything), base), Bytes(8, 8 * (1 + 27) + 8));  // every third one
  const index_t back = -1;
  const View<double, Serial, Extents<dynamic>, LayoutStrided> backwards(
      plate.data() + 9, LayoutStrided::mapping<Extents<dynamic>>(Extents<dynamic>(10), &back));
  EXPECT_EQ(bytes_of(backwards, base), Bytes(0, 80));
  EXPECT_EQ(detail::addresses_of(Line()).end, 0U);
  EXPECT_EQ(detail::addresses_of(subview(plate, range(2, 2), 0)).end, 0U);
}

TEST(AddressesOfLines, AreSharedByNeighboursThatTouchNowhere) {
  const auto x = create<Line>("x", 10);
  const auto shares = [&](index_t a, index_t a_end, index_t b, index_t b_end) {
    const auto of = [&](index_t begin, index_t end) {
      return detail::addresses_of(subview(x, range(begin, end)));
    };
    EXPECT_EQ(of(a, a_end).shares_with(of(b, b_end)), of(b, b_end).shares_with(of(a, a_end)));
    return of(a, a_end).shares_with(of(b, b_end));
  };

  EXPECT_FALSE(shares(0, 5, 5, 10));
  EXPECT_TRUE(shares(0, 6, 5, 10));
  EXPECT_TRUE(shares(0, 10, 3, 4));
  EXPECT_TRUE(shares(2, 5, 2, 5));
  EXPECT_FALSE(shares(2, 5, 5, 5));
  EXPECT_FALSE(detail::addresses_of(x).shares_with(detail::addresses_of(Line())));
}

// ---- results

template <class D>
class SeparateArrays : public ::testing::Test {};
TYPED_TEST_SUITE(SeparateArrays, TestDevices, DeviceName);

// An item reads and writes element i of each array, twice of some, in an order that counts.
struct Mixed {
  int factor;
  STRATA_FUNCTION void operator()(index_t i, auto a, auto b, auto c) const {
    c(i) = static_cast<int>(i % 7) + factor;
    a(i) = b(i) + c(i);
    b(i) += 3 * a(i);
    c(i) -= b(i);
  }
};
struct Copy {
  STRATA_FUNCTION void operator()(auto i, auto a, auto b) const { a(i) = b(i); }
};
// More items than a GPU has threads for, so that a thread has several; fewer elsewhere.
template <class D>
constexpr index_t many() {
  return is_asynchronous<D> && !std::is_same_v<D, Emulated> ? 1'200'000 : 3000;
}

// Of three arrays any are the same one, or neighbours in one allocation.
TYPED_TEST(SeparateArrays, HaveTheResultsOfItemsOneAfterTheOtherWhicheverShareMemory) {
  using D = TypeParam;
  Random draw;
  for (int trial = 0; trial < trials(20) + 1; ++trial) {
    const index_t n = many<D>() + draw(-2000, 2000), first = draw(0, 5), last = n - draw(0, 5);
    // Neighbours in one allocation, or at the same place.
    const index_t place[] = {0, draw(0, 1) * n, draw(0, 2) * n};
    const auto all = make_vector<int, D>(3 * n, [](index_t i) { return i % 11; });
    const auto at = [&](index_t begin) { return subview(all, range(begin, begin + n)); };
    std::vector<int> expected = values_of(all);
    const int factor = static_cast<int>(draw(1, 9));
    {
      int* const base = expected.data();
      struct Raw {
        int* p;
        STRATA_FUNCTION int& operator()(index_t i) const { return p[i]; }
      };
      for (index_t i = first; i < last; ++i)
        Mixed{factor}(i, Raw{base + place[0]}, Raw{base + place[1]}, Raw{base + place[2]});
    }

    parallel_for(range(first, last), with(Mixed{factor}, at(place[0]), at(place[1]), at(place[2])));

    ASSERT_EQ(values_of(all), expected) << n << " " << place[1] << " " << place[2] << " " << first;
  }
}

struct AddPairs {
  STRATA_FUNCTION void operator()(index_t i, auto sum, auto even, auto odd) const {
    sum(i) += even(i) + odd(i);
  }
};

TYPED_TEST(SeparateArrays, MayBeEmptyOrNullOrLieBetweenEachOther) {
  using D = TypeParam;
  const index_t n = many<D>();
  const auto x = make_vector<int, D>(n, [](index_t i) { return i; });
  parallel_for(0, with(Copy{}, Vector<int, D>(), Vector<int, D>()));
  parallel_for(0, with(Copy{}, x, x));

  const auto pairs = create<MDArrayIn<LayoutLeft, int, D, rank<2>>>("pairs", 2, n);
  const auto even = subview(pairs, 0, everything), odd = subview(pairs, 1, everything);
  parallel_for(n, with(Copy{}, even, x));
  parallel_for(n, with(Copy{}, odd, even));
  parallel_for(n, with(AddPairs{}, x, even, odd));

  const auto result = values_of(x);
  for (index_t i = 0; i < n; ++i) ASSERT_EQ(result[static_cast<std::size_t>(i)], 3 * i) << i;
}

// ---- scans

// The kernel of a scan that is called twice for an item, and reads the same in both calls: one after another,
// in place, of two arrays, and with the sum before an item.
enum class Scanned { Copied, InPlace, OfTwo, Exclusive };
template <class T>
STRATA_FUNCTION void scan_item(Scanned what, index_t i, auto& x, auto& y, const auto& factor, T& sum,
                               bool final) {
  const T before = sum, own = x(i) * factor(0);
  sum += what == Scanned::OfTwo ? own + y(i) : own;
  if (!final) return;
  if (what == Scanned::InPlace) x(i) = sum - own;
  else if (what == Scanned::OfTwo) y(i) += sum * x(i);
  else y(i) = what == Scanned::Copied ? sum : before + x(i);
}
struct ScanItem {
  int what;
  template <class T>
  STRATA_FUNCTION void operator()(auto i, auto x, auto y, auto factor, T& sum, bool final) const {
    scan_item(static_cast<Scanned>(what), i, x, y, factor, sum, final);
  }
};
template <class V>
struct ScanOwnLines {
  using device_type = typename V::device_type;
  using T = typename V::value_type;
  V x, y;
  T factor_value;
  int what;
  STRATA_FUNCTION void operator()(index_t i, T& sum, bool final) const {
    const auto factor = [&](int) { return factor_value; };
    scan_item(static_cast<Scanned>(what), i, x, y, factor, sum, final);
  }
};

template <class T, class D>
void scan_drawn(Random& draw, index_t most) {
  const index_t n = draw(1, most), first = draw(0, n), last = draw(first, n);
  const int what = static_cast<int>(draw(0, 3)), factor = static_cast<int>(draw(1, 3));
  // Neighbours in one allocation, or at the same place: both may then be written.
  const index_t y_at = what < 2 ? draw(0, 1) * n : n;
  const index_t factors = draw(0, 1) != 0 ? 1 : n;  // shorter than the loop, or as long
  const auto all = make_vector<T, D>(2 * n, [](index_t i) { return i % 3; });
  const auto f = make_vector<T, D>(factors, [&](index_t) { return factor; });
  const auto x = subview(all, range(0, n)), y = subview(all, range(y_at, y_at + n));
  std::vector<T> expected = values_of(all);
  T sum{};
  {
    const auto raw = [&](index_t at) { return [p = expected.data() + at](index_t i) -> T& { return p[i]; }; };
    const auto raw_x = raw(0), raw_y = raw(y_at);
    const auto raw_factor = [&](int) { return static_cast<T>(factor); };
    for (index_t i = first; i < last; ++i)
      scan_item(static_cast<Scanned>(what), i, raw_x, raw_y, raw_factor, sum, true);
  }

  T total{};
  if (draw(0, 1) != 0) {
    parallel_scan(range(first, last), with(ScanItem{what}, x, y, f), Sum(total));
  } else {
    using V = std::remove_cvref_t<decltype(x)>;
    parallel_scan(range(first, last), ScanOwnLines<V>{x, y, static_cast<T>(factor), what}, Sum(total));
  }

  ASSERT_EQ(total, sum) << n << " " << first << " " << last << " " << what << " " << y_at;
  ASSERT_EQ(values_of(all), expected) << n << " " << first << " " << last << " " << what << " " << y_at;
}
TYPED_TEST(SeparateArrays, AreScannedAsItemsOneAfterTheOtherWhicheverShareMemory) {
  using D = TypeParam;
  Random draw;
  for (int trial = 0; trial < trials(20) + 1; ++trial) {
    const index_t most = draw(0, 3) == 0 ? many<D>() / 8 : 30'000;
    scan_drawn<double, D>(draw, most);
    scan_drawn<float, D>(draw, 30'000);  // sums are exact
    scan_drawn<int, D>(draw, most);
    scan_drawn<std::int64_t, D>(draw, most);
    if (this->HasFatalFailure()) return;
  }
}

// Sums of what items count before item first + k, of lines that begin anywhere, also below 0, and may run
// backwards: its own prefix goes to an item's element, or the sum to the next one's.
struct CountUp {
  bool to_next;
  template <class S>
  STRATA_FUNCTION void operator()(index_t i, auto from, auto to, S& sum, bool final) const {
    const S before = sum;
    sum += static_cast<S>(from(i));
    if (!final) return;
    using Element = typename decltype(to)::value_type;
    if (to_next) to(i + 1) = static_cast<Element>(sum);
    else to(i) = static_cast<Element>(before);
  }
};
// A line of elements [begin, begin + n), the last first in memory with `backwards`.
template <class T, class D>
auto line_from(index_t begin, index_t n, bool backwards) {
  using V = View<T, D, RankExtents<1>, LayoutOffset<LayoutStrided>>;
  const index_t begins[] = {begin}, strides[] = {backwards ? -1 : 1};
  const LayoutStrided::mapping<RankExtents<1>> line(RankExtents<1>(n), strides, backwards ? n - 1 : 0);
  return create<V>("line", typename V::mapping_type(line, begins));
}
template <class T, class S, class D>
void count_drawn(Random& draw) {
  const index_t n = draw(1, 20'000), begin = draw(-9000, 9000), first = begin + draw(0, n - 1);
  const index_t last = draw(first, begin + n - 1);
  const bool to_next = draw(0, 1) != 0;
  const auto from = line_from<T, D>(begin, n, draw(0, 1) != 0);
  const auto to = line_from<S, D>(begin, n, draw(0, 1) != 0);
  const auto ones = create_mirror_view(from);
  const auto sums = create_mirror_view(to);
  for (index_t i = begin; i < begin + n; ++i)
    ones(i) = static_cast<T>(mix(static_cast<std::uint64_t>(i)) & 1);
  deep_copy(from, ones);
  deep_copy(to, S(7));

  S total{};
  const View<const T, D, RankExtents<1>, LayoutOffset<LayoutStrided>> only_read = from;
  if (draw(0, 1) != 0) parallel_scan(range(first, last), with(CountUp{to_next}, only_read, to), Sum(total));
  else parallel_scan(range(first, last), with(CountUp{to_next}, from, to), Sum(total));

  deep_copy(sums, to);
  const std::string what = std::to_string(first) + " to " + std::to_string(last) + " of " +
                           std::to_string(n) + " from " + std::to_string(begin);
  S sum{};
  for (index_t i = begin; i < begin + n; ++i) {
    const bool is_written = to_next ? i > first && i <= last : i >= first && i < last;
    if (to_next && i > first && i <= last) sum += static_cast<S>(ones(i - 1));
    ASSERT_EQ(sums(i), is_written ? sum : S(7)) << i << ", " << what;
    if (!to_next && is_written) sum += static_cast<S>(ones(i));
  }
  ASSERT_EQ(total, sum) << what;
}
TYPED_TEST(SeparateArrays, AreScannedWhereverTheyBeginAndInEitherDirection) {
  using D = TypeParam;
  Random draw;
  for (int trial = 0; trial < trials(20) + 1; ++trial) {
    count_drawn<bool, int, D>(draw);
    count_drawn<half_t, float, D>(draw);
    count_drawn<double, complex<double>, D>(draw);
    if (this->HasFatalFailure()) return;
  }
}

// With a number that it keeps, and without: the passes of nvcc choose the same kernel.
template <class D>
void add_by_lambdas(const Vector<int, D>& y, const Vector<int, D>& x) {
  using V = typename Vector<int, D>::unmanaged_type;
  const short few = 7;
  parallel_for(y.extent(0), with([=] STRATA_FUNCTION(index_t i, V a, V b) { a(i) += few * b(i); }, y, x));
  parallel_for(y.extent(0), with([] STRATA_FUNCTION(index_t i, V a, V b) { a(i) -= b(i); }, y, x));
}
TYPED_TEST(SeparateArrays, AreTakenByLambdas) {
  using D = TypeParam;
  const index_t n = many<D>();
  const auto x = make_vector<int, D>(n, [](index_t i) { return i; });
  const auto y = make_vector<int, D>(n, [](index_t) { return 1; });

  add_by_lambdas(y, x);

  const auto result = values_of(y);
  for (index_t i = 0; i < n; ++i) ASSERT_EQ(result[static_cast<std::size_t>(i)], 1 + 6 * i) << i;
}

}  // namespace
