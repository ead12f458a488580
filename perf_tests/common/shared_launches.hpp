// Launches over coherent arrays that a host and a device share in different ways, beside each of them alone.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <strata/algorithms/coherent_launch.hpp>
#include <strata/algorithms/sharing/dynamic.hpp>
#include <strata/views/coherent/coherent_array.hpp>

#include "common/contest.hpp"
#include "common/shared_assembly.hpp"

namespace perf {

struct Polynomial {
  int terms;
  STRATA_FUNCTION void operator()(strata::index_t i, const auto& x, const auto& y) const {
    const float at = x(i);
    float sum = 0;
    for (int k = 0; k < terms; ++k) sum = sum * at + 0.5F;
    y(i) = sum;
  }
};
/// A row an item: a GPU takes as long for a few as for all.
struct FivePointsOfRow {
  strata::index_t columns;
  STRATA_FUNCTION void operator()(strata::index_t i, const auto& u, const auto& v) const {
    for (strata::index_t j = 1; j < columns - 1; ++j)
      v(i, j) = 0.25F * (u(i - 1, j) + u(i + 1, j) + u(i, j - 1) + u(i, j + 1));
    v(i, 0) = v(i, columns - 1) = 0;
  }
};
/// A point an item.
struct FivePoints {
  static constexpr bool last_index_fastest = true;
  STRATA_FUNCTION void operator()(strata::index_t i, strata::index_t j, const auto& u, const auto& v) const {
    v(i, j) = 0.25F * (u(i - 1, j) + u(i + 1, j) + u(i, j - 1) + u(i, j + 1));
  }
};

template <class D>
class SharedLaunches {
  using Threads = strata::Threads;
  using index_t = strata::index_t;
  using MemoryMode = strata::MemoryMode;

 public:
  SharedLaunches(const Options& options, Report& report) : options_(options), report_(report) {}

  void all() {
    map();
    stencils();
    assembly();
    managed();
  }
  /// Of which kernels can claim for themselves, beside the host that claims for them.
  void managed() {
    mode_ = MemoryMode::Managed;
    map();
    stencil_of_points();
    assembly();
    mode_ = MemoryMode::Pinned;
  }

 private:
  /// Of a shared launch, or of several one after the other.
  struct Claims {
    double deciding = 0, all = 0, tail = 0;  ///< seconds: who does what was decided, all, tails
    double host_items = 0, items = 0;        ///< of the host, and of all
    int host_parts = 0;                      ///< that the host took
    Claims operator+(const Claims& b) const {
      return {deciding + b.deciding,     all + b.all,     tail + b.tail,
              host_items + b.host_items, items + b.items, host_parts + b.host_parts};
    }
  };
  /// The host is the first device of all launches that are shared.
  template <class Launch>
  static Claims claims_of(const Launch& launch) {
    if constexpr (std::is_void_v<decltype(launch())>) {
      launch();
      return {};
    } else {
      const strata::SharedReport report = launch();
      const auto& host = report.devices.front();
      return {report.claim_seconds,
              report.seconds,
              report.tail,
              static_cast<double>(host.items),
              static_cast<double>(report.items),
              host.claims};
    }
  }

  void map() {
    using strata::in, strata::out;
    const index_t n = is_gpu<D> ? index_t{1} << 24 : 4096;
    const strata::CoherentArray<float, strata::rank<1>> x("x", n, strata::uninitialized, mode_, main_in(D{})),
        y("y", n, mode_, main_in(D{}));
    {
      const auto values = x.write();
      for (index_t i = 0; i < n; ++i) values(i) = static_cast<float>(i % 1000) * 1e-3F;
    }
    measure(
        "map", n,
        [&](const auto& where) {
          return claims_of([&] { return launch(where, n, Polynomial{256}, in(x), out(y)); });
        },
        [&] { return values_of(y); });
  }

