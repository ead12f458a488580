// Algorithms over places: whatever the place, the results are those of Serial, and so are mistakes.
// SPDX-License-Identifier: Apache-2.0
#include <functional>
#include <random>
#include <string>
#include <vector>

#include <strata/algorithms/skeletons/skeletons.hpp>
#include <strata/algorithms/streaming/fused_steps.hpp>
#include <strata/core/error.hpp>

#include "core/random.hpp"
#include "four_devices.hpp"
#include "stream_kernels.hpp"

namespace {

using namespace stream_test;

struct Square {
  STRATA_FUNCTION double operator()(double x) const { return x * x; }
};
struct Mean {
  STRATA_FUNCTION double operator()(const auto& r) const { return 0.25 * r(-1) + 0.5 * r(0) + 0.25 * r(1); }
};
struct LineStep {
  static constexpr int reach = 1;
  STRATA_FUNCTION void operator()(index_t i, const auto& old, const auto& next) const {
    next(i) = 0.25 * old(i - 1) + 0.5 * old(i) + 0.25 * old(i + 1);
  }
};

constexpr index_t budget = 1 << 19;

/// The kinds of places, each of some device.
enum class Kind { On, Queue, Across, Streamed, StreamedAcross };
constexpr Kind kinds[] = {Kind::On, Kind::Queue, Kind::Across, Kind::Streamed, Kind::StreamedAcross};

class Random {
 public:
  explicit Random(unsigned seed) : random_(seed) {}
  int operator()(int low, int high) {
    return low + static_cast<int>(random_() % static_cast<unsigned>(high - low + 1));
  }
  Emulated device() { return Emulated{(*this)(0, 3)}; }
  Across<Emulated, Serial> some() {
    auto places = across(Emulated{0}, Serial{}, Emulated{1}, Emulated{2});
    const int first = (*this)(0, 3);
    places.places.erase(places.places.begin(), places.places.begin() + first);
    if ((*this)(0, 1) == 0) return places;
    std::vector<double> weights;
    for (std::size_t k = 0; k < places.places.size(); ++k) weights.push_back((*this)(1, 5));
    return places.weighted(weights);
  }
  template <class Where>
  Streamed<Where> with_options(Streamed<Where> where) {
    if ((*this)(0, 1) == 0) where = where.chunk((*this)(1, 9) * 100);
    if ((*this)(0, 2) == 0) where = where.slots((*this)(2, 4));
    return where;
  }

