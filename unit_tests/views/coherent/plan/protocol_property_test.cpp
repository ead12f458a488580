// Random programs over 1 to 8 devices with a version number for every element: no read ever meets an old one.
// And the rules that hold after every call.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

#include "views/coherent/plan/machine.hpp"
#include "views/coherent/plan/random_boxes.hpp"

namespace {

using namespace strata_tests;

Box small_domain(Random& random, int rank) {
  return random_domain(random, rank, rank == 1 ? 24 : rank == 2 ? 6 : rank <= 4 ? 3 : 2);
}
AccessMode random_use(Random& random) {
  return std::vector<AccessMode>{AccessMode::In, AccessMode::Out,
                                 AccessMode::InOut}[static_cast<std::size_t>(random(0, 2))];
}

// A call on several devices whose writes share nothing with each other, nor with another device's reads.
std::vector<Access> random_call(Random& random, int devices, const std::vector<Box>& domains) {
  std::vector<Access> accesses;
  const index_t wanted = random(1, 4);
  for (index_t k = 0; k < wanted; ++k) {
    const int array = static_cast<int>(random(0, static_cast<index_t>(domains.size()) - 1));
    Access access{array, static_cast<MemoryId>(random(0, devices)),
                  random_part(random, domains[static_cast<std::size_t>(array)]), random_use(random)};
    const bool clashes = std::any_of(accesses.begin(), accesses.end(), [&](const Access& other) {
      return other.array == access.array && overlap(other.box, access.box) &&
             (other.use != AccessMode::In || access.use != AccessMode::In);
    });
    if (!clashes) accesses.push_back(access);
  }
  return accesses;
}

void run_regions(Random& random, int traces) {
  for (int trace = 0; trace < traces && !::testing::Test::HasFailure(); ++trace) {
    const int devices = static_cast<int>(random(1, 8)), rank = static_cast<int>(random(0, 8));
    MemoryLinks links = links_of(devices, false);
    for (MemoryId from = 1; from <= devices; ++from)
      for (MemoryId to = 1; to <= devices; ++to)
        if (from != to && random(0, 1) == 1) links.set(from, to, {1e-5, random(0, 1) == 1 ? 395e9 : 20e9});
    RegionMachine machine(links,
                          random(0, 1) == 1 ? CopyPlanner::Broadcast::Yes : CopyPlanner::Broadcast::No);
    std::vector<Box> domains;
    for (index_t k = random(1, 2); k > 0; --k) {
      domains.push_back(small_domain(random, rank));
      machine.array(domains.back(), random(1, 100), random(0, 1) == 1);
    }
    for (int step = 0; step < 8; ++step) {
      machine.call(random_call(random, devices, domains));
      machine.expect_sound();
      if (random(0, 3) == 0)
        machine.evict(static_cast<int>(random(0, static_cast<index_t>(domains.size()) - 1)),
                      static_cast<MemoryId>(random(1, devices)));
    }
    machine.expect_sound();
  }
}

void run_exact(Random& random, int traces) {
  for (int trace = 0; trace < traces && !::testing::Test::HasFailure(); ++trace) {
    const int devices = static_cast<int>(random(1, 3));
    ExactMachine machine(devices, random(0, 1) == 1);
    const std::vector<Box> domains{small_domain(random, static_cast<int>(random(1, 3)))};
    machine.array(domains[0], 1, true);
    for (int step = 0; step < 12; ++step)
      machine.call({{0, static_cast<MemoryId>(random(0, devices)), random_part(random, domains[0]),
                     random_use(random)}});
  }
}

TEST(CoherentProtocols, RegionsNeverGiveAnOldValue) {
  Random random;
  run_regions(random, trials(5000));
}
TEST(CoherentProtocols, RegionsNeverGiveAnOldValueSlow) {
  Random random;
  run_regions(random, 1000000);
}
TEST(CoherentProtocols, CopiesOfThePaperNeverGiveAnOldValue) {
  Random random;
  run_exact(random, trials(10000));
}

// What the paper's rules promise of every state: at most one modified copy has an element; the host's flag
// means that there is none.
TEST(CoherentProtocols, ModifiedCopiesShareNothing) {
  Random random;
  const MemoryLinks links = links_of(3, true);
  for (int trace = 0; trace < trials(2000); ++trace) {
    const Box domain = small_domain(random, 1);
    ExactCopies copies(0, domain, links);
    for (int step = 0; step < 12; ++step) {
      const Box box = random_part(random, domain);
      const MemoryId memory = static_cast<MemoryId>(random(0, 3));
      copies.commit(memory == host_memory ? copies.host(box, random_use(random))
                                          : copies.device(memory, box, random_use(random)));
      const auto& state = copies.state();
      for (std::size_t a = 0; a < state.copies.size(); ++a) {
        if (!state.copies[a].modified) continue;
        EXPECT_FALSE(state.main_valid);
        EXPECT_TRUE(state.copies[a].valid);
        for (std::size_t b = 0; b < a; ++b)
          EXPECT_FALSE(state.copies[b].modified && overlap(state.copies[a].box, state.copies[b].box));
      }
    }
  }
}

}  // namespace
