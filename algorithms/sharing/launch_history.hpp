// LaunchHistory: what earlier shared launches have shown of a kernel: how fast each device is, and how long
// launches took that one device did alone, or that were shared. Kept for the process, for the kernels used
// last.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <list>
#include <mutex>
#include <vector>

#include <strata/algorithms/sharing/device_cost.hpp>

namespace strata::inline STRATA_ABI::detail::sharing {

/// The median of the last three numbers, as one launch may be held up by anything; of fewer the least, of
/// none 0.
class Recent {
 public:
  void add(double number) { last_[count_++ % 3] = number; }
  double value() const;

 private:
  double last_[3] = {0, 0, 0};
  unsigned count_ = 0;
};

struct LaunchRecord {
  /// By how much more than foretold launches take, of late: threads that start, copies that wait, and what
  /// devices cost each other that use one memory or one host.
  class Factor {
   public:
    void note(double foretold, double took);
    /// 1: none was made.
    double value() const { return recent_.value() > 0 ? recent_.value() : 1; }

   private:
    Recent recent_;
  };
  /// How long whole launches took, of late. Of devices that share a launch, parts say little of how long one
  /// of them would take for all: they share memory, too, and a host also feeds the others.
  class Took {
   public:
    void note(index_t items, double seconds);
    /// 0: none had about so many items.
    double seconds(index_t items) const;

   private:
    Recent for_an_item_;
    index_t items_ = 0;
  };
  std::vector<DeviceCost> devices;
  std::vector<Factor> alone;  // launches that one device did
  Factor shared;
  std::vector<Took> alone_took;
  Took shared_took;
  double shared_moving = 0;         // of these seconds, the copies there and back of the last one
  bool is_second_trial = false;     // of one device after shared launches: its rows came in the first
  int searches = 0;                 // launches in which a device was to be measured
  int repeats = 0;                  // launches that one device did alone since others were tried
  int until_next = first_try;       // as many, and the others are tried again
  int shares = 0;                   // launches that were shared since one device did all
  int until_alone = 8 * first_try;  // as many, and one device does all again
  std::uint64_t checked = 0;  // the uses that were found to be right: a launch with these need not ask again

  static constexpr int first_try = 4;
};

class LaunchHistory {
 public:
  static LaunchHistory& get();

  /// A copy; a new one, of so many devices, where there is none.
  LaunchRecord find(std::uint64_t launch, std::size_t devices);
  void keep(std::uint64_t launch, LaunchRecord record);
  void clear();

 private:
  static constexpr std::size_t most = 256;  // the one not used for longest goes

  struct Entry {
    std::uint64_t launch;
    LaunchRecord record;
  };
  std::mutex mutex_;
  std::list<Entry> entries_;  // used last: first
};

}  // namespace strata::inline STRATA_ABI::detail::sharing
