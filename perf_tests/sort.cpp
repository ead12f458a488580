// sort and sort_by_key, against std::sort and oneTBB's parallel_sort, and what is made of passes over the
// data: copy_if, partition, find_if, transform_reduce.
#include <algorithm>
#include <string>
#include <vector>

#include <strata/algorithms/find.hpp>
#include <strata/algorithms/select.hpp>
#include <strata/algorithms/sort.hpp>
#include <strata/algorithms/transform_reduce.hpp>
#include <strata/version.hpp>
#if STRATA_HAS_TBB && __has_include(<oneapi/tbb/parallel_sort.h>)
#include <oneapi/tbb/parallel_sort.h>
#define STRATA_PERF_PARALLEL_SORT 1
#endif

#include "common/devices.hpp"
#include "common/report.hpp"

namespace {

using namespace perf;
using strata::index_t;

template <class T, class D>
using Vector = strata::MDArray<T, D, strata::rank<1>>;

struct IsNegative {
  template <class T>
  STRATA_FUNCTION bool operator()(const T& x) const {
    return x < 0;
  }
};
struct Square {
  template <class T>
  STRATA_FUNCTION T operator()(const T& x) const {
    return x * x;
  }
};
// An order of one's own: may throw, as far as the library knows.
struct BySize {
  template <class T>
  STRATA_FUNCTION bool operator()(const T& a, const T& b) const {
    return a < b;
  }
};

// Numbers of both signs in no order, the same everywhere.
template <class T>
std::vector<T> random_keys(index_t n) {
  std::vector<T> keys(static_cast<std::size_t>(n));
  std::uint64_t state = 1;
  for (T& key : keys) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    key = static_cast<T>(static_cast<std::int64_t>(state) >> 20);
  }
  return keys;
}

// The competitors work on copies; the copy of the keys is timed with each, and alone, and taken off.
template <class T, class D>
class SortRace {
 public:
  SortRace(const Options& options, Report& report, const char* type, index_t n)
      : report_(report), type_(type), n_(n), keys_(random_keys<T>(n)), work_(keys_) {
    source_ = strata::create<Vector<T, D>>("source", n);
    target_ = strata::create<Vector<T, D>>("keys", n);
    values_ = strata::create<Vector<index_t, D>>("values", n);
    const auto host = strata::create_mirror_view(source_);
    for (index_t i = 0; i < n; ++i) host(i) = keys_[static_cast<std::size_t>(i)];
    strata::deep_copy(source_, host);
    run(options);
  }

 private:
  void run(const Options& options) {
    Race race;
    const int copy = race.add([&] { std::copy(keys_.begin(), keys_.end(), work_.begin()); });
    const int by_std = race.add([&] {
      std::copy(keys_.begin(), keys_.end(), work_.begin());
      std::sort(work_.begin(), work_.end());
    });
#if defined(STRATA_PERF_PARALLEL_SORT)
    const int by_tbb = race.add([&] {
      std::copy(keys_.begin(), keys_.end(), work_.begin());
      tbb::parallel_sort(work_.begin(), work_.end());
    });
#endif
    const auto add = [&](const auto& call) {
      return race.add([this, call] {
        strata::deep_copy(target_, source_);
        call();
        strata::wait(D{});
      });
    };
    const int own_copy = add([] {});
    const int keys = add([this] { strata::sort(target_); });
    const int with_order = add([this] { strata::sort(target_, BySize{}); });
    const int pairs = add([this] { strata::sort_by_key(target_, values_); });
    race.run(options.reps_or(9), 20);

    const auto put = [&](const char* name, const char* device, int k, int copying, bool is_baseline = false) {
      Statistics time = race[k];
      const double off = race[copying].min;
      time.median -= off;
      time.min -= off;
      time.p90 -= off;
      report_.add({name, device, n_, type_, time, static_cast<double>(n_) / time.median / 1e6, "Mkeys/s",
                   none, is_baseline ? none : race.speedup(k, by_std)});
    };
    put("std::sort", "-", by_std, copy, true);
#if defined(STRATA_PERF_PARALLEL_SORT)
    put("tbb::parallel_sort", "-", by_tbb, copy);
#endif
    put("sort", D::name, keys, own_copy);
    put("sort, functor", D::name, with_order, own_copy);
    put("sort_by_key", D::name, pairs, own_copy);
    check();
  }

  void check() {
    std::sort(work_.begin(), work_.end());
    strata::deep_copy(target_, source_);
    strata::sort(target_);
    const auto host = strata::create_mirror_and_copy(target_);
    bool good = true;
    for (index_t i = 0; i < n_; ++i) good = good && host(i) == work_[static_cast<std::size_t>(i)];
    report_.check(good, std::string("sort on ") + D::name);
  }

  Report& report_;
  const char* type_;
  index_t n_;
  std::vector<T> keys_, work_;
  Vector<T, D> source_, target_;
  Vector<index_t, D> values_;
};

// What passes over the data cost, in GB/s of the elements read and written once.
template <class T, class D>
void measure_passes(const Options& options, Report& report, const char* type, index_t n) {
  const auto keys = random_keys<T>(n);
  const auto x = strata::create<Vector<T, D>>("x", n), y = strata::create<Vector<T, D>>("y", n);
  const auto positive = strata::create<Vector<T, D>>("positive", n);
  const auto host = strata::create_mirror_view(x);
  index_t negative = 0;
  for (index_t i = 0; i < n; ++i) {
    host(i) = keys[static_cast<std::size_t>(i)];
    negative += host(i) < 0;
  }
  strata::deep_copy(x, host);

  index_t copied = 0, front = 0, none_found = 0;
  T sum{};
  Race race;
  const int copy_if = race.add([&] { copied = strata::copy_if(x, y, IsNegative{}); });
  const int partition = race.add([&] { front = strata::partition(y, IsNegative{}); });
  const int find = race.add([&] { none_found = strata::find_if(positive, IsNegative{}); });
  const int reduce = race.add([&] { sum = strata::transform_reduce(x, Square{}); });
  race.run(options.reps_or(15), 10);

  const double bytes = static_cast<double>(n) * sizeof(T);
  const auto put = [&](const char* name, int k, double moved) {
    report.add({name, D::name, n, type, race[k], gigabytes_per_second(moved, race[k]), "GB/s", none, none});
  };
  put("copy_if, half kept", copy_if, 1.5 * bytes);
  put("partition", partition, 2 * bytes);
  put("find_if, none", find, bytes);
  put("transform_reduce", reduce, bytes);
  report.check(copied == negative && front >= negative && none_found == n && sum > 0,
               std::string("copy_if, partition, find_if, transform_reduce on ") + D::name);
}

}  // namespace

int main(int argc, char** argv) {
  const Options options =
      parse_options(argc, argv, "sort, sort_by_key, copy_if, partition, find_if, transform_reduce.");
  Report report("sort", "std::sort by one thread");
  for_each_type(options, [&](auto zero, const char* type) {
    const index_t n = options.n > 0 ? options.n : 1000000;
    for_each_device(options, [&](auto device) {
      SortRace<decltype(zero), decltype(device)>(options, report, type, n);
      measure_passes<decltype(zero), decltype(device)>(options, report, type, n);
    });
  });
  report.note("Random keys. The time of the copy that makes them random again is taken off.");
  report.note(
      "sort, functor: an order that may throw, so that hosts sort a copy. Emulated works on threads of this "
      "machine.");
  return report.finish(options);
}
