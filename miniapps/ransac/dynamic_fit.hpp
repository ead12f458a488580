// A fit with dynamic sharing: one memory for the arrays of host and device, and one counter of tickets, of
// which every team of the device and every thread of the host takes its iterations.
//
// A page of managed memory that both write moves between them, which takes longer than many iterations. So
// only the counter is one that both use: vectors and samples, which are only read, have copies of their pages
// on both sides; host threads keep the candidates that they find; the device has written what the host must
// know at the end, and how far it is, to memory of the host; and host threads that are slow, or late, claim
// no more.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include <strata/algorithms/parallel_for.hpp>
#include <strata/core/error.hpp>
#include <strata/devices/serial/device.hpp>
#include <strata/miniapps/common/report.hpp>
#include <strata/miniapps/ransac/device_kernels.hpp>
#include <strata/miniapps/ransac/host_share.hpp>
#include <strata/miniapps/ransac/league.hpp>
#include <strata/version.hpp>
#include <strata/views/shared_view.hpp>
#include <strata/views/view_as.hpp>
#if STRATA_HAS_CUDA
#include <strata/devices/cuda/device.hpp>
#include <strata/devices/cuda/memory/managed.hpp>
#endif

namespace strata::inline STRATA_ABI::ransac {

/// An array in memory of a device and the host, as each of them sees it.
template <class T, class Device>
class OfBoth {
  using Array = CoherentArray<T, rank<1>>;

 public:
  using view_type = typename Array::template view_type<T, Device>;

  OfBoth(const char* label, index_t size, MemoryMode mode, const Device& device)
      : array_(label, size, mode, main_in(device)),
        of_host_(shared_view(array_, Serial{}).data()),
        of_device_(shared_view(array_, device)) {}

  const Array& array() const { return array_; }
  T& operator()(index_t i) const { return of_host_[i]; }
  T* begin() const { return of_host_; }
  const view_type& of_device() const { return of_device_; }

  /// The pages are to be on the device; if it only reads them, on the host, too.
  void move_to([[maybe_unused]] const Device& device, [[maybe_unused]] bool is_read_only) const {
#if STRATA_HAS_CUDA
    if constexpr (std::is_same_v<Device, Cuda>) {
      if (array_.memory_mode() != MemoryMode::Managed) return;
      const View<T, CudaManaged, typename view_type::extents_type, typename view_type::layout_type,
                 Unmanaged<>>
          pages(of_device_.data(), of_device_.mapping());
      if (is_read_only) cuda::advise(pages, cuda::Advice::ReadMostly, device);
      cuda::prefetch(pages, device);
    }
#endif
  }

 private:
  Array array_;
  T* of_host_;
  view_type of_device_;
};

/// Its arrays; run() is a repetition.
template <class Device>
class DynamicFit {
  template <class T>
  using Shared = OfBoth<T, Device>;

 public:
  DynamicFit(const Device& device, const FitRequest& request)
      : device_(device),
        request_(request),
        problem_(*request.problem),
        threads_(threads_beside_device(
            request.threads, request.processors > 0 ? request.processors : request.host.concurrency())),
        vectors_("vectors", std::ssize(problem_.vectors), request.memory, device),
        samples_("samples", std::ssize(problem_.samples), request.memory, device),
        candidates_("candidates", problem_.iterations(), request.memory, device),
        found_("found", 1, request.memory, device),
        best_("best", 1, request.memory, device),
        next_("tickets", 1, request.memory, device),
        begun_("begun", 1, MemoryMode::Mapped, device),
        conclusion_("conclusion", 1, MemoryMode::Mapped, device),
        tickets_(system_atomics(next_.array(), device, request.host)) {
    std::copy(problem_.vectors.begin(), problem_.vectors.end(), vectors_.begin());
    std::copy(problem_.samples.begin(), problem_.samples.end(), samples_.begin());
    best_(0) = no_rank;
    vectors_.move_to(device, true);
    samples_.move_to(device, true);
    candidates_.move_to(device, false);
    found_.move_to(device, false);
    best_.move_to(device, false);
    next_.move_to(device, false);
    wait(device);
  }