 private:
  std::mt19937 random_;
};

// Calls f with a place of this kind.
template <class F>
void at(Kind kind, Random& random, const F& f) {
  switch (kind) {
    case Kind::On:
      return f(on(random.device()).named("drawn"));
    case Kind::Queue:
      return f(on(Queue<Emulated>(random.device())).named("drawn"));
    case Kind::Across:
      return f(random.some().named("drawn"));
    case Kind::Streamed:
      return f(random.with_options(streamed(random.device(), budget)).named("drawn"));
    case Kind::StreamedAcross:
      return f(random.with_options(streamed(random.some().named("drawn"), budget)));
  }
}

class Places : public FourDevices {};

// ---- results

// A program of launches, reductions, scans and skeletons over arrays a, b, c; what it found on the host.
template <class At>
std::vector<double> program(unsigned seed, index_t n, const At& at_any) {
  Random random(seed);
  const CoherentArray<double, rank<1>> a("a", n), b("b", n), c("c", n), pairs("pairs", 2 * n),
      table("table", 5);
  for (const auto& array : {a, b, c, pairs, table}) fill(array);
  std::vector<double> found;
  for (int step = 0; step < 12; ++step) {
    const int what = random(0, 9);
    at_any([&](const auto& where) {
      double value = 0;
      const CoherentArray<double, rank<0>> half("half");
      switch (what) {
        case 0:
          launch(where, n, Axpy{0.5}, in(a), inout(b));
          break;
        case 1:
          launch(where, range(2, n - 1), Neighbours{}, in(b, halo(2, 1)), inout(c));
          break;
        case 2:
          launch(where, n, SumOfPair{}, in(pairs, rows(PairsOfRows{})), in(table, everything), out(a));
          break;
        case 3:
          launch_reduce(where, n, Add{}, Sum(value), in(c));
          break;
        case 4:
          launch_reduce(where, n, SumFunctor{}, value, in(b));
          break;
        case 5:
          launch_reduce(where, n, SumFunctor{}, finalize(Halve{}, out(half, everything)), in(a));
          value = *half.read();
          break;
        case 6:
          launch_scan(where, n, Prefix{}, Sum(value), in(a), out(c));
          break;
        case 7:
          skeletons::map(where, Square{}, inout(c));
          skeletons::map_overlap(where, Mean{}, b, c, skeletons::overlap(1, edge::duplicate));
          break;
        case 8:
          value = skeletons::reduce(where, Sum, b) + skeletons::map_reduce(where, Square{}, Max, a);
          break;
        default:
          value = skeletons::exclusive_scan(where, a, b, Sum);
      }
      found.push_back(value);
    });
  }
  for (const auto& array : {a, b, c})
    for (const double value : values(array)) found.push_back(value);
  return found;
}

TEST_F(Places, RandomProgramsGiveTheBitsOfSerialAtAnyPlace) {
  for (unsigned seed = 0; seed < (strata_tests::is_sanitized ? 12 : 40); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(1000 + seed);
    const index_t n = std::vector<index_t>{3, 700, 2500, 9000}[seed % 4];

    const auto expected = program(seed, n, [](const auto& f) { f(on(Serial{})); });
    const auto found = program(seed, n, [&](const auto& f) { at(kinds[random(0, 4)], random, f); });

    ASSERT_EQ(found, expected);
  }
}
TEST_F(Places, StepsAtStreamedPlacesGiveTheBitsOfSerial) {
  for (unsigned seed = 0; seed < (strata_tests::is_sanitized ? 8 : 24); ++seed) {
    Random random(seed);
    const index_t n = random(300, 5000);
    const int steps = random(1, 40), at_once = random(1, 9), each = random(1, 6);
    CoherentArray<double, rank<1>> a("a", n), b("b", n), u("u", n), v("v", n);
    for (const auto* array : {&a, &b, &u, &v}) fill(*array);
    in_core(Serial{}, range(1, n - 1), steps, LineStep{}, a, b, halo(1, 1));
    const auto iterate = [&](const auto& place) {
      auto where = random.with_options(streamed(place, budget));
      if (random(0, 1) == 0) where = where.steps_per_pass(each);
      streamed_iterate(where.named("steps"), steps, LineStep{}, state(u, halo(1, 1)));
      streamed_iterate(where.steps_per_launch(at_once), range(1, n - 1), steps, LineStep{},
                       state(v, halo(1, 1)));
    };

    if (random(0, 1) == 0) iterate(on(random.device()));
    else iterate(random.some());

    EXPECT_EQ(values(u), values(a)) << "seed " << seed;
    EXPECT_EQ(values(v), values(a)) << "seed " << seed << ", " << at_once << " steps a launch";
  }
}

// ---- labels

TEST_F(Places, LabelsAreInMessages) {
  const CoherentArray<double, rank<1>> x("x", 100), y("y", 99);
  for (const Kind kind : kinds) {
    Random random(1);
    at(kind, random, [&](const auto& where) {
      double sum = 0;
      const auto messages = {
          message_of<ShapeMismatch>([&] { launch(where, range(-1, 99), Copy{}, in(x), out(y)); }),
          message_of<ShapeMismatch>([&] { launch_reduce(where, 101, Add{}, Sum(sum), in(x)); }),
          message_of<ShapeMismatch>([&] { launch_scan(where, 100, Prefix{}, Sum(sum), in(x), out(y)); })};
      for (const std::string& message : messages)
        EXPECT_NE(message.find("drawn"), std::string::npos) << message;
    });
  }
}

// ---- options

TEST_F(Places, OptionsThatCannotBeAreTheSameErrorsAtAllStreamedPlaces) {
  const auto check = [](const auto& where) {
    const auto says = [](const std::function<void()>& option) { return message_of<Error>(option); };
    EXPECT_NE(says([&] { static_cast<void>(where.chunk(-5)); }).find("chunk(-5)"), std::string::npos);
    EXPECT_NE(says([&] { static_cast<void>(where.slots(-1)); }).find("slots(-1)"), std::string::npos);
    EXPECT_NE(says([&] { static_cast<void>(where.steps_per_pass(-2)); }).find("steps_per_pass(-2)"),
              std::string::npos);
    EXPECT_NE(says([&] { static_cast<void>(where.steps_per_launch(0)); }).find("steps_per_launch(0)"),
              std::string::npos);
    EXPECT_EQ(where.slots(1).options.slots, 2);
    EXPECT_EQ(where.chunk(0).slots(0).steps_per_pass(0).options.slots, 0);
  };

  const Queue<Emulated> queue(Emulated{0});

  check(streamed(Emulated{0}, budget));
  check(streamed(queue, budget));
  check(streamed(on(queue), budget));
  check(streamed(across(Emulated{0}, Serial{}), budget));
  check(streamed(across(devices(2)).weighted({1, 2}), budget).steps_per_launch(3));
}

}  // namespace
