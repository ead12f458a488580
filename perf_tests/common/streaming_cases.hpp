// What the programs about arrays that do not fit a device share: strata_streaming (the table of targets) and
// strata_streaming_figures (figures 17 to 20 of Veit et al.). Both report the link's limit of their own run.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include <strata/algorithms/streaming/streamed_iterate.hpp>
#include <strata/version.hpp>

#include "baselines/link_copy.hpp"
#include "common/contest.hpp"

namespace perf {

struct ThreePoints {
  static constexpr int reach = 1;
  STRATA_FUNCTION void operator()(auto i, const auto& old, const auto& next) const {
    next(i) = 0.5 * old(i) + 0.25 * (old(i - 1) + old(i + 1));
  }
};

struct FillStreamed {
  template <class I, class V>
  STRATA_FUNCTION void operator()(I i, const V& v) const {
    using T = typename V::value_type;
    v(i) = static_cast<T>((static_cast<strata::index_t>(i) * 7919) % 1009) / T{1009};
  }
};

/// Values of 0 to 1, written by all threads of the host.
template <class T>
void fill_streamed(const strata::CoherentArray<T, strata::rank<1>>& array) {
  const auto view = array.write();
  strata::parallel_for(strata::on(strata::Threads{}), array.extent(0),
                       strata::with(FillStreamed{}, view.view()));
}

/// Memory of the host from which copies run at the link's speed, where the device has such.
template <class D>
inline constexpr strata::MemoryMode fast_memory =
    is_gpu<D> ? strata::MemoryMode::Pinned : strata::MemoryMode::Smart;

/// Median, least and most seconds of `reps` runs, after one that does not count.
template <class F>
Statistics times(int reps, const F& run) {
  std::vector<double> seconds;
  for (int rep = -1; rep < reps; ++rep) {
    const double begin = now();
    run();
    if (rep >= 0) seconds.push_back(now() - begin);
  }
  std::sort(seconds.begin(), seconds.end());
  return {seconds[seconds.size() / 2], seconds.front(), seconds.back()};
}
inline Statistics once(double seconds) { return {seconds, seconds, seconds}; }

/// Seconds in which so many bytes cross the link both ways at once; `none` where the device has no link.
template <class D>
double link_seconds(double up, double down) {
#if STRATA_HAS_CUDA
  if constexpr (is_gpu<D>)
    return link_copy_seconds(static_cast<std::size_t>(up), static_cast<std::size_t>(down),
                             std::size_t{16} << 20, 3);
#endif
  static_cast<void>(up);
  static_cast<void>(down);
  return none;
}

/// What the report of a run says beside its time.
inline std::string predicted(const strata::StreamReport& report, double seconds) {
  return fixed(report.predicted_seconds / seconds, 2) + " of the time was predicted";
}

/// Sizes and reporting of the cases on one device. Sizes are those of a GPU; devices other than GPUs, on
/// which the programs are only tried out, get a thousandth.
template <class D>
class StreamingCases {
 public:
  StreamingCases(const Options& options, Report& report) : report_(report), options_(options) {}

 protected:
  /// Measures a part of the program, then writes the file with all so far: a run that is stopped leaves it.
  template <class F>
  void measured(const F& measure) {
    measure();
    report_.save(options_);
  }

  /// Elements of so many bytes of a GPU, in whole multiples of 1024.
  strata::index_t elements(double bytes, strata::index_t element) const {
    return static_cast<strata::index_t>(bytes * unit_) / element / 1024 * 1024;
  }
  strata::index_t bytes(double b) const { return static_cast<strata::index_t>(b * unit_); }

  void add(std::string name, strata::index_t n, const char* type, const Statistics& time, double value,
           const char* unit, double ceiling, double ratio = none) {
    report_.add({std::move(name), D::name, n, type, time, value, unit, ceiling, ratio});
  }

  /// The link in this run, by hand.
  void link() {
    const double gigabytes = 4e9 * unit_;
    const double up = link_seconds<D>(gigabytes, 0), down = link_seconds<D>(0, gigabytes),
                 both = link_seconds<D>(gigabytes, gigabytes);
    if (!(both > 0)) return;
    add("link to the device, by hand", 0, "bytes", once(up), gigabytes / up / 1e9, "GB/s", none);
    add("link from the device, by hand", 0, "bytes", once(down), gigabytes / down / 1e9, "GB/s", none);
    add("link both ways, by hand", 0, "bytes", once(both), 2 * gigabytes / both / 1e9, "GB/s", none);
  }

  /// All in, the kernel, all out.
  template <class T, class F>
  void not_streamed(const strata::CoherentArray<T, strata::rank<1>>& x,
                    const strata::CoherentArray<T, strata::rank<1>>& y, strata::index_t n, const F& kernel) {
    using Array = strata::MDArray<T, D, strata::rank<1>>;
    const Array a = strata::create<Array>("x", n, strata::uninitialized, strata::on(D{})),
                b = strata::create<Array>("y", n, strata::uninitialized, strata::on(D{}));
    const auto from = x.read();
    strata::deep_copy(a, from.view());
    kernel(a, b);
    const auto to = y.write();
    strata::deep_copy(to.view(), b);
  }

  Report& report_;
  const double unit_ = is_gpu<D> ? 1 : 1e-3;

 private:
  const Options& options_;
};

/// Calls f(D{}) for the GPUs asked for, and for another device where it is asked for by name.
template <class F>
void for_each_streaming_device(const Options& options, const F& f) {
  for_each_device(options, [&](auto device) {
    using D = decltype(device);
    if constexpr (is_gpu<D>) f(device);
    else if (options.device == D::name) f(device);
  });
}

}  // namespace perf
