// Random shared launches: devices, memory modes, weights, ranges, sizes of parts, who claims them, and
// failures. Each gives the right values, or an error, after which each element has its old value, its new
// one, or is named as lost.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>
#include <vector>

#include <strata/algorithms/sharing/dynamic.hpp>

#include "core/random.hpp"
#include "views/coherent/executor_fixture.hpp"

namespace {

using namespace coherent_testing;
using Numbers = CoherentArray<std::int64_t, rank<1>>;
using Place = Across<Serial, Threads, Emulated>;
using strata_tests::Random;

constexpr index_t most = 3000;

struct SumOf {
  STRATA_FUNCTION void operator()(auto i, auto x, std::int64_t& sum) const { sum += x(i); }
};
struct AddNeighbours {
  STRATA_FUNCTION void operator()(auto i, auto x, auto y) const { y(i) += x(i - 1) + 2 * x(i + 1); }
};

class SharedProperties : public CoherentTest {
 protected:
  void SetUp() override { emulated::configure(machine(3)); }

  Place random_place() {
    Place place;
    for (index_t k = random_(1, 4); k > 0; --k) switch (random_(0, 5)) {
        case 0:
          place.places.push_back(on(Serial{}));
          break;
        case 1:
          place.places.push_back(on(Threads{}));
          break;
        default:
          place.places.push_back(on(Emulated{static_cast<int>(random_(0, 2))}));
      }
    return place;
  }
  SharedAcross<Serial, Threads, Emulated> random_shared() {
    Place place = random_place();
    if (random_(0, 2) == 0) {
      std::vector<double> weights;
      for (std::size_t k = 0; k < place.places.size(); ++k)
        weights.push_back(static_cast<double>(random_(0, 5)));
      weights[static_cast<std::size_t>(random_(0, std::ssize(weights) - 1))] += 1;
      place = place.weighted(weights);
    }
    if (random_(0, 1) == 0) {
      const std::size_t count = place.places.size();
      balances_[count - 1].speeds(count);
      place = place.adaptive(balances_[count - 1]);
    }
    return place.dynamic(
        DynamicOptions{.host_seconds = static_cast<double>(random_(0, 3)) * 1e-6,
                       .device_seconds = static_cast<double>(random_(0, 3)) * 1e-7,
                       .parts_ahead = static_cast<int>(random_(1, 4)),
                       .claimed_by = kernels_claim_ ? ClaimedBy::Kernels : ClaimedBy::HostThread});
  }
  Numbers random_array(const char* label, std::vector<std::int64_t>& plain) {
    constexpr MemoryMode modes[] = {MemoryMode::Smart, MemoryMode::Pinned, MemoryMode::Managed,
                                    MemoryMode::Mapped, MemoryMode::Implicit};
    const MemoryMode mode = modes[random_(0, 4)];
    const Numbers x(label, most, kernels_claim_ && random_(0, 9) > 0 ? MemoryMode::Managed : mode,
                    main_in(Emulated{static_cast<int>(random_(0, 2))}));
    const auto view = x.write();
    plain.clear();
    for (index_t i = 0; i < most; ++i) plain.push_back(view(i) = random_(-1000, 1000));
    return x;
  }
  // Some of it lies on a device.
  void scatter(const Numbers& x) {
    if (random_(0, 1) == 0) return;
    const index_t a = random_(0, most), b = random_(a, most);
    launch(on(Emulated{static_cast<int>(random_(0, 2))}), range(a, b), AddTo{0}, inout(x));
  }

  // Whether `x` is what it should be; after an error, or what it was.
  void expect_values(const Numbers& x, const std::vector<std::int64_t>& before,
                     const std::vector<std::int64_t>& after, const std::string& error, bool is_lost) {
    for (const Residence& part : x.where(x.domain())) {
      if (part.memories.empty()) {
        EXPECT_TRUE(is_lost && has(error, to_string(part.box) + " of \"" + x.label() + "\""));
        continue;
      }
      const auto view = x.read(part.box);
      for (index_t i = part.box.lower(0); i < part.box.upper(0); ++i) {
        const auto at = static_cast<std::size_t>(i);
        const bool good = view(i) == after[at] || (!error.empty() && view(i) == before[at]);
        ASSERT_TRUE(good) << x.label() << " " << i << " is " << view(i) << ", not " << after[at] << " "
                          << error;
      }
    }
  }

