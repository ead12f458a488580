// deep_copy between layouts, strides and element types, against memcpy of as many bytes and a blocked
// transpose by hand. On a GPU also conversions and fills against kernels by hand, and copies to and from the
// host, pinned and pageable, against CUDA's own and the link.
// SPDX-License-Identifier: Apache-2.0
#include "baselines/deep_copy.hpp"

#include <algorithm>
#include <cstring>

#include <strata/version.hpp>

#include "baselines/stream.hpp"
#include "common/ceiling.hpp"
#include "common/contest.hpp"

namespace {

using namespace perf;
using strata::index_t;

#if STRATA_HAS_CUDA && defined(__CUDACC__)
using Pinned = strata::CudaPinned;
#else
using Pinned = strata::Serial;  // nobody asks
#endif

template <class T, class D, class Layout>
using Matrix = strata::MDArrayIn<Layout, T, D, strata::rank<2>>;

/// The type of a copy that converts: double to float, as mixed precision has it, and back.
template <class T>
using Other = std::conditional_t<std::is_same_v<T, double>, float, double>;

template <class T>
std::string conversion_name() {
  return std::is_same_v<T, double> ? "double to float" : "float to double";
}

template <class T>
T value(index_t i, index_t j) {
  return static_cast<T>((i * 31 + j * 7) % 1021);
}

template <class T, class D>
void measure(const Options& options, Report& report, const char* type, index_t rows, index_t columns) {
  using Right = Matrix<T, D, strata::LayoutRight>;
  using Left = Matrix<T, D, strata::LayoutLeft>;
  using Tiled = Matrix<T, D, strata::LayoutTiled<8>>;
  const auto a = strata::create<Right>("a", rows, columns),
             same = strata::create<Right>("same", rows, columns);
  const auto wide = strata::create<Right>("wide", rows, 2 * columns);
  const auto part = strata::subview(wide, strata::everything, strata::range(0, columns));
  const auto left = strata::create<Left>("left", rows, columns);
  const auto tiled = strata::create<Tiled>("tiled", rows, columns);
  const auto other = strata::create<Matrix<Other<T>, D, strata::LayoutRight>>("other", rows, columns);
  const auto host = strata::create_mirror_view(a);
  for (index_t i = 0; i < rows; ++i)
    for (index_t j = 0; j < columns; ++j) host(i, j) = value<T>(i, j);
  strata::deep_copy(a, host);

  const std::size_t bytes = static_cast<std::size_t>(rows * columns) * sizeof(T),
                    converted_bytes = bytes + static_cast<std::size_t>(rows * columns) * sizeof(Other<T>);
  // A copy reads as much as it writes: a conversion moves what a copy of half of its bytes does.
  const std::size_t longest = std::max(bytes, converted_bytes / 2);
  void* const from = allocate_plain(longest);
  void* const to = allocate_plain(longest);
  std::memset(from, 1, longest);
  std::memset(to, 0, longest);
  Race race;
  const int plain = race.add([&] { std::memcpy(to, from, bytes); });
  const int by_hand =
      race.add([&] { plain_transpose(static_cast<T*>(to), static_cast<const T*>(from), rows, columns); });
  const int contiguous = race.add([&] { strata::deep_copy(same, a); });
  const int strided = race.add([&] { strata::deep_copy(part, a); });
  const int transposed = race.add([&] { strata::deep_copy(left, a); });
  const int to_tiles = race.add([&] { strata::deep_copy(tiled, a); });
  const int plain_converted = race.add([&] { std::memcpy(to, from, converted_bytes / 2); });
  const int converted = race.add([&] { strata::deep_copy(other, a); });
  race.run(options.reps_or(15), 10);
  ::operator delete(from, std::align_val_t(2 << 20));
  ::operator delete(to, std::align_val_t(2 << 20));

  const double moved = 2.0 * static_cast<double>(bytes);
  const double bound = gigabytes_per_second(moved, race[plain]);
  const auto add_moved = [&](const std::string& name, const char* device, int k, int baseline, double of) {
    report.add({name, device, rows * columns, type, race[k], gigabytes_per_second(of, race[k]), "GB/s", bound,
                baseline < 0 ? none : race.speedup(k, baseline)});
  };
  const auto add = [&](const char* name, const char* device, int k, int baseline) {
    add_moved(name, device, k, baseline, moved);
  };
  add("memcpy", "-", plain, -1);
  add("blocked transpose by hand", "-", by_hand, -1);
  add("right to right, contiguous", D::name, contiguous, plain);
  add("right to half of wider rows", D::name, strided, plain);
  add("right to left", D::name, transposed, by_hand);
  add("right to tiled", D::name, to_tiles, plain);
  const auto converted_moved = static_cast<double>(converted_bytes);
  add_moved("memcpy, bytes of " + conversion_name<T>(), "-", plain_converted, -1, converted_moved);
  add_moved(conversion_name<T>(), D::name, converted, plain_converted, converted_moved);
  const auto equal = [&](const auto& view) {
    const auto copy = strata::create<Matrix<T, strata::Serial, strata::LayoutRight>>("check", rows, columns);
    strata::deep_copy(copy, view);
    for (index_t i = 0; i < rows; ++i)
      for (index_t j = 0; j < columns; ++j)
        if (copy(i, j) != value<T>(i, j)) return false;
    return true;
  };
  report.check(equal(same) && equal(part) && equal(left) && equal(tiled),
               std::string("deep_copy on ") + D::name);
  strata::deep_copy(same, T(-1));
  strata::deep_copy(same, other);  // whole numbers, small enough for both types
  report.check(equal(same), "deep_copy, " + conversion_name<T>() + " on " + D::name);
}

/// deep_copy on a GPU and over its link.
template <class T, class D>
class GpuCopies {
  using Vector = strata::MDArray<T, D, strata::rank<1>>;

