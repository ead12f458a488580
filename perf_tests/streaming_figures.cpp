// Figures 17 to 20 of Veit et al.: maps of 1 to 3883 iterations an element and as many steps of a 3-point
// stencil, by bytes of the arrays and by slices that are on the device at once; the link's limit.
//
//   not streamed   all to the device, the kernel, all back
//   streamed       in slices that overlap, with a budget for all of the arrays, or for a part (out of core)
//   naive          out of core, slice after slice, each in, computed, out before the next one begins
//
// On devices other than a GPU the program is for trying itself out: --device, small sizes.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <string>

#include <strata/algorithms/streaming/streamed_iterate.hpp>

#include "common/streaming_cases.hpp"

namespace {

using namespace perf;
using namespace strata;

struct Logistic {  // `iterations` multiply-adds of an element
  int iterations;
  STRATA_FUNCTION void operator()(auto i, auto x, auto y) const {
    float value = x(i);
    for (int k = 0; k < iterations; ++k) value = value * 0.999f + 0.001f;
    y(i) = value;
  }
};

template <class D>
class Figures : StreamingCases<D> {
  using Cases = StreamingCases<D>;
  using Cases::add, Cases::bytes, Cases::elements, Cases::not_streamed, Cases::measured, Cases::report_;

 public:
  using Cases::Cases;

  void all() {
    measured([&] { Cases::link(); });
    measured([&] { map_by_size(); });
    measured([&] { map_by_slots(); });
    measured([&] { steps_by_size_and_slots(); });
  }

 private:
  // Figure 17: maps of 1 to 3883 iterations, by bytes.
  void map_by_size() {
    for (const double size : {2e7, 2e8, 2e9, 1e10, 2.5e10}) {
      const index_t n = elements(size / 2, 4);
      const CoherentArray<float, rank<1>> x("x", n, fast_memory<D>), y("y", n, fast_memory<D>);
      fill_streamed(x);
      for (const int iterations : {1, 64, 256, 3883}) {
        if (!is_gpu<D> && iterations > 256 && size > 1e9) continue;  // minutes, for nothing
        const double budget = 1.1e10;
        const std::string name = "map of " + std::to_string(iterations);
        const double all = 8.0 * static_cast<double>(n);
        const auto show = [&](const char* how, const Statistics& time) {
          add(name + ", " + how, n, "float", time, all / time.median / 1e9, "GB/s", none);
        };
        const int reps = size > 5e9 ? 1 : 3;
        const auto where = streamed(D{}, bytes(budget));
        const bool in_core = size <= budget;
        show(in_core ? "streamed in core" : "streamed out of core",
             times(reps, [&] { launch(where, n, Logistic{iterations}, in(x), out(y)); }));
        report_.check(correct(x, y, n, iterations), name);
        if (in_core)
          show("not streamed", times(reps, [&] {
                 not_streamed(x, y, n, [&](const auto& a, const auto& b) {
                   parallel_for(on(D{}), n, with(Logistic{iterations}, a, b));
                 });
               }));
        if (size >= 2e9)
          show("naive out of core", times(1, [&] { naive(x, y, n, iterations, bytes(budget)); }));
      }
    }
  }
  void naive(const CoherentArray<float, rank<1>>& x, const CoherentArray<float, rank<1>>& y, index_t n,
             int iterations, index_t budget) {
    using Array = MDArray<float, D, rank<1>>;
    const index_t chunk = std::min(n, budget / 8);
    const Array a = create<Array>("x", chunk, uninitialized, on(D{})),
                b = create<Array>("y", chunk, uninitialized, on(D{}));
    const auto from = x.read();
    const auto to = y.write();
    for (index_t at = 0; at < n; at += chunk) {
      const index_t count = std::min(chunk, n - at);
      const auto slice = range(0, count), there = range(at, at + count);
      deep_copy(subview(a, slice), subview(from.view(), there));
      parallel_for(on(D{}), count, with(Logistic{iterations}, a, b));
      deep_copy(subview(to.view(), there), subview(b, slice));
    }
  }
  // By one thread of the host; a device may round a multiply-add once.
  static bool correct(const CoherentArray<float, rank<1>>& x, const CoherentArray<float, rank<1>>& y,
                      index_t n, int iterations) {
    for (const index_t i : {index_t{5}, n - 1}) {
      float value = x(i);
      for (int k = 0; k < iterations; ++k) value = value * 0.999f + 0.001f;
      if (!(std::abs(y(i) - value) < 1e-3f)) return false;
    }
    return true;
  }

