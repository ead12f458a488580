// The patterns of memory_patterns.hpp over coherent arrays of a memory mode, and what each has to move.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <strata/algorithms/coherent_launch.hpp>
#include <strata/views/coherent/coherent_array.hpp>
#include <strata/views/coherent/plan/exact_copies.hpp>

#include "common/devices.hpp"
#include "common/memory_patterns.hpp"
#include "common/timing.hpp"

namespace perf {

inline constexpr strata::MemoryMode memory_modes[] = {
    strata::MemoryMode::Smart,    strata::MemoryMode::Pinned,   strata::MemoryMode::Managed,
    strata::MemoryMode::Mapped,   strata::MemoryMode::Explicit, strata::MemoryMode::ExplicitPinned,
    strata::MemoryMode::Implicit,
};
inline bool is_explicit(strata::MemoryMode mode) {
  return mode == strata::MemoryMode::Explicit || mode == strata::MemoryMode::ExplicitPinned;
}

/// Bytes to devices and back.
struct Moved {
  std::uint64_t in = 0, out = 0;
  friend bool operator==(const Moved&, const Moved&) = default;
};
inline std::string in_words(const Moved& moved) {
  return std::to_string(moved.in) + " bytes in, " + std::to_string(moved.out) + " out";
}
inline Moved moved_by(const strata::TransferCounters& c) {
  return {c.host_to_device.bytes + c.prefetched_to_devices.bytes + c.faults.to_devices,
          c.device_to_host.bytes + c.prefetched_to_host.bytes + c.faults.to_host};
}

/// The study's table: arrays that a run copies each way. Pages of managed arrays count as copies, as launches
/// and the host declare what they use.
struct Copies {
  int in, out;
};
inline Copies expected_copies(const MemoryWork& work, strata::MemoryMode mode) {
  const bool implicit = mode == strata::MemoryMode::Implicit;
  if (mode == strata::MemoryMode::Mapped) return {0, 0};
  switch (work.pattern) {
    case Pattern::Full:
      return {1, 1};
    case Pattern::Partial:
      return implicit ? Copies{3, 3} : Copies{2, 1};
    case Pattern::Multikernel:
      return implicit ? Copies{2, 2} : Copies{1, 1};
    case Pattern::Reads:
      return implicit ? Copies{work.reads, work.reads} : Copies{1, 0};
    case Pattern::ToHost:
      break;
  }
  return {0, implicit ? 0 : 1};
}

/// The same of the paper's own smart arrays, by the protocol of exact copies: operands are copied in whether
/// they are read or not, and the host's view of an array has its values after each kernel that wrote it.
inline Copies copies_of_the_paper(Pattern pattern) {
  using strata::AccessMode;
  const strata::detail::MemoryLinks links(2, {1e-5, 5e10});
  const strata::Box all({0}, {1});
  Copies copies{0, 0};
  const auto apply = [&](strata::detail::ExactCopies& array, strata::detail::ExactCopies::Plan plan) {
    for (const strata::detail::PlannedCopy& copy : plan.copies)
      ++(copy.to == strata::detail::host_memory ? copies.out : copies.in);
    array.commit(std::move(plan));
  };
  const auto use = [&](strata::detail::ExactCopies& array, AccessMode mode) {
    apply(array, array.device(1, all, mode));
    if (mode != AccessMode::In) apply(array, array.host(all, AccessMode::In));
  };
  std::vector<strata::detail::ExactCopies> arrays;
  for (int k = 0; k < 3; ++k) arrays.emplace_back(k, all, links);
  if (pattern == Pattern::Partial) {
    use(arrays[0], AccessMode::In);
    use(arrays[1], AccessMode::In);
    use(arrays[2], AccessMode::InOut);
  } else {
    use(arrays[0], AccessMode::InOut);
    if (pattern == Pattern::Multikernel) use(arrays[0], AccessMode::InOut);
  }
  return copies;
}

// ---- kernels

struct FirstKernel {
  STRATA_FUNCTION void operator()(auto i, const auto& a) const { a(i) = first_of(a(i)); }
};
struct SecondKernel {
  STRATA_FUNCTION void operator()(auto i, const auto& a) const { a(i) = second_of(a(i)); }
};
struct CombineKernel {
  STRATA_FUNCTION void operator()(auto i, const auto& a, const auto& b, const auto& c) const {
    c(i) = combined_of(a(i), b(i));
  }
};
struct ReadKernel {
  STRATA_FUNCTION void operator()(auto i, const auto& a, const auto& found) const {
    if (is_unheard_of(a(i))) found(0) = a(i);
  }
};
struct WriteKernel {
  template <class I, class V>
  STRATA_FUNCTION void operator()(I i, const V& a) const {
    using T = typename V::value_type;
    a(i) = first_of(static_cast<T>(static_cast<strata::index_t>(i) & 1023));
  }
};

/// The arrays of a pattern, on device D in a mode.
template <class D, class T>
class ModeArrays {
  using Array = strata::CoherentArray<T, strata::rank<1>>;

