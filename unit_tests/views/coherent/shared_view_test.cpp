// shared_view: what the host and kernels over teams see of one memory at the same time, and which arrays have
// none.
// SPDX-License-Identifier: Apache-2.0
#include <strata/algorithms/team.hpp>
#include <strata/core/error.hpp>
#include <strata/views/coherent/coherent_state.hpp>
#include <strata/views/shared_view.hpp>
#include <strata/views/ticket_counter.hpp>

#include "messages.hpp"
#include "test_devices.hpp"

namespace {

using namespace strata;
using strata_tests::expect_parts;
using strata_tests::message_of;

template <class T>
using Line = CoherentArray<T, rank<1>>;

template <class D>
class SharedView : public ::testing::Test {};
TYPED_TEST_SUITE(SharedView, strata_tests::TestDevices, strata_tests::DeviceName);

// Writes the square of each number that it claims.
struct Squares {
  TicketCounter tickets;
  STRATA_FUNCTION void operator()(const auto& member, const auto& numbers, const auto& squares) const {
    index_t i = 0;
    do {
      single(
          per_team(member), [&](index_t& mine) { mine = tickets.take(); }, i);
      if (i < numbers.extent(0)) single(per_team(member), [&] { squares(i) = numbers(i) * numbers(i); });
    } while (i < numbers.extent(0));
  }
};

TYPED_TEST(SharedView, IsOfHostAndTeamsAtTheSameTime) {
  constexpr index_t n = 500;
  const TypeParam device{};
  const Line<index_t> numbers("numbers", n, MemoryMode::Managed, main_in(device)),
      squares("squares", n, MemoryMode::Managed, main_in(device)),
      next("next", 1, MemoryMode::Managed, main_in(device));
  {
    const auto x = numbers.write();
    for (index_t i = 0; i < n; ++i) x(i) = i + 1;
  }
  const TicketCounter tickets(system_atomics(next, device));
  const auto of_host = shared_view(numbers, Serial{}), found = shared_view(squares, Serial{});

  parallel_for(on(device), teams(3),
               with(Squares{tickets}, shared_view(numbers, device), shared_view(squares, device)));
  for (index_t i = tickets.take(); i < n; i = tickets.take()) found(i) = of_host(i) * of_host(i);
  wait(device);

  const auto x = squares.read();
  for (index_t i = 0; i < n; ++i) ASSERT_EQ(x(i), (i + 1) * (i + 1));
}

TYPED_TEST(SharedView, NeedsMemoryThatKernelsReach) {
  const Line<double> x("x", 4, MemoryMode::Smart);
  const auto& main = x.state()->main;
  const auto share = [&] { return shared_view(x, TypeParam{}); };
  if (TypeParam{}.backend().address_in_kernels(main.base, main.space) != nullptr)
    EXPECT_EQ(share().extent(0), 4);
  else
    expect_parts(message_of<Error>(share), {"shared_view: \"x\"", "memory mode smart", "out of reach",
                                            "MemoryMode::Managed and main_in("});
}

TEST(SharedViewOfAnArray, HasItsCurrentValues) {
  const Line<double> x("x", 4);
  x(2) = 7;
  EXPECT_EQ(shared_view(x, Threads{})(2), 7);
}

TEST(SharedViewOfAnArray, NeedsAnArrayThatNobodyLooksAt) {
  expect_parts(message_of<Error>([] { shared_view(Line<double>(), Serial{}); }), {"array"});
  const Line<double> x("x", 4);
  const auto view = x.read();
  EXPECT_THROW(shared_view(x, Serial{}), AccessConflict);
}

}  // namespace