  void run(FitOutcome& outcome) {
    const double start = miniapp::now_seconds();
    const index_t end = problem_.iterations(), threads = takes_part() ? threads_ : 0;
    const Teams league = league_of<Device>(request_, end);
    const Claimed claimed{TicketCounter(tickets_), threads, end};  // each thread has an iteration already
    begun_(0) = threads;
    const WorkOff<Claimed> kernel{claimed, problem_.error, problem_.limit};
    parallel_for(on(device_).named("ransac: device"), league,
                 with(kernel, read_only(vectors_.of_device()), read_only(samples_.of_device()),
                      candidates_.of_device(), found_.of_device(), best_.of_device(),
                      threads > 0 ? begun_.of_device() : nobody_));
    const HostData data{vectors_.begin(), std::ssize(problem_.vectors), samples_.begin(), end, problem_.error,
                        problem_.limit};
    HostFound host =
        work_off_claimed(request_.host, threads, data, claimed, {begun_.begin(), league.shape.league_size});
    parallel_for(on(device_).named("ransac: conclude"), 1,
                 with(Conclude{tickets_}, found_.of_device(), best_.of_device(), conclusion_.of_device()));
    wait(device_);
    conclude(outcome, std::move(host));
    note_speed(outcome.device.iterations, miniapp::now_seconds() - start);
  }

  /// Adds the device's candidates, of which the host knows only the best one so far.
  void complete(FitOutcome& outcome) const {
    outcome.candidates.insert(outcome.candidates.end(), candidates_.begin(),
                              candidates_.begin() + conclusion_(0).found);
  }
  /// Of pages, so far.
  std::uint64_t faults() const {
    PageFaults all;
    const auto add = [&](const auto&... arrays) { ((all += arrays.array().counters().faults), ...); };
    add(vectors_, samples_, candidates_, found_, best_, next_);
    return all.count;
  }

 private:
  // Whether, as fast as device and host were before, host threads would claim any: threads take longer to
  // start than a GPU does a small fit.
  bool takes_part() const {
    if (threads_ < 1) return false;
    ClaimState state = before_;
    state.remaining = problem_.iterations();
    state.threads = threads_;
    return host_claim(state) > 0;
  }

  // Where threads of the host were late, the device was faster than it seems: the fastest fit counts, and a
  // little less each time.
  void note_speed(index_t iterations, double seconds) {
    if (iterations <= 0) return;
    constexpr double kept = 0.98;
    const double before =
        before_.elapsed > 0 ? static_cast<double>(before_.done_by_device) / before_.elapsed : 0;
    const double speed = std::max(static_cast<double>(iterations) / seconds, kept * before);
    before_.done_by_device = iterations;
    before_.elapsed = static_cast<double>(iterations) / speed;
  }

  void conclude(FitOutcome& outcome, HostFound&& host) {
    if (host.share.iterations > 0)
      before_.seconds_each = host.seconds / static_cast<double>(host.share.iterations);
    const Conclusion conclusion = conclusion_(0);
    outcome.candidates = std::move(host.candidates);
    outcome.host = host.share;
    outcome.device = {problem_.iterations() - host.share.iterations, conclusion.taken - host.tickets};
    find_best(outcome);
    const Candidate best = candidate_of(conclusion.best);
    if (best.iteration >= 0 && (outcome.best.iteration < 0 || is_better(best, outcome.best)))
      outcome.best = best;
  }

  Device device_;
  FitRequest request_;
  const Problem& problem_;
  index_t threads_;  // of the host
  Shared<FlowVector> vectors_;
  Shared<std::int32_t> samples_;
  Shared<Candidate> candidates_;
  Shared<std::int32_t> found_;
  Shared<std::int64_t> best_, next_, begun_;
  Shared<Conclusion> conclusion_;
  SystemAtomics<std::int64_t> tickets_;
  ClaimState before_;  // what is known of the last fit
  typename Shared<std::int64_t>::view_type nobody_;
};

}  // namespace strata::inline STRATA_ABI::ransac
