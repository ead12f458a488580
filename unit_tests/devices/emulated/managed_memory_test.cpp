// Managed memory of Emulated: which accesses fault, and what moves, counted from what kernels and host do.
// SPDX-License-Identifier: Apache-2.0
#include <cerrno>

#include <fcntl.h>
#include <unistd.h>

#include "devices/emulated/managed.hpp"

namespace {

using namespace emulated_testing;

class EmulatedManaged : public ManagedTest {};

TEST_F(EmulatedManaged, HasANameASpaceAndQueuesOfItsInstance) {
  const detail::DeviceInstance& managed = shared_memory(detail::SharedMemory::Managed, 1);
  const detail::DeviceInstance& pinned = shared_memory(detail::SharedMemory::Pinned, 2);

  EXPECT_STREQ(managed.device_name(), "EmulatedManaged");
  EXPECT_STREQ(pinned.device_name(), "EmulatedPinned");
  EXPECT_TRUE(managed.space().shared && pinned.space().shared);
  EXPECT_TRUE(managed.host_accessible() && pinned.host_accessible());
  EXPECT_EQ(managed.space().instance, 1);
  EXPECT_EQ(pinned.index(), 2);
  EXPECT_EQ(&const_cast<detail::DeviceInstance&>(managed).default_queue(),
            &Emulated{1}.backend().default_queue());
  EXPECT_FALSE(pinned.page_moves(&managed).is_known);
}

TEST_F(EmulatedManaged, CountsThePagesThatAreTouchedAndNoOthers) {
  const SharedArray x = pages(12);
  for (index_t i = 0; i < 12 * per_page; ++i) x[i] = int(i / per_page);
  EXPECT_MOVES(x, 0, 0, 0);
  const Queue<Emulated> queue;

  EXPECT_EQ(sum_every(queue, x.in(Emulated{}), 3 * per_page, 4), 0 + 3 + 6 + 9);
  EXPECT_MOVES(x, 4, 4, 0);

  for (index_t p = 0; p < 12; ++p) EXPECT_EQ(x[p * per_page + 5], int(p));
  EXPECT_MOVES(x, 8, 4, 4);

  for (index_t p = 0; p < 12; ++p) EXPECT_EQ(x[p * per_page], int(p)) << "they are there now";
  EXPECT_MOVES(x, 8, 4, 4);
}

TEST_F(EmulatedManaged, EachArrayHasItsOwnCounts) {
  const SharedArray x = pages(2), y = pages(2);
  const Queue<Emulated> queue;

  parallel_for(on(queue), 2, AddEvery{y.in(Emulated{}), per_page});
  queue.wait();

  EXPECT_MOVES(x, 0, 0, 0);
  EXPECT_MOVES(y, 2, 2, 0);
}

TEST_F(EmulatedManaged, APageThatAnotherInstanceHasComesFromThere) {
  const SharedArray x = pages(1);
  const Queue<Emulated> first(Emulated{0}), second(Emulated{1});

  parallel_for(on(first), 1, AddEvery{x.in(Emulated{0}), 1, 5});
  first.wait();
  parallel_for(on(second), 1, AddEvery{x.in(Emulated{1}), 1, 7});
  second.wait();

  EXPECT_MOVES(x, 2, 2, 0);
  EXPECT_EQ(x[0], 12);
  EXPECT_MOVES(x, 3, 2, 1);
}

TEST_F(EmulatedManaged, AKernelThatTouchesMoreThanWasPrefetchedShows) {
  const SharedArray x = pages(8);
  const Queue<Emulated> queue;

  EXPECT_EQ(prefetch(queue, x.range(0, 5 * per_page, true, true)), std::size_t(5 * page));
  parallel_for(on(queue), 8, AddEvery{x.in(Emulated{}), per_page});
  queue.wait();

  EXPECT_MOVES(x, 3, 3, 0);
}

TEST_F(EmulatedManaged, PrefetchesRoundOutwardsToPagesAndLeadBackToTheHost) {
  const SharedArray x = pages(4);
  const Queue<Emulated> queue;

  EXPECT_EQ(prefetch(queue, x.range(per_page - 1, 2, true, true)), std::size_t(2 * page));
  EXPECT_EQ(sum_every(queue, x.in(Emulated{}), per_page, 3), 0);
  EXPECT_MOVES(x, 1, 1, 0);

  prefetch(queue, x.range(0, 3 * per_page, true, true), true);
  queue.wait();
  for (index_t i = 0; i < 3; ++i) x[i * per_page] = 1;
  EXPECT_MOVES(x, 1, 1, 0);
}

TEST_F(EmulatedManaged, WhatStaysIsReadOrWrittenWhereItIs) {
  const SharedArray x = pages(2);
  const Queue<Emulated> queue;
  detail::ManagedRange written = x.range(0, per_page, true, true),
                       read = x.range(per_page, per_page, true, false);
  written.stays = read.stays = true;
  EXPECT_EQ(prefetch(queue, written) + prefetch(queue, read), 0U);

  for (int k = 1; k <= 3; ++k) {
    EXPECT_EQ(sum_every(queue, x.in(Emulated{}), per_page, 2), 10 * (k - 1));
    parallel_for(on(queue), 1, AddEvery{x.in(Emulated{}), 1, 3});
    queue.wait();
    x[0] = x[0] + 4;
    x[per_page] = x[per_page] + 3;
  }
  EXPECT_MOVES(x, 0, 0, 0);

  parallel_for(on(queue), 2, AddEvery{x.in(Emulated{}), per_page});
  queue.wait();
  EXPECT_MOVES(x, 1, 1, 0);  // the one that was to be read
  prefetch(queue, x.range(0, per_page, true, true));
  queue.wait();
  EXPECT_EQ(x[0], 22);
  EXPECT_MOVES(x, 2, 1, 1);
  parallel_for(on(queue), 1, AddEvery{x.in(Emulated{}), per_page});
  queue.wait();
  EXPECT_EQ(x[0], 23);
  EXPECT_MOVES(x, 2, 1, 1);  // reached wherever it is
}

TEST_F(EmulatedManaged, PagesPrefetchedForReadingAreSharedUntilSomebodyWrites) {
  const SharedArray x = pages(2);
  x[0] = 3;
  x[per_page] = 4;
  const Queue<Emulated> first(Emulated{0}), second(Emulated{1});

  prefetch(first, x.range(0, 2 * per_page, true, false, true));
  EXPECT_EQ(sum_every(first, x.in(Emulated{0}), per_page, 2), 7);
  EXPECT_EQ(x[0] + x[per_page], 7);
  EXPECT_MOVES(x, 0, 0, 0);

  EXPECT_EQ(sum_every(second, x.in(Emulated{1}), per_page, 2), 7) << "a third reader";
  EXPECT_MOVES(x, 2, 2, 0);
  EXPECT_EQ(x[0] + x[per_page] + sum_every(first, x.in(Emulated{0}), per_page, 2), 14);
  EXPECT_MOVES(x, 2, 2, 0);

  x[0] = 10;
  EXPECT_MOVES(x, 3, 2, 0);
  EXPECT_EQ(sum_every(first, x.in(Emulated{0}), per_page, 2), 14);
  EXPECT_MOVES(x, 4, 3, 0);
  EXPECT_EQ(x[0], 10) << "still read-mostly: the host kept it";
  EXPECT_MOVES(x, 4, 3, 0);
}

TEST_F(EmulatedManaged, APrefetchForWritingEndsTheSharing) {
  const SharedArray x = pages(1);
  const Queue<Emulated> queue;
  prefetch(queue, x.range(0, per_page, true, false, true));
  queue.wait();
  EXPECT_EQ(x[0], 0);

  prefetch(queue, x.range(0, per_page, true, true, true));
  parallel_for(on(queue), 1, AddEvery{x.in(Emulated{}), 1});
  queue.wait();
  EXPECT_MOVES(x, 0, 0, 0);

  EXPECT_EQ(x[0], 1);
  EXPECT_MOVES(x, 1, 0, 1);
  EXPECT_EQ(sum_every(queue, x.in(Emulated{}), 1, 1), 1);
  EXPECT_EQ(x[0], 1);
  EXPECT_MOVES(x, 3, 1, 2);  // a read moves a page that is not read-mostly
}

TEST_F(EmulatedManaged, PagesOfAFullInstanceGoBackToTheHostTheOldestFirst) {
  emulated::set_capacity(0, 3 * page);
  const SharedArray x = pages(2), y = pages(2);
  x[0] = 1;
  const Queue<Emulated> queue;

  EXPECT_EQ(sum_every(queue, x.in(Emulated{}), 1, 1), 1);
  EXPECT_EQ(sum_every(queue, x.in(Emulated{}) + per_page, 1, 1), 0);
  EXPECT_EQ(sum_every(queue, y.in(Emulated{}), per_page, 2), 0);
  EXPECT_MOVES(x, 2, 2, 1);
  EXPECT_MOVES(y, 2, 2, 0);

  EXPECT_EQ(x[0], 1) << "it is on the host already";
  EXPECT_MOVES(x, 2, 2, 1);
  EXPECT_EQ(x[per_page], 0);
  EXPECT_MOVES(x, 3, 2, 2);
  emulated::set_capacity(0, 4 * mebi);
}

TEST_F(EmulatedManaged, ArraysOfTheInstanceLeaveLessForPages) {
  emulated::set_capacity(0, 4 * page);
  const SharedArray x = pages(4);
  const auto own = create<Array>("own", 2 * per_page, uninitialized);
  const Queue<Emulated> queue;

  prefetch(queue, x.range(0, 4 * per_page, true, true));
  queue.wait();

  EXPECT_MOVES(x, 0, 0, 2);
  emulated::set_capacity(0, 4 * mebi);
}

TEST_F(EmulatedManaged, CopiesAndFillsOfQueuesReachPagesWhereverTheyAre) {
  const SharedArray x = pages(2), y = pages(2);
  const auto own = create<Array>("own", 2 * per_page, uninitialized);
  const auto host = create<MDArray<int, Serial, rank<1>>>("host", 2 * per_page, uninitialized);
  const Queue<Emulated> queue;
  const LayoutDescriptor layout = describe(own.mapping());
  const auto side = [&](const SharedArray& array) {
    return detail::CopySide{array.data(), array.space(), &layout, "shared", &array.memory()};
  };
  const detail::CopySide on_instance{own.data(), own.allocation().get()->space, &layout, "own",
                                     &Emulated{}.backend()};
  const detail::CopySide on_host{host.data(), host.allocation().get()->space, &layout, "host",
                                 &Serial{}.backend()};
  const int seven = 7;
  parallel_for(on(queue), 1, AddEvery{x.in(Emulated{}), 1});
  queue.wait();

  queue.state().fill(side(x), &seven, sizeof seven);
  queue.state().copy(on_instance, side(x), sizeof(int));
  queue.state().copy(side(y), side(x), sizeof(int));
  queue.state().copy(on_host, side(y), sizeof(int));
  queue.wait();

  EXPECT_EQ(elements(own), std::vector<int>(std::size_t(2 * per_page), 7));
  EXPECT_EQ(host(0) + host(2 * per_page - 1), 14);
  EXPECT_MOVES(x, 1, 1, 0);
  EXPECT_MOVES(y, 0, 0, 0);
}

TEST_F(EmulatedManaged, SystemCallsDoNotFaultButWorkAfterAPrefetchToTheHost) {
  const SharedArray x = pages(1);
  const Queue<Emulated> queue;
  parallel_for(on(queue), 1, AddEvery{x.in(Emulated{}), 1, 9});
  queue.wait();
  const int zero = open("/dev/zero", O_RDONLY);

  EXPECT_EQ(read(zero, x.data(), sizeof(int)), -1);
  EXPECT_EQ(errno, EFAULT);
  prefetch(queue, x.range(0, 1, false, true), true);
  queue.wait();
  EXPECT_EQ(read(zero, x.data(), sizeof(int)), ssize_t(sizeof(int)));

  EXPECT_EQ(x[0], 0);
  close(zero);
}

// Every second page on the instance: each is a run of pages of its own in two mappings, until they are too
// many.
TEST_F(EmulatedManaged, WherePagesAreTooScatteredForTheSystemTheWholeArrayMoves) {
  emulated::Config config = emulated::config();
  config.capacity = index_t{256} << 20;
  emulated::configure(config);
  constexpr index_t count = 20000, touched = count / 2;
  const SharedArray x = pages(count);
  x[(count - 1) * per_page] = 42;
  const Queue<Emulated> queue;

  EXPECT_EQ(sum_every(queue, x.in(Emulated{}), 2 * per_page, touched), 0);
  const detail::PageMoves after = x.moves();
  EXPECT_LT(after.faults, std::uint64_t(touched));
  EXPECT_EQ(after.to_devices, std::uint64_t(count * page));

  EXPECT_EQ(sum_every(queue, x.in(Emulated{}) + (count - 1) * per_page, 1, 1), 42);
  EXPECT_EQ(x.moves().faults, after.faults);
}

TEST_F(EmulatedManaged, KernelsReachPinnedAndPlainMemoryOfTheHost) {
  const SharedArray pinned(100, detail::SharedMemory::Pinned);
  for (index_t i = 0; i < 100; ++i) pinned[i] = 1;
  std::vector<int> plain(100, 2);
  const Queue<Emulated> queue(Emulated{1});
  const detail::DeviceInstance& one = Emulated{1}.backend();
  const auto own = create<Array>("own", 4, uninitialized);

  parallel_for(on(queue), 100, AddEvery{pinned.in(Emulated{1}), 1});
  parallel_for(on(queue), 100,
               AddEvery{reinterpret_cast<int*>(one.address_in_kernels(reinterpret_cast<char*>(plain.data()),
                                                                      {HostSpace::kind, 0})),
                        1});
  queue.wait();

  for (index_t i = 0; i < 100; ++i) ASSERT_EQ(pinned[i], 2);
  EXPECT_EQ(plain, std::vector<int>(100, 3));
  EXPECT_EQ(one.address_in_kernels(reinterpret_cast<char*>(own.data()), own.allocation().get()->space),
            nullptr)
      << "memory of an instance is not the host's";
}

}  // namespace
