// Simulations whose fields go through a device in slices: the bits of those in core.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>

#include <strata/devices/emulated/control.hpp>
#include <strata/miniapps/explicit_dynamics/make_simulation.hpp>

#include "messages.hpp"
#include "test_devices.hpp"

namespace {

using namespace strata;
using namespace strata::dynamics;
using strata_tests::DeviceName;
using strata_tests::message_of;
using strata_tests::TestDevices;

constexpr index_t budget = index_t{1} << 20;

// A bar that hits a wall at an angle, in core and in slices.
template <class T, class D>
struct Pair {
  std::unique_ptr<Dynamics> in_core, streamed;

  Pair(const std::string& box, const Parameters& p, int steps_per_pass = 0, double speed = 0.05,
       index_t limit = budget) {
    using K = miniapp::KernelDevice<D>;
    const K device(D{});
    const fem::MeshOnHost mesh = fem::load_mesh_on_host(box, 0);
    in_core = make_simulation_of<T>(device, mesh, p);
    streamed = make_streamed_simulation<T>(device, mesh, p, limit, steps_per_pass);
    for (Dynamics* const s : {&*in_core, &*streamed}) {
      s->fix("x>=max", all_directions);
      s->set_velocity("all", speed, 0.2 * speed, 0);
    }
  }
  void advance(index_t steps) {
    in_core->advance(steps);
    streamed->advance(steps);
  }
  void expect_same(const std::vector<double>& a, const std::vector<double>& b,
                   const std::string& what) const {
    ASSERT_EQ(a.size(), b.size()) << what;
    std::size_t first = 0, count = 0;
    for (std::size_t k = 0; k < a.size(); ++k)
      if (a[k] != b[k] && count++ == 0) first = k;
    EXPECT_EQ(count, 0) << what << ": the first is number " << first << ", " << a[first] << " and "
                        << b[first] << ", less " << a[first] - b[first];
  }
  void expect_same(Field field, const std::string& what) {
    expect_same(in_core->get(field), streamed->get(field),
                what + ", field " + std::to_string(static_cast<int>(field)));
  }
  void expect_same(const std::string& what) {
    for (const Field field : {Field::Displacement, Field::Velocity, Field::Reaction, Field::Rotation,
                              Field::Stretch, Field::Stress, Field::Hourglass, Field::Cauchy})
      expect_same(field, what);
    EXPECT_EQ(in_core->coordinates(), streamed->coordinates()) << what;
    EXPECT_TRUE(in_core->state() == streamed->state()) << what;
    const Energies a = in_core->energies(), b = streamed->energies();
    EXPECT_EQ(a.kinetic, b.kinetic) << what;
    EXPECT_EQ(a.work, b.work) << what;
    EXPECT_EQ(a.elastic, b.elastic) << what;
    EXPECT_EQ(a.hourglass, b.hourglass) << what;
    for (int d = 0; d < 3; ++d) {
      EXPECT_EQ(a.momentum[d], b.momentum[d]) << what;
      EXPECT_EQ(a.reaction[d], b.reaction[d]) << what;
    }
  }
};

Parameters every_force() {
  Parameters p;
  p.poisson = 0.3;
  p.hourglass_viscosity = 0.03;
  p.bulk_linear = 0.06;
  p.bulk_quadratic = 1.2;
  return p;
}

template <class D>
class StreamedDynamics : public ::testing::Test {};
TYPED_TEST_SUITE(StreamedDynamics, TestDevices, DeviceName);

// Along x nodes are numbered anew, along z they keep their order.
constexpr const char* along_x = "box:40x5x6:9,1,1:random=0.1";
constexpr const char* along_z = "box:5x6x40:1,1,9:random=0.1";

TYPED_TEST(StreamedDynamics, StepsThatEachDecideTheirLength) {
  for (const char* const box : {along_x, along_z})
    for (const bool fused : {false, true}) {
      Parameters p = every_force();
      p.fused = fused;
      p.dt_every = 1;
      Pair<double, TypeParam> pair(box, p);
      EXPECT_EQ(pair.in_core->stable_dt(), pair.streamed->stable_dt());
      pair.advance(7);
      pair.expect_same(std::string(box) + " after 7 steps");
      pair.advance(5);
      pair.expect_same(std::string(box) + " after 12 steps");
      pair.expect_same(Field::Force, box);
    }
}
// How often steps were done again.
index_t times_again(const Dynamics& streamed) {
  const std::string text = streamed.storage();
  const std::size_t end = text.find(" times beside ");
  if (end == std::string::npos) return -1;
  return std::stoll(text.substr(text.rfind(' ', end - 1)));
}

TYPED_TEST(StreamedDynamics, StepsKeptForAWhile) {
  struct Case {
    const char* box;
    index_t every, limit;
    bool fused;
  };
  for (const Case& c : {Case{along_x, 4, budget, true},
                        {along_z, 7, 2 * budget, false},
                        {"box:11x9x20:1,1,2:random=0.15", 32, budget, true},
                        {"box:24x7x5:4,1,1:random=0.1", 3, 800000, false}}) {
    Parameters p = every_force();
    p.dt_every = c.every;
    p.fused = c.fused;
    Pair<double, TypeParam> pair(c.box, p, 0, 0.05, c.limit);
    for (const index_t steps : {3, 1, 9, 4}) {
      pair.advance(steps);
      pair.expect_same(std::string(c.box) + ": a stable length, kept for " + std::to_string(c.every) + ", " +
                       std::to_string(steps) + " more");
    }
    EXPECT_THROW(pair.streamed->get(Field::Force), Error) << "which never left the device";
  }
}

// The hard impact shortens the stable step by more than the safety factor within the steps for which it is
// kept, again and again.
TYPED_TEST(StreamedDynamics, StepsThatCameOutTooLongAreDoneAgain) {
  using K = miniapp::KernelDevice<TypeParam>;
  for (const bool fused : {false, true}) {
    Parameters p = every_force();
    p.fused = fused;
    p.dt_every = 16;
    Pair<double, TypeParam> pair(along_z, p, 0, 0.6);
    const auto other = make_streamed_simulation<double>(K(TypeParam{}), fem::load_mesh_on_host(along_z, 0), p,
                                                        2 * budget, 3);
    for (int piece = 0; piece < 3; ++piece) {
      for (int step = 0; step < 13; ++step) {
        pair.in_core->advance(1);
        const Clock now = pair.in_core->clock();
        ASSERT_LE(now.dt, now.stable_dt) << "step " << now.step;
      }
      pair.streamed->advance(13);
      pair.expect_same("piece " + std::to_string(piece));
      // Within the steps for which a length is kept, and from the state of another run.
      if (piece == 1) other->restore(pair.in_core->state());
    }
    other->advance(13);
    EXPECT_TRUE(other->state() == pair.in_core->state());
    EXPECT_GE(times_again(*pair.streamed), 2);
  }
}
// Where velocities shorten the stable step, that of the first step is another than that of the mesh.
TYPED_TEST(StreamedDynamics, TheFirstStepIsThatOfTheRule) {
  for (const double viscosity : {0.0, 0.5}) {
    Parameters p;
    p.fused = true;
    p.bulk_linear = viscosity;
    Pair<double, TypeParam> pair(along_x, p);
    pair.advance(2);
    pair.expect_same("the first steps");
    EXPECT_EQ(times_again(*pair.streamed), viscosity > 0 ? 1 : 0);
    EXPECT_NE(pair.in_core->clock().first_dt, viscosity > 0 ? pair.in_core->stable_dt() : 0);
  }
}
TYPED_TEST(StreamedDynamics, GivenSteps) {
  Parameters p = every_force();
  p.dt = 0.01;
  p.update = Update::First;
  // How many steps a pass are fastest depends on the machine and its load.
  constexpr int steps_per_pass = 4;
  Pair<double, TypeParam> pair(along_z, p, steps_per_pass);
  pair.advance(30);
  pair.expect_same("given steps");
  EXPECT_EQ(pair.streamed->steps_at_once(), 8 * steps_per_pass);
  EXPECT_THROW(pair.streamed->get(Field::Force), Error);  // which never left the device
  pair.advance(1);
  pair.expect_same("one more");
}
TYPED_TEST(StreamedDynamics, Floats) {
  Parameters p = every_force();
  p.fused = true;
  p.dt_every = 3;
  Pair<float, TypeParam> pair(along_x, p);
  pair.advance(10);
  pair.expect_same("floats");
}

// Parts of a body on several devices, on hosts one after the other.
TYPED_TEST(StreamedDynamics, PartsOnSeveralDevicesHaveTheBitsOfOne) {
  using K = miniapp::KernelDevice<TypeParam>;
  std::vector<K> devices(3, K(TypeParam{}));
  if constexpr (strata_tests::is_asynchronous<TypeParam>) {
    devices.clear();
    for (int k = 0; k < std::min(TypeParam::count(), 3); ++k) devices.push_back(K(k));
  }
  for (const bool fused : {false, true}) {
    Parameters p = every_force();
    p.fused = fused;
    const fem::MeshOnHost mesh = fem::load_mesh_on_host(along_x, 0);
    const auto one = make_simulation_of<double>(devices.front(), mesh, p);
    const auto parts = make_split_simulation<double>(devices, mesh, p);
    for (Dynamics* const s : {&*one, &*parts}) {
      s->fix("x>=max", all_directions);
      s->set_velocity("all", 0.05, 0.01, 0);
      s->advance(7);
      s->look();
      s->advance(3);
    }

    EXPECT_EQ(one->seen().energies.kinetic, parts->seen().energies.kinetic);
    EXPECT_EQ(one->stable_dt(), parts->stable_dt());
    EXPECT_TRUE(one->state() == parts->state()) << (fused ? "fused" : "three");
    EXPECT_EQ(one->get(Field::Force), parts->get(Field::Force));
    EXPECT_EQ(one->energies().elastic, parts->energies().elastic);
  }
}

// What goes on from the state of the other.
TYPED_TEST(StreamedDynamics, StatesAreThoseOfARunInCore) {
  Parameters p = every_force();
  p.fused = true;
  Pair<double, TypeParam> pair(along_x, p), other(along_x, p);
  pair.advance(6);
  other.in_core->restore(pair.streamed->state());
  other.streamed->restore(pair.in_core->state());
  pair.advance(6);
  other.advance(6);
  other.expect_same("restored");
  EXPECT_EQ(other.in_core->state(), pair.in_core->state());
  EXPECT_THROW(other.streamed->restore({}), Error);
}

TYPED_TEST(StreamedDynamics, AnInvertedElementIsNamed) {
  Parameters p;
  p.fused = true;
  p.dt = 2;
  Pair<double, TypeParam> pair(along_z, p, 0, 0.5);
  pair.advance(60);
  const std::string in_core = message_of<SimulationError>([&] { pair.in_core->wait(); });
  EXPECT_NE(in_core.find("is inside out"), std::string::npos) << in_core;
  EXPECT_EQ(message_of<SimulationError>([&] { pair.streamed->wait(); }), in_core);
  EXPECT_EQ(pair.in_core->clock().step, pair.streamed->clock().step);
}

// Also among steps that are done together: the state is that of the step that failed.
TYPED_TEST(StreamedDynamics, AStepThatCollapsesLeavesTheStateThatItHasInCore) {
  Parameters p;
  p.fused = true;
  p.collapse = 0.9;
  p.dt_every = 10;
  Pair<double, TypeParam> pair(along_x, p, 0, 0.6);
  pair.advance(60);
  const std::string in_core = message_of<SimulationError>([&] { pair.in_core->wait(); });
  EXPECT_NE(in_core.find("time step collapsed"), std::string::npos) << in_core;
  EXPECT_EQ(message_of<SimulationError>([&] { pair.streamed->wait(); }), in_core);
  EXPECT_GT(pair.in_core->clock().step, 1);
  pair.expect_same("after the failure");
  pair.advance(3);
  pair.expect_same("nothing moves any more");
}

TEST(StreamedDynamicsBudget, IsKept) {
  emulated::Config config = emulated::default_config();
  config.count = 1;
  config.capacity = index_t{1} << 26;
  emulated::configure(config);
  for (const int how : {0, 1, 2}) {
    Parameters p = every_force();
    p.dt = how == 0 ? 0.01 : 0;
    p.dt_every = how == 1 ? 1 : 32;
    p.fused = true;
    const auto s =
        make_streamed_simulation<double>(Emulated{0}, fem::load_mesh_on_host(along_x, 0), p, 900000);
    s->set_velocity("all", 0.05, 0, 0);
    EXPECT_LE(emulated::peak(0), 900000) << "at the begin";
    s->advance(5);
    EXPECT_LE(emulated::peak(0), 900000) << "in steps";
    static_cast<void>(s->energies());
    EXPECT_LE(emulated::peak(0), 900000) << "in sums";
    static_cast<void>(s->get(Field::Cauchy));
    EXPECT_LE(emulated::peak(0), 900000) << "in a launch";
    s->advance(5);
    EXPECT_LE(emulated::peak(0), 900000) << "in more steps";
    EXPECT_GT(emulated::peak(0), 300000);
  }
  EXPECT_EQ(emulated::used(0), 0);
  emulated::configure(emulated::default_config());
}
TEST(StreamedDynamicsBudget, ThatIsTooSmallSaysWhatSuffices) {
  Parameters p;
  p.fused = true;
  const auto mesh = fem::load_mesh_on_host(along_x, 0);
  std::string text;
  try {
    make_streamed_simulation<double>(Serial{}, mesh, p, 5000);
  } catch (const OutOfMemory& error) {
    text = error.what();
  }
  const std::size_t at = text.find("which take ");
  ASSERT_NE(at, std::string::npos) << text;
  const index_t wanted = std::stoll(text.substr(text.find('(', at) + 1));
  EXPECT_NO_THROW(make_streamed_simulation<double>(Serial{}, mesh, p, wanted)) << text;
  EXPECT_THROW(make_streamed_simulation<double>(Serial{}, mesh, p, wanted - 1), OutOfMemory);
}

}  // namespace
