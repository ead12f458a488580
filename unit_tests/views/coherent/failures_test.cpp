// What fails, and what is left then: copies, allocations and kernels that fail one after the other, errors of
// other threads, kernels that throw.
// SPDX-License-Identifier: Apache-2.0
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <strata/views/coherent/whole_copies.hpp>

#include "views/coherent/executor_fixture.hpp"

namespace {

using namespace coherent_testing;
using Numbers = CoherentArray<std::int64_t, rank<1>>;

class CoherentFailures : public CoherentTest {};

// A program of a few launches with all that copies can be: from the host, to it, from device to device;
// expect(k) makes the plain arrays what they must be after step k.
struct Trial {
  static constexpr index_t n = 40;
  Numbers x{"x", n}, y{"y", n};
  std::vector<std::int64_t> rx = std::vector<std::int64_t>(n, 0), ry = rx;

  void step(int k) {
    const auto both = across(Emulated{0}, Emulated{1});
    switch (k) {
      case 0:
        return launch(both.named("fill"), n, Iota{100}, out(x));
      case 1:
        return launch(both.named("sums"), range(1, n - 1), SumOfThree{}, in(x, halo(1, 1)), out(y));
      case 2:
        return launch(on(Emulated{2}).named("add"), range(10, 30), AddTo{1000}, inout(y));
      case 3: {
        const auto view = x.read_write(line(5, 35));
        for (index_t i = 5; i < 35; ++i) view(i) += 7;
        return;
      }
      case 4:
        return launch(both.weighted({0.25, 0.75}).named("copy"), n, Copy{}, in(y), out(x));
      default:
        return launch(on(Emulated{1}).named("more"), n, AddTo{5}, inout(x));
    }
  }
  static constexpr int steps = 6;
  void expect(int k) {
    switch (k) {
      case 0:
        for (index_t i = 0; i < n; ++i) at(rx, i) = 100 + i;
        break;
      case 1:
        for (index_t i = 1; i < n - 1; ++i) at(ry, i) = at(rx, i - 1) + at(rx, i) + at(rx, i + 1);
        break;
      case 2:
        for (index_t i = 10; i < 30; ++i) at(ry, i) += 1000;
        break;
      case 3:
        for (index_t i = 5; i < 35; ++i) at(rx, i) += 7;
        break;
      case 4:
        rx = ry;
        break;
      default:
        for (std::int64_t& value : rx) value += 5;
    }
  }
  static std::int64_t& at(std::vector<std::int64_t>& values, index_t i) {
    return values[static_cast<std::size_t>(i)];
  }
};

// The host looks after each step, so that the error is known where it belongs: the step that failed, or the
// look. Arrays are then as before the step, or the error is DataLost and names every part that is not.
void expect_as_before(const Numbers& x, const std::vector<std::int64_t>& before,
                      const std::vector<std::int64_t>& after, const Error& error) {
  std::vector<bool> lost(before.size());
  for (const Residence& part : x.where(x.domain())) {
    if (!part.memories.empty()) continue;
    EXPECT_NE(dynamic_cast<const DataLost*>(&error), nullptr) << error.what();
    EXPECT_TRUE(has(error.what(), to_string(part.box) + " of \"" + x.label() + "\""));
    const auto anew = x.write(part.box);
    for (index_t i = part.box.lower(0); i < part.box.upper(0); ++i) {
      lost[static_cast<std::size_t>(i)] = true;
      anew(i) = after[static_cast<std::size_t>(i)];
    }
  }
  const auto now = values(x);
  for (std::size_t i = 0; i < now.size(); ++i) {
    // Devices that did not fail have done their part.
    EXPECT_TRUE(lost[i] || now[i] == before[i] || now[i] == after[i])
        << x.label() << " " << i << ": " << now[i];
  }
  const auto view = x.write();
  for (std::size_t i = 0; i < now.size(); ++i) view(static_cast<index_t>(i)) = after[i];
}

int failures_of(emulated::Fault what) {
  int k = 0;
  for (bool failed = true; failed && k < 100;) {
    ++k;
    SCOPED_TRACE(k);
    failed = false;
    {
      Trial trial;
      emulated::fail(what, k);
      for (int step = 0; step < Trial::steps; ++step) {
        SCOPED_TRACE(step);
        auto before_x = trial.rx, before_y = trial.ry;
        trial.expect(step);
        try {
          trial.step(step);
          EXPECT_EQ(values(trial.x), trial.rx);
          EXPECT_EQ(values(trial.y), trial.ry);
        } catch (const Error& error) {
          EXPECT_FALSE(failed) << "a second error: " << error.what();
          failed = true;

          expect_as_before(trial.x, before_x, trial.rx, error);
          expect_as_before(trial.y, before_y, trial.ry, error);
        }
      }
    }
    for (int i = 0; i < emulated::config().count; ++i) wait(Emulated{i});
    for (int i = 0; i < emulated::config().count; ++i) EXPECT_EQ(emulated::used(i), 0);
    emulated::clear_faults();
  }
  return k - 1;
}

TEST_F(CoherentFailures, OfAnyCopyLeaveTheArraysAsTheyWere) {
  EXPECT_GT(failures_of(emulated::Fault::Copy), 8);
}
TEST_F(CoherentFailures, OfAnyCopyThroughTheHostLeaveTheArraysAsTheyWere) {
  emulated::configure(machine(3, 0));
  EXPECT_GT(failures_of(emulated::Fault::Copy), 8);
}
TEST_F(CoherentFailures, OfAnyKernelLeaveTheArraysAsTheyWereOrSayWhatIsLost) {
  EXPECT_GE(failures_of(emulated::Fault::Kernel), 8);
}
// Nothing has begun then, so that memory is all that fails: another attempt is made after room was made.
TEST_F(CoherentFailures, OfAnyAllocationLeaveTheArraysAsTheyWere) {
  EXPECT_GT(failures_of(emulated::Fault::Allocation), 2);
}

TEST_F(CoherentFailures, OfAnAllocationLeaveNothingBegun) {
  const Numbers x("x", 100), y("y", 100);
  launch(on(Emulated{0}), 100, Iota{0}, out(x));
  emulated::fail(emulated::Fault::Allocation, 1);

  EXPECT_THROW(launch(on(Emulated{1}), 100, AddTo{1}, inout(x)), OutOfMemory);

  EXPECT_EQ(emulated::used(1), 0);
  EXPECT_EQ(values(x)[99], 99);
  launch(on(Emulated{1}), 100, AddTo{1}, inout(x));
  EXPECT_EQ(values(x)[99], 100);
}

TEST_F(CoherentFailures, OfAKernelLoseWhatOnlyItsDeviceHad) {
  const Numbers x("x", 100, uninitialized), y("y", 100);
  launch(on(Emulated{0}), 100, Iota{0}, out(x));
  launch(on(Emulated{1}), 100, Iota{0}, out(y));
  emulated::fail(emulated::Fault::Kernel, 1);
  launch(on(Emulated{0}).named("halve"), range(0, 50), AddTo{1}, inout(x));

  const std::string message = message_of<DataLost>([&] { x.flush(); });

  EXPECT_TRUE(has(message, "halve"));
  EXPECT_TRUE(has(message, "[0, 50) of \"x\""));
  EXPECT_FALSE(has(message, "\"y\""));
  EXPECT_EQ(x.read(line(50, 100))(99), 99);
  EXPECT_EQ(values(y)[99], 99);
  launch(on(Emulated{0}), range(0, 50), Iota{0}, out(x));
  EXPECT_EQ(values(x)[49], 49);
}

TEST_F(CoherentFailures, AreForgottenWhereTheHostHasWrittenAnew) {
  const Numbers x("x", 100, uninitialized);
  emulated::fail(emulated::Fault::Kernel, 1);
  launch(on(Emulated{0}), 100, Iota{0}, out(x));
  {
    const auto view = x.write();
    for (index_t i = 0; i < 100; ++i) view(i) = -i;
  }

  try {
    launch(on(Emulated{0}), 100, AddTo{0}, inout(x));
    x.flush();
  } catch (const KernelError&) {  // not DataLost
  }

  EXPECT_EQ(values(x)[99], -99);
}

TEST_F(CoherentFailures, AreForgottenWhereALaunchHasWrittenAnew) {
  constexpr index_t n = 40;
  const Numbers y("y", n);
  {
    const auto view = y.write();
    for (index_t i = 0; i < n; ++i) view(i) = 5;
  }
  emulated::fail(emulated::Fault::Kernel, 1);
  launch(on(Emulated{0}).named("fails"), n, AddTo{1}, inout(y));
  EXPECT_THROW(wait(Emulated{0}), KernelError);
  // It came after what failed, but read nothing of it.
  launch(on(Emulated{0}).named("writes all"), n, Iota{100}, out(y));
  wait(Emulated{0});
  try {
    static_cast<void>(y.read());
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()).find("lost"), std::string::npos) << error.what();
  }
  for (index_t i = 0; i < n; ++i) ASSERT_EQ(y(i), 100 + i);
}
TEST_F(CoherentFailures, OfOneThreadAreToldToItThoughAnotherMetThemFirst) {
  const Numbers x("x", 100), y("y", 100);
  emulated::fail(emulated::Fault::Kernel, 1);
  launch(on(Emulated{0}).named("mine"), 100, AddTo{1}, inout(x));
  wait(Emulated{1});
  std::thread other([&] {
    for (int k = 0; k < 2; ++k) try {
        launch(on(Emulated{0}).named("yours"), 100, AddTo{1}, inout(y));
        y.flush();
      } catch (const KernelError&) {
      }
  });
  other.join();

  EXPECT_TRUE(has(message_of<KernelError>([&] { x.flush(); }), "mine"));
  EXPECT_EQ(values(x)[5], 0) << "the error is told once";
  EXPECT_THROW(wait(Emulated{0}), KernelError) << "and once by the queue, to the thread whose work it was";
}

