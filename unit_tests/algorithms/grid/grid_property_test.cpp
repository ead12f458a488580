// Random steps over grids: shapes, sizes, devices, layouts, ranges, neighbours, edges. Each has the values,
// or the bits, of the same launch on Serial.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <vector>

#include <strata/algorithms/grid/grid.hpp>

#include "algorithms/arrays.hpp"
#include "core/random.hpp"
#include "views/coherent/executor_fixture.hpp"

namespace {

using namespace coherent_testing;
using strata_tests::Random;
using Number = std::uint64_t;  // sums may go around
using Devices = Across<AnyHost, Emulated>;

// Reads all the neighbours that it declares.
struct Stencil {
  index_t left[2], right[2];
  Number salt;

  STRATA_FUNCTION void operator()(index_t i, index_t j, auto u, auto v) const {
    v(i, j) = 3 * v(i, j) + sum([&](index_t a, index_t b) { return u(i + a, j + b); });
  }
  STRATA_FUNCTION void operator()(index_t i, index_t j, index_t k, auto u, auto v) const {
    v(i, j, k) = 3 * v(i, j, k) + sum([&](index_t a, index_t b) { return u(i + a, j + b, k); });
  }

 private:
  template <class F>
  STRATA_FUNCTION Number sum(const F& at) const {
    Number total = salt;
    for (index_t a = -left[0]; a <= right[0]; ++a)
      for (index_t b = -left[1]; b <= right[1]; ++b) total = total * 31 + at(a, b);
    return total;
  }
};
struct Weighted {
  STRATA_FUNCTION void operator()(index_t i, index_t j, auto a, double& sum) const {
    sum += a(i, j) * static_cast<double>(i + 3 * j + 1);
  }
  STRATA_FUNCTION void operator()(index_t i, index_t j, index_t k, auto a, double& sum) const {
    sum += a(i, j, k) * static_cast<double>(i + 3 * j + 7 * k + 1);
  }
};

class GridProperties : public CoherentTest {
 protected:
  index_t draw(index_t first, index_t last) { return random_(first, last); }

  Devices devices(index_t count) {
    Devices place;
    for (; count > 0; --count) switch (draw(0, 5)) {
        case 0:
          place.places.push_back(on(AnyHost(Serial{})));
          break;
        case 1:
          place.places.push_back(on(AnyHost(Threads{})));
          break;
        default:
          place.places.push_back(on(Emulated{static_cast<int>(draw(0, 7))}));
      }
    return place;
  }
  std::vector<double> sizes(index_t count) {
    std::vector<double> sizes;
    for (; count > 0; --count) sizes.push_back(static_cast<double>(draw(0, 3)));
    sizes[static_cast<std::size_t>(draw(0, std::ssize(sizes) - 1))] += 1;
    return sizes;
  }
  template <int Cuts>
  auto place() {
    const index_t p0 = draw(1, 4), p1 = draw(1, 4), p2 = draw(1, 2);
    const bool equal = draw(0, 1) == 0;
    if constexpr (Cuts == 2) {
      const auto grid = devices(p0 * p1).grid(p0, p1);
      return equal ? grid : grid.weighted({sizes(p0), sizes(p1)});
    } else {
      const auto grid = devices(p0 * p1 * p2).grid(p0, p1, p2);
      return equal ? grid : grid.weighted({sizes(p0), sizes(p1), sizes(p2)});
    }
  }

  // A range in an array, `margin` or more from its ends in the first two dimensions.
  template <int Rank, class Array>
  MDRange<Rank> work_in(const Array& x, const index_t (&left)[2], const index_t (&right)[2]) {
    MDRange<Rank> work{};
    for (int d = 0; d < Rank; ++d) {
      const index_t first = d < 2 ? left[d] : 0, end = x.extent(d) - (d < 2 ? right[d] : 0);
      work.lower[d] = work.upper[d] = first;
      if (first >= end) continue;
      work.lower[d] = draw(first, end - 1);
      work.upper[d] = draw(work.lower[d] + 1, end);
    }
    return work;
  }

  template <class Array>
  static void expect_same(const Array& x, const Array& known) {
    const auto got = x.read(), want = known.read();
    index_t wrong = 0;
    const auto check = [&](auto... i) { wrong += got(i...) != want(i...); };
    for (index_t i = 0; i < x.extent(0); ++i)
      for (index_t j = 0; j < x.extent(1); ++j)
        if constexpr (Array::rank == 2) check(i, j);
        else
          for (index_t k = 0; k < x.extent(2); ++k) check(i, j, k);
    EXPECT_EQ(wrong, 0) << "elements are wrong";
  }