  // Figure 19: a map by slices that are on the device at once.
  void map_by_slots() {
    const index_t n = elements(1e9, 4);
    const CoherentArray<float, rank<1>> x("x", n, fast_memory<D>), y("y", n, fast_memory<D>);
    fill_streamed(x);
    for (const int slots : {2, 3, 4, 8, 16, 32, 64, 128}) {
      const auto where = streamed(D{}, bytes(1.1e9)).slots(slots);
      const Statistics time = times(3, [&] { launch(where, n, Logistic{64}, in(x), out(y)); });
      add("map of 64 in " + std::to_string(slots) + " slots", n, "float", time,
          8.0 * static_cast<double>(n) / time.median / 1e9, "GB/s", none);
    }
  }

  // Figures 18 and 20: steps of the 3-point stencil by sizes, by schedulers, and by slots.
  void steps_by_size_and_slots() {
    for (const double size : {2e8, 2e9}) {
      const index_t n = elements(size, 8);
      const CoherentArray<double, rank<1>> u("u", n, fast_memory<D>), v("v", n, fast_memory<D>);
      fill_streamed(u);
      for (const int steps : {1, 64, 256, 3883}) {
        if (steps > 256 && size > 1e9) continue;
        const std::string name = "3 points, " + std::to_string(steps) + " steps, ";
        const double updates = static_cast<double>(n - 2) * steps;
        const auto show = [&](const char* how, double seconds) {
          add(name + how, n, "double", once(seconds), updates / seconds / 1e9, "G/s", none);
        };
        // With all of it on the device: in, the steps, out.
        CoherentArray<double, rank<1>> a = u, b = v;
        const double begin = now();
        static_cast<void>(a.read_write());
        for (int s = 0; s < steps; ++s) {
          launch(on(D{}), range(1, n - 1), ThreePoints{}, in(a, halo(1, 1)), inout(b));
          std::swap(a, b);
        }
        a.flush();
        show("in core", now() - begin);
        for (const StreamScheduler scheduler : {StreamScheduler::Naive, StreamScheduler::Overlap,
                                                StreamScheduler::EvenOdd, StreamScheduler::Carry}) {
          if (scheduler == StreamScheduler::Naive && (steps > 64 || size > 1e9)) continue;
          const auto where = streamed(D{}, bytes(size / 4)).scheduler(scheduler);
          StreamReport report = streamed_iterate(where, steps, ThreePoints{}, state(u, halo(1, 1)));
          report = streamed_iterate(where, steps, ThreePoints{}, state(u, halo(1, 1)));
          show(name_of(scheduler), report.seconds);
          report_.note(name + name_of(scheduler) + ", " + std::to_string(n) + ": " +
                       predicted(report, report.seconds));
        }
        if (size < 1e9 || steps != 64) continue;
        for (const int slots : {2, 3, 4, 8, 16, 32, 64, 128}) {
          const auto where = streamed(D{}, bytes(size / 4)).slots(slots).scheduler(StreamScheduler::Overlap);
          const StreamReport report = streamed_iterate(where, steps, ThreePoints{}, state(u, halo(1, 1)));
          add("3 points, 64 steps in " + std::to_string(slots) + " slots", n, "double", once(report.seconds),
              updates / report.seconds / 1e9, "G/s", none);
        }
      }
    }
  }
};

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse_options(
      argc, argv, "Arrays larger than a device, in slices: the figures of the streaming paper.");
  Report report("streaming_figures", "");
  for_each_streaming_device(options, [&](auto device) { Figures<decltype(device)>(options, report).all(); });
  return report.finish(options);
}
