// Which waits can end, and which are given up.
// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <strata/views/coherent/thread_waits.hpp>

namespace {

using strata::detail::ThreadWaits;
using Kind = ThreadWaits::Kind;

// Ids of threads that are no more: what matters is which are equal.
std::vector<std::thread::id> thread_ids(int count) {
  std::vector<std::thread> threads;
  std::vector<std::thread::id> ids;
  for (int k = 0; k < count; ++k) {
    threads.emplace_back([] {});
    ids.push_back(threads.back().get_id());
  }
  for (std::thread& thread : threads) thread.join();
  return ids;
}

TEST(ThreadWaits, ForAThreadThatDoesNotWaitCanEnd) {
  const auto t = thread_ids(3);
  ThreadWaits waits;
  const auto first = waits.add(t[0], Kind::Room, {t[1]}), second = waits.add(t[1], Kind::HostUse, {t[2]});

  EXPECT_FALSE(waits.give_one_up());
  EXPECT_TRUE(waits.goes_on(first));
  EXPECT_TRUE(waits.goes_on(second));
  waits.clear();
  EXPECT_FALSE(waits.goes_on(first));
  EXPECT_FALSE(waits.forget(first));
}

TEST(ThreadWaits, ForRoomEndWhereOneOfTheThreadsGoesOn) {
  const auto t = thread_ids(3);
  ThreadWaits waits;
  waits.add(t[0], Kind::Room, {t[1], t[2]});
  waits.add(t[1], Kind::Room, {t[0]});

  EXPECT_FALSE(waits.give_one_up());
  const auto last = waits.add(t[2], Kind::HostUse, {t[0]});
  EXPECT_TRUE(waits.give_one_up());
  EXPECT_TRUE(waits.goes_on(last)) << "those for host uses go on";
}

TEST(ThreadWaits, InARingAreGivenUpTurnsFirst) {
  const auto t = thread_ids(3);
  ThreadWaits waits;
  const auto room = waits.add(t[0], Kind::Room, {t[1]});
  waits.add(t[1], Kind::HostUse, {t[2]});
  const auto turn = waits.add(t[2], Kind::Turn, {t[0]});

  EXPECT_TRUE(waits.give_one_up());
  EXPECT_FALSE(waits.give_one_up()) << "its thread goes on";
  EXPECT_FALSE(waits.goes_on(turn));
  EXPECT_TRUE(waits.goes_on(room));
  waits.clear();
  EXPECT_FALSE(waits.forget(room));
  EXPECT_TRUE(waits.forget(turn)) << "it is to be told";
  EXPECT_TRUE(waits.empty());
}

TEST(ThreadWaits, ForHostUsesAreNeverGivenUp) {
  const auto t = thread_ids(2);
  ThreadWaits waits;
  const auto wait = waits.add(t[0], Kind::HostUse, {t[1]});
  waits.add(t[1], Kind::HostUse, {t[0]});

  EXPECT_FALSE(waits.give_one_up());
  EXPECT_TRUE(waits.goes_on(wait));
}

// An error goes to one that is in the ring, and not to those that wait behind it; it says who waits for whom.
TEST(ThreadWaits, ForReservationsAreGivenUpInTheRingItself) {
  const auto t = thread_ids(4);
  ThreadWaits waits;
  const auto behind = waits.add(t[3], Kind::Reservation, {t[0]}, "d waits for a");
  const auto first = waits.add(t[0], Kind::Reservation, {t[1]}, "a waits for b");
  const auto view = waits.add(t[1], Kind::HostUse, {t[2]}, "b waits for c");
  EXPECT_FALSE(waits.give_one_up());
  const auto elsewhere = waits.add(t[2], Kind::Elsewhere, {t[0]}, "c waits for a");

  EXPECT_TRUE(waits.give_one_up());
  EXPECT_FALSE(waits.give_one_up());
  EXPECT_TRUE(waits.goes_on(behind));
  EXPECT_FALSE(waits.goes_on(first));
  std::string ring;
  EXPECT_TRUE(waits.forget(first, &ring));
  EXPECT_EQ(ring, "a waits for b; b waits for c; c waits for a");
  waits.clear();
  EXPECT_FALSE(waits.goes_on(view));
  EXPECT_TRUE(waits.goes_on(elsewhere)) << "it ends with forget() alone";
  EXPECT_FALSE(waits.forget(elsewhere));
  EXPECT_TRUE(waits.empty());
}

}  // namespace
