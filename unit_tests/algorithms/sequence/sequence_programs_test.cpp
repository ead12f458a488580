// Random programs of sequences over several devices and of others who use their arrays between the runs: what
// is planned and enqueued together has the values of single loops, whatever comes between, and no failure
// passes for a value.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <strata/algorithms/sequence/sequence.hpp>
#include <strata/core/error.hpp>

#include "algorithms/sequence/mixing.hpp"

namespace {

using namespace sequence_testing;
using strata_tests::Random;

class Program {
 public:
  using Where = AnyDevices;

  /// Without budgets it leaves those of the devices, which others use, too.
  Program(Random& random, bool fails, bool has_budgets = true)
      : random_(random),
        fails_(fails),
        has_budgets_(has_budgets),
        devices_(static_cast<int>(random_(1, 4))),
        n_(random_(1, 60)) {
    const index_t arrays = random_(2, 3);
    for (index_t a = 0; a < arrays; ++a) {
      arrays_.push_back(Numbers("array", n_, any_mode(), main_in(Emulated{0})));
      now_.push_back(Values(static_cast<std::size_t>(n_), 0));
    }
    steps_ = std::make_unique<Sequence<Where>>("steps", any_devices(random_, devices_));
    const index_t loops = random_(1, 4);
    for (index_t k = 0; k < loops; ++k) add_loop();
  }
  ~Program() {
    emulated::clear_faults();
    for (int d = 0; d < devices_; ++d) {
      if (has_budgets_) coherent::set_budget(Emulated{d}, no_budget);
      try {
        wait(Emulated{d});
      } catch (const Error&) {
        EXPECT_TRUE(fails_);
      }
    }
  }

  void run() {
    for (int k = 0; k < 14 && !::testing::Test::HasFailure(); ++k) try {
        if (fails_ && random_(0, 3) == 0)
          emulated::fail(static_cast<emulated::Fault>(random_(0, 2)), static_cast<int>(random_(1, 20)));
        one_step();
      } catch (const OutOfMemory& error) {
        EXPECT_TRUE(fails_ || has_budget_) << error.what();
        begin_anew();
      } catch (const Error& error) {
        EXPECT_TRUE(fails_) << error.what();
        begin_anew();
      }
    try {
      for (std::size_t a = 0; a < arrays_.size(); ++a) check(a, 0, n_);
    } catch (const Error& error) {
      EXPECT_TRUE(fails_) << error.what();
    }
  }

 private:
  struct Loop {
    std::size_t x, y;
    Mix mix;
    index_t begin, end;
    bool by_step = false;
    std::vector<Number>* sums = nullptr;  // of a loop that reduces x
  };

  // Of those that copy, or need not, without being asked.
  MemoryMode any_mode() {
    const MemoryMode modes[] = {MemoryMode::Smart,   MemoryMode::Smart,   MemoryMode::Smart,
                                MemoryMode::Pinned,  MemoryMode::Managed, MemoryMode::Mapped,
                                MemoryMode::Implicit};
    return modes[random_(0, 6)];
  }
  std::size_t any_array() { return static_cast<std::size_t>(random_(0, std::ssize(arrays_) - 1)); }
  void add_loop() {
    Loop loop{any_array(), 0, {next_++, 0, 0, n_, false}, 0, n_};
    loop.y = (loop.x + static_cast<std::size_t>(random_(1, std::ssize(arrays_) - 1))) % arrays_.size();
    const index_t width = random_(0, 2) == 0 ? n_ : random_(0, 2);
    loop.mix.left = random_(0, width);
    loop.mix.right = random_(0, width);
    if (random_(0, 3) == 0) {
      loop.begin = random_(0, n_);
      loop.end = random_(loop.begin, n_);
    }
    loop.mix.reads_y = random_(0, 2) > 0;
    const Range work = range(loop.begin, loop.end);
    const Numbers &x = arrays_[loop.x], &y = arrays_[loop.y];
    const auto region = halo(loop.mix.left, loop.mix.right);
    const index_t kind = random_(0, 9);
    if (kind == 0) {
      sums_.push_back(std::make_unique<std::vector<Number>>());
      loop.sums = sums_.back().get();
      steps_->loop_reduce("sum", work, Add{}, each_step(Sum, *loop.sums), in(x));
    } else if (kind == 1) {
      loop.by_step = true;
      const auto made = by_step([mix = loop.mix](int step) { return at_step(mix, step); });
      if (loop.mix.reads_y) steps_->loop("by step", work, made, in(x, region), inout(y));
      else steps_->loop("by step", work, made, in(x, region), out(y));
    } else if (loop.mix.reads_y) {
      steps_->loop("mix", work, loop.mix, in(x, region), inout(y));
    } else {
      steps_->loop("mix", work, loop.mix, in(x, region), out(y));
    }
    loops_.push_back(loop);
  }
  static Mix at_step(Mix mix, int step) {
    mix.salt += static_cast<Number>(step) << 32;
    return mix;
  }

