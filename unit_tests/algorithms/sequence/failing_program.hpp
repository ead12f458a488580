// A random program of one thread, some of whose copies, kernels and allocations fail, kernels also when
// they have written a part: with what each of its arrays must be at any time.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <strata/algorithms/streaming/streamed_sequence.hpp>
#include <strata/algorithms/team.hpp>

#include "algorithms/sequence/known_array.hpp"

namespace sequence_testing {

using strata_tests::Random;
using OneDevice = On<Emulated>;
using Slices = Streamed<On<Emulated>>;

// So many work items of all kernels are done until one fails; 0 or less: none is to.
inline std::atomic<index_t> items_until_failure = 0;
inline void count_item() {
  if (items_until_failure.load(std::memory_order_relaxed) <= 0) return;
  if (items_until_failure.fetch_sub(1) == 1) throw KernelError("a work item failed, as it was to");
}
// The kernels, whose items may fail where others have written.
struct FailingMix {
  Mix mix;
  void operator()(auto i, const auto& x, const auto& y) const {
    count_item();
    mix(i, x, y);
  }
};
struct FailingAdd {
  void operator()(auto i, const auto& x, Number& sum) const {
    count_item();
    Add{}(i, x, sum);
  }
};
// By teams, which read all.
struct TeamMix {
  Mix mix;
  void operator()(const auto& member, const auto& x, const auto& y) const {
    single(per_team(member), [&] {
      count_item();
      mix(member.league_rank(), x, y);
    });
  }
};

// What threads share.
struct Shared {
  explicit Shared(Random& random, int device_count, index_t size) : devices(device_count), n(size) {
    for (const char* label : {"read by all", "read by all, too"}) {
      Values values(static_cast<std::size_t>(n));
      for (Number& value : values) value = static_cast<Number>(random(0, 1 << 30));
      const Numbers array(label, n);
      const auto view = array.write();
      for (index_t i = 0; i < n; ++i) view(i) = values[static_cast<std::size_t>(i)];
      read_only.push_back({array, values});
    }
  }
  struct ReadOnly {
    Numbers array;
    Values values;
  };
  const int devices;
  const index_t n;
  std::vector<ReadOnly> read_only;
  std::mutex turn;
  KnownArray in_turns{"used in turns", n, true};
};

class FailingProgram {
 public:
  FailingProgram(Random& random, Shared& shared, int thread)
      : random_(random), shared_(shared), n_(shared.n) {
    for (const char* name : {"a", "b", "c"})
      arrays_.push_back(std::make_unique<KnownArray>(std::to_string(thread) + name, n_, false));
    add_loops(in_core_, "in core", any_one());
    add_loops(split_, "split", any_devices(random_, shared.devices));
    const index_t budget = random_(0, 2) == 0 ? random_(1 << 10, 1 << 13) : index_t{1} << 18;
    add_loops(sliced_, "sliced", streamed(any_one(), budget));
  }

  void run() {
    for (int k = 0; k < 14 && !failed(); ++k) {
      if (random_(0, 3) == 0) fail_something();
      one_step();
    }
    if (!failed()) end();
    if (!failed()) return;
    std::printf("%s", history_.c_str());
  }

 private:
  // What it did, for whoever looks for a fault.
  void note(const std::string& what) { history_ += what + "\n"; }
  static bool failed() { return ::testing::Test::HasFailure(); }
  static constexpr std::size_t own_arrays = 3;  // x may be one of these, or of those that all read

  struct Loop {
    std::size_t x, y;
    Mix mix;
    index_t begin, end;
    Values* sums = nullptr;  // of a loop that reduces x
  };
  template <class Where>
  struct Loops {
    std::unique_ptr<Sequence<Where>> steps;
    std::vector<Loop> loops;
    std::vector<std::unique_ptr<Values>> sums;
    std::array<bool, own_arrays + 2> is_resident{};
    int next = 0;
  };

  OneDevice any_one() { return on(Emulated{static_cast<int>(random_(0, shared_.devices - 1))}); }
  KnownArray& own(std::size_t a) { return *arrays_[a]; }
  const Numbers& array(std::size_t a) {
    return a < own_arrays ? own(a).array : shared_.read_only[a - own_arrays].array;
  }
  const Values& values(std::size_t a) {
    return a < own_arrays ? own(a).now() : shared_.read_only[a - own_arrays].values;
  }