TEST_F(CoherentFailures, OfWorkThatSomebodyElseWaitedForAreNotBuiltUpon) {
  const Numbers x("x", 100), y("y", 100);
  launch(on(Emulated{0}), 100, Iota{100}, out(x));
  x.flush();
  emulated::fail(emulated::Fault::Kernel, 1);
  launch(on(Emulated{0}).named("wrong"), 100, AddTo{1}, inout(x));
  EXPECT_THROW(wait(Emulated{0}), KernelError);  // from now on the queue works again

  std::string told;
  try {
    launch(on(Emulated{0}), 100, Copy{}, in(x), out(y));
    y.flush();
  } catch (const Error& error) {
    told = error.what();
  }

  EXPECT_TRUE(has(told, "wrong"));
  EXPECT_EQ(values(x)[9], 109);
}

// Two failures: of the copy that another device was to have, and of the launch that would have made it
// useless.
struct AddAndSum {
  STRATA_FUNCTION void operator()(auto i, auto x, std::int64_t& sum) const { sum += ++x(i); }
};
TEST_F(CoherentFailures, OfALaunchWithAResultDoNotBringBackACopyThatFailed) {
  emulated::configure(machine(2, 0));  // both copies are the host's
  const Numbers x("x", 100), y("y", 100);
  {
    const auto view = x.write();
    for (index_t i = 0; i < 100; ++i) view(i) = 500 + i;
  }
  emulated::fail(emulated::Fault::Copy, 1);
  x.prefetch(x.domain(), Emulated{1});
  emulated::fail(emulated::Fault::Kernel, 1);
  std::int64_t sum = 0;
  EXPECT_THROW(launch_reduce(on(Emulated{0}), 100, AddAndSum{}, Sum(sum), inout(x)), KernelError);
  const auto copy_on_the_other = [&] {
    launch(on(Emulated{1}), 100, Copy{}, in(x), out(y));
    y.flush();
  };

  EXPECT_THROW(copy_on_the_other(), CopyError);
  copy_on_the_other();

  EXPECT_EQ(values(y)[99], 599);
  EXPECT_EQ(values(x)[99], 599);
}

