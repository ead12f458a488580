// Simulations on every device: the verification, failures, restarts, time steps.
// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

#include <unistd.h>

#include <strata/miniapps/explicit_dynamics/checkpoint.hpp>
#include <strata/miniapps/explicit_dynamics/make_simulation.hpp>
#include <strata/miniapps/explicit_dynamics/simulation_errors.hpp>
#include <strata/miniapps/explicit_dynamics/step_lengths.hpp>
#include <strata/miniapps/explicit_dynamics/verify.hpp>

#include "test_devices.hpp"

namespace {

using namespace strata;
using namespace strata::dynamics;
using strata_tests::DeviceName;
using strata_tests::TestDevices;

template <class D>
std::unique_ptr<Dynamics> make(const std::string& box, const Parameters& parameters) {
  using K = miniapp::KernelDevice<D>;
  return make_simulation_of<double>(K(D{}), fem::load_mesh_on_host(box, 0), parameters);
}

template <class D>
void expect_verified(const char* name, bool fused = false) {
  Verification v;
  v.make = make<D>;
  v.fused = fused;
  bool found = false;
  for (const VerificationCase& one : verification_cases())
    if (std::string(one.name) == name) {
      one.run(v);
      found = true;
    }

  ASSERT_TRUE(found) << name;
  EXPECT_FALSE(v.checks.empty());
  for (const miniapp::Check& c : v.checks)
    EXPECT_TRUE(c.passed) << c.name << ": " << c.value << ", not " << c.expected << " +- " << c.tolerance;
}

Parameters every_force() {
  Parameters p;
  p.poisson = 0.3;
  p.hourglass_viscosity = 0.03;
  p.bulk_linear = 0.06;
  p.bulk_quadratic = 1.2;
  return p;
}

template <class D>
class ExplicitDynamics : public ::testing::Test {
 protected:
  /// A bar that hits a wall at an angle.
  static std::unique_ptr<Dynamics> bar(const Parameters& p, double speed = 0.05) {
    auto s = make<D>("box:9x3x3:3,1,1:random=0.2", p);
    s->fix("x>=max", all_directions);
    s->set_velocity("all", speed, 0.2 * speed, 0);
    return s;
  }
  /// A file of this test, gone at its end.
  std::string file() {
    if (file_.empty())
      file_ = (std::filesystem::temp_directory_path() /
               ("strata_checkpoint_" + std::to_string(getpid()) + "_" + std::string(D::name)))
                  .string();
    return file_;
  }
  void TearDown() override {
    if (!file_.empty()) std::remove(file_.c_str());
  }