 public:
  GpuCopies(const Options& options, Report& report, const char* type)
      : options_(options),
        report_(report),
        type_(type),
        n_(options.n > 0 ? options.n : static_cast<index_t>((std::size_t{1} << 30) / sizeof(T))),
        columns_(std::min<index_t>(8192, n_)),
        rows_(options.n > 0 ? n_ / columns_ : 8192) {}

  // Both ways; the host's array stays as it is between calls, so that its pages are there.
  void link() {
    const auto gpu = strata::create<Vector>("gpu", n_);
    const auto pageable = strata::create_mirror(gpu);
    const auto pinned = strata::create<strata::MDArray<T, Pinned, strata::rank<1>>>("pinned", n_);
    const std::size_t bytes = static_cast<std::size_t>(n_) * sizeof(T);
    const auto numbered = [](const auto& host) {
      for (index_t i = 0; i < host.extent(0); ++i) host(i) = value<T>(i, 0);
    };
    const auto one = [&](const char* name, const auto& to, const auto& from, bool to_gpu, bool asynchronous) {
      LinkContest contest(*this, to_gpu, bytes);
      contest.measure({.name = name,
                       .n = n_,
                       .bytes = static_cast<double>(bytes),
                       .run = [&] { strata::deep_copy(to, from); },
                       .baseline = asynchronous
                                       ? copy_asynchronously(contest.place(), to.data(), from.data(), bytes)
                                       : copy_pageable(contest.place(), to.data(), from.data(), bytes),
                       .baseline_name = "CUDA",
                       .correct = [&] { return vector_holds(to, [](index_t i) { return value<T>(i, 0); }); },
                       .clear = [&] { spoil(to); }});
    };
    numbered(pageable);
    numbered(pinned);
    one("from pinned memory", gpu, pinned, true, true);
    one("to pinned memory", pinned, gpu, false, true);
    one("from pageable memory", gpu, pageable, true, false);
    one("to pageable memory", pageable, gpu, false, false);
  }

  void layouts() {
    const auto right = strata::create<Matrix<T, D, strata::LayoutRight>>("right", rows_, columns_),
               same = strata::create<Matrix<T, D, strata::LayoutRight>>("same", rows_, columns_);
    const auto left = strata::create<Matrix<T, D, strata::LayoutLeft>>("left", rows_, columns_);
    const auto wide = strata::create<Matrix<T, D, strata::LayoutRight>>("wide", rows_, 2 * columns_);
    const auto part = strata::subview(wide, strata::everything, strata::range(0, columns_));
    const auto host = strata::create<Matrix<T, strata::Serial, strata::LayoutRight>>("host", rows_, columns_);
    for (index_t i = 0; i < rows_; ++i)
      for (index_t j = 0; j < columns_; ++j) host(i, j) = value<T>(i, j);
    strata::deep_copy(right, host);
    const std::size_t row = static_cast<std::size_t>(columns_) * sizeof(T),
                      bytes = static_cast<std::size_t>(rows_) * row;

    Contest<D> contest(options_, report_, type_, 2.0 * static_cast<double>(bytes));
    const auto one = [&](Contest<D>& in, const char* name, double moved, const auto& to, const auto& from,
                         Sweep baseline, const char* baseline_name) {
      in.measure({.name = name,
                  .n = rows_ * columns_,
                  .bytes = moved,
                  .run = [&] { strata::deep_copy(to, from); },
                  .baseline = std::move(baseline),
                  .baseline_name = baseline_name,
                  .correct =
                      [&] {
                        return rows_hold(to, 64, [&](const auto& copy, index_t at, index_t i) {
                          bool holds = true;
                          for (index_t j = 0; j < columns_; ++j)
                            holds = holds && copy(at, j) == value<T>(i, j);
                          return holds;
                        });
                      },
                  .clear = [&] { strata::deep_copy(to, T(-1)); }});
    };
    const double twice = 2.0 * static_cast<double>(bytes);
    const CudaPlace place = contest.place();
    one(contest, "right to right, contiguous", twice, same, right,
        copy_asynchronously(place, same.data(), right.data(), bytes), "CUDA");
    one(contest, "right to half of wider rows", twice, part, right,
        copy_rows(place, wide.data(), 2 * row, right.data(), row, row, static_cast<std::size_t>(rows_)),
        "CUDA");
    one(contest, "right to left", twice, left, right,
        transpose_by_hand<T>(place, left.data(), right.data(), rows_, columns_), "by hand");
    LinkContest from_host(*this, true, bytes);
    one(from_host, "right to left, from the host", static_cast<double>(bytes), left, host,
        transpose_from_host<T>(place, left.data(), host.data(), rows_, columns_), "by hand");
  }

