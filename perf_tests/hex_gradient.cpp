// How fast is a kernel that is written once, against the memory, a hand-written SIMD loop and other layouts?
//
// The uniform-gradient hexahedron (common/hex_formula.hpp) over coordinates and gradients (n, 3, 8), in cache
// and out of cache: tiled by 8 and by 32, right, left, and by hand on raw pointers over the same tiled data.
// On one core (Serial) the cases take turns with a plain triad; then the other devices, each with a triad by
// as many plain threads. On a GPU layout left and tiles of 32, each against plain CUDA over the same layout.
// SPDX-License-Identifier: Apache-2.0
#include "common/hex_gradient.hpp"

#include <algorithm>
#include <memory>

#include "baselines/hex_gradient.hpp"
#include "common/ceiling.hpp"
#include "common/contest.hpp"

namespace {

using namespace perf;
using strata::index_t;

template <class T>
struct Setting {
  const Options& options;
  Report& report;
  const char* type;
  index_t n;
  const char* where;  // "in cache", ...

  double bytes() const { return static_cast<double>(n) * hex_bytes<T>; }
  std::string name(const std::string& layout) const { return layout + ", " + where; }
  int reps() const { return options.reps_or(n < 10000 ? 300 : 15); }
};

// The kernel as a functor that takes an integer, which runs in a plain loop: what right would be without
// lanes.
template <class Array>
struct ByInteger {
  using device_type = typename Array::device_type;
  typename Array::const_type coordinates;
  Array gradients;
  STRATA_FUNCTION void operator()(index_t i) const { HexGradient{}(i, coordinates, gradients); }
};

std::string percent(double x) { return fixed(100 * x, 0) + " %"; }

// All layouts and the hand-written loops on one core.
template <class T>
void one_core(const Setting<T>& s) {
  const HexArrays<T, strata::Serial, strata::LayoutTiled<8>> tiled8(s.n);
  const HexArrays<T, strata::Serial, strata::LayoutTiled<32>> tiled32(s.n);
  const HexArrays<T, strata::Serial, strata::LayoutRight> right(s.n);
  const HexArrays<T, strata::Serial, strata::LayoutLeft> left(s.n);
  TriadCeiling<T> ceiling(s.bytes(), 1);
  T* const gradients = tiled8.gradients.data();
  const T* const coordinates = tiled8.coordinates.data();
  const index_t tiles = (s.n + 7) / 8;

  Race race;
  const int triad = ceiling.add_to(race), scale = ceiling.add_scale(race);
  const int by_hand = race.add([&] { plain_hex_gradient(gradients, coordinates, tiles); });
  const int by_hand_ahead =
      race.add([&] { plain_hex_gradient_prefetching(gradients, coordinates, tiles, 2); });
  const int by8 = race.add([&] { tiled8.launch(); }), by32 = race.add([&] { tiled32.launch(); });
  const int by_right = race.add([&] { right.launch(); }), by_left = race.add([&] { left.launch(); });
  using Unmanaged = typename decltype(right.coordinates)::unmanaged_type;
  const ByInteger<Unmanaged> functor{right.coordinates, right.gradients};
  const int right_integer = race.add([&] { strata::parallel_for(s.n, functor); });
  race.run(s.reps());

  const double bound = gigabytes_per_second(ceiling.triad_bytes(), race[triad]);
  const auto add = [&](const char* layout, const char* device, int k, double bytes) {
    const bool kernel = k >= by8;
    const int better = race.speedup(by_hand, by_hand_ahead) > 1 ? by_hand : by_hand_ahead;
    s.report.add({s.name(layout), device, s.n, s.type, race[k], gigabytes_per_second(bytes, race[k]), "GB/s",
                  bound, kernel ? race.speedup(k, better) : none});
  };
  add("plain triad", "-", triad, ceiling.triad_bytes());
  add("plain scale", "-", scale, ceiling.scale_bytes());
  add("by hand", "-", by_hand, s.bytes());
  add("by hand, prefetching", "-", by_hand_ahead, s.bytes());
  add("tiled 8", "Serial", by8, s.bytes());
  add("tiled 32", "Serial", by32, s.bytes());
  add("right", "Serial", by_right, s.bytes());
  add("right, integer index", "Serial", right_integer, s.bytes());
  add("left", "Serial", by_left, s.bytes());
  s.report.note(s.name(std::string(s.type) + ", n = " + std::to_string(s.n)) + ": tiled 8 is " +
                fixed(race.speedup(by8, by_right), 2) + " times as fast as right, " +
                fixed(race.speedup(by8, by_hand), 2) + " times as the plain loop by hand, " +
                fixed(race.speedup(by8, by_hand_ahead), 2) + " times as the prefetching one; " +
                percent(race.speedup(by8, triad) * s.bytes() / ceiling.triad_bytes()) + " of triad, " +
                percent(race.speedup(by8, scale) * s.bytes() / ceiling.scale_bytes()) + " of scale");
  s.report.check(tiled8.correct() && tiled32.correct() && right.correct() && left.correct(),
                 s.name("Serial, hexahedral gradient"));
}

// One device, in the tiled layout and in its own.
template <class T, class D>
void one_device(const Setting<T>& s) {
  const HexArrays<T, D, strata::LayoutTiled<8>> tiled8(s.n);
  const HexArrays<T, D, typename D::layout> own(s.n);
  Race race;
  std::unique_ptr<TriadCeiling<T>> ceiling;
  if (is_machine<D>) ceiling = std::make_unique<TriadCeiling<T>>(s.bytes(), team_size<D>());
  const int triad = ceiling ? ceiling->add_to(race) : -1;
  const auto launch = [&](const auto& arrays) {
    return race.add([&] {
      arrays.launch();
      strata::wait(D{});
    });
  };
  const int tiled = launch(tiled8), plain = launch(own);
  race.run(std::min(s.reps(), is_machine<D> ? 1000 : 5));

  const double bound = ceiling ? gigabytes_per_second(ceiling->triad_bytes(), race[triad]) : none;
  const auto add = [&](const char* layout, int k) {
    s.report.add({s.name(layout), D::name, s.n, s.type, race[k], gigabytes_per_second(s.bytes(), race[k]),
                  "GB/s", bound, none});
  };
  if (ceiling)
    s.report.add({s.name("plain triad, " + std::to_string(team_size<D>()) + " threads"), "-", s.n, s.type,
                  race[triad], bound, "GB/s", bound, none});
  add("tiled 8", tiled);
  add("own layout", plain);
  s.report.check(tiled8.correct() && own.correct(), s.name(std::string(D::name) + ", hexahedral gradient"));
}

// A GPU, where `tile` says what Layout is to the competitors.
template <class D, class Layout, class T>
void one_gpu(const Setting<T>& s, const char* layout, int tile) {
  const HexArrays<T, D, Layout> arrays(s.n);
  Contest<D> contest(s.options, s.report, s.type, s.bytes());
  contest.measure(
      {.name = layout,
       .n = s.n,
       .bytes = s.bytes(),
       .run =
           [&] {
             arrays.launch();
             strata::wait(D{});
           },
       .baseline = hex_gradient_by_hand(
           contest.place(), HexElements<T>{arrays.coordinates.data(), arrays.gradients.data(), s.n, tile}),
       .correct = [&] { return arrays.correct(); },
       .clear = [&] { strata::deep_copy(arrays.gradients, T(-1)); }});
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse_options(
      argc, argv, "Hexahedral uniform gradient: layouts against memory bandwidth and a hand-written loop.");
  Report report("hex_gradient",
                "the better of the two hand-written SIMD loops over the same tiled data; on Cuda the fastest "
                "kernel by hand over the same layout");
  report.note(
      "GB/s count 48 values an element; triad counts 3 and scale 2. No non-temporal stores: a store to a "
      "line");
  report.note(
      "that is not in cache reads it first, so memory moves 3/2 of the counted bytes of the gradient and of "
      "scale,");
  report.note(
      "and 4/3 of triad's: at the same traffic the gradient reaches 89 % of triad and 100 % of scale.");

  for_each_type(options, [&](auto zero, const char* type) {
    using T = decltype(zero);
    for_each_device(options, [&](auto device) {
      using D = decltype(device);
      std::vector<std::pair<index_t, const char*>> sizes = {
          {256, "in cache"}, {1024, "in cache"}, {400000, "out of cache"}};
      if (is_gpu<D>) sizes = {{1000000, ""}, {4000000, ""}, {16000000, ""}};
      if (options.n > 0) sizes = {{options.n, "size given"}};
      for (const auto& size : sizes) {
        const Setting<T> setting{options, report, type, size.first, size.second};
        if constexpr (is_gpu<D>) {
          one_gpu<D, strata::LayoutLeft>(setting, "left", 0);
          one_gpu<D, strata::LayoutTiled<32>>(setting, "tiled 32", 32);
        } else if constexpr (std::is_same_v<D, strata::Serial>) {
          one_core(setting);
        } else if (setting.n >= 10000) {
          one_device<T, D>(setting);
        }
      }
    });
  });
  report.note("Emulated runs on threads of this machine in virtual time: its speed is not a machine's.");
  return report.finish(options);
}
