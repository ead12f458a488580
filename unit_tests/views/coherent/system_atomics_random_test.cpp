// Random system-wide atomics: 16 host threads and a device at once, each operation, type and order drawn.
// What they leave is what the operations would leave one after the other, in any order.
// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

#include <strata/views/coherent/coherent_array.hpp>
#include <strata/views/system_atomics.hpp>

#include "core/random.hpp"
#include "test_devices.hpp"

namespace {

using namespace strata;

constexpr int thread_count = 16;
constexpr index_t cells = 6;  // few: threads meet

/// The numbers of an item: the same on the host and on a device.
struct Draw {
  std::uint64_t state;
  STRATA_FUNCTION Draw(std::uint64_t seed, index_t item)
      : state(seed + 0x9e3779b97f4a7c15ULL * static_cast<std::uint64_t>(item + 1)) {}
  STRATA_FUNCTION std::uint64_t next(std::uint64_t below) {  // splitmix64
    state += 0x9e3779b97f4a7c15ULL;
    std::uint64_t z = state;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return (z ^ (z >> 31)) % below;
  }
};

enum Operation { Add, Sub, Min, Max, And, Or, Xor, Exchange, CompareExchange, LoadStore, operations };

/// What an item does: an operation, on a cell of that operation, with a value and an order.
struct Step {
  int operation, order;
  index_t cell;
  std::int32_t value;
};
STRATA_FUNCTION inline Step step_of(std::uint64_t seed, index_t item) {
  Draw draw(seed, item);
  Step step{};
  step.operation = static_cast<int>(draw.next(operations));
  step.order = static_cast<int>(draw.next(5));
  step.cell = static_cast<index_t>(draw.next(cells));
  step.value = static_cast<std::int32_t>(draw.next(1000));  // sums of all are exact in a float
  return step;
}

/// A value of a step.
STRATA_FUNCTION inline bool is_stored(double value) { return value >= 0 && value < 1000; }

/// Calls f with one of the orders that a change may have.
template <class F>
STRATA_FUNCTION void in_order(int order, const F& f) {
  switch (order) {
    case 0:
      return f(order_relaxed);
    case 1:
      return f(order_acquire);
    case 2:
      return f(order_release);
    case 3:
      return f(order_acq_rel);
    default:
      return f(order_seq_cst);
  }
}

/// Cells, `cells` for each operation. Exchanged tokens are counted in `taken`.
template <class T>
struct Hammer {
  SystemAtomics<T> x, taken;
  std::uint64_t seed;

