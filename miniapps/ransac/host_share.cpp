// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <mutex>

#include <strata/algorithms/team.hpp>
#include <strata/miniapps/common/report.hpp>
#include <strata/miniapps/ransac/host_share.hpp>

namespace strata::inline STRATA_ABI::ransac {

using miniapp::now_seconds;

index_t host_claim(const ClaimState& state) {
  if (state.remaining <= 0) return 0;
  const index_t fair = std::max<index_t>(1, state.remaining / (2 * std::max<index_t>(1, state.threads)));
  if (state.done_by_device <= 0 || state.elapsed <= 0) return 1;  // how fast it is, is not known yet
  constexpr double worth = 200e-6;                                // two moves of a page, some ten times over
  const double rest =
      static_cast<double>(state.remaining) * state.elapsed / static_cast<double>(state.done_by_device);
  constexpr double iterations = 4;
  if (rest < worth || rest < iterations * state.seconds_each) return 0;
  const double can = rest / 2 / std::max(state.seconds_each, 1e-9);
  return std::min(fair, static_cast<index_t>(std::min(can, 1e15)));
}

index_t threads_beside_device(index_t asked, index_t processors) {
  return std::min(asked, std::max<index_t>(1, processors - 1));
}

namespace {

// As kernels see an array of the host.
template <class T>
using HostView =
    View<const T, AnyHost, typename MDArray<T, AnyHost, rank<1>>::extents_type, LayoutRight, Unmanaged<>>;

// One thread of the host: tries iterations, and keeps the candidates.
template <detail::Member M>
class Worker {
 public:
  Worker(const M& member, const HostData& data)
      : member_(member),
        vectors_(data.vectors, data.size),
        samples_(data.samples, 2 * data.iterations),
        error_(data.error),
        limit_(data.limit) {}

  void attempt(index_t i) {
    ++share_.iterations;
    const std::int32_t outliers = outliers_of(member_, i, vectors_, samples_, error_);
    if (outliers >= 0 && outliers < limit_) candidates_.push_back({static_cast<std::int32_t>(i), outliers});
  }
  // A claim.
  void attempt_all(index_t first, index_t end) {
    ++share_.claims;
    const double begin = now_seconds();
    for (index_t i = first; i < end; ++i) attempt(i);
    seconds_ += now_seconds() - begin;
  }
  double seconds_each() const {
    return seconds_ / static_cast<double>(std::max<index_t>(1, share_.iterations));
  }
  void add_tickets(index_t count) { tickets_ += count; }
  void add_to(HostFound& found, std::mutex& mutex) const {
    const std::lock_guard lock(mutex);
    found.candidates.insert(found.candidates.end(), candidates_.begin(), candidates_.end());
    found.share.iterations += share_.iterations;
    found.share.claims += share_.claims;
    found.tickets += tickets_;
    found.seconds += seconds_;
  }