  // ---- loops

  Loop any_loop(std::size_t y) {
    Loop loop{0, y, {next_++, 0, 0, n_, random_(0, 2) > 0}, 0, n_};
    do loop.x = static_cast<std::size_t>(random_(0, own_arrays + 1));
    while (loop.x == y || loop.x == 2);
    const index_t width = random_(0, 3) == 0 ? n_ : random_(0, 2);
    loop.mix.left = random_(0, width);
    loop.mix.right = random_(0, width);
    if (random_(0, 3) == 0) {
      loop.begin = random_(0, n_ - 1);
      loop.end = random_(loop.begin + 1, n_);
    }
    return loop;
  }
  static std::string text_of(const Loop& loop) {
    return std::to_string(loop.x) + " -> " + std::to_string(loop.y) + (loop.mix.reads_y ? " inout" : " out") +
           " [" + std::to_string(loop.begin) + ", " + std::to_string(loop.end) + ") halo " +
           std::to_string(loop.mix.left) + ", " + std::to_string(loop.mix.right);
  }
  template <class Where>
  void add_loops(Loops<Where>& all, const char* label, const Where& where) {
    all.steps = std::make_unique<Sequence<Where>>(label, where);
    constexpr bool is_sliced = std::is_same_v<Where, Slices>;
    // What one loop alone writes may be resident; so may be what none does.
    const index_t loops = random_(1, 3), last = random_(0, 1) == 0 ? loops : -1;
    for (std::size_t a = 2; is_sliced && a < all.is_resident.size(); ++a)
      all.is_resident[a] = random_(0, 1) == 0;
    for (index_t k = 0; k < loops; ++k) add_loop(all, any_loop(static_cast<std::size_t>(random_(0, 1))));
    if (last > 0) add_loop(all, any_loop(2));
  }
  template <class Where>
  void add_loop(Loops<Where>& all, Loop loop) {
    const Range work = range(loop.begin, loop.end);
    const Numbers &x = array(loop.x), &y = array(loop.y);
    const auto add = [&](const auto& reads, const auto& writes) {
      all.steps->loop("mix", work, FailingMix{loop.mix}, reads, writes);
    };
    const auto add_with = [&](const auto& reads) {
      if constexpr (std::is_same_v<Where, Slices>) {
        if (all.is_resident[loop.y])
          return loop.mix.reads_y ? add(reads, resident(inout(y))) : add(reads, resident(out(y)));
      }
      loop.mix.reads_y ? add(reads, inout(y)) : add(reads, out(y));
    };
    const auto region = halo(loop.mix.left, loop.mix.right);
    const index_t kind = random_(0, 9);
    if constexpr (std::is_same_v<Where, Slices>) {
      if (all.is_resident[loop.x]) {
        if (kind < 5) add_with(resident(in(x, everything)));
        else add_with(resident(in(x, region)));
      } else {
        add_with(in(x, region));
      }
    } else if (kind == 0) {
      all.sums.push_back(std::make_unique<Values>());
      loop.sums = all.sums.back().get();
      all.steps->loop_reduce("sum", work, FailingAdd{}, each_step(Sum, *loop.sums), in(x));
    } else if (std::is_same_v<Where, OneDevice> && kind == 1) {
      if constexpr (std::is_same_v<Where, OneDevice>) {
        loop.begin = 0;
        loop.end = n_;
        all.steps->loop("teams", teams(n_), TeamMix{loop.mix}, in(x, everything), inout(y, everything));
      }
    } else {
      add_with(in(x, region));
    }
    all.loops.push_back(loop);
    note(std::string(std::is_same_v<Where, OneDevice> ? "in core"
                     : std::is_same_v<Where, Slices>  ? "sliced"
                                                      : "split") +
         " loop " + text_of(loop) + (loop.sums ? " reduces" : "") +
         (all.is_resident[loop.x] ? " x resident" : "") + (all.is_resident[loop.y] ? " y resident" : ""));
  }
  // On plain vectors.
  void do_loop(const Loop& loop) {
    const Values x = values(loop.x);
    own(loop.y).device_writes(loop.begin, loop.end, [&](Values& y) {
      for (index_t i = loop.begin; i < loop.end; ++i)
        loop.mix(i, Plain{const_cast<Number*>(x.data())}, Plain{y.data()});
    });
  }
  template <class Where>
  void run_loops(Loops<Where>& all, const char* name) {
    const int loops = static_cast<int>(all.loops.size());
    const int count = static_cast<int>(random_(0, 3) == 0   ? random_(1, 2 * loops)
                                       : random_(0, 5) == 0 ? random_(15, 35) * loops
                                                            : random_(1, 4) * loops);
    std::vector<Values> sums(all.loops.size());
    const int first = all.next;
    note(std::string(name) + ": " + std::to_string(count) + " loops from " + std::to_string(first));
    attempt(
        false,
        [&] {
          all.next = 0;
          for (int k = first; k < first + count; ++k) {
            const std::size_t number = static_cast<std::size_t>(k % loops);
            const Loop& loop = all.loops[number];
            if (loop.sums == nullptr) {
              do_loop(loop);
              continue;
            }
            const Values& x = values(loop.x);
            Number sum = 0;
            for (index_t i = loop.begin; i < loop.end; ++i) sum += x[static_cast<std::size_t>(i)];
            sums[number].push_back(sum);
          }
        },
        [&] {
          try {
            all.steps->run_loops(count);
          } catch (const Error&) {
            all.steps->begin_with(0);
            throw;
          }
          all.next = (first + count) % loops;
          for (std::size_t k = 0; k < all.loops.size(); ++k)
            if (all.loops[k].sums != nullptr) {
              EXPECT_EQ(*all.loops[k].sums, sums[k]);
            }
        });
  }

