// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <utility>

#include <strata/algorithms/sharing/shared_ledger.hpp>
#include <strata/core/error.hpp>
#include <strata/core/error_text.hpp>

namespace strata::inline STRATA_ABI::detail::sharing {

SharedLedger::SharedLedger(const SharedWork& work, SharedClaims claims)
    : work_(work), losses_(work), claims_(std::move(claims)), tallies_(work.devices.size()) {}

template <class Change>
void SharedLedger::change(const Change& apply) {
  {
    const std::lock_guard lock(mutex_);
    apply();
    ++changes_;
  }
  changed_.notify_all();
}

ResidentRows SharedLedger::take(std::size_t device, bool may_wait) {
  using Clock = std::chrono::steady_clock;
  std::unique_lock lock(mutex_);
  for (;;) {
    if (error_ || claims_.is_over()) return {0, 0};
    const Clock::time_point begin = Clock::now();
    const ResidentRows part = claims_.take(device);
    claim_seconds_ += std::chrono::duration<double>(Clock::now() - begin).count();
    if (part.begin < part.end || !may_wait) return part;
    const std::uint64_t seen = changes_;
    changed_.wait(lock, [&] { return changes_ != seen; });
  }
}

void SharedLedger::note_end(std::size_t device, ResidentRows part, double end, double seconds,
                            double kernel_seconds) {
  change([&] {
    claims_.ended(device, part, seconds);
    SharedTally& tally = tallies_[device];
    tally.items += part.end - part.begin;
    tally.end = end;
    ++tally.claims;
    if (kernel_seconds > 0) tally.kernels.push_back({part.end - part.begin, kernel_seconds});
  });
}

void SharedLedger::take_all(std::size_t device) {
  change([&] { claims_.take_all(device); });
}

void SharedLedger::note_claimed(std::size_t taker, std::size_t device, ResidentRows part, int claims,
                                double end, double seconds) {
  change([&] {
    claims_.pass(taker, device, part.end - part.begin);
    tallies_[device].claims += claims - 1;
  });
  note_end(device, part, end, seconds, seconds);
}

void SharedLedger::give_back(std::size_t device, ResidentRows part) {
  work_.undo(part.begin);
  change([&] { claims_.give_back(device, part); });
}

void SharedLedger::retire(std::size_t device, const std::exception_ptr& error) {
  change([&] {
    claims_.retire(device);
    tallies_[device].failure = text_of(error);
    if (!first_failure_) first_failure_ = error;
  });
}

void SharedLedger::stop(const std::exception_ptr& error) {
  change([&] {
    if (!error_) error_ = error;
  });
}

void SharedLedger::after_failure(const std::exception_ptr& error) {
  {
    const std::lock_guard lock(mutex_);
    if (!first_failure_) first_failure_ = error;
  }
  losses_.set_reported();
  if (losses_.of_what_is_read().empty()) return;
  {
    const std::lock_guard lock(mutex_);
    has_lost_ = true;
  }
  stop(error);
}

void SharedLedger::join_all() {
  change([&] { claims_.join_all(); });
}

void SharedLedger::note_claiming(double seconds) {
  const std::lock_guard lock(mutex_);
  claim_seconds_ += seconds;
}

std::uint64_t SharedLedger::changes() const {
  const std::lock_guard lock(mutex_);
  return changes_;
}

bool SharedLedger::wait_for_change(const std::vector<std::size_t>& devices, std::uint64_t seen) {
  std::unique_lock lock(mutex_);
  const auto is_retired = [&](std::size_t k) { return claims_.is_retired(k); };
  if (error_ || claims_.is_over() || std::all_of(devices.begin(), devices.end(), is_retired)) return false;
  changed_.wait(lock, [&] { return changes_ != seen; });
  return true;
}

bool SharedLedger::is_ended() const {
  const std::lock_guard lock(mutex_);
  return error_ || claims_.is_over();
}
bool SharedLedger::is_over() const {
  const std::lock_guard lock(mutex_);
  return claims_.is_over();
}
bool SharedLedger::has_open() const {
  const std::lock_guard lock(mutex_);
  return claims_.has_open();
}
bool SharedLedger::is_retired(std::size_t device) const {
  const std::lock_guard lock(mutex_);
  return claims_.is_retired(device);
}
double SharedLedger::speed(std::size_t device) const {
  const std::lock_guard lock(mutex_);
  return claims_.speed(device);
}
double SharedLedger::backlog(std::size_t device) const {
  const std::lock_guard lock(mutex_);
  return claims_.backlog(device);
}

void SharedLedger::throw_failure() const {
  if (error_ || !claims_.is_over() || (first_failure_ && !losses_.of_what_was_written().empty())) fail();
}

void SharedLedger::fail() const {
  if (error_ && !has_lost_) std::rethrow_exception(error_);
  losses_.set_reported();
  std::string text;
  for (const ResidentRows run : claims_.open())
    text += (text.empty() ? "; not done: work items [" : ", [") + std::to_string(run.begin) + ", " +
            std::to_string(run.end) + ")";
  const std::string lost = claims_.is_over() ? losses_.of_what_was_written() : losses_.of_all();
  const std::exception_ptr error = error_ ? error_ : first_failure_;
  const std::string what = "shared launch of " + work_.name + ": " + text_of(error) + text;
  if (!lost.empty())
    throw DataLost(what + "; lost, being nowhere else: " + lost + ". Write them anew before they are read");
  try {
    std::rethrow_exception(error);
  } catch (const OutOfMemory&) {
    throw OutOfMemory(what + "; no device is left");
  } catch (const CopyError&) {
    throw CopyError(what + "; no device is left");
  } catch (const KernelError&) {
    throw KernelError(what + "; no device is left");
  } catch (...) {
    throw Error(what + "; no device is left");
  }
}

}  // namespace strata::inline STRATA_ABI::detail::sharing
