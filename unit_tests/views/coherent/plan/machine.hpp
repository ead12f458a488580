// A machine for protocols of coherent arrays: memories that hold a version number for every element, and
// counters. It carries out what is planned, in any order that the plan allows, and fails the test where a
// read meets an old version.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <map>
#include <random>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <strata/views/coherent/plan/copy_planner.hpp>
#include <strata/views/coherent/plan/directory.hpp>
#include <strata/views/coherent/plan/exact_copies.hpp>

namespace strata_tests {

using strata::AccessMode;
using strata::Box;
using strata::index_t;
using strata::detail::CopyPlanner;
using strata::detail::Directory;
using strata::detail::ExactCopies;
using strata::detail::host_memory;
using strata::detail::MemoryId;
using strata::detail::MemoryLink;
using strata::detail::MemoryLinks;
using strata::detail::MemorySet;
using strata::detail::PlannedCopy;

/// Links as of an H200: 55 GB/s to the host, 395 GB/s between devices, or none.
inline MemoryLinks links_of(int devices, bool peer) {
  return MemoryLinks(devices + 1, {1e-5, 55e9}, peer ? MemoryLink{1e-5, 395e9} : MemoryLink{});
}

struct Access {
  int array;
  MemoryId memory;
  Box box;
  AccessMode use;
};

/// Bytes and numbers of copies by kind, and the memory of devices.
struct Counts {
  index_t to_device = 0, to_host = 0, peer = 0, within = 0, allocated = 0;
  int copies_to_device = 0, copies_to_host = 0, copies_peer = 0, copies_within = 0, allocations = 0;
};

template <class F>
void for_each_index(const Box& box, const F& f) {
  if (box.empty()) return;
  std::vector<index_t> at;
  for (int d = 0; d < box.rank(); ++d) at.push_back(box.lower(d));
  for (;;) {
    f(at);
    int d = box.rank() - 1;
    while (d >= 0 && ++at[static_cast<std::size_t>(d)] == box.upper(d)) {
      at[static_cast<std::size_t>(d)] = box.lower(d);
      --d;
    }
    if (d < 0) return;
  }
}

/// What both protocols share. Version 0: never written.
class Machine {
 public:
  explicit Machine(MemoryLinks links) : links_(std::move(links)) {}
  virtual ~Machine() = default;
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  /// A new array; `filled`: the host wrote it.
  int array(const Box& domain, index_t element_bytes, bool filled) {
    Values values{domain, element_bytes, {}, {}};
    const auto size = static_cast<std::size_t>(domain.size());
    values.newest.assign(size, 0);
    values.of.assign(static_cast<std::size_t>(links_.memories()), std::vector<long>(size, -1));
    arrays_.push_back(std::move(values));
    const int number = static_cast<int>(arrays_.size()) - 1;
    made(number, domain, filled);
    if (filled) write(number, host_memory, domain);
    return number;
  }
  /// A launch on one or several devices, or an access of the host.
  virtual void call(const std::vector<Access>& accesses) = 0;

  const Counts& counts() const { return counts_; }

 protected:
  virtual void made(int array, const Box& domain, bool filled) = 0;

  const MemoryLinks& links() const { return links_; }
  index_t element_bytes(int array) const { return of(array).element_bytes; }
  void allocated(int array, index_t elements, bool first) {
    counts_.allocated += elements * element_bytes(array);
    counts_.allocations += first ? 1 : 0;
  }