 private:
  std::string file_;
};
TYPED_TEST_SUITE(ExplicitDynamics, TestDevices, DeviceName);

TYPED_TEST(ExplicitDynamics, PatchOfDistortedElementsHasOneVelocityGradientAndNoInnerForces) {
  expect_verified<TypeParam>("patch");
}
TYPED_TEST(ExplicitDynamics, TurnedBlockKeepsItsStressInTurnedAxes) {
  expect_verified<TypeParam>("objectivity");
}
TYPED_TEST(ExplicitDynamics, SimpleShearGivesTheStressOfTheGreenNaghdiRate) {
  expect_verified<TypeParam>("simple shear");
}
TYPED_TEST(ExplicitDynamics, StandingWaveConvergesWithOrderTwo) {
  expect_verified<TypeParam>("standing wave");
}
TYPED_TEST(ExplicitDynamics, ImpactOnAWallGivesRhoCV) { expect_verified<TypeParam>("wall impact"); }
TYPED_TEST(ExplicitDynamics, EnergyIsKeptByTheStep) {
  expect_verified<TypeParam>("energy");
  expect_verified<TypeParam>("energy", true);
}
TYPED_TEST(ExplicitDynamics, WorkIsTheStoredEnergy) { expect_verified<TypeParam>("stored energy"); }
TYPED_TEST(ExplicitDynamics, FreeBodyKeepsItsMomentum) { expect_verified<TypeParam>("momentum"); }
TYPED_TEST(ExplicitDynamics, ReactionIsTheChangeOfMomentum) { expect_verified<TypeParam>("reaction"); }
TYPED_TEST(ExplicitDynamics, OneKernelDoesWhatThreeDo) {
  expect_verified<TypeParam>("three kernels and one");
}
TYPED_TEST(ExplicitDynamics, SlowStandingWaveIsResolvedBy64Elements) {
  expect_verified<TypeParam>("standing wave, 64 elements");
}
TYPED_TEST(ExplicitDynamics, SlowWorkIsTheStoredEnergyOf64Elements) {
  expect_verified<TypeParam>("stored energy, 64 elements");
}
TYPED_TEST(ExplicitDynamics, SlowImpactWith200ElementsIsSharper) {
  expect_verified<TypeParam>("wall impact, 200 elements");
}
TYPED_TEST(ExplicitDynamics, SlowBarsCarryWavesAtTheirSpeeds) { expect_verified<TypeParam>("bar speeds"); }

TYPED_TEST(ExplicitDynamics, StableStepOfACubeIsItsEdgeOverRootThreeTimesTheWaveSpeed) {
  Parameters p;
  p.young = 3, p.poisson = 0.25, p.density = 2;
  const auto s = make<TypeParam>("box:4x3x2:2,1.5,1", p);

  EXPECT_NEAR(s->stable_dt(), 0.5 / (std::sqrt(3.0) * p.wave_speed()), 1e-14);
}

TYPED_TEST(ExplicitDynamics, GivenStepIsUsedAndAStableOneIsKeptForAsManyStepsAsAsked) {
  Parameters p = every_force();
  p.dt = 0.01;
  const auto given = this->bar(p);
  given->advance(3);
  EXPECT_EQ(given->clock().dt, 0.01);
  EXPECT_NEAR(given->clock().time, 0.03, 1e-15);
  EXPECT_GT(given->clock().stable_dt, 0.01);

  p.dt = 0;
  p.dt_every = 4;
  const auto kept = this->bar(p, 0.2);
  double dt[9];
  for (double& one : dt) {
    kept->advance(1);
    one = kept->clock().dt;
  }
  EXPECT_EQ(dt[0], dt[3]);
  EXPECT_NE(dt[3], dt[4]);
  EXPECT_EQ(dt[4], dt[7]);
  EXPECT_EQ(kept->clock().step, 9);
}

// The rule of README.md, step by step, and what is assumed of steps that are done together.
TEST(DynamicsStepLengths, AreDecidedEverySoManyStepsAndWhereTheyWouldBeTooLong) {
  struct Found {
    double dt;
  };
  Parameters p;
  p.safety = 0.5, p.dt_every = 3;
  Clock clock;
  const auto step = [&](double stable, index_t every) {
    SetNextTimeStep<Clock*>{&clock, 0, p.safety, p.collapse, every}(stable);
    return clock.dt;
  };
  EXPECT_EQ(step(8, 3), 4);  // of the first step itself
  EXPECT_EQ(step(10, 3), 4);
  EXPECT_EQ(step(12, 3), 4);
  EXPECT_EQ(step(20, 3), 6);  // of the one before
  EXPECT_EQ(step(6, 3), 6);   // as long as the stable one
  EXPECT_EQ(step(5, 3), 2.5);
  EXPECT_EQ(step(2, 3), 1);  // 2.5 would be too long
  EXPECT_EQ(step(2, 1), 1);
  EXPECT_EQ(step(30, 1), 15);

  clock = {};
  StepLengths first(clock, p, 8, 3);
  EXPECT_EQ(StepLengths::until_decided(clock, p), 3);
  const auto lengths = [](const StepLengths& of) {
    std::vector<double> all;
    for (const StepTimes& times : of.times()) all.push_back(times.dt);
    return all;
  };
  EXPECT_EQ(lengths(first), (std::vector<double>{0, 4, 4, 4}));
  using Outcome = StepLengths::Outcome;
  EXPECT_EQ(first.settle(std::vector<Found>{{6}, {6}, {6}}), Outcome::Again);  // the guess was too large
  EXPECT_EQ(lengths(first), (std::vector<double>{0, 3, 3, 3}));
  EXPECT_EQ(first.settle(std::vector<Found>{{6}, {4}, {2}}), Outcome::Again);
  EXPECT_EQ(lengths(first), (std::vector<double>{0, 3, 3, 1}));
  EXPECT_EQ(first.settle(std::vector<Found>{{6}, {4}, {2}}), Outcome::Settled);
  EXPECT_EQ(first.clock().step, 3);
  EXPECT_EQ(first.clock().time, 7);
  EXPECT_EQ(first.times().back().prev_dt, 3);

  StepLengths second(first.clock(), p, 0, 2);  // a guess is for step 0 alone
  EXPECT_EQ(lengths(second), (std::vector<double>{1, 1, 1}));
  EXPECT_EQ(second.settle(std::vector<Found>{{2}, {-1}}), Outcome::Failed);
  EXPECT_EQ(second.failed_step(), 1);
  EXPECT_EQ(second.clock().failure, Failure::Volume);
  EXPECT_EQ(second.clock().step, 4);
  EXPECT_EQ(StepLengths::until_decided(second.clock(), p), 2);
}

TYPED_TEST(ExplicitDynamics, StepsInGraphsOfManyGiveTheBitsOfSingleSteps) {
  const auto many = this->bar(every_force()), single = this->bar(every_force());

  many->advance(50);
  for (int n = 0; n < 50; ++n) single->advance(1);

  EXPECT_EQ(many->state(), single->state());
}

TYPED_TEST(ExplicitDynamics, LooksTellTheStateOfWhenTheyWereEnqueued) {
  const auto looked_at = this->bar(every_force()), same = this->bar(every_force());

  looked_at->advance(20);
  looked_at->look();
  looked_at->advance(20);
  looked_at->look();
  looked_at->advance(5);
  const Look first = looked_at->seen(), second = looked_at->seen();

  same->advance(20);
  EXPECT_EQ(first.clock.step, 20);
  EXPECT_EQ(first.clock.time, same->clock().time);
  EXPECT_EQ(first.energies.kinetic, same->energies().kinetic);
  EXPECT_EQ(first.energies.elastic, same->energies().elastic);
  same->advance(20);
  EXPECT_EQ(second.clock.step, 40);
  EXPECT_EQ(second.energies.kinetic, same->energies().kinetic);
  EXPECT_NE(first.energies.kinetic, second.energies.kinetic);
}

TYPED_TEST(ExplicitDynamics, RestartGoesOnToTheSameBits) {
  const auto whole = this->bar(every_force()), first = this->bar(every_force());
  const std::string description = describe(*whole);
  whole->advance(70);
  first->advance(30);
  write_checkpoint(this->file(), description, *first);

  const auto second = make<TypeParam>("box:9x3x3:3,1,1:random=0.2", every_force());
  restart(this->file(), description, *second);
  second->advance(40);

  EXPECT_EQ(second->state(), whole->state());
}

TYPED_TEST(ExplicitDynamics, DamagedOrForeignCheckpointsAreRefusedAndLeaveTheSimulationAsItWas) {
  const auto s = this->bar(every_force());
  const std::string description = describe(*s);
  s->advance(5);
  write_checkpoint(this->file(), description, *s);
  const auto before = s->state();
  const auto expect_refused = [&](const std::string& words, const std::string& expected_description) {
    try {
      restart(this->file(), expected_description, *s);
      ADD_FAILURE() << "accepted: " << words;
    } catch (const CheckpointError& error) {
      EXPECT_NE(std::string(error.what()).find(words), std::string::npos) << error.what();
    }
    EXPECT_EQ(s->state(), before);
  };

  const auto other = make<TypeParam>("box:9x3x3:3,1,1:random=0.21", every_force());
  expect_refused("mesh with the checksum", describe(*other));
  {
    std::fstream file(this->file(), std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(1000);
    const int changed = file.get() ^ 1;
    file.seekp(1000).put(static_cast<char>(changed));
  }
  expect_refused("checksum", description);
  std::filesystem::resize_file(this->file(), 500);
  expect_refused("cut short", description);
  std::ofstream(this->file()) << "solid cube\n";
  expect_refused("is no checkpoint", description);
}

TYPED_TEST(ExplicitDynamics, ElementTurnedInsideOutIsNamedWithItsStep) {
  Parameters p;
  p.dt = 0.5;  // above the stable step of elements of size 1/3
  const auto s = this->bar(p, 0.5);

  s->advance(400);
  try {
    s->wait();
    FAIL() << "an unstable run went on";
  } catch (const SimulationError& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("is inside out"), std::string::npos) << text;
    EXPECT_NE(text.find("in step " + std::to_string(s->clock().step + 1)), std::string::npos) << text;
    EXPECT_NE(text.find("element "), std::string::npos) << text;
  }

  // The nodes stay where the failure was seen.
  const auto displacement = s->get(Field::Displacement), velocity = s->get(Field::Velocity);
  s->advance(20);
  EXPECT_EQ(s->get(Field::Displacement), displacement);
  EXPECT_EQ(s->get(Field::Velocity), velocity);
  EXPECT_THROW(s->wait(), SimulationError);
}

TYPED_TEST(ExplicitDynamics, TimeStepThatCollapsesIsAnError) {
  Parameters p;
  p.collapse = 0.9;
  const auto s = this->bar(p, 0.5);

  s->advance(200);

  try {
    s->wait();
    FAIL() << "a crushed bar went on";
  } catch (const SimulationError& error) {
    EXPECT_NE(std::string(error.what()).find("time step collapsed"), std::string::npos) << error.what();
  }
}

TYPED_TEST(ExplicitDynamics, FixedDirectionsStandStillAndOthersMove) {
  auto s = make<TypeParam>("box:2x2x2", every_force());
  s->set_velocity("all", 0.01, 0.02, 0.03);
  s->fix("x<=min", 1 | 4);
  s->advance(20);

  const auto at = s->coordinates(), u = s->get(Field::Displacement);
  for (std::size_t k = 0; k < at.size(); k += 3) {
    if (at[k] > 1e-9) continue;
    EXPECT_EQ(u[k], 0);
    EXPECT_NE(u[k + 1], 0);
    EXPECT_EQ(u[k + 2], 0);
  }
}

TYPED_TEST(ExplicitDynamics, GivesTheResultsOfTheSerialDevice) {
  const auto here = this->bar(every_force());
  auto serial = make<Serial>("box:9x3x3:3,1,1:random=0.2", every_force());
  serial->fix("x>=max", all_directions);
  serial->set_velocity("all", 0.05, 0.01, 0);

  here->advance(100);
  serial->advance(100);

  const auto a = here->get(Field::Displacement), b = serial->get(Field::Displacement);
  double largest = 0, difference = 0;
  for (std::size_t k = 0; k < a.size(); ++k) {
    largest = std::max(largest, std::abs(b[k]));
    difference = std::max(difference, std::abs(a[k] - b[k]));
  }
  EXPECT_GT(largest, 0.1);
  EXPECT_LT(difference, 1e-9 * largest);
}

TEST(DynamicsParameters, OutOfRangeAreErrorsThatSayWhatTheRangeIs) {
  const auto expect_refused = [](auto change, const char* words) {
    Parameters p;
    change(p);
    try {
      check(p);
      ADD_FAILURE() << words;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(words), std::string::npos) << error.what();
    }
  };
  check(Parameters());
  expect_refused([](Parameters& p) { p.young = 0; }, "Young");
  expect_refused([](Parameters& p) { p.poisson = 0.5; }, "Poisson's ratio is 0.5");
  expect_refused([](Parameters& p) { p.density = -1; }, "density");
  expect_refused([](Parameters& p) { p.dt = std::nan(""); }, "time step");
  expect_refused([](Parameters& p) { p.safety = 1.5; }, "safety");
  expect_refused([](Parameters& p) { p.hourglass_stiffness = 2; }, "hourglass stiffness is 2");
  expect_refused([](Parameters& p) { p.dt_every = 0; }, "1 or more");
}

TEST(DynamicsVerification, GradientOperatorHasItsIdentities) {
  expect_verified<Serial>("gradient identities");
}

}  // namespace
