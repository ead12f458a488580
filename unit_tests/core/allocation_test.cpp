// Allocation records: counting, the registry of live ones, and captures, under which views do not count.
// SPDX-License-Identifier: Apache-2.0
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <strata/core/allocation.hpp>
#include <strata/core/allocation_report.hpp>

namespace {

using strata::SpaceId;
using strata::detail::Allocation;
using strata::detail::AllocationRef;
using strata::detail::Capture;
using strata::detail::CaptureScope;

constexpr char here[] = "Here";
constexpr char there[] = "There";

// Counts what it is asked to release; lives as long as the records.
struct Owner {
  int released = 0;
  static void release(Allocation& a) noexcept { ++static_cast<Owner*>(a.owner)->released; }
  AllocationRef make(std::size_t bytes, const char* label, SpaceId space = {here, 0}) {
    return AllocationRef(strata::detail::make_allocation(this, bytes, space, label, release, this));
  }
};

std::vector<std::string> live_labels(const char* kind) {
  struct Found {
    const char* kind;
    std::vector<std::string> labels;
  } found{kind, {}};
  strata::visit_allocations(
      [](void* context, const strata::AllocationInfo& info) {
        auto& f = *static_cast<Found*>(context);
        if (info.space.kind == f.kind) f.labels.push_back(info.label);
      },
      &found);
  return found.labels;
}

TEST(Allocation, TheLastReferenceReleasesOnce) {
  Owner owner;
  {
    const AllocationRef first = owner.make(8, "x");
    AllocationRef second = first;
    EXPECT_EQ(first.use_count(), 2);
    const AllocationRef third = std::move(second);
    EXPECT_EQ(first.use_count(), 2);
    EXPECT_EQ(second.use_count(), 0);
    EXPECT_EQ(owner.released, 0);
  }
  EXPECT_EQ(owner.released, 1);
}

TEST(Allocation, AssignmentCountsBothSidesAndSurvivesItself) {
  Owner owner;
  AllocationRef a = owner.make(8, "a");
  AllocationRef b = owner.make(8, "b");

  a = a;
  EXPECT_EQ(a.use_count(), 1);
  a = b;
  EXPECT_EQ(owner.released, 1);
  EXPECT_EQ(b.use_count(), 2);
  a = AllocationRef();
  b = std::move(a);

  EXPECT_EQ(owner.released, 2);
}

TEST(Allocation, TheLabelIsCopied) {
  Owner owner;
  char label[] = "temperature";
  const AllocationRef a = owner.make(8, label);
  std::memset(label, 'x', sizeof label - 1);

  EXPECT_STREQ(a.get()->label, "temperature");
  EXPECT_STREQ(owner.make(8, nullptr).get()->label, "");
}

TEST(Allocation, TheRegistryListsTheLiveOnesLargestFirst) {
  Owner owner;
  const AllocationRef small = owner.make(8, "small"), large = owner.make(800, "large");
  {
    const AllocationRef middle = owner.make(80, "middle");
    EXPECT_EQ(live_labels(here), (std::vector<std::string>{"large", "middle", "small"}));
    EXPECT_EQ(strata::allocation_totals(here).bytes, 888u);
    EXPECT_EQ(strata::allocation_totals(here).count, 3u);
  }
  EXPECT_EQ(live_labels(here), (std::vector<std::string>{"large", "small"}));
  EXPECT_EQ(strata::allocation_totals(there).count, 0u);
}

TEST(Allocation, ReportsNameTheLargestOfOneMemoryOnly) {
  Owner owner;
  std::vector<AllocationRef> all;
  for (int i = 1; i <= 7; ++i)
    all.push_back(owner.make(static_cast<std::size_t>(i), ("a" + std::to_string(i)).c_str(), {there, 1}));
  all.push_back(owner.make(1000, "elsewhere", {there, 0}));

  const std::string text = strata::detail::largest_allocations({there, 1}, 3);

  EXPECT_EQ(text, "largest live allocations: \"a7\" 7 bytes, \"a6\" 6 bytes, \"a5\" 5 bytes");
  EXPECT_EQ(strata::detail::largest_allocations({there, 2}), "no live allocations there");
  EXPECT_EQ(strata::detail::describe_space({there, 1}), "There{1}");
}

TEST(Allocation, CopiesUnderACaptureAreNotCountedButNoted) {
  Owner owner;
  const AllocationRef a = owner.make(8, "a", {here, 2});
  Capture capture{.kind = here};
  {
    const CaptureScope scope(capture);
    const AllocationRef copy = a;
    EXPECT_EQ(copy.get(), nullptr);
    EXPECT_EQ(a.use_count(), 1);
  }
  const AllocationRef counted = a;

  EXPECT_EQ(a.use_count(), 2);
  EXPECT_EQ(capture.instance, 2);
  EXPECT_EQ(capture.first, a.get());
  EXPECT_EQ(capture.wrong, nullptr);
}

TEST(Allocation, ACaptureNotesTheFirstViewOfAnotherMemory) {
  Owner owner;
  const AllocationRef right = owner.make(8, "right", {here, 1}), other = owner.make(8, "other", {here, 0}),
                      alien = owner.make(8, "alien", {there, 0});
  Capture capture{.kind = here}, only_alien{.kind = here};
  {
    const CaptureScope scope(capture);
    const AllocationRef a = right, b = other, c = alien;
  }
  {
    const CaptureScope scope(only_alien);
    const AllocationRef c = alien;
  }

  EXPECT_EQ(capture.instance, 1);
  EXPECT_EQ(capture.wrong, other.get());
  EXPECT_EQ(only_alien.wrong, alien.get());
  EXPECT_EQ(only_alien.instance, -1);
}

TEST(Allocation, ManyThreadsCountOneRecord) {
  Owner owner;
  {
    const AllocationRef a = owner.make(8, "shared");
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([a] {
        for (int i = 0; i < 10000; ++i) {
          AllocationRef copy = a;
          const AllocationRef moved = std::move(copy);
        }
      });
    for (std::thread& t : threads) t.join();
    threads.clear();
    EXPECT_EQ(a.use_count(), 1);
  }
  EXPECT_EQ(owner.released, 1);
}

}  // namespace