  // Some steps from one of two arrays to the other, on grids and, with arrays of their own, on Serial.
  template <class Layout, int Rank, int Cuts, class Edge>
  void run_steps(const Edge& edge) {
    using Array = CoherentArray<Number, rank<Rank>, Layout>;
    const index_t n = draw(1, 30), m = draw(1, 20), layers = draw(1, 4);
    const auto array = [&](const char* label) {
      if constexpr (Rank == 2) return Array(label, n, m);
      else return Array(label, n, m, layers);
    };
    const Array arrays[] = {array("u"), array("v")}, known[] = {array("known u"), array("known v")};
    for (index_t step = draw(2, 5); step > 0 && !HasFailure(); --step) {
      const auto from = static_cast<std::size_t>(draw(0, 1)), to = 1 - from;
      index_t left[2], right[2], no_margin[2] = {0, 0};
      for (int d = 0; d < 2; ++d) {
        const index_t most = std::min<index_t>(3, d == 0 ? n : m);
        left[d] = draw(0, most);
        right[d] = draw(0, most);
      }
      constexpr bool inside = std::is_same_v<Edge, edge::None>;
      const auto work =
          inside ? work_in<Rank>(arrays[0], left, right) : work_in<Rank>(arrays[0], no_margin, no_margin);
      const Stencil stencil{{left[0], left[1]}, {right[0], right[1]}, static_cast<Number>(draw(0, 1000))};
      const auto region = halo(left, right, edge);
      launch(on(Serial{}), work, stencil, in(known[from], region), inout(known[to]));
      launch(this->template place<Cuts>(), work, stencil, in(arrays[from], region), inout(arrays[to]));
      if (draw(0, 3) == 0) expect_same(arrays[to], known[to]);
    }
    for (int k = 0; k < 2; ++k) expect_same(arrays[k], known[k]);
  }
  void run_steps() {
    switch (draw(0, 7)) {
      case 0:
        return run_steps<LayoutRight, 2, 2>(edge::none);
      case 1:
        return run_steps<LayoutRight, 2, 2>(edge::cyclic);
      case 2:
        return run_steps<LayoutTiled<8>, 2, 2>(edge::duplicate);
      case 3:
        return run_steps<LayoutTiled<8>, 2, 2>(edge::cyclic);
      case 4:
        return run_steps<LayoutLeft, 2, 2>(edge::pad(Number{5}));
      case 5:
        return run_steps<LayoutLeft, 2, 2>(edge::none);
      case 6:
        return run_steps<LayoutTiled<8>, 3, 2>(edge::none);
      default:
        return run_steps<LayoutRight, 3, 3>(edge::cyclic);
    }
  }

  template <class Layout, int Rank, int Cuts>
  void run_reduction() {
    using Array = CoherentArray<double, rank<Rank>, Layout>;
    const index_t n = draw(1, 12), layers = draw(1, 60), m = Rank == 2 ? draw(1, 3000) : draw(1, 60);
    const Array a = [&] {
      if constexpr (Rank == 2) return Array("a", n, m);
      else return Array("a", n, m, layers);
    }();
    {
      const auto view = a.write();
      for (index_t i = 0; i < n; ++i)
        for (index_t j = 0; j < m; ++j)
          if constexpr (Rank == 2) view(i, j) = strata_tests::mixed_number(i * m + j);
          else
            for (index_t k = 0; k < layers; ++k)
              view(i, j, k) = strata_tests::mixed_number((i * m + j) * layers + k);
    }
    const index_t no_margin[2] = {0, 0};
    const auto work = work_in<Rank>(a, no_margin, no_margin);
    double expected = 0, sum = 0;
    launch_reduce(on(Serial{}), work, Weighted{}, Sum(expected), in(a));
    launch_reduce(this->template place<Cuts>(), work, Weighted{}, Sum(sum), in(a, own_element));
    EXPECT_EQ(std::memcmp(&sum, &expected, sizeof sum), 0) << sum << " is not " << expected;
  }
  void run_reduction() {
    switch (draw(0, 2)) {
      case 0:
        return run_reduction<LayoutRight, 2, 2>();
      case 1:
        return run_reduction<LayoutTiled<8>, 3, 2>();
      default:
        return run_reduction<LayoutRight, 3, 3>();
    }
  }

  void run(int programs) {
    for (int k = 0; k < programs && !HasFailure(); ++k) {
      if (k % 50 == 0) {
        leave_nothing();
        const double peers[] = {0, 20e9, 395e9};
        emulated::configure(machine(8, peers[draw(0, 2)]));
      }
      run_steps();
      run_reduction();
      EXPECT_FALSE(HasFailure()) << "in program " << k;
    }
  }

 private:
  Random random_;
};

TEST_F(GridProperties, ValuesAreThoseOfSerial) { run(strata_tests::trials(200)); }
TEST_F(GridProperties, ValuesAreThoseOfSerialSlow) { run(strata_tests::trials(20'000)); }

}  // namespace