  using Grid = strata::CoherentArray<float, strata::rank<2>, strata::LayoutRight>;
  struct Grids {
    Grid u, v;
    Grids(index_t side, MemoryMode mode)
        : u("u", side, side, strata::uninitialized, mode, main_in(D{})),
          v("v", side, side, mode, main_in(D{})) {
      const auto values = u.write();
      for (index_t i = 0; i < side; ++i)
        for (index_t j = 0; j < side; ++j) values(i, j) = static_cast<float>((i * 31 + j * 17) % 101);
    }
  };

  void stencils() {
    using strata::in, strata::inout;
    const strata::Halo<> near = strata::halo(1, 1);
    const index_t side = is_gpu<D> ? 4096 : 64;
    const Grids rows(side, mode_);
    measure(
        "stencil", side,
        [&](const auto& where) {
          return claims_of([&] {
            return launch(where, strata::range(1, side - 1), FivePointsOfRow{side}, in(rows.u, near),
                          inout(rows.v));
          });
        },
        [&] { return values_of(rows.v); });
    stencil_of_points();
  }

  void stencil_of_points() {
    using strata::in, strata::inout;
    const index_t side = is_gpu<D> ? 12288 : 64;
    const Grids points(side, mode_);
    const auto inner = strata::mdrange({1, 1}, {side - 1, side - 1});
    measure(
        "stencil of points", side * side,
        [&](const auto& where) {
          return claims_of([&] {
            return launch(where, inner, FivePoints{}, in(points.u, strata::halo(1, 1)), inout(points.v));
          });
        },
        [&] { return values_of(points.v); });
  }

  void assembly() {
    const SharedAssembly assembly(is_gpu<D> ? 128 : 5, mode_, strata::miniapp::any_main_for(D{}));
    measure(
        "assembly", assembly.elements(),
        [&](const auto& where) {
          const Claims first = claims_of([&] { return assembly.elements_on(where); });
          return first + claims_of([&] { return assembly.rows_on(where); });
        },
        [&] { return assembly.result(); }, Values::Rounded);
  }

  template <class Array>
  static std::vector<float> values_of(const Array& array) {
    const auto view = array.read();
    return {view.view().data(), view.view().data() + array.size()};
  }

  // Whether devices compute the same bits: fem::multiply_add, of which element matrices are made, rounds once
  // on GPUs and twice on hosts, and compilers make other code of it for loops over lanes.
  enum class Values { Same, Rounded };
  static bool agree(const std::vector<float>& found, const std::vector<float>& expected, Values kind) {
    if (kind == Values::Same) return found == expected;
    float largest = 0;
    for (const float value : expected) largest = std::max(largest, std::abs(value));
    const float most = 16 * std::numeric_limits<float>::epsilon() * largest;
    return std::equal(found.begin(), found.end(), expected.begin(), expected.end(),
                      [most](float a, float b) { return std::abs(a - b) <= most; });
  }

