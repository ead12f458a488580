// Kernels that throw, in every form that a kernel can have, on every device whose kernels run on host
// threads: one exception arrives, from the launch or the wait behind it, and the device works on. See
// exceptions_test.cpp for what else becomes of exceptions.
// SPDX-License-Identifier: Apache-2.0
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include <strata/algorithms/coherent_launch.hpp>
#include <strata/algorithms/coherent_reduce.hpp>
#include <strata/algorithms/streaming/streamed_iterate.hpp>
#include <strata/algorithms/streaming/streamed_reduce.hpp>
#include <strata/algorithms/team.hpp>

#include "arrays.hpp"

#ifndef __CUDACC__

namespace {

using namespace strata;
using namespace strata_tests;

struct KernelFailed : std::runtime_error {
  using std::runtime_error::runtime_error;
};

constexpr index_t items = 1021;
constexpr index_t all_items = -1, no_item = -2;

// Throws at one item, or at all.
struct Throw {
  index_t at;
  void operator()(index_t i) const {
    if (i == at || at == all_items) throw KernelFailed("item " + std::to_string(i));
  }
};

// Kernels, each handed its item as an `I` or, by `auto`, as what the device hands to those that take any
// index.
template <class I>
struct Takes {
  Throw item;
  void operator()(I i) const { item(i); }
};
struct TakesAny {
  Throw item;
  void operator()(auto i) const { item(i); }
};
struct Steps {
  Throw item;
  void operator()(auto i, const auto& old, const auto& next) const {
    next(i) = old(i);
    item(i);
  }
};
struct Tag {};
struct TakesTag {
  Throw item;
  void operator()(Tag, auto i) const { item(i); }
};
template <class I>
struct TakesView {
  Throw item;
  void operator()(I i, const auto& x) const {
    x(i) = 1;
    item(i);
  }
};
struct TakesAnyAndView {
  Throw item;
  void operator()(auto i, const auto& x) const {
    x(i) = 1;
    item(i);
  }
};
// Boxes of the extents {2, 1, ..., 1, items}.
struct TakesBox {
  Throw item;
  void operator()(auto... i) const {
    const index_t at[] = {i...};
    if (at[0] == 1) item(at[sizeof...(i) - 1]);
  }
};
template <class I>
struct Adds {
  Throw item;
  void operator()(I i, int& sum) const {
    item(i);
    ++sum;
  }
  void operator()(I i, int& sum, bool) const { (*this)(i, sum); }
};
// Of large values a block has no lanes, of small ones some.
struct AddsAny {
  Throw item;
  void operator()(auto i, auto& sum) const {
    item(i);
    sum = sum + 1;
  }
  void operator()(auto i, auto& sum, bool) const { (*this)(i, sum); }
};
struct AddsSeveral {
  Throw item;
  void operator()(auto i, int& sum, double& most) const {
    item(i);
    ++sum;
    most = 1;
  }
};
struct AddsOverBox {
  Throw item;
  void operator()(auto i, auto j, int& sum) const {
    if (i == 1) item(j);
    ++sum;
  }
};
struct AddsItself : AddsAny {
  using value_type = double;
  static void init(double& sum) { sum = 0; }
  static void join(double& sum, const double& other) { sum += other; }
};
struct AddsToArray {
  using value_type = int[];
  Throw item;
  index_t value_count = 2;
  void operator()(auto i, int* sums) const {
    item(i);
    ++sums[0];
  }
  void init(int* sums) const { sums[0] = sums[1] = 0; }
  void join(int* sums, const int* others) const { sums[0] += others[0]; }
};
struct AddsOfView {
  Throw item;
  void operator()(auto i, const auto& x, double& sum) const {
    item(i);
    sum += x(i);
  }
  void operator()(auto i, const auto& x, double& sum, bool) const { (*this)(i, x, sum); }
};
// Member 0 of the second team loops over the items.
struct LoopsOverLanes {
  Throw item;
  void operator()(const auto& member) const {
    if (member.league_rank() == 1) parallel_for(vector_range(member, items), [t = item](index_t i) { t(i); });
  }
};
struct LoopsOverMembersAndLanes {
  Throw item;
  void operator()(const auto& member) const {
    if (member.league_rank() == 1)
      parallel_for(team_vector_range(member, items), [t = item](auto i) { t(i); });
  }
};
struct ReducesOverLanes {
  Throw item;
  void operator()(const auto& member) const {
    double sum;
    if (member.league_rank() == 1)
      parallel_reduce(
          vector_range(member, items),
          [t = item](index_t i, double& s) {
            t(i);
            s += 1;
          },
          sum);
  }
};
struct ScansOverMembers {
  Throw item;
  void operator()(const auto& member) const {
    int sum;
    if (member.league_rank() == 1)
      parallel_scan(
          team_range(member, items),
          [t = item](index_t i, int& s, bool) {
            t(i);
            ++s;
          },
          sum);
  }
};
struct ThrowsOfTeam {
  Throw item;
  void operator()(const auto& member) const { item(member.league_rank()); }
  void operator()(const auto& member, int& sum) const {
    item(member.league_rank());
    ++sum;
  }
};

struct Form {
  const char* name;
  std::function<void(Throw)> launch;
};

// Loops over one dimension.
template <class D>
std::vector<Form> loops() {
  const auto x = create<Vector<double, D>>("x", items);
  return {
      {"auto", [](Throw t) { parallel_for(on(D{}), items, TakesAny{t}); }},
      {"lambda of auto", [](Throw t) { parallel_for(on(D{}), items, [=](auto i) { t(i); }); }},
      {"the index of the device",
       [](Throw t) { parallel_for(on(D{}), items, Takes<typename D::index_type>{t}); }},
      {"index_t", [](Throw t) { parallel_for(on(D{}), items, Takes<index_t>{t}); }},
      {"int", [](Throw t) { parallel_for(on(D{}), items, Takes<int>{t}); }},
      {"tag", [](Throw t) { parallel_for(on(D{}), tagged<Tag>(items), TakesTag{t}); }},
      {"auto, dynamic", [](Throw t) { parallel_for(on(D{}), range(items).dynamic(10), TakesAny{t}); }},
      {"auto, with a view", [=](Throw t) { parallel_for(items, with(TakesAnyAndView{t}, x)); }},
      {"index_t, with a view", [=](Throw t) { parallel_for(items, with(TakesView<index_t>{t}, x)); }},
      {"int, with a view", [=](Throw t) { parallel_for(items, with(TakesView<int>{t}, x)); }},
      {"auto, coherent",
       [](Throw t) {
         const CoherentArray<double, rank<1>> y("y", items);
         launch(on(D{}), items, TakesAnyAndView{t}, out(y));
         wait(D{});
       }},
      {"auto, streamed",
       [](Throw t) {
         const CoherentArray<double, rank<1>> y("y", items);
         launch(streamed(D{}, 1 << 14).chunk(100), items, TakesAnyAndView{t}, out(y));
       }},
      {"index_t, streamed",
       [](Throw t) {
         const CoherentArray<double, rank<1>> y("y", items);
         launch(streamed(D{}, 1 << 14).chunk(100), items, TakesView<index_t>{t}, out(y));
       }},
      {"auto, steps",
       [](Throw t) {
         const CoherentArray<double, rank<1>> y("y", items);
         streamed_iterate(streamed(D{}, 1 << 14), items, 3, Steps{t}, state(y, halo(0, 0)));
       }},
  };
}

// Boxes.
template <class D>
std::vector<Form> boxes() {
  return {
      {"box of rank 2",
       [](Throw t) {
         parallel_for(on(D{}), mdrange({2, items}), TakesBox{t});
       }},
      {"box of rank 3",
       [](Throw t) {
         parallel_for(on(D{}), mdrange({2, 1, items}), TakesBox{t});
       }},
      {"box of rank 4",
       [](Throw t) {
         parallel_for(on(D{}), mdrange({2, 1, 1, items}), TakesBox{t});
       }},
      {"box of rank 5",
       [](Throw t) {
         parallel_for(on(D{}), mdrange({2, 1, 1, 1, items}), TakesBox{t});
       }},
      {"box of rank 6",
       [](Throw t) {
         parallel_for(on(D{}), mdrange({2, 1, 1, 1, 1, items}), TakesBox{t});
       }},
      {"box, index_t",
       [](Throw t) {
         parallel_for(on(D{}), mdrange({2, items}), [=](index_t i, index_t j) {
           if (i == 1) t(j);
         });
       }},
      {"sum over a box",
       [](Throw t) {
         int sum;
         parallel_reduce(on(D{}), mdrange({2, items}), AddsOverBox{t}, Sum(sum));
       }},
  };
}

// Reductions and scans over one dimension.
template <class D>
std::vector<Form> sums() {
  const auto x = create<Vector<double, D>>("x", items);
  const auto reduce = [](const auto& kernel) {
    int sum;
    parallel_reduce(on(D{}), items, kernel, Sum(sum));
  };
  const auto scan = [](const auto& kernel) {
    int sum;
    parallel_scan(on(D{}), items, kernel, Sum(sum));
  };
  return {
      {"sum, auto", [=](Throw t) { reduce(AddsAny{t}); }},
      {"sum, the index of the device", [=](Throw t) { reduce(Adds<typename D::index_type>{t}); }},
      {"sum, index_t", [=](Throw t) { reduce([=](index_t i, int& s) { Adds<index_t>{t}(i, s); }); }},
      {"sum, int", [=](Throw t) { reduce([=](int i, int& s) { Adds<int>{t}(i, s); }); }},
      {"sum of large values",
       [](Throw t) {
         complex<double> sum;
         parallel_reduce(on(D{}), items, AddsAny{t}, Sum(sum));
       }},
      {"several results",
       [](Throw t) {
         int sum;
         double most;
         parallel_reduce(on(D{}), items, AddsSeveral{t}, Sum(sum), Max(most));
       }},
      {"functor", [](Throw t) { static_cast<void>(parallel_reduce(on(D{}), items, AddsItself{{t}})); }},
      {"functor of an array",
       [](Throw t) {
         int sums[2];
         parallel_reduce(on(D{}), items, AddsToArray{t}, sums);
       }},
      {"sum, with a view",
       [=](Throw t) {
         double sum;
         parallel_reduce(items, with(AddsOfView{t}, x), Sum(sum));
       }},
      {"sum, coherent",
       [](Throw t) {
         const CoherentArray<double, rank<1>> y("y", items);
         double sum;
         launch_reduce(on(D{}), items, AddsOfView{t}, Sum(sum), in(y));
       }},
      {"sum, streamed",
       [](Throw t) {
         const CoherentArray<double, rank<1>> y("y", items);
         double sum;
         launch_reduce(streamed(D{}, 1 << 14), items, AddsOfView{t}, Sum(sum), in(y));
       }},
      {"scan, coherent",
       [](Throw t) {
         const CoherentArray<double, rank<1>> y("y", items);
         double sum;
         launch_scan(on(D{}), items, AddsOfView{t}, Sum(sum), in(y));
       }},
      {"scan, auto", [=](Throw t) { scan(AddsAny{t}); }},
      {"scan, index_t", [=](Throw t) { scan([=](index_t i, int& s, bool) { Adds<index_t>{t}(i, s); }); }},
  };
}

// Teams; those of one member are plain loops.
template <class D>
std::vector<Form> team_loops(index_t members) {
  return {
      {"team", [=](Throw t) { parallel_for(on(D{}), teams(items, members), ThrowsOfTeam{t}); }},
      {"sum of teams",
       [=](Throw t) {
         int sum;
         parallel_reduce(on(D{}), teams(items, members), ThrowsOfTeam{t}, Sum(sum));
       }},
      {"lanes", [=](Throw t) { parallel_for(on(D{}), teams(2, members), LoopsOverLanes{t}); }},
      {"members and lanes",
       [=](Throw t) { parallel_for(on(D{}), teams(2, members), LoopsOverMembersAndLanes{t}); }},
      {"sum over lanes", [=](Throw t) { parallel_for(on(D{}), teams(2, members), ReducesOverLanes{t}); }},
      {"scan over members", [=](Throw t) { parallel_for(on(D{}), teams(2, members), ScansOverMembers{t}); }},
  };
}

// What the launch or the wait behind it throws, or "" for nothing.
template <class D>
std::string failure_of(const Form& form, index_t at) {
  try {
    form.launch(Throw{at});
    wait(D{});
  } catch (const KernelFailed& e) {
    return e.what();
  } catch (const Error& e) {  // a streamed launch says where it was, and what became of its arrays
    const std::string text = e.what();
    const std::size_t begin = text.rfind("item ");
    return begin == std::string::npos ? text : text.substr(begin, text.find('\n') - begin);
  }
  return "";
}

template <class D>
void expect_one_exception_each(const std::vector<Form>& forms) {
  for (const Form& form : forms) {
    SCOPED_TRACE(form.name);
    for (const index_t at : {index_t{0}, index_t{5}, index_t{500}, items - 1}) {
      EXPECT_EQ(failure_of<D>(form, at), "item " + std::to_string(at));
      EXPECT_NO_THROW(wait(D{}));
    }
    EXPECT_EQ(failure_of<D>(form, all_items).substr(0, 5), "item ");
    EXPECT_NO_THROW(wait(D{}));
    EXPECT_EQ(failure_of<D>(form, no_item), "");
  }
}

template <class D>
class ThrowingKernels : public ::testing::Test {};
TYPED_TEST_SUITE(ThrowingKernels, HostThreadDevices, DeviceName);

TYPED_TEST(ThrowingKernels, OfEveryFormOfALoopThrowOnce) {
  expect_one_exception_each<TypeParam>(loops<TypeParam>());
}
TYPED_TEST(ThrowingKernels, OverBoxesOfEveryRankThrowOnce) {
  expect_one_exception_each<TypeParam>(boxes<TypeParam>());
}
TYPED_TEST(ThrowingKernels, OfReductionsAndScansThrowOnce) {
  expect_one_exception_each<TypeParam>(sums<TypeParam>());
}
TYPED_TEST(ThrowingKernels, OfTeamsThrowOnce) {
  for (const index_t members : {1, 4}) expect_one_exception_each<TypeParam>(team_loops<TypeParam>(members));
}

// The loop ends where its kernel throws: the items behind are left out, as in a loop by hand.
TEST(ThrowingKernelsOfSerial, LeaveOutTheItemsBehind) {
  const auto x = create<Vector<double, Serial>>("x", items);
  const auto box = create<MDArray<double, Serial, rank<2>>>("box", 1, items);

  EXPECT_THROW(parallel_for(items, with(TakesAnyAndView{{500}}, x)), KernelFailed);
  EXPECT_THROW(parallel_for(on(Serial{}), mdrange({1, items}),
                            [=](auto i, auto j) {
                              box(i, j) = 1;
                              Throw{500}(j);
                            }),
               KernelFailed);

  for (index_t i = 0; i < items; ++i) {
    ASSERT_EQ(x(i), i <= 500 ? 1 : 0) << i;
    ASSERT_EQ(box(0, i), i <= 500 ? 1 : 0) << i;
  }
}

}  // namespace

#endif
