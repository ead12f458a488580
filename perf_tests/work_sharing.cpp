// When do a host and a GPU do the same work faster than one of them? Flow fitted by random samples (figure 6
// of Oden and Saidi, 2021): static and dynamic sharing, host threads 1 to 16 beside the GPU, shares of the
// host from 0 to 1, beside the same in plain CUDA; what a claim costs; and launches over coherent arrays, a
// map, stencils and the assembly of the thermal mini-app, split by weights, by the speeds of earlier
// launches, or claimed.
//
//   strata_work_sharing --device Cuda [--json FILE] [--reps R]
//   strata_work_sharing --device Emulated --n 500      a quick run: results are checked
//
// --n: vectors of the smallest problem (5922); others have 10 and 100 times as many. The status is 1 where a
// result is wrong.
// SPDX-License-Identifier: Apache-2.0
#include "baselines/work_sharing.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include <strata/miniapps/ransac/fit_on.hpp>
#include <strata/version.hpp>
#include <strata/views/coherent/coherent_array.hpp>
#include <strata/views/ticket_counter.hpp>

#include "common/contest.hpp"
#include "common/shared_launches.hpp"

namespace {

using namespace perf;
using namespace strata;
using ransac::FitOutcome;
using ransac::FitRequest;
using ransac::Problem;
using ransac::Sharing;

constexpr index_t paper_size = 5922, paper_iterations = 2000;
constexpr double alphas[] = {0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1};

// ---- flow

// The samples of all rounds of a way to do something.
struct Timed {
  std::string name;
  std::function<std::vector<double>()> run;
  std::vector<double> seconds = {};
};
void take_turns(std::vector<Timed>& ways, int rounds) {
  for (int round = 0; round < rounds; ++round)
    for (Timed& way : ways) {
      const std::vector<double> more = way.run();
      way.seconds.insert(way.seconds.end(), more.begin(), more.end());
    }
}

struct TakeTickets {
  TicketCounter tickets;
  index_t end;
  STRATA_FUNCTION void operator()(auto) const {
    while (tickets.take() < end) {
    }
  }
};

template <class D>
class Flow {
 public:
  Flow(const Options& options, Report& report) : options_(options), report_(report) {}

  void all() {
    const index_t n = options_.n > 0 ? options_.n : paper_size;
    for (const index_t scale : {1, 10, 100}) {
      measure(n * scale);
      report_.save(options_);
    }
    claims();
  }

 private:
  static constexpr int rounds = 3;
  index_t repetitions(index_t n) const { return options_.reps_or(n > 300'000 ? 1 : n > 30'000 ? 5 : 15); }
  static std::string with_threads(const std::string& what, int threads) {
    return what + ", " + std::to_string(threads) + (threads == 1 ? " thread" : " threads");
  }

  void measure(index_t n) {
    const index_t iterations = is_gpu<D> ? paper_iterations : 200;
    const Problem problem = ransac::make_problem(ransac::make_vectors(n, 2020), iterations, 3, 0.75, 2020);
    FitRequest request;
    request.problem = &problem;
    request.host = Threads{};
    request.repetitions = repetitions(n);
    request.warm_up = 2;  // dynamic fits find out who is how fast
    expected_ = ransac::fit_on(Threads{}, request);
    ways_.clear();
    add_fit("flow, static, GPU only", request, Sharing::Static, 0, 0);
    add_fit("flow, dynamic, GPU only", request, Sharing::Dynamic, 0, 0);
    for (int threads = 1; threads <= 16; threads *= 2) {
      add_fit(with_threads("flow, static", threads), request, Sharing::Static, 0.01, threads);
      add_fit(with_threads("flow, dynamic", threads), request, Sharing::Dynamic, 0, threads);
      add_host(with_threads("flow, host only", threads), request, threads);
    }
    for (const double alpha : alphas)
      add_fit("flow, static, 16 threads, alpha " + fixed(alpha, 2), request, Sharing::Static, alpha, 16);
    const int suite = add_suite(problem), best = add_best(problem);
    take_turns(ways_, rounds);
    for (const Timed& way : ways_) {
      // Static fits beside the suite's, dynamic ones beside the best.
      const bool is_static = way.name.find("static") != std::string::npos;
      const bool is_gpu_only = way.name.find("GPU only") != std::string::npos;
      const int baseline = is_gpu_only ? (is_static ? suite : best) : -1;
      report(way.name, n, way, baseline);
    }
    if (suite >= 0)
      report("flow beside the suite's, dynamic, GPU only", n, *find("flow, dynamic, GPU only"), suite);
    for (int threads = 1; threads <= 16; threads *= 2) compare(n, threads);
  }

  void add_fit(const std::string& name, FitRequest request, Sharing sharing, double alpha, int threads) {
    request.sharing = sharing;
    request.alpha = alpha;
    request.threads = threads;
    ways_.push_back({name, [this, name, request] { return checked(name, ransac::fit_on(D{}, request)); }});
  }
  void add_host(const std::string& name, FitRequest request, int threads) {
    request.threads = threads;
    request.warm_up = 0;
    ways_.push_back(
        {name, [this, name, request] { return checked(name, ransac::fit_on(Threads{}, request)); }});
  }
  std::vector<double> checked(const std::string& name, const FitOutcome& outcome) {
    const std::string where = ransac::difference(outcome, expected_);
    report_.check(where.empty(), name + ": " + where);
    return outcome.seconds;
  }