  void conversions() {
    const auto from = strata::create<Vector>("from", n_);
    const auto to = strata::create<strata::MDArray<Other<T>, D, strata::rank<1>>>("to", n_);
    const auto host = strata::create_mirror(from);
    for (index_t i = 0; i < n_; ++i) host(i) = value<T>(i, 0);
    strata::deep_copy(from, host);
    const std::size_t bytes = static_cast<std::size_t>(n_) * (sizeof(T) + sizeof(Other<T>));
    Contest<D> contest(options_, report_, type_, static_cast<double>(bytes));
    contest.measure({.name = conversion_name<T>(),
                     .n = n_,
                     .bytes = static_cast<double>(bytes),
                     .run = [&] { strata::deep_copy(to, from); },
                     .baseline = convert_by_hand(contest.place(), to.data(), from.data(), n_),
                     .correct = {},
                     .clear = {}});
    report_.check(vector_holds(to, [](index_t i) { return static_cast<Other<T>>(value<T>(i, 0)); }),
                  "deep_copy, " + conversion_name<T>() + " on " + D::name);
  }

  void fills() {
    const auto x = strata::create<Vector>("x", n_);
    const std::size_t bytes = static_cast<std::size_t>(n_) * sizeof(T);
    Contest<D> contest(options_, report_, type_, static_cast<double>(bytes));
    for (const T s : {T(1.5), T(0)}) {
      Sweep baseline = stream_by_hand(contest.place(), StreamOperation::Fill,
                                      StreamArrays<T>{x.data(), x.data(), x.data(), s, n_});
      if (s == 0)
        for (Competitor& by_cuda : zero_asynchronously(contest.place(), x.data(), bytes))
          baseline.push_back(std::move(by_cuda));
      contest.measure({.name = s == 0 ? "fill with zero" : "fill with a value",
                       .n = n_,
                       .bytes = static_cast<double>(bytes),
                       .run = [&] { strata::deep_copy(x, s); },
                       .baseline = std::move(baseline),
                       .correct = [&] { return vector_holds(x, [s](index_t) { return s; }); },
                       .clear = [&] { strata::deep_copy(x, T(-1)); }});
    }
  }

 private:
  /// Bounded by the link instead of the memory.
  struct LinkContest : Contest<D> {
    LinkContest(const GpuCopies& of, bool to_gpu, std::size_t bytes)
        : Contest<D>(of.options_, of.report_, of.type_, 0) {
      this->set_ceiling(link_ceiling(this->place(), to_gpu, bytes));
    }
  };

  template <class V, class F>
  static bool vector_holds(const V& view, const F& expected) {
    if constexpr (V::memory_space::host_accessible) {
      for (index_t i = 0; i < view.extent(0); ++i)
        if (view(i) != expected(i)) return false;
      return true;
    } else {
      return rows_hold(view, 4096,
                       [&](const auto& host, index_t at, index_t i) { return host(at) == expected(i); });
    }
  }
  // Leaves nothing of what was copied.
  template <class V>
  static void spoil(const V& view) {
    if constexpr (V::memory_space::host_accessible) std::fill_n(view.data(), view.extent(0), T(-1));
    else strata::deep_copy(view, T(-1));
  }

  const Options& options_;
  Report& report_;
  const char* type_;
  index_t n_, columns_, rows_;
};

template <class T, class D>
void measure_gpu(const Options& options, Report& report, const char* type) {
  GpuCopies<T, D> copies(options, report, type);
  copies.layouts();
  copies.conversions();
  copies.fills();
  // The link knows no types: once is enough.
  if (std::is_same_v<T, double> || options.type == type) copies.link();
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse_options(argc, argv, "deep_copy between layouts and strides.");
  Report report(
      "deep_copy",
      "memcpy by one thread; for right to left a blocked transpose by hand, one thread; on Cuda the "
      "copy by CUDA or kernel by hand that the line names");
  for_each_type(options, [&](auto zero, const char* type) {
    const index_t columns = 2000, rows = options.n > 0 ? std::max<index_t>(1, options.n / columns) : 4000;
    for_each_device(options, [&](auto device) {
      using D = decltype(device);
      if constexpr (is_gpu<D>) measure_gpu<decltype(zero), D>(options, report, type);
      else measure<decltype(zero), D>(options, report, type, rows, columns);
    });
  });
  report.note(
      "GB/s count every byte read and every byte written; the ceiling is memcpy in the same race, which may "
      "use");
  report.note(
      "non-temporal stores. Over the link of a GPU bytes count once, and the ceiling is a copy of pinned "
      "memory.");
  report.note("Emulated copies on threads of this machine; its speed is not a machine's.");
  return report.finish(options);
}
