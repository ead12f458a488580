// The programs of docs/work_sharing.md. Each region between //! [name] marks is shown there; main runs and
// checks them all.
// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include <strata/algorithms/sharing/dynamic.hpp>
#include <strata/strata.hpp>
#include <strata/views/index_queue.hpp>
#include <strata/views/system_flag.hpp>
#include <strata/views/ticket_counter.hpp>

using namespace strata;

namespace {

void check(bool good) {
  if (good) return;
  std::puts("sharing_guide: a result is wrong");
  std::exit(1);
}

struct Axpy {
  double a;
  STRATA_FUNCTION void operator()(auto i, auto x, auto y) const { y(i) += a * x(i); }
};
struct Dot {
  STRATA_FUNCTION void operator()(auto i, auto x, auto y, double& sum) const { sum += x(i) * y(i); }
};

// clang-format off
template <class Device>
void dynamic_launches() {
  constexpr index_t n = 1000000;
  const CoherentArray<double, rank<1>> x("x", n), y("y", n);
//! [dynamic]
  const auto both = across(Threads{}, Device{}).dynamic();  // parts are claimed until all is done
  const SharedReport report = launch(both.named("axpy"), n, Axpy{2}, in(x), inout(y));
  std::fputs(report.explain().c_str(), stdout);             // each device's share, claims, the tail

  double sum = 0;
  launch_reduce(both, n, Dot{}, Sum(sum), in(x), in(y));    // the bits of one device, whoever did what
//! [dynamic]
  check(report.items == n && sum == 0);
//! [balance]
  Balance balance;                                          // keep it from launch to launch
  for (int step = 0; step < 10; ++step)
    launch(across(Threads{}, Device{}).adaptive(balance).dynamic(), n, Axpy{1}, in(x), inout(y));
//! [balance]
//! [options]
  launch(across(Threads{}, Device{}).weighted({1, 9}).dynamic({.host_seconds = 2e-3, .device_seconds = 2e-4}), n,
         Axpy{1}, in(x), inout(y));                         // begins at these parts; larger claims
//! [options]
//! [kernels]
  const MemoryMode managed = MemoryMode::Managed;
  const CoherentArray<double, rank<1>> u("u", n, managed, main_in(Device{})), v("v", n, managed, main_in(Device{}));
  launch(across(Threads{}, Device{}).dynamic({.claimed_by = ClaimedBy::Kernels}), n, Axpy{2}, in(u), inout(v));
//! [kernels]
}

//! [tickets]
struct Count {                                              // all of them take numbers from one counter
  TicketCounter tickets;
  SystemAtomics<std::int64_t> found;
  STRATA_FUNCTION void operator()(auto) const {
    for (index_t i = tickets.take(16); i < 10000; i = tickets.take(16))
      found(0).fetch_add(16);
  }
};
//! [tickets]

template <class Device>
void atomics() {
//! [atomics]
  const CoherentArray<std::int64_t, rank<1>> next("next", 1, MemoryMode::Managed, main_in(Device{}));
  const CoherentArray<std::int64_t, rank<1>> found("found", 1, MemoryMode::Managed, main_in(Device{}));
  const Count count{TicketCounter(system_atomics(next, Device{})), system_atomics(found, Device{})};

  parallel_for(on(Device{}), 64, count);                    // while it runs,
  std::thread host([&] { count(0); });                      // this one takes part
  host.join();
  wait(Device{});
//! [atomics]
  check(found(0) == 10000);
//! [queue]
  const CoherentArray<std::int64_t, rank<1>> words("queue", IndexQueue::words(64), MemoryMode::Managed);
  const CoherentArray<std::int64_t, rank<1>> step("step", 1, MemoryMode::Managed);
  const IndexQueue queue(system_atomics(words, Threads{})); // any thread may push, any may pop
  const SystemFlag flag(system_atomics(step, Threads{}));   // raise(k) on one side, wait_for(k) on the other
  std::thread producer([&] {
    for (index_t i = 0; i < 10; ++i)
      while (!queue.try_push(i)) std::this_thread::yield();
    flag.raise(1);
  });
  flag.wait_for(1);
  index_t sum = 0;
  for (index_t i = 0; queue.try_pop(i);) sum += i;
  producer.join();
//! [queue]
  check(sum == 45);
}
// clang-format on

}  // namespace

int main() {
  dynamic_launches<Emulated>();
  atomics<Emulated>();
}