  // Until all is done; arrays stay where they are from run to run.
  template <class Run, class ValuesOf>
  void measure(const std::string& what, index_t n, const Run& run, const ValuesOf& values,
               Values kind = Values::Same) {
    const bool is_managed = mode_ == MemoryMode::Managed;
    const std::string name = is_managed ? "managed " + what : what;
    const auto both = across(Threads{}, D{});
    const auto done = [&](const auto& where) {
      const Claims claims = run(where);
      wait(D{});
      return claims;
    };
    const double host = median_of([&] { done(on(Threads{})); }), gpu = median_of([&] { done(on(D{})); });
    const double better = std::min(host, gpu);
    if (is_managed) done(on(Threads{}));  // which is faster
    else done(on(strata::Serial{}));
    const std::vector<float> expected = values();
    strata::Balance adaptive;
    const auto weighted = both.weighted({1 / host, 1 / gpu});
    std::vector<Claims> launches;  // of the timed ones
    const auto add = [&](const std::string& how, const auto& work) {
      for (int k = 0; k < 6; ++k) work();  // speeds are learned
      launches.clear();
      std::vector<double> seconds;
      for (int k = 0; k < options_.reps_or(15); ++k) seconds.push_back(seconds_of(work));
      report_.check(agree(values(), expected, kind), name + ", " + how + ": other values than on Serial");
      const Statistics time = statistics(seconds);
      report_.add({name + ", " + how, D::name, n, "float", time, time.median * 1e6, "us", none, none});
      report_.add({name + ", " + how + ", over the better alone", D::name, n, "float", time,
                   time.median / better, "x", none, none});
      if (gpu >= 0.1 * host)
        report_.add({name + ", " + how + ", over the ideal", D::name, n, "float", time,
                     time.median * (1 / host + 1 / gpu), "x", none, none});
    };
    add("weighted", [&] { done(weighted); });
    add("adaptive", [&] { done(both.adaptive(adaptive)); });
    add("dynamic", [&] { launches.push_back(done(both.dynamic())); });
    add_claims(name + ", dynamic", n, launches, gpu >= 0.1 * host);
    if (is_managed) {
      const strata::DynamicOptions by_kernels{.claimed_by = strata::ClaimedBy::Kernels};
      add("kernels claim", [&] { done(both.dynamic(by_kernels)); });
      // With weights all take part, whoever is best alone.
      add("weighted, dynamic", [&] { done(weighted.dynamic()); });
      add("weighted, kernels claim", [&] { done(weighted.dynamic(by_kernels)); });
      const auto gpu_claims = across(D{}).weighted({1}).dynamic(by_kernels);
      add("kernels claim, GPU only", [&] { done(gpu_claims); });
      const double again = median_of([&] { done(on(D{})); });
      const double with_claims = median_of([&] { done(gpu_claims); });
      const Statistics more{with_claims / again - 1, with_claims / again - 1, with_claims / again - 1};
      report_.add({name + ", GPU only, what claims of kernels add", D::name, n, "float", more,
                   100 * more.median, "%", none, none});
    }
    for (const auto& [how, seconds] : {std::pair{"host only", host}, std::pair{"GPU only", gpu},
                                       std::pair{"ideal", 1 / (1 / host + 1 / gpu)}})
      report_.add({name + ", " + how,
                   D::name,
                   n,
                   "float",
                   {seconds, seconds, seconds},
                   seconds * 1e6,
                   "us",
                   none,
                   none});
  }
  // Medians over launches. `has_work`: the host's speed is worth having; then it is to take a part.
  void add_claims(const std::string& name, index_t n, const std::vector<Claims>& launches, bool has_work) {
    const auto row = [&](const std::string& what, const char* unit, const auto& value_of) {
      std::vector<double> values;
      for (const Claims& claims : launches) values.push_back(value_of(claims));
      const Statistics of_values = statistics(values);
      report_.add({name + ", " + what, D::name, n, "float", of_values, of_values.median, unit, none, none});
    };
    const auto part = [](double some, double all) { return all > 0 ? 100 * some / all : 0; };
    row("claims", "%", [&](const Claims& c) { return part(c.deciding, c.all); });
    row("share of the host", "%", [&](const Claims& c) { return part(c.host_items, c.items); });
    row("tail", "%", [&](const Claims& c) { return part(c.tail, c.all); });
    row(has_work ? "parts of the host, which has speed" : "parts of the host", "parts",
        [](const Claims& c) { return static_cast<double>(c.host_parts); });
  }
  template <class Work>
  static double seconds_of(const Work& work) {
    const double begin = now();
    work();
    return now() - begin;
  }
  template <class Work>
  double median_of(const Work& work) const {
    work();
    std::vector<double> seconds;
    for (int k = 0; k < options_.reps_or(9); ++k) seconds.push_back(seconds_of(work));
    return statistics(seconds).median;
  }

  const Options& options_;
  Report& report_;
  MemoryMode mode_ = MemoryMode::Pinned;
};

}  // namespace perf