  void carry_out(const std::vector<PlannedCopy>& copies) {
    for (std::size_t k = 0; k < copies.size(); ++k) {
      const PlannedCopy& copy = copies[k];
      for (const int earlier : copy.after) EXPECT_LT(earlier, static_cast<int>(k));
      EXPECT_FALSE(copy.box.empty());
      EXPECT_TRUE(copy.from == copy.to || links_.joins(copy.from, copy.to));
      count(copy);
    }
    // Of those that may begin any one next.
    std::vector<bool> done(copies.size());
    for (std::size_t left = copies.size(); left > 0; --left) {
      std::vector<std::size_t> ready;
      for (std::size_t k = 0; k < copies.size(); ++k)
        if (!done[k] && std::all_of(copies[k].after.begin(), copies[k].after.end(),
                                    [&](int earlier) { return done[static_cast<std::size_t>(earlier)]; }))
          ready.push_back(k);
      const std::size_t next = ready[order_() % ready.size()];
      done[next] = true;
      copy_values(copies[next]);
    }
  }
  void copy_values(const PlannedCopy& copy) {
    Values& values = of(copy.array);
    for_each_index(copy.box, [&](const std::vector<index_t>& at) {
      const std::size_t k = place(values.domain, at);
      values.of[static_cast<std::size_t>(copy.to)][k] = values.of[static_cast<std::size_t>(copy.from)][k];
    });
  }
  void write(int array, MemoryId memory, const Box& box) {
    ++version_;
    Values& values = of(array);
    for_each_index(box, [&](const std::vector<index_t>& at) {
      values.newest[place(values.domain, at)] =
          values.of[static_cast<std::size_t>(memory)][place(values.domain, at)] = version_;
    });
  }
  /// Elements that were never written are nobody's: reading them is not this test's concern.
  void expect_current(int array, MemoryId memory, const Box& box) {
    const Values& values = of(array);
    int old = 0;
    for_each_index(box, [&](const std::vector<index_t>& at) {
      const std::size_t k = place(values.domain, at);
      if (values.newest[k] != 0 && values.of[static_cast<std::size_t>(memory)][k] != values.newest[k]) ++old;
    });
    EXPECT_EQ(old, 0) << "old values of array " << array << " in memory " << memory << ", " << to_string(box);
  }
  void expect_never_written(int array, const Box& box) {
    const Values& values = of(array);
    for_each_index(
        box, [&](const std::vector<index_t>& at) { EXPECT_EQ(values.newest[place(values.domain, at)], 0); });
  }
  /// Memory that is given up, or got anew, has no values.
  void forget(int array, MemoryId memory, const Box& box) {
    Values& values = of(array);
    for_each_index(box, [&](const std::vector<index_t>& at) {
      values.of[static_cast<std::size_t>(memory)][place(values.domain, at)] = -1;
    });
  }

 private:
  struct Values {
    Box domain;
    index_t element_bytes;
    std::vector<long> newest;
    std::vector<std::vector<long>> of;  // each memory
  };
  const Values& of(int array) const { return arrays_[static_cast<std::size_t>(array)]; }
  Values& of(int array) { return arrays_[static_cast<std::size_t>(array)]; }
  static std::size_t place(const Box& domain, const std::vector<index_t>& at) {
    index_t k = 0;
    for (int d = 0; d < domain.rank(); ++d)
      k = k * domain.extent(d) + at[static_cast<std::size_t>(d)] - domain.lower(d);
    return static_cast<std::size_t>(k);
  }
  void count(const PlannedCopy& copy) {
    const index_t bytes = copy.box.size() * element_bytes(copy.array);
    const bool from_host = copy.from == host_memory, to_host = copy.to == host_memory;
    (copy.from == copy.to ? counts_.within
     : from_host          ? counts_.to_device
     : to_host            ? counts_.to_host
                          : counts_.peer) += bytes;
    ++(copy.from == copy.to ? counts_.copies_within
       : from_host          ? counts_.copies_to_device
       : to_host            ? counts_.copies_to_host
                            : counts_.copies_peer);
  }

  MemoryLinks links_;
  std::minstd_rand order_;
  std::vector<Values> arrays_;
  long version_ = 0;
  Counts counts_;
};

/// Regions: all reads of a call first, then its writes.
class RegionMachine : public Machine {
 public:
  RegionMachine(int devices, bool peer, CopyPlanner::Broadcast broadcast = CopyPlanner::Broadcast::No)
      : RegionMachine(links_of(devices, peer), broadcast) {}
  RegionMachine(MemoryLinks links, CopyPlanner::Broadcast broadcast)
      : Machine(std::move(links)), broadcast_(broadcast) {}