  // On plain vectors.
  void do_loop(const Loop& loop, int step, std::vector<std::vector<Number>>& sums) {
    Values& x = now_[loop.x];
    Values& y = now_[loop.y];
    if (loop.sums != nullptr) {
      Number sum = 0;
      for (index_t i = loop.begin; i < loop.end; ++i) sum += x[static_cast<std::size_t>(i)];
      sums[static_cast<std::size_t>(&loop - loops_.data())].push_back(sum);
      return;
    }
    const Mix mix = loop.by_step ? at_step(loop.mix, step) : loop.mix;
    for (index_t i = loop.begin; i < loop.end; ++i) mix(i, Plain{x.data()}, Plain{y.data()});
  }
  void run_loops(int count) {
    const int loops = static_cast<int>(loops_.size());
    steps_->run_loops(count);
    std::vector<std::vector<Number>> sums(loops_.size());
    for (int k = next_loop_; k < next_loop_ + count; ++k)
      do_loop(loops_[static_cast<std::size_t>(k % loops)], k / loops, sums);
    if (count > 0) {
      for (std::size_t k = 0; k < loops_.size(); ++k)
        if (loops_[k].sums != nullptr && !fails_) {
          EXPECT_EQ(*loops_[k].sums, sums[k]);
        }
    }
    next_loop_ = (next_loop_ + count) % loops;
  }

  void one_step() {
    const int loops = static_cast<int>(loops_.size());
    switch (random_(0, 9)) {
      case 0:
      case 1:
      case 2:
        return run_loops(static_cast<int>(random_(0, 4)) * loops);
      case 3:
        return run_loops(static_cast<int>(random_(0, 40)) * loops);
      case 4:
        return run_loops(static_cast<int>(random_(0, 3 * loops)));
      case 5: {
        const std::size_t a = any_array();
        const index_t begin = random_(0, n_ - 1), end = random_(begin + 1, n_);
        const Number salt = next_++;
        const auto view = arrays_[a].read_write(line(begin, end));
        for (index_t i = begin; i < end; ++i) view(i) += salt, now_[a][static_cast<std::size_t>(i)] += salt;
        return;
      }
      case 6: {
        const index_t begin = random_(0, n_ - 1);
        return check(any_array(), begin, random_(begin + 1, n_));
      }
      case 7: {
        const std::size_t a = any_array();
        const Number salt = next_++;
        launch(on(Emulated{static_cast<int>(random_(0, devices_ - 1))}), n_,
               AddTo{static_cast<std::int64_t>(salt)}, inout(arrays_[a]));
        for (Number& value : now_[a]) value += salt;
        return;
      }
      case 8:
        if (!has_budgets_) return;
        has_budget_ = true;
        return coherent::set_budget(Emulated{static_cast<int>(random_(0, devices_ - 1))},
                                    random_(0, 1) == 0 ? no_budget : random_(0, 24 * n_ + 64));
      default:
        return steps_->release();
    }
  }
  void check(std::size_t a, index_t begin, index_t end) {
    const auto view = arrays_[a].read(line(begin, end));
    for (index_t i = begin; i < end; ++i)
      ASSERT_EQ(view(i), now_[a][static_cast<std::size_t>(i)]) << "element " << i << " of array " << a;
  }
  // After an error, of which there may be more: all of all arrays is written, and the sequence at its begin.
  void begin_anew() {
    emulated::clear_faults();
    for (int d = 0; d < devices_; ++d) coherent::set_budget(Emulated{d}, no_budget);
    has_budget_ = false;
    for (std::size_t a = 0; a < arrays_.size(); ++a) {
      const Number value = next_++;
      for (int attempt = 0;; ++attempt) try {
          const auto view = arrays_[a].write();
          for (index_t i = 0; i < n_; ++i) view(i) = value;
          break;
        } catch (const Error& error) {
          ASSERT_LT(attempt, 10) << error.what();
        }
      std::fill(now_[a].begin(), now_[a].end(), value);
    }
    steps_->begin_with(0);
    next_loop_ = 0;
  }

  Random& random_;
  const bool fails_, has_budgets_;
  const int devices_;
  const index_t n_;
  bool has_budget_ = false;
  Number next_ = 1;
  std::vector<Numbers> arrays_;
  std::vector<Values> now_;
  std::vector<std::unique_ptr<std::vector<Number>>> sums_;
  std::unique_ptr<Sequence<Where>> steps_;
  std::vector<Loop> loops_;
  int next_loop_ = 0;
};

class SequencePrograms : public CoherentTest {
 protected:
  static void run(Random& random, int programs) {
    for (int k = 0; k < programs && !HasFailure(); ++k) {
      SCOPED_TRACE("program " + std::to_string(k));
      if (k % 20 == 0) {
        leave_nothing();
        const double peers[] = {0, 20e9, 395e9};
        emulated::configure(machine(4, peers[random(0, 2)]));
      }
      Program(random, random(0, 2) == 0).run();
    }
  }
};
TEST_F(SequencePrograms, HaveTheValuesOfSingleLoops) {
  Random random;
  run(random, strata_tests::trials(150));
}
TEST_F(SequencePrograms, OfSeveralThreadsShareNothingButTheDevices) {
  std::vector<Random> random(3);
  std::vector<std::thread> threads;
  for (Random& mine : random)
    threads.emplace_back([&mine] {
      for (int k = 0; k < 20 && !HasFailure(); ++k) Program(mine, false, false).run();
    });
  for (std::thread& thread : threads) thread.join();
}
TEST_F(SequencePrograms, HaveTheValuesOfSingleLoopsSlow) {
  Random random;
  run(random, 10000);
}

}  // namespace
