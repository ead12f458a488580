// Do prefix sums keep up with the best? inclusive_scan, and parallel_scan with a kernel, of doubles, floats
// and 64-bit integers against plain loops and oneTBB on hosts, CUB on GPUs.
// SPDX-License-Identifier: Apache-2.0
#include "baselines/scan.hpp"

#include <cmath>
#include <cstdint>

#include "common/contest.hpp"
#include "kokkos/kokkos_cases.hpp"

namespace {

using namespace perf;
using strata::index_t;

// 1 in each 16th element: sums are exact in float, too.
struct Numbers {
  STRATA_FUNCTION void operator()(index_t i, auto x) const {
    x(i) = static_cast<decltype(x(i) + 0)>(i % 16 == 0 ? 1 : 0);
  }
};
index_t prefix(index_t i) { return i / 16 + 1; }

struct SumUp {
  template <class T>
  STRATA_FUNCTION void operator()(auto i, auto x, auto y, T& sum, bool final) const {
    sum += x(i);
    if (final) y(i) = sum;
  }
};

template <class T, class D>
void measure(const Options& options, Report& report, const char* type) {
  using Array = strata::MDArray<T, D, strata::rank<1>>;
  const index_t n = size_for<D>(options, index_t{1} << 24, 100000000);
  const auto x = strata::create<Array>("x", n), y = strata::create<Array>("y", n);
  strata::parallel_for(n, strata::with(Numbers{}, x));
  strata::wait(D{});
  const double bytes = 2.0 * sizeof(T) * static_cast<double>(n);
  Contest<D> contest(options, report, type, bytes);
  const ScanArrays<T> arrays{x.data(), y.data(), n};
  const auto measure_scan = [&](const char* name, const auto& scan) {
    contest.measure(
        {.name = name,
         .n = n,
         .bytes = bytes,
         .run =
             [&] {
               scan();
               strata::wait(D{});
             },
         .baseline = scan_baseline(contest.place(), arrays),
         .baseline_name = is_machine<D> ? "by hand" : "CUB",
         .others = {scan_by_library(contest.place(), arrays), kokkos_scan(kokkos_place<D>(), arrays)},
         .correct =
             [&] {
               return rows_hold(y, 4096, [](const auto& host, index_t at, index_t i) {
                 return host(at) == static_cast<T>(prefix(i));
               });
             },
         .clear = [&] { strata::deep_copy(y, T(-1)); }});
  };
  measure_scan("inclusive_scan", [&] { strata::inclusive_scan(x, y); });
  measure_scan("parallel_scan",
               [&] { strata::parallel_scan(n, strata::with(SumUp{}, x, y), strata::sum_of<T>); });
}

}  // namespace

int main(int argc, char** argv) {
  const Options options =
      parse_options(argc, argv, "Prefix sums of double, float and int64 (--type double|float|int64).");
  Report report("scan", "the fastest loop by hand; on Cuda CUB");
  for_each_real_device(options, [&](auto device) {
    using D = decltype(device);
    if (options.wants_type("int64")) measure<std::int64_t, D>(options, report, "int64");
    if (options.wants_type("double")) measure<double, D>(options, report, "double");
    if (options.wants_type("float")) measure<float, D>(options, report, "float");
  });
  report.note("Each value is read once and written once. Two passes over the data read it twice.");
  return report.finish(options);
}