  // The fastest of some shapes; -1 where there is no GPU.
  template <class Fit>
  int add_by_hand([[maybe_unused]] const std::string& name, [[maybe_unused]] const Problem& problem,
                  [[maybe_unused]] const Fit& fit) {
#if STRATA_HAS_CUDA
    if constexpr (is_gpu<D>) {
      const RansacInput input{&problem.vectors[0].x,  static_cast<int>(problem.vectors.size()),
                              problem.samples.data(), static_cast<int>(problem.iterations()),
                              problem.error,          problem.limit};
      const auto by_hand = std::make_shared<RansacByHand>(input);
      const RansacFound expected{static_cast<int>(expected_.candidates.size()), expected_.best.iteration,
                                 expected_.best.outliers};
      const auto seconds_of = [this, name, by_hand, expected, fit](int blocks, int threads, int count) {
        std::vector<double> seconds;
        for (int k = 0; k < count; ++k) {
          const double begin = now();
          const RansacFound found = fit(*by_hand, blocks, threads);
          seconds.push_back(now() - begin);
          report_.check(found == expected, name + ": another result than on the host");
        }
        return seconds;
      };
      int blocks = 0, threads = 0;
      double least = 0;
      for (const int b : {8, 132, 264, 528, 1056, 2000})  // 8: the suite's own number
        for (const int t : {128, 256, 512}) {
          const double took = statistics(seconds_of(b, t, 7)).median;
          if (blocks == 0 || took < least) blocks = b, threads = t, least = took;
        }
      const auto count = static_cast<int>(repetitions(std::ssize(problem.vectors)));
      ways_.push_back({name, [=] { return seconds_of(blocks, threads, count); }});
      return static_cast<int>(ways_.size()) - 1;
    }
#endif
    return -1;
  }
  int add_suite(const Problem& problem) {
    return add_by_hand("flow, by hand, as the suite", problem, [](auto& by_hand, int blocks, int threads) {
      return by_hand.as_the_suite(blocks, threads);
    });
  }
  int add_best(const Problem& problem) {
    return add_by_hand("flow, by hand, at best", problem, [](auto& by_hand, int blocks, int threads) {
      return by_hand.at_best(blocks, threads);
    });
  }

  const Timed* find(const std::string& name) const {
    for (const Timed& way : ways_)
      if (way.name == name) return &way;
    return nullptr;
  }
  double median(const std::string& name) const { return statistics(find(name)->seconds).median; }

  void report(const std::string& name, index_t n, const Timed& way, int baseline) {
    const Statistics time = statistics(way.seconds);
    const double ratio =
        baseline < 0 ? none
                     : statistics(ways_[static_cast<std::size_t>(baseline)].seconds).median / time.median;
    report_.add({name, D::name, n, "float", time, time.median * 1e6, "us", none, ratio});
  }

  // Both, against the better one alone, and against what both could do.
  void compare(index_t n, int threads) {
    const Timed& both = *find(with_threads("flow, dynamic", threads));
    const double host = median(with_threads("flow, host only", threads));
    const double gpu = median("flow, dynamic, GPU only");
    const Statistics time = statistics(both.seconds);
    report_.add({both.name + ", over the better alone", D::name, n, "float", time,
                 time.median / std::min(host, gpu), "x", none, none});
    const double ideal = 1 / (1 / host + 1 / gpu);
    report_.add({with_threads("flow, ideal", threads),
                 D::name,
                 n,
                 "float",
                 {ideal, ideal, ideal},
                 ideal * 1e6,
                 "us",
                 none,
                 none});
    if (gpu < 0.1 * host) return;  // the host is too slow to help
    report_.add(
        {both.name + ", over the ideal", D::name, n, "float", time, time.median / ideal, "x", none, none});
  }

  // ---- claims

  // Seconds of a claim, one after the other by one thread of the device, and by many at once.
  void claims() {
    const index_t count = is_gpu<D> ? 20000 : 200;
    const CoherentArray<std::int64_t, rank<1>> next("tickets", 1, MemoryMode::Managed, main_in(D{}));
    const auto counter = system_atomics(next, D{});
    for (const index_t threads : {1, 1024}) {
      std::vector<double> seconds;
      for (int rep = -1; rep < options_.reps_or(9); ++rep) {
        counter(0).store(0);
        parallel_for(on(D{}), 1, TakeTickets{TicketCounter(counter), 1});  // brings the page
        wait(D{});
        const double begin = now();
        parallel_for(on(D{}), threads, TakeTickets{TicketCounter(counter), count});
        wait(D{});
        if (rep >= 0) seconds.push_back((now() - begin) / static_cast<double>(count));
        const index_t taken = counter(0).load();
        report_.check(taken == count + threads, "claims: " + std::to_string(taken) + " tickets");
      }
      const Statistics time = statistics(seconds);
      report_.add({threads == 1 ? "claim, one thread" : "claim, many threads", D::name, threads, "int64",
                   time, time.median * 1e6, "us", none, none});
    }
  }

  const Options& options_;
  Report& report_;
  FitOutcome expected_;
  std::vector<Timed> ways_;
};

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse_options(
      argc, argv,
      "When a host and a GPU do the same work faster than one of them. --n: vectors of the flow.");
  Report report("work_sharing", "static: the suite's design in plain CUDA; dynamic: the best by hand");
  for_each_device(options, [&](auto device) {
    using D = decltype(device);
    if constexpr (is_gpu<D> || std::is_same_v<D, Emulated>) {
      if (!is_gpu<D> && options.device != D::name) return;  // measures nothing that counts
      Flow<D>(options, report).all();
      SharedLaunches<D>(options, report).all();
    }
  });
  return report.finish(options);
}