TEST_F(CoherentFailures, OfALaunchWithAResultStayAfterOthers) {
  const Numbers x("x", 100, uninitialized), y("y", 100);
  launch(on(Emulated{0}), 100, Iota{0}, out(x));
  emulated::fail(emulated::Fault::Kernel, 1);
  std::int64_t sum = 0;
  EXPECT_THROW(launch_reduce(on(Emulated{0}), 100, AddAndSum{}, Sum(sum), inout(x)), KernelError);
  EXPECT_THROW(x.flush(), DataLost);
  emulated::fail(emulated::Fault::Kernel, 1);
  launch(on(Emulated{1}), 100, AddTo{1}, inout(y));
  EXPECT_THROW(y.flush(), KernelError);

  ASSERT_EQ(x.where(x.domain()).size(), 1U);
  EXPECT_TRUE(x.where(x.domain()).front().memories.empty());
}

struct AddToBoth {
  STRATA_FUNCTION void operator()(auto i, auto x, auto y) const {
    x(i) += 1;
    y(i) += 1;
  }
};
TEST_F(CoherentFailures, OfALaunchOverSeveralArraysAreToldOnce) {
  const Numbers x("x", 100), y("y", 100), z("z", 100);
  emulated::fail(emulated::Fault::Kernel, 1);
  launch(on(Emulated{0}).named("mine"), 100, AddToBoth{}, inout(x), inout(y));
  std::thread other([&] {
    for (int k = 0; k < 2; ++k) try {
        launch(on(Emulated{0}).named("yours"), 100, AddTo{1}, inout(z));
        z.flush();
      } catch (const KernelError&) {
      }
  });
  other.join();

  EXPECT_THROW(x.flush(), KernelError);
  EXPECT_NO_THROW(y.flush());
  EXPECT_THROW(wait(Emulated{0}), KernelError) << "the queue tells the thread whose work it was";
}

