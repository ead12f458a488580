// Are sums as fast as memory, and small ones as fast as a launch? The sum of an array and a dot product into
// a host variable, and a norm that stays on the device (a dot product whose root a finalize functor stores),
// against plain loops and plain CUDA, oneTBB and CUB.
// SPDX-License-Identifier: Apache-2.0
#include "baselines/reduce.hpp"

#include <cmath>

#include "common/contest.hpp"
#include "kokkos/kokkos_cases.hpp"

namespace {

using namespace perf;
using strata::index_t;

template <class T, class D>
using Array = strata::MDArray<T, D, strata::rank<1>>;

// Small integers, of which 5 or 25 in a row nearly cancel: every partial sum, in whatever order, is an
// integer that float holds, so that all competitors must give the exact result.
struct Numbers {
  STRATA_FUNCTION static index_t x_at(index_t i) { return i % 5 - 2 + (i % 1024 == 0); }
  STRATA_FUNCTION static index_t y_at(index_t i) { return 1 + i / 5 % 5; }
  STRATA_FUNCTION void operator()(index_t i, auto x, auto y) const {
    x(i) = static_cast<decltype(x(i) + 0)>(x_at(i));
    y(i) = static_cast<decltype(y(i) + 0)>(y_at(i));
  }
};

struct AddElement {
  STRATA_FUNCTION void operator()(auto i, auto x, auto& sum) const { sum += x(i); }
};
struct AddProduct {
  STRATA_FUNCTION void operator()(auto i, auto x, auto y, auto& sum) const { sum += x(i) * y(i); }
};
template <class T, class D>
struct Dot {
  using device_type = D;
  using value_type = T;
  Array<T, D> x, y;
  STRATA_FUNCTION void operator()(auto i, T& sum) const { sum += x(i) * y(i); }
  STRATA_FUNCTION static void init(T& sum) { sum = 0; }
  STRATA_FUNCTION static void join(T& sum, const T& other) { sum += other; }
};
template <class T, class D>
struct StoreRoot {
  strata::Value<T, D> norm;
  STRATA_FUNCTION void operator()(const T& sum) const { *norm = std::sqrt(sum); }
};

template <class T, class D>
class Reductions {
 public:
  Reductions(const Options& options, Report& report, const char* type, index_t n)
      : n_(n),
        large_(n > 1000000),
        x_(strata::create<Array<T, D>>("x", n)),
        y_(strata::create<Array<T, D>>("y", n)),
        norm_(strata::create<strata::Value<T, D>>("norm")),
        contest_(options, report, type, large_ ? 2.0 * sizeof(T) * static_cast<double>(n) : 0) {
    strata::parallel_for(n, strata::with(Numbers{}, x_, y_));
    strata::wait(D{});
    for (index_t i = 0; i < n; ++i) {
      sum_ += static_cast<double>(Numbers::x_at(i));
      dot_ += static_cast<double>(Numbers::x_at(i) * Numbers::y_at(i));
    }
    to_host();
    to_value();
  }

 private:
  void to_host() {
    T result{};
    const ReduceArrays<T> sum{x_.data(), nullptr, n_, ReduceInto::Host, &result};
    const ReduceArrays<T> dot{x_.data(), y_.data(), n_, ReduceInto::Host, &result};
    const auto clear = [&] { result = 0; };
    measure(
        "sum to the host", sum,
        [&] { strata::parallel_reduce(n_, strata::with(AddElement{}, x_), strata::Sum(result)); },
        [&] { return near(result, sum_); }, clear);
    measure(
        "dot to the host", dot,
        [&] { strata::parallel_reduce(n_, strata::with(AddProduct{}, x_, y_), strata::Sum(result)); },
        [&] { return near(result, dot_); }, clear);
  }

  // Small ones back to back: nobody waits for each.
  void to_value() {
    const int calls = large_ ? 1 : 100;
    const Dot<T, D> kernel{x_, y_};
    const StoreRoot<T, D> store{norm_};
    measure(
        large_ ? "norm into a Value" : "norm into a Value, back to back",
        {x_.data(), y_.data(), n_, ReduceInto::Root, norm_.data(), calls},
        [&, calls] {
          for (int c = 0; c < calls; ++c) strata::parallel_reduce(n_, kernel, store);
          strata::wait(D{});
        },
        [&] {
          T value{};
          strata::deep_copy(value, norm_);
          return near(value, std::sqrt(dot_));
        },
        [&] { strata::deep_copy(norm_, T(0)); });
  }

  void measure(const char* name, const ReduceArrays<T>& arrays, std::function<void()> run,
               std::function<bool()> correct, std::function<void()> clear) {
    const double arrays_read = arrays.y ? 2 : 1;
    contest_.measure(
        {.name = name,
         .n = n_,
         .bytes = large_ ? arrays_read * sizeof(T) * static_cast<double>(n_) : 0,
         .calls = arrays.calls,
         .run = std::move(run),
         .baseline = reduce_by_hand(contest_.place(), arrays),
         .others = {reduce_by_library(contest_.place(), arrays), kokkos_reduce(kokkos_place<D>(), arrays)},
         .correct = std::move(correct),
         .clear = std::move(clear)});
  }
  // Exact, but for the rounding of a root.
  static bool near(T value, double expected) {
    return std::abs(static_cast<double>(value) - expected) <= (sizeof(T) == 4 ? 1e-7 : 1e-15) * expected;
  }

  index_t n_;
  bool large_;
  Array<T, D> x_, y_;
  strata::Value<T, D> norm_;
  double sum_ = 0, dot_ = 0;
  Contest<D> contest_;
};

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse_options(argc, argv, "Sums and dot products, to the host and into a Value.");
  Report report("reduce", "the fastest of the loops or kernels by hand on the same arrays");
  for_each_type(options, [&](auto zero, const char* type) {
    for_each_real_device(options, [&](auto device) {
      using D = decltype(device);
      std::vector<index_t> sizes = {10000, size_for<D>(options, index_t{1} << 24, index_t{1} << 27)};
      // On a GPU also where the launch counts as much as the bytes.
      if (is_gpu<D>) sizes.insert(sizes.begin() + 1, 1'000'000);
      if (options.n > 0) sizes = {options.n};
      for (const index_t n : sizes) Reductions<decltype(zero), D>(options, report, type, n);
    });
  });
  report.note("back to back: 100 launches, then one wait; the time is of one");
  return report.finish(options);
}
