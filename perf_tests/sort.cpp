// sort and sort_by_key, against std::sort and oneTBB's parallel_sort, on GPUs against CUB, and what is made
// of passes over the data: copy_if, partition, find_if, transform_reduce.
// SPDX-License-Identifier: Apache-2.0
#include "baselines/sort.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include <strata/algorithms/find.hpp>
#include <strata/algorithms/select.hpp>
#include <strata/algorithms/sort.hpp>
#include <strata/algorithms/transform_reduce.hpp>

#include "common/contest.hpp"

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
    const Sweep libraries = sort_by_library(work_.data(), n_);
    std::vector<int> by_library;
    for (const Competitor& library : libraries)
      by_library.push_back(race.add([&] {
        std::copy(keys_.begin(), keys_.end(), work_.begin());
        library.run();
      }));
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
    for (std::size_t k = 0; k < libraries.size(); ++k)
      put(libraries[k].name.c_str(), "-", by_library[k], copy);
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

// Counts neighbours out of order; with values, which are the keys' places in the source, also keys without
// their value, and equal keys out of their order.
struct CountMisplaced {
  bool pairs;
  STRATA_FUNCTION void operator()(index_t i, auto source, auto keys, auto values, index_t& wrong) const {
    const bool has_next = i + 1 < keys.extent(0);
    if (has_next && !(keys(i) <= keys(i + 1))) ++wrong;
    if (!pairs) return;
    const bool in_range = values(i) >= 0 && values(i) < keys.extent(0);
    if (!in_range || source(values(i)) != keys(i)) ++wrong;
    if (has_next && keys(i) == keys(i + 1) && values(i) >= values(i + 1)) ++wrong;
  }
};
// A number that two arrays have in common if one is a permutation of the other, and hardly otherwise.
struct MixKeys {
  STRATA_FUNCTION void operator()(index_t i, auto keys, std::uint64_t& sum) const {
    std::uint64_t mixed =
        static_cast<std::uint64_t>(static_cast<std::int64_t>(keys(i))) * 0x9e3779b97f4a7c15U;
    mixed = (mixed ^ (mixed >> 31)) * 0x94d049bb133111ebU;
    sum += mixed ^ (mixed >> 29);
  }
};
struct NumberThem {
  STRATA_FUNCTION void operator()(index_t i, auto values) const { values(i) = i; }
};

// On a GPU, against CUB. Every run copies the random keys first; that time is taken off.
template <class T, class D>
class GpuSorts {
 public:
  GpuSorts(const Options& options, Report& report, const char* type, index_t n)
      : options_(options),
        report_(report),
        type_(type),
        n_(n),
        source_(strata::create<Vector<T, D>>("source", n)),
        keys_(strata::create<Vector<T, D>>("keys", n)),
        values_(strata::create<Vector<index_t, D>>("values", n)) {
    const auto keys = random_keys<T>(n);
    const auto host = strata::create_mirror_view(source_);
    std::copy(keys.begin(), keys.end(), host.data());
    strata::deep_copy(source_, host);
    strata::parallel_reduce(n_, strata::with(MixKeys{}, source_), strata::Sum(mixed_));
    measure("sort", SortKind::Keys, [this] { strata::sort(keys_); });
    measure("sort, functor", SortKind::Functor, [this] { strata::sort(keys_, BySize{}); });
    measure("sort_by_key", SortKind::Pairs, [this] { strata::sort_by_key(keys_, values_); });
  }

 private:
  void measure(const std::string& name, SortKind kind, const std::function<void()>& sort) {
    const auto with_copy = [this](const std::function<void()>& work) {
      return [this, work] {
        strata::deep_copy(queue_, keys_, source_);  // ahead of the sort, as in the baseline
        work();
        strata::wait(D{});
      };
    };
    const auto place = Contest<D>(options_, report_, type_, 0).place();
    const SortArrays<T> arrays{source_.data(), keys_.data(), values_.data(), n_};
    const Competitor cub = sort_by_cub(place, kind, arrays).front();
    check(name, kind, with_copy(sort));
    check(name + ", CUB", kind, cub.run);

    Race race;
    const int own_copy = race.add(with_copy([] {}));
    const int copy = race.add(copy_for_cub(place, arrays).run);
    const int own = race.add(with_copy(sort));
    const int by_cub = race.add(cub.run);
    race.run(options_.reps_or(n_ <= 1 << 22 ? 201 : 30), 2.0);
    // Each without its own copy.
    const auto net = [&](int k) {
      Statistics time = race[k];
      const double copying = race[k == own ? own_copy : copy].median;
      for (double* seconds : {&time.median, &time.min, &time.p90}) *seconds -= copying;
      return time;
    };
    const auto put = [&](const std::string& line, int k, double ratio) {
      report_.add({line, D::name, n_, type_, net(k), static_cast<double>(n_) / net(k).median / 1e6, "Mkeys/s",
                   none, ratio});
    };
    put(name, own, net(by_cub).median / net(own).median);
    put(name + ", CUB: " + cub.name, by_cub, none);
  }

  void check(const std::string& name, SortKind kind, const std::function<void()>& run) {
    const bool pairs = kind == SortKind::Pairs;
    strata::parallel_for(n_, strata::with(NumberThem{}, values_));
    strata::wait(D{});
    run();
    index_t wrong = 0;
    std::uint64_t mixed = 0;
    strata::parallel_reduce(n_, strata::with(CountMisplaced{pairs}, source_, keys_, values_),
                            strata::Sum(wrong));
    strata::parallel_reduce(n_, strata::with(MixKeys{}, keys_), strata::Sum(mixed));
    report_.check(wrong == 0 && mixed == mixed_, name + " on " + D::name + ", " + type_);
  }

  const Options& options_;
  Report& report_;
  const char* type_;
  index_t n_;
  strata::Queue<D> queue_ = strata::default_queue<D>();
  Vector<T, D> source_, keys_;
  Vector<index_t, D> values_;
  std::uint64_t mixed_ = 0;
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
  Report report("sort", "std::sort by one thread; on Cuda CUB's sort of the line below");
  for_each_type(options, [&](auto zero, const char* type) {
    using T = decltype(zero);
    for_each_device(options, [&](auto device) {
      using D = decltype(device);
      std::vector<index_t> sizes = {1000000};
      if (is_gpu<D>) sizes.push_back(100000000);
      if (options.n > 0) sizes = {options.n};
      for (const index_t n : sizes) {
        if constexpr (is_gpu<D>) GpuSorts<T, D>(options, report, type, n);
        else SortRace<T, D>(options, report, type, n);
        measure_passes<T, D>(options, report, type, n);
      }
    });
  });
  report.note("Random keys. The time of the copy that makes them random again is taken off.");
  report.note(
      "sort, functor: an order that may throw, so that hosts sort a copy. Emulated works on threads of this "
      "machine.");
  return report.finish(options);
}
