// SharedLedger: who has claimed and done what in a shared launch, and what has failed; for the threads that
// carry it out, which wait here for each other.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <string>
#include <vector>

#include <strata/algorithms/sharing/shared_claims.hpp>
#include <strata/algorithms/sharing/shared_losses.hpp>
#include <strata/algorithms/sharing/shared_run.hpp>

namespace strata::inline STRATA_ABI::detail::sharing {

/// What a device has done.
struct SharedTally {
  struct Kernel {
    index_t items;
    double seconds;
  };
  index_t items = 0;
  int claims = 0;
  double end = 0;               // of its last part, from the beginning on
  std::vector<Kernel> kernels;  // those of its parts that were measured
  std::string failure;          // why it is retired
};

/// All functions but the constructor may be called by several threads at once.
class SharedLedger {
 public:
  SharedLedger(const SharedWork& work, SharedClaims claims);

  /// The next part of a device; with `may_wait` waits until there is one, or until the end. Empty: none.
  ResidentRows take(std::size_t device, bool may_wait);
  /// A part is done at time `end`; it took `seconds`, copies included, and its kernel `kernel_seconds`: 0
  /// where that is not known.
  void note_end(std::size_t device, ResidentRows part, double end, double seconds, double kernel_seconds);
  /// The device has taken all, for itself and others: take_all(), and what each has done of it in so many
  /// claims. As note_end() for the device that did them.
  void take_all(std::size_t device);
  void note_claimed(std::size_t taker, std::size_t device, ResidentRows part, int claims, double end,
                    double seconds);
  /// A part is not done: it is for others, or for later. After stop() or after_failure(): another worker may
  /// take it at once.
  void give_back(std::size_t device, ResidentRows part);
  /// The device takes no more.
  void retire(std::size_t device, const std::exception_ptr& error);
  /// All end what they have begun.
  void stop(const std::exception_ptr& error);
  /// Work has failed: arrays are set right, and what they lost ends the launch where a part would read it.
  void after_failure(const std::exception_ptr& error);
  /// Devices that did not take part do.
  void join_all();
  /// A thread has spent so long with claims.
  void note_claiming(double seconds);

  std::uint64_t changes() const;
  /// Until something has changed since then. False: there is nothing more for any of the devices.
  bool wait_for_change(const std::vector<std::size_t>& devices, std::uint64_t seen);
  /// All is done, or nothing more will be.
  bool is_ended() const;
  bool is_over() const;
  bool has_open() const;
  bool is_retired(std::size_t device) const;
  double speed(std::size_t device) const;
  double backlog(std::size_t device) const;

  // When no other thread uses it any more.
  const SharedTally& tally(std::size_t device) const { return tallies_[device]; }
  double claim_seconds() const { return claim_seconds_; }
  bool has_failed() const { return first_failure_ != nullptr; }
  /// Throws what ended the launch; returns where nothing has, and no values were lost.
  void throw_failure() const;

 private:
  template <class Change>
  void change(const Change& apply);
  [[noreturn]] void fail() const;

  const SharedWork& work_;
  const SharedLosses losses_;
  mutable std::mutex mutex_;  // of all that follows
  std::condition_variable changed_;
  std::uint64_t changes_ = 0;
  SharedClaims claims_;
  std::vector<SharedTally> tallies_;
  std::exception_ptr error_, first_failure_;
  bool has_lost_ = false;  // what parts read
  double claim_seconds_ = 0;
};

}  // namespace strata::inline STRATA_ABI::detail::sharing
