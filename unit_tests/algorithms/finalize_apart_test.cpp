// Finalize functors and what the kernel of their launch writes: they see it, whether the launch finds them to
// be apart, so that blocks of a GPU need not wait for their stores, or not; and when it finds that.
// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <string>
#include <utility>

#include "arrays.hpp"
#include "core/random.hpp"

namespace {

using namespace strata;
using namespace strata_tests;

// ---- when they are apart

template <class Value>
struct KernelOf {
  using value_type = Value;
  STRATA_FUNCTION void operator()(auto, const auto&...) const {}
};
using Kernel = KernelOf<double>;
struct KernelWithAnAddress : KernelOf<double> {
  const double* p;
};
struct KernelWithNumbers {
  using value_type = double;
  double a;
  int b;
};
struct MakesAKernel : KernelOf<double>, detail::MakesFunctor {};
struct Numbers {
  double a;
  int b;
};
struct Address {
  const double* p;
};
struct Finish {
  STRATA_FUNCTION void operator()(auto&, const auto&...) const {}
};
struct FinishWithAnArray {
  Vector<double, Serial> x;
  STRATA_FUNCTION void operator()(auto&, const auto&...) const {}
};

template <class K, class F, class... Own>
class FinishOf {
 public:
  FinishOf(const F& functor, const Own&... own)
      : finish_(detail::bound_finalize(functor, detail::view_to_bind(own)...)) {}
  template <class... Accesses>
  bool is_apart_from(const Accesses&... accesses) {
    detail::note_apart<K>(finish_, accesses...);
    return finish_.is_apart;
  }