  STRATA_FUNCTION void operator()(auto index) const {
    const Step step = step_of(seed, index_t(index));
    const SystemAtomicRef<T> cell = x(step.operation * cells + step.cell);
    const T value = static_cast<T>(step.value);
    in_order(step.order, [&](auto order) {
      switch (step.operation) {
        case Add:
          cell.fetch_add(value, order);
          break;
        case Sub:
          cell.fetch_sub(value, order);
          break;
        case Min:
          cell.fetch_min(value, order);
          break;
        case Max:
          cell.fetch_max(value, order);
          break;
        case Exchange:  // what goes in comes out once, or is there at the end
          taken(step.cell).fetch_add(cell.exchange(value, order));
          break;
        case CompareExchange: {
          T seen = cell.load();
          while (!cell.compare_exchange(seen, static_cast<T>(seen + value), order)) {
          }
          break;
        }
        default:
          break;
      }
      if constexpr (std::is_integral_v<T>) {
        const T bit = static_cast<T>(T(1) << (step.value % 30));
        if (step.operation == And) cell.fetch_and(static_cast<T>(~bit), order);
        if (step.operation == Or) cell.fetch_or(bit, order);
        if (step.operation == Xor) cell.fetch_xor(bit, order);
      }
    });
    if (step.operation == LoadStore) {  // each value is one that somebody stored, or the first
      const T seen = step.order % 2 == 0 ? cell.load(order_acquire) : cell.load(order_seq_cst);
      if (!is_stored(static_cast<double>(seen))) taken(cells).fetch_add(T(1));
      if (step.order % 2 == 0) cell.store(value, order_release);
      else cell.store(value, order_seq_cst);
    }
  }
};

template <class D>
class SystemWideAtRandom : public ::testing::Test {
 protected:
  template <class T>
  void hammer(std::uint64_t seed, index_t device_items, index_t thread_items) {
    SCOPED_TRACE(typeid(T).name());
    using Line = CoherentArray<T, rank<1>>;
    const Line values("values", operations * cells, MemoryMode::Managed, main_in(D{})),
        taken("taken", cells + 1, MemoryMode::Managed, main_in(D{}));
    const T first = static_cast<T>(500), all_bits = static_cast<T>((1 << 30) - 1);
    std::vector<T> expected(static_cast<std::size_t>(operations * cells), T(0));
    std::vector<T> given(static_cast<std::size_t>(cells), T(0));
    const auto at = [&](int operation, index_t cell) -> T& {
      return expected[static_cast<std::size_t>(operation * cells + cell)];
    };
    for (index_t c = 0; c < cells; ++c) {
      at(Min, c) = at(Max, c) = first;
      at(And, c) = all_bits;
      at(Sub, c) = static_cast<T>(1'000'000);
    }
    {
      const auto x = values.write();
      for (index_t k = 0; k < operations * cells; ++k) x(k) = expected[static_cast<std::size_t>(k)];
      const auto t = taken.write();
      for (index_t k = 0; k <= cells; ++k) t(k) = T(0);
    }
    const index_t items = device_items + thread_count * thread_items;
    for (index_t i = 0; i < items; ++i) {
      const Step step = step_of(seed, i);
      const T value = static_cast<T>(step.value);
      T& cell = at(step.operation, step.cell);
      if (step.operation == Add || step.operation == CompareExchange) cell = static_cast<T>(cell + value);
      if (step.operation == Sub) cell = static_cast<T>(cell - value);
      if (step.operation == Min) cell = std::min(cell, value);
      if (step.operation == Max) cell = std::max(cell, value);
      if (step.operation == Exchange) given[static_cast<std::size_t>(step.cell)] += value;
      if constexpr (std::is_integral_v<T>) {
        const T bit = static_cast<T>(T(1) << (step.value % 30));
        if (step.operation == And) cell = static_cast<T>(cell & ~bit);
        if (step.operation == Or) cell = static_cast<T>(cell | bit);
        if (step.operation == Xor) cell = static_cast<T>(cell ^ bit);
      }
    }

    const Hammer<T> hammer{system_atomics(values, D{}), system_atomics(taken, D{}), seed};
    std::vector<std::thread> threads;
    for (int t = 0; t < thread_count; ++t)
      threads.emplace_back([&, t] {
        const index_t begin = device_items + t * thread_items;
        for (index_t i = begin; i < begin + thread_items; ++i) hammer(i);
      });
    parallel_for(on(D{}), device_items, hammer);
    for (std::thread& thread : threads) thread.join();
    wait(D{});

    const auto x = values.read(), t = taken.read();
    for (int operation = 0; operation < operations; ++operation)
      for (index_t c = 0; c < cells; ++c) {
        const T seen = x(operation * cells + c);
        if (operation == LoadStore) EXPECT_TRUE(is_stored(static_cast<double>(seen)));
        else if (operation == Exchange) EXPECT_EQ(seen + t(c), given[static_cast<std::size_t>(c)]);
        else EXPECT_EQ(seen, at(operation, c)) << "operation " << operation << ", cell " << c;
      }
    EXPECT_EQ(t(cells), T(0)) << "a load saw what nobody stored";
  }

  strata_tests::Random random_;
};
TYPED_TEST_SUITE(SystemWideAtRandom, strata_tests::TestDevices, strata_tests::DeviceName);

TYPED_TEST(SystemWideAtRandom, LeavesWhatTheOperationsLeaveOneAfterTheOther) {
  for (int trial = 0; trial < strata_tests::trials(20) && !this->HasFailure(); ++trial) {
    SCOPED_TRACE(trial);
    const auto seed = static_cast<std::uint64_t>(this->random_(0, 1'000'000'000));
    const index_t device_items = this->random_(500, 4000), thread_items = this->random_(50, 300);
    this->template hammer<std::int32_t>(seed, device_items, thread_items);
    this->template hammer<std::uint32_t>(seed, device_items, thread_items);
    this->template hammer<std::int64_t>(seed, device_items, thread_items);
    this->template hammer<std::uint64_t>(seed, device_items, thread_items);
    this->template hammer<float>(seed, device_items, thread_items);
    this->template hammer<double>(seed, device_items, thread_items);
  }
}

}  // namespace