 private:
  M member_;
  HostView<FlowVector> vectors_;
  HostView<std::int32_t> samples_;
  std::int32_t error_, limit_;
  std::vector<Candidate> candidates_;
  Share share_;
  index_t tickets_ = 0;
  double seconds_ = 0;
};

// Calls work(worker, number) on each of the threads.
template <class Work>
HostFound on_threads(const AnyHost& host, index_t threads, const HostData& data, const Work& work) {
  HostFound found;
  std::mutex mutex;
  parallel_for(on(host).named("ransac: host"), teams(threads, 1).dynamic(1),
               [&](const TeamMember<AnyHost>& member) {
                 Worker worker(member, data);
                 work(worker, member.league_rank());
                 worker.add_to(found, mutex);
               });
  return found;
}

}  // namespace

HostFound work_off_dealt(const AnyHost& host, index_t threads, const HostData& data, index_t end) {
  if (threads < 1 || end < 1) return {};
  const DealtOut dealt{0, end, threads};
  return on_threads(host, threads, data, [&](auto& worker, index_t number) {
    for (index_t i = dealt.first(number); i < end; i = dealt.next(i)) worker.attempt(i);
  });
}

HostFound work_off_claimed(const AnyHost& host, index_t threads, const HostData& data, const Claimed& claimed,
                           const BesideDevice& device) {
  if (threads < 1) return {};
  const index_t end = claimed.end;
  const double start = now_seconds();
  return on_threads(host, threads, data, [&](auto& worker, index_t number) {
    index_t known = claimed.begin;  // the iterations before this one are taken
    index_t size = 1;
    const auto take = [&] {
      worker.add_tickets(size);
      return claimed.take(size);
    };
    for (index_t first = number; first < end; first = take()) {
      worker.attempt_all(first, std::min(end, first + size));
      known = std::max(known, first + size);
      ClaimState state{end - known, 0, now_seconds() - start, worker.seconds_each(), threads};
      if (device.begun == nullptr) {
        size = std::max<index_t>(1, state.remaining / (2 * threads));
        continue;
      }
      known = std::max<index_t>(known, atomic_load(device.begun, system_scope));
      state.remaining = end - known;
      state.done_by_device = known - claimed.begin - device.teams;
      size = host_claim(state);
      if (size == 0) break;
    }
  });
}

HostData data_of(const Problem& problem) {
  return {problem.vectors.data(), std::ssize(problem.vectors),
          problem.samples.data(), problem.iterations(),
          problem.error,          problem.limit};
}

void finish(FitOutcome& outcome) {
  std::sort(outcome.candidates.begin(), outcome.candidates.end(),
            [](const Candidate& a, const Candidate& b) { return a.iteration < b.iteration; });
  find_best(outcome);
}

void find_best(FitOutcome& outcome) {
  outcome.best = {-1, -1};
  for (const Candidate& candidate : outcome.candidates)
    if (outcome.best.iteration < 0 || is_better(candidate, outcome.best)) outcome.best = candidate;
}

std::string difference(const FitOutcome& outcome, const FitOutcome& expected) {
  const auto text = [](const Candidate& c) {
    return "iteration " + std::to_string(c.iteration) + " with " + std::to_string(c.outliers) + " outliers";
  };
  const std::size_t common = std::min(outcome.candidates.size(), expected.candidates.size());
  for (std::size_t k = 0; k < common; ++k)
    if (!(outcome.candidates[k] == expected.candidates[k]))
      return "candidate " + std::to_string(k) + " is " + text(outcome.candidates[k]) + ", on Serial " +
             text(expected.candidates[k]);
  if (outcome.candidates.size() != expected.candidates.size())
    return std::to_string(outcome.candidates.size()) + " candidates, on Serial " +
           std::to_string(expected.candidates.size());
  if (!(outcome.best == expected.best))
    return "the best is " + text(outcome.best) + ", on Serial " + text(expected.best);
  return "";
}

FitOutcome fit_on_host(const AnyHost& host, const FitRequest& request) {
  FitOutcome outcome;
  const Problem& problem = *request.problem;
  const double start = now_seconds();
  const index_t threads = request.threads > 0 ? request.threads : host.concurrency();
  const index_t iterations = problem.iterations();
  const HostData data = data_of(problem);
  const CoherentArray<std::int64_t, rank<1>> next("tickets", 1);
  const auto tickets = system_atomics(next, host);
  outcome.setup_seconds = now_seconds() - start;
  for (index_t k = 0; k < request.warm_up + request.repetitions; ++k) {
    const double begin = now_seconds();
    HostFound found;
    if (request.sharing == Sharing::Static) {
      found = work_off_dealt(host, threads, data, iterations);
    } else {
      tickets(0).store(0);
      found = work_off_claimed(host, threads, data, {TicketCounter(tickets), threads, iterations});
    }
    outcome.candidates = std::move(found.candidates);
    outcome.host = found.share;
    finish(outcome);
    if (k >= request.warm_up) outcome.seconds.push_back(now_seconds() - begin);
  }
  return outcome;
}

}  // namespace strata::inline STRATA_ABI::ransac