  void call(const std::vector<Access>& accesses) override {
    for (const Access& access : accesses) reside(access);
    CopyPlanner planner(links(), broadcast_);
    for (const Access& access : accesses)
      if (access.use != AccessMode::Out)
        planner.read(access.array, directory(access.array), element_bytes(access.array), access.memory,
                     access.box);
    enqueue(planner);
    for (const Access& access : accesses)
      if (access.use != AccessMode::Out) expect_current(access.array, access.memory, access.box);
    for (const Access& access : accesses) {
      if (access.use == AccessMode::In) continue;
      directory(access.array).written(access.memory, access.box);
      write(access.array, access.memory, access.box);
    }
  }
  /// `memory`, a device's, gives up all of `array`: what only it has goes to the host first.
  void evict(int array, MemoryId memory) {
    Directory& where = directory(array);
    CopyPlanner planner(links(), broadcast_);
    for (const Box& part : where.only_in(memory, where.domain()))
      planner.read(array, where, element_bytes(array), host_memory, part);
    enqueue(planner);
    where.dropped(memory, where.domain());
    forget(array, memory, where.domain());
  }
  /// All that the directories say of memories is so: every memory of a part has its newest values.
  void expect_sound() {
    for (std::size_t array = 0; array < directories_.size(); ++array) {
      index_t points = 0;
      const Box domain = directories_[array].domain();
      directories_[array].map().visit(domain, [&](const Box& part, MemorySet memories) {
        points += part.size();
        memories.visit([&](MemoryId memory) { expect_current(static_cast<int>(array), memory, part); });
        if (memories.empty()) expect_never_written(static_cast<int>(array), part);
      });
      EXPECT_EQ(points, domain.size());
    }
  }
  Directory& directory(int array) { return directories_[static_cast<std::size_t>(array)]; }

 private:
  void made(int, const Box& domain, bool filled) override {
    directories_.emplace_back(domain, filled ? MemorySet{host_memory} : MemorySet());
  }
  void enqueue(const CopyPlanner& planner) {
    carry_out(planner.copies());
    for (const PlannedCopy& copy : planner.copies()) directory(copy.array).copied(copy.to, copy.box);
  }
  // One allocation an array and device, which grows to the box that covers all that was asked for.
  void reside(const Access& access) {
    if (access.memory == host_memory || access.box.empty()) return;
    const auto [known, is_first] = instances_.try_emplace({access.array, access.memory}, access.box);
    const index_t before = is_first ? 0 : known->second.size();
    known->second = cover(known->second, access.box);
    allocated(access.array, known->second.size() - before, is_first);
  }

  CopyPlanner::Broadcast broadcast_;
  std::vector<Directory> directories_;
  std::map<std::pair<int, MemoryId>, Box> instances_;
};

/// The protocol of the paper: device after device, operand after operand.
class ExactMachine : public Machine {
 public:
  ExactMachine(int devices, bool peer) : Machine(links_of(devices, peer)) {}

  void call(const std::vector<Access>& accesses) override {
    for (const Access& access : accesses) {
      ExactCopies& copies = copies_[static_cast<std::size_t>(access.array)];
      ExactCopies::Plan plan = access.memory == host_memory
                                   ? copies.host(access.box, access.use)
                                   : copies.device(access.memory, access.box, access.use);
      if (plan.allocates) allocated(access.array, access.box.size(), true);
      carry_out(plan.copies);
      copies.commit(std::move(plan));
      if (access.use != AccessMode::Out) expect_current(access.array, access.memory, access.box);
      if (access.use != AccessMode::In) write(access.array, access.memory, access.box);
    }
  }

 private:
  void made(int array, const Box& domain, bool) override { copies_.emplace_back(array, domain, links()); }
  std::vector<ExactCopies> copies_;
};

}  // namespace strata_tests