  // ---- steps

  void fail_something() {
    if (random_(0, 3) == 0) {
      const index_t items = random_(1, 10 * n_);
      note("fails: work item " + std::to_string(items));
      items_until_failure = items;
      return;
    }
    const auto what = static_cast<emulated::Fault>(random_(0, 2));
    const int which = static_cast<int>(random_(1, 20));
    note("fails: " + std::to_string(static_cast<int>(what)) + ", number " + std::to_string(which));
    emulated::fail(what, which);
  }

  void one_step() {
    switch (random_(0, 11)) {
      case 0:
      case 1:
        return run_loops(in_core_, "in core");
      case 2:
      case 3:
        return run_loops(split_, "split");
      case 4:
        return run_loops(sliced_, "sliced");
      case 5:
      case 6:
        return launch_somewhere(static_cast<std::size_t>(random_(0, own_arrays - 1)));
      case 7:
        return host_adds(own(static_cast<std::size_t>(random_(0, own_arrays - 1))));
      case 8: {
        KnownArray& x = own(static_cast<std::size_t>(random_(0, own_arrays - 1)));
        const index_t begin = random_(0, n_ - 1), end = random_(begin + 1, n_);
        return attempt(
            true, [] {}, [&] { x.check(begin, end); });
      }
      case 9:
        if (random_(0, 1) == 0) return limit_memory();
        return check_shared();
      default:
        return take_turn();
    }
  }
  void launch_somewhere(std::size_t y) {
    const Loop loop = any_loop(y);
    launch_at(
        loop, [&] { do_loop(loop); }, array(loop.x), array(loop.y));
  }
  template <class Model>
  void launch_at(const Loop& loop, const Model& model, const Numbers& x, const Numbers& y) {
    const Range work = range(loop.begin, loop.end);
    const auto region = halo(loop.mix.left, loop.mix.right);
    const auto at = [&](const auto& where) {
      attempt(true, model, [&] {
        const FailingMix kernel{loop.mix};
        if (loop.mix.reads_y) launch(where, work, kernel, in(x, region), inout(y));
        else launch(where, work, kernel, in(x, region), out(y));
      });
    };
    const index_t kind = random_(0, 4);
    note("launch " + text_of(loop) +
         (kind == 0  ? " in slices"
          : kind < 3 ? " on one"
                     : " on any") +
         " of " + y.label());
    if (kind == 0) at(streamed(any_one(), index_t{1} << 14).chunk(random_(0, 1) == 0 ? 0 : random_(1, 8)));
    else if (kind < 3) at(any_one());
    else at(any_devices(random_, shared_.devices));
  }
  void host_adds(KnownArray& x) {
    const index_t begin = random_(0, n_ - 1), end = random_(begin + 1, n_);
    const Number salt = next_++;
    attempt(
        true, [] {},
        [&] {
          {
            const auto view = x.array.read_write(line(begin, end));
            for (index_t i = begin; i < end; ++i) view(i) += salt;
          }
          x.host_wrote(begin, end, [&](Values& values) {
            for (index_t i = begin; i < end; ++i) values[static_cast<std::size_t>(i)] += salt;
          });
        });
  }
  // Of all threads.
  void limit_memory() {
    const Emulated device{static_cast<int>(random_(0, shared_.devices - 1))};
    coherent::set_budget(device, random_(0, 1) == 0 ? no_budget : random_(3, 12) * 8 * n_ + 64);
  }
  void check_shared() {
    const Shared::ReadOnly& shared = shared_.read_only[static_cast<std::size_t>(random_(0, 1))];
    attempt(
        true, [] {},
        [&] {
          const auto view = shared.array.read();
          for (index_t i = 0; i < n_; ++i)
            ASSERT_EQ(view(i), shared.values[static_cast<std::size_t>(i)]) << i;
        });
  }
  // What is used in turns is with the host, and right, when the turn ends.
  void take_turn() {
    const std::lock_guard lock(shared_.turn);
    KnownArray& y = shared_.in_turns;
    turn_ = &y;
    for (index_t left = random_(1, 3); left > 0; --left) {
      if (random_(0, 3) == 0) {
        host_adds(y);
        continue;
      }
      const Loop loop = any_loop(2);
      launch_at(
          loop,
          [&] {
            const Values x = values(loop.x);
            y.device_writes(loop.begin, loop.end, [&](Values& of_y) {
              for (index_t i = loop.begin; i < loop.end; ++i)
                loop.mix(i, Plain{const_cast<Number*>(x.data())}, Plain{of_y.data()});
            });
          },
          array(loop.x), y.array);
    }
    attempt(
        true, [] {}, [&] { y.check(0, n_); });
    turn_ = nullptr;
  }