 private:
  decltype(detail::bound_finalize(std::declval<const F&>(),
                                  detail::view_to_bind(std::declval<const Own&>())...)) finish_;
};
template <class K, class F, class... Own>
FinishOf<K, F, Own...> finish_of(const F& functor, const Own&... own) {
  return {functor, own...};
}

TEST(FinalizeApart, SharesNoMemoryThatOneOfThemWrites) {
  const auto x = create<Vector<double, Serial>>("x", 100), y = create<Vector<double, Serial>>("y", 100);
  const auto s = create<Value<double, Serial>>("s"), t = create<Value<double, Serial>>("t");

  EXPECT_TRUE(finish_of<Kernel>(Finish{}, out(s)).is_apart_from(in(x), out(y)));
  EXPECT_TRUE(finish_of<Kernel>(Finish{}, in(x), in(t), out(s)).is_apart_from(in(x), in(t), inout(y)));
  EXPECT_FALSE(finish_of<Kernel>(Finish{}, in(y), out(s)).is_apart_from(in(x), out(y)));
  EXPECT_FALSE(finish_of<Kernel>(Finish{}, in(y)).is_apart_from(in(x), inout(y)));
  EXPECT_FALSE(finish_of<Kernel>(Finish{}, inout(x)).is_apart_from(in(x), out(y))) << "a late item reads x";
  EXPECT_FALSE(finish_of<Kernel>(Finish{}, out(s)).is_apart_from(in(s), out(y)));
  EXPECT_FALSE(finish_of<Kernel>(Finish{}, in(s)).is_apart_from(in(x), inout(s)));
}

TEST(FinalizeApart, SlicesAreApartByTheirElements) {
  const auto x = create<Vector<double, Serial>>("x", 100);
  const auto slice = [&](index_t begin, index_t end) { return subview(x, range(begin, end)); };

  EXPECT_TRUE(finish_of<Kernel>(Finish{}, in(slice(0, 50))).is_apart_from(out(slice(50, 100))));
  EXPECT_FALSE(finish_of<Kernel>(Finish{}, in(slice(0, 51))).is_apart_from(out(slice(50, 100))));
  EXPECT_FALSE(finish_of<Kernel>(Finish{}, in(slice(99, 100))).is_apart_from(out(slice(50, 100))));
}

TEST(FinalizeApart, IsNotSaidOfWhatIsNotKnown) {
  using Matrix = MDArray<double, Serial, rank<2>>;
  const auto x = create<Vector<double, Serial>>("x", 100);
  const auto a = create<Matrix>("a", 10, 10), b = create<Matrix>("b", 10, 10);
  const typename Matrix::unmanaged_type unmanaged(b);

  EXPECT_TRUE(finish_of<Kernel>(Finish{}, in(a)).is_apart_from(in(x), out(b)));
  EXPECT_FALSE(finish_of<Kernel>(Finish{}, in(b)).is_apart_from(in(x), out(b)));
  EXPECT_FALSE(finish_of<Kernel>(Finish{}, in(a)).is_apart_from(in(x), out(unmanaged)));
  EXPECT_FALSE(finish_of<KernelWithAnAddress>(Finish{}, in(a)).is_apart_from(in(x), out(b)));
  EXPECT_TRUE(finish_of<KernelWithNumbers>(Finish{}, in(a)).is_apart_from(in(x), out(b)));
  EXPECT_TRUE(finish_of<MakesAKernel>(Finish{}, in(a)).is_apart_from(in(x), out(b)));
  EXPECT_FALSE(finish_of<Kernel>(FinishWithAnArray{x}, in(a)).is_apart_from(out(x), out(b)));
}

TEST(FinalizeApart, ElementsAndValuesMayLeadToMemory) {
  const auto x = create<Vector<double, Serial>>("x", 10), y = create<Vector<double, Serial>>("y", 10);
  const auto s = create<Value<Numbers, Serial>>("s");
  const auto t = create<Value<Address, Serial>>("t");
  const auto p = create<Vector<Address, Serial>>("p", 10);
  const auto q = create<Vector<double*, Serial>>("q", 10);

  EXPECT_TRUE(finish_of<KernelOf<Numbers>>(Finish{}, out(s)).is_apart_from(in(x), out(y)));
  EXPECT_FALSE(finish_of<KernelOf<Address>>(Finish{}, out(s)).is_apart_from(in(x), out(y)));
  EXPECT_FALSE(finish_of<Kernel>(Finish{}, out(t)).is_apart_from(in(x), out(y)));
  EXPECT_FALSE(finish_of<Kernel>(Finish{}, in(t)).is_apart_from(in(x), out(y)));
  EXPECT_FALSE(finish_of<Kernel>(Finish{}, out(s)).is_apart_from(in(p), out(y)));
  EXPECT_FALSE(finish_of<Kernel>(Finish{}, out(s)).is_apart_from(in(q), out(y)));
}

// A functor of the user's may have members of any name.
struct OwnNames {
  Vector<double, Serial> y, result;
  bool is_apart = true;
  STRATA_FUNCTION void operator()(const double& sum) const { result(0) = sum; }
};

TEST(FinalizeApart, IsNotAskedOfFunctorsOfTheUser) {
  const OwnNames functor{{}, {}, true};
  EXPECT_FALSE((detail::CallFinalize<OwnNames>{functor}.is_apart()));
}

// ---- functors without accesses: what they reach are their members, and what `with` has bound

using Line = Vector<double, Serial>;
struct SumAndStore {
  using device_type = Serial;
  using value_type = double;
  double a;
  Line y;
  Vector<const double, Serial> x;
  STRATA_FUNCTION void operator()(index_t i, double& sum) const { sum += y(i) = a * x(i); }
  STRATA_FUNCTION static void init(double& v) { v = 0; }
  STRATA_FUNCTION static void join(double& v, const double& o) { v += o; }
};
struct StoreSum {
  Line result;
  int at;
  STRATA_FUNCTION void operator()(const double& sum) const { result(at) = sum; }
};
struct CopyFirst {
  Vector<const double, Serial> from;
  Line to;
  STRATA_FUNCTION void operator()(const double&) const { to(0) = from(0); }
};
struct StoreAtAnAddress {
  double* result;
  STRATA_FUNCTION void operator()(const double& sum) const { *result = sum; }
};
struct StoreInAMatrix {
  MDArray<double, Serial, rank<2>> result;
  STRATA_FUNCTION void operator()(const double& sum) const { result(0, 0) = sum; }
};

TEST(FinalizeApart, OfFunctorsThatHoldTheirViews) {
  const auto x = create<Line>("x", 100), y = create<Line>("y", 100), r = create<Line>("r", 2);
  const SumAndStore kernel{2, y, x};
  const auto apart = [&](const auto& finalize) { return detail::are_apart<double>(kernel, finalize); };

  EXPECT_TRUE(apart(StoreSum{r, 1}));
  EXPECT_TRUE(apart(Numbers{1, 2}));
  EXPECT_TRUE(apart(CopyFirst{x, r})) << "both only read x";
  EXPECT_FALSE(apart(CopyFirst{y, r}));
  EXPECT_FALSE(apart(StoreSum{x, 0})) << "a late item reads x";
  EXPECT_FALSE(apart(StoreSum{y, 0}));
  EXPECT_FALSE(apart(StoreAtAnAddress{r.data()}));
  EXPECT_FALSE(apart(StoreInAMatrix{}));
  EXPECT_FALSE(apart([r](const double& sum) { r(0) = sum; }));
  EXPECT_FALSE((detail::are_apart<Address>(kernel, StoreSum{r, 1})));
  EXPECT_FALSE((detail::are_apart<double>(KernelWithAnAddress{}, StoreSum{r, 1})));
}

TEST(FinalizeApart, OfViewsThatWithHasBound) {
  const auto x = create<Line>("x", 100), y = create<Line>("y", 100), r = create<Line>("r", 2);
  const auto a = create<MDArray<double, Serial, rank<2>>>("a", 10, 10);

  EXPECT_TRUE(detail::are_apart<double>(with(Kernel{}, read_only(x), y, a), StoreSum{r, 1}));
  EXPECT_TRUE(detail::are_apart<double>(with(Kernel{}, read_only(x), y), CopyFirst{x, r}));
  EXPECT_FALSE(detail::are_apart<double>(with(Kernel{}, x, y), CopyFirst{x, r})) << "it may write x";
  EXPECT_FALSE(detail::are_apart<double>(with(Kernel{}, x, r), StoreSum{r, 1}));
  EXPECT_FALSE(detail::are_apart<double>(with(KernelWithAnAddress{}, x, y), StoreSum{r, 1}));
}

// Asked by a launch for hosts, too, which make nothing of it.
TEST(FinalizeApart, IsNotedByTheLaunch) {
  const auto x = create<Line>("x", 100), y = create<Line>("y", 100), r = create<Line>("r", 2);
  const SumAndStore kernel{2, y, x};
  const auto noted = [&](const auto& functor) {
    detail::CallFinalize<std::remove_cvref_t<decltype(functor)>> finish{functor};
    detail::note_whether_apart(finish, kernel);
    return finish.is_apart();
  };
  EXPECT_TRUE(noted(StoreSum{r, 1}));
  EXPECT_FALSE(noted(StoreSum{x, 1}));
}

// What the kernel may have written is not read through the cache of what nobody writes.
TEST(FinalizeApart, ReadsItsArraysPlainly) {
  const auto x = create<Vector<double, Serial>>("x", 10);
  const auto s = create<Value<double, Serial>>("s");
  detail::bound_finalize(Finish{}, detail::view_to_bind(in(s))).views.visit([](const auto& view) {
    EXPECT_TRUE((std::is_same_v<typename std::remove_cvref_t<decltype(view)>::access_type, DefaultAccess>));
  });
  const auto bound = detail::bound_finalize(Finish{}, detail::view_to_bind(in(x)));
  bound.views.visit([&](const auto& view) {
    using V = std::remove_cvref_t<decltype(view)>;
    EXPECT_TRUE((std::is_same_v<typename V::access_type, DefaultAccess>));
    EXPECT_TRUE((std::is_same_v<typename V::element_type, const double>));
    EXPECT_EQ(view.data(), x.data());
  });
}

// ---- what they see

template <class D>
class FinalizeSees : public ::testing::Test {};
TYPED_TEST_SUITE(FinalizeSees, TestDevices, DeviceName);

// Writes 3 v(i) + 1, and sums x: a sum may be there before v is read.
struct WriteAndSum {
  using value_type = std::uint64_t;
  STRATA_FUNCTION void operator()(auto i, auto x, auto v, auto y, value_type& sum) const {
    sum += x(i);
    y(i) = 3 * v(i) + 1;
  }
  STRATA_FUNCTION static void init(value_type& v) { v = 0; }
  STRATA_FUNCTION static void join(value_type& v, const value_type& o) { v += o; }
};
// The sum, and the sum of some elements of an array from `first` on; then overwrites one of another array.
struct LookAtSome {
  index_t first, count, step, overwritten;
  STRATA_FUNCTION void operator()(const std::uint64_t& sum, auto z, auto w, auto result) const {
    std::uint64_t seen = 0;
    for (index_t k = 0; k < count; ++k) seen += z(first + k * step);
    w(overwritten) = 0;
    result(0) = sum;
    result(1) = seen;
  }
};

// The same as functors that hold their views.
template <class V>
struct HeldWriteAndSum {
  using device_type = typename V::device_type;
  using value_type = std::uint64_t;
  V x, v, y;
  STRATA_FUNCTION void operator()(index_t i, value_type& sum) const { WriteAndSum{}(i, x, v, y, sum); }
  STRATA_FUNCTION static void init(value_type& v) { v = 0; }
  STRATA_FUNCTION static void join(value_type& v, const value_type& o) { v += o; }
};
template <class V>
struct HeldLookAtSome {
  index_t first, count, step, overwritten;
  V z, w;
  Vector<std::uint64_t, typename V::device_type> result;
  STRATA_FUNCTION void operator()(const std::uint64_t& sum) const {
    LookAtSome{first, count, step, overwritten}(sum, z, w, result);
  }
};

TYPED_TEST(FinalizeSees, WhatTheKernelWroteAndWhatItDidNotWhereverTheArraysLie) {
  using D = TypeParam;
  Random random;
  const auto below = [&](index_t end) { return random(0, end - 1); };
  const index_t most = std::string(D::name) == "Cuda" ? 600'000 : 3000;
  const auto value = [](index_t i) { return mix(static_cast<std::uint64_t>(i)) >> 20; };
  const index_t other = 4 * most;  // an element that the kernel does not reach
  const auto fresh = make_vector<std::uint64_t, D>(other + 1, value);
  const auto all = create<Vector<std::uint64_t, D>>("all", other + 1);
  const auto result = create<Vector<std::uint64_t, D>>("result", 2);
  using Part = decltype(subview(all, range(0, 1)));
  for (int draw = 0; draw < trials(90); ++draw) {
    SCOPED_TRACE(draw);
    const index_t n = 1 + below(below(2) == 0 ? most : 3000);
    // The kernel reads x = all[0, n) and v = all[n, 2 n), and writes y = all[at, at + n); the functor reads
    // z = all[from, from + n) and writes an element of w, which is v, or the other one.
    const index_t at = 2 * n + below(other - 3 * n + 1);
    const index_t from = below(2) == 0 ? at : below(other - n + 1);
    const bool overwrites_v = below(2) == 0;
    LookAtSome look{0, 0, 1, 0};
    look.first = below(n);
    look.step = 1 + below(997);
    look.count = 1 + below((n - 1 - look.first) / look.step + 1);
    look.overwritten = overwrites_v ? below(n) : 0;
    deep_copy(all, fresh);

    const auto part = [&](index_t begin, index_t end) { return subview(all, range(begin, end)); };
    const auto w = overwrites_v ? part(n, 2 * n) : part(other, other + 1);
    switch (below(3)) {
      case 0:
        launch_reduce(on(D{}), n, WriteAndSum{},
                      finalize(look, in(part(from, from + n)), inout(w), out(result)), in(part(0, n)),
                      in(part(n, 2 * n)), out(part(at, at + n)));
        break;
      case 1:
        parallel_reduce(n, HeldWriteAndSum<Part>{part(0, n), part(n, 2 * n), part(at, at + n)},
                        HeldLookAtSome<Part>{look.first, look.count, look.step, look.overwritten,
                                             part(from, from + n), w, result});
        break;
      default:
        parallel_reduce(n, with(WriteAndSum{}, part(0, n), part(n, 2 * n), part(at, at + n)),
                        HeldLookAtSome<Part>{look.first, look.count, look.step, look.overwritten,
                                             part(from, from + n), w, result});
    }

    const auto written_at = [&](index_t i) { return 3 * value(n + i - at) + 1; };
    std::uint64_t sum = 0, seen = 0;
    for (index_t i = 0; i < n; ++i) sum += value(i);
    for (index_t k = 0; k < look.count; ++k) {
      const index_t i = from + look.first + k * look.step;
      seen += i >= at && i < at + n ? written_at(i) : value(i);
    }
    const auto found = values_of(result);
    ASSERT_EQ(found[0], sum);
    ASSERT_EQ(found[1], seen) << "n " << n << ", written at " << at << ", read at " << from;
    const auto written = values_of(Vector<std::uint64_t, D>(part(at, at + n)));
    for (index_t i = 0; i < n; ++i) ASSERT_EQ(written[static_cast<std::size_t>(i)], written_at(at + i)) << i;
  }
}

}  // namespace