 public:
  ModeArrays(strata::MemoryMode mode, const MemoryWork& work, HostSide& host)
      : mode_(mode), work_(work), host_(host), a_(array("a", work.n)) {
    if (work.pattern == Pattern::Partial) {
      b_ = array("b", work.n);
      c_ = array("c", work.n);
    }
    if (work.pattern == Pattern::Reads) found_ = Array("found", 1, strata::MemoryMode::Smart);
  }

  void prepare() {
    if (work_.pattern == Pattern::ToHost) {
      launch(where(), work_.n, WriteKernel{}, strata::out(a_));
      strata::wait(D{});
      return;
    }
    host_.fill(a_.write().view().data(), work_.n, 0);
    if (work_.pattern == Pattern::Partial) host_.fill(b_.write().view().data(), work_.n, 1);
  }

  PatternTimes run() { return run_since(now()); }
  PatternTimes run_since(double begin) {
    const Array& result = work_.pattern == Pattern::Partial ? c_ : a_;
    switch (work_.pattern) {
      case Pattern::Full:
        bring(a_);
        launch(where(), work_.n, FirstKernel{}, strata::inout(a_));
        break;
      case Pattern::Partial:
        bring(a_);
        bring(b_);
        launch(where(), work_.n, CombineKernel{}, strata::in(a_), strata::in(b_), strata::out(c_));
        break;
      case Pattern::Multikernel:
        bring(a_);
        launch(where(), work_.n, FirstKernel{}, strata::inout(a_));
        launch(where(), work_.n, SecondKernel{}, strata::inout(a_));
        break;
      case Pattern::Reads:
        bring(a_);
        for (int k = 0; k < work_.reads; ++k)
          launch(where(), work_.n, ReadKernel{}, strata::in(a_), strata::inout(found_, strata::everything));
        break;
      case Pattern::ToHost:
        break;
    }
    PatternTimes times;
    if (work_.pattern == Pattern::Reads) {
      strata::wait(D{});
      times.done = times.verified = now() - begin;
      return times;
    }
    if (is_explicit(mode_)) result.flush();
    const auto values = result.read();
    times.done = now() - begin;
    wrong_ += host_.wrong(values.view().data(), work_.n, work_.pattern);
    times.verified = now() - begin;
    return times;
  }

  /// Elements that were wrong so far.
  std::ptrdiff_t wrong() const { return wrong_; }
  strata::TransferCounters counters() const {
    strata::TransferCounters all = a_.counters();
    if (b_) all += b_.counters();
    if (c_) all += c_.counters();
    return all;
  }

 private:
  static auto where() { return strata::on(D{}); }
  Array array(const char* label, strata::index_t n) const {
    return Array(label, n, strata::uninitialized, mode_, strata::main_in(D{}));
  }
  void bring(const Array& array) const {
    if (is_explicit(mode_)) array.prefetch(array.domain(), D{});
  }

  const strata::MemoryMode mode_;
  const MemoryWork work_;
  HostSide& host_;
  Array a_, b_, c_, found_;
  std::ptrdiff_t wrong_ = 0;
};

}  // namespace perf