struct ThrowAt {
  index_t where;
  void operator()(auto i, const auto& x) const {
    if (i == where) throw std::runtime_error("kernel's own");
    x(i) = -1;
  }
};
// As the run of a graph may, which needs the room, while one of its tasks runs.
struct GiveUpAndThrow {
  detail::CoherentState* array;
  void operator()(index_t i, auto x) const {
    x(i) = -1;
    detail::WholeCopies().drop(*array, Emulated{0}.backend());
    throw std::runtime_error("after the copy of a device was given up");
  }
};

TEST_F(CoherentFailures, OfAHostsKernelSayThatValuesAreLostThatADeviceNoLongerHas) {
  const Numbers x("x", 10);
  launch(on(Emulated{0}), 10, Iota{1}, out(x));
  EXPECT_EQ(values(x)[3], 4) << "the host has them, too";
  const std::uint64_t losses = detail::WholeCopies::losses(*x.state());

  EXPECT_THROW(launch(on(Serial{}), 1, GiveUpAndThrow{x.state().get()}, inout(x, everything)),
               std::runtime_error);

  EXPECT_EQ(detail::WholeCopies::losses(*x.state()), losses + 1);
  EXPECT_EQ(detail::WholeCopies::lacking(*x.state()), std::vector<Box>{x.domain()});
  EXPECT_THROW(x.read(), DataLost);
}

TEST_F(CoherentFailures, OfAHostsKernelAreThrownAndOthersGoOn) {
  const Numbers x("x", 100), y("y", 100);
  launch(on(Emulated{0}), 100, Iota{0}, out(x));

  EXPECT_THROW(launch(on(Serial{}), range(50, 100), ThrowAt{60}, inout(x)), std::runtime_error);
  EXPECT_THROW(launch(on(Threads{}), 100, ThrowAt{0}, inout(y)), std::runtime_error);

  EXPECT_EQ(x.read(line(0, 50))(49), 49);
  launch(across(Emulated{0}, Threads{}), 100, Iota{7}, out(x));
  EXPECT_EQ(values(x)[99], 106);
}

// Checked builds mark what a host is to write, in memory that is near a device: its queue has work of others.
TEST_F(CoherentFailures, OfADeviceAreNotMetByAHostThatWritesNearIt) {
  const Numbers x("x", 100, prefer(MemoryMode::Pinned), main_in(Emulated{0})), y("y", 100, uninitialized);
  launch(on(Emulated{0}), 100, Iota{0}, out(y));
  emulated::fail(emulated::Fault::Kernel, 1);
  launch(on(Emulated{0}).named("fails"), 100, AddTo{1}, inout(y));

  EXPECT_NO_THROW(launch(on(Serial{}), 100, Iota{3}, out(x)));

  EXPECT_EQ(values(x)[99], 102);
  EXPECT_TRUE(has(message_of<DataLost>([&] { y.flush(); }), "[0, 100) of \"y\""));
}

TEST_F(CoherentFailures, OfKernelsOnDevicesAreTheirs) {
  const Numbers x("x", 100);
  launch(on(Emulated{0}).named("throwing"), 100, ThrowAt{60}, inout(x));
  EXPECT_TRUE(has(message_of<std::runtime_error>([&] { x.flush(); }), "kernel's own"));
  EXPECT_EQ(values(x)[99], 0) << "as before the launch";
}

}  // namespace