  // ---- failures

  std::vector<KnownArray*> all_arrays() {
    std::vector<KnownArray*> all;
    for (const auto& known : arrays_) all.push_back(known.get());
    if (turn_ != nullptr) all.push_back(turn_);
    return all;
  }
  // Does what model() says. Where it throws, it is done in part, or not at all; the latter where memory is
  // all that failed before `at_once`, a call of one launch, began.
  template <class Model, class Action>
  void attempt(bool at_once, const Model& model, const Action& action) {
    std::vector<KnownArray::Mark> marks;
    for (KnownArray* const known : all_arrays()) marks.push_back(known->mark());
    model();
    Told told;
    try {
      action();
      return;
    } catch (const OutOfMemory& error) {
      told.add(error);
      std::size_t k = 0;
      if (at_once)
        for (KnownArray* const known : all_arrays()) known->back_to(marks[k++]);
    } catch (const AccessConflict& error) {
      ADD_FAILURE() << error.what();
    } catch (const ShapeMismatch& error) {
      ADD_FAILURE() << error.what();
    } catch (const NeverWritten& error) {
      ADD_FAILURE() << error.what();
    } catch (const Error& error) {
      told.add(error);
    }
    note("error: " + told.text);
    for (KnownArray* const known : all_arrays()) known->hear(told);
    for (KnownArray* const known : all_arrays()) known->settle(told);
  }
  void end() {
    for (const auto& known : arrays_)
      for (int k = 0; k < 2 && !failed(); ++k)
        attempt(
            true, [] {}, [&] { known->check(0, n_); });
  }

  Random& random_;
  Shared& shared_;
  const index_t n_;
  Number next_ = 1;
  std::string history_;
  std::vector<std::unique_ptr<KnownArray>> arrays_;
  KnownArray* turn_ = nullptr;
  Loops<OneDevice> in_core_;
  Loops<AnyDevices> split_;
  Loops<Slices> sliced_;
};

}  // namespace sequence_testing