  void run_one();
  void run(int count) {
    for (int trial = 0; trial < count && !HasFailure(); ++trial) {
      SCOPED_TRACE(trial);
      run_one();
      emulated::clear_faults();
      take_errors();
    }
    std::printf("%d launches, in %d of them kernels claimed, %d with an error, %d of them with values lost\n",
                launches_, claimed_by_kernels_, errors_, losses_);
    constexpr int enough = 400, share = 20;
    if (checked_build || launches_ < enough || HasFailure()) return;
    EXPECT_GT(errors_, 0);
    EXPECT_GT(claimed_by_kernels_, launches_ / share);
  }

  Random random_;
  Balance balances_[4];
  bool kernels_claim_ = false;
  int launches_ = 0, claimed_by_kernels_ = 0, errors_ = 0, losses_ = 0;
};

void SharedProperties::run_one() {
  kernels_claim_ = random_(0, 1) == 0;
  if (kernels_claim_ && random_(0, 1) == 0) forget_shared_speeds();  // by which one device does all
  const auto place = random_shared();
  std::vector<std::int64_t> px, py;
  const Numbers x = random_array("x", px), y = random_array("y", py);
  scatter(x);
  scatter(y);
  for (int i = 0; i < 3; ++i) wait(Emulated{i});
  const index_t first = random_(1, most - 1), last = std::min<index_t>(most - 1, first + random_(0, most));
  const auto fails = static_cast<int>(random_(0, 5));
  if (fails < 3) emulated::fail(static_cast<emulated::Fault>(fails), static_cast<int>(random_(1, 12)));
  std::vector<std::int64_t> nx = px, ny = py;
  const index_t what = random_(0, 3);
  std::int64_t sum = 0, expected = 0;
  for (index_t i = first; i < last; ++i) {
    const auto at = static_cast<std::size_t>(i);
    if (what == 0) nx[at] += 5;
    if (what == 1) ny[at] = px[at];
    if (what == 2) ny[at] += px[at - 1] + 2 * px[at + 1];
    expected += px[at];
  }
  std::string error;
  bool is_lost = false;
  ++launches_;
  try {
    SharedReport report;
    const Range r = range(first, last);
    if (what == 0) report = launch(place, r, AddTo{5}, inout(x));
    if (what == 1) report = launch(place, r, Copy{}, in(x), out(y));
    if (what == 2) report = launch(place, r, AddNeighbours{}, in(x, halo(1, 1)), inout(y));
    if (what == 3) report = launch_reduce(place, r, SumOf{}, Sum(sum), in(x));
    EXPECT_EQ(sum, what == 3 ? expected : 0);
    index_t items = 0;
    for (const auto& device : report.devices) items += device.items;
    EXPECT_EQ(items, last - first) << report.explain();
    claimed_by_kernels_ += report.kernels_claimed ? 1 : 0;
  } catch (const DataLost& lost) {
    error = lost.what();
    is_lost = true;
    ++losses_;
  } catch (const Error& known) {
    error = known.what();
  }
  if (!error.empty()) {
    ++errors_;
    EXPECT_LT(fails, 3) << "without a failure: " << error;
  }
  emulated::clear_faults();
  expect_values(x, px, nx, error, is_lost);
  expect_values(y, py, ny, error, is_lost);
}

TEST_F(SharedProperties, OfRandomLaunchesHold) { run(strata_tests::trials(400)); }
TEST_F(SharedProperties, OfTenThousandRandomLaunchesHoldSlow) { run(strata_tests::trials(10'000)); }

}  // namespace
