// Modified Gram-Schmidt with reductions that are finalized on the device (figure 12 of the Kokkos Array
// paper), and the two kernels it is made of, dot and axpy, in each style of kernel and array: do they run at
// the speed of memory, whether the rank is known at run time or at compile time, whether the kernel takes any
// index or an integer? On a GPU the whole, launch by launch and as one graph, against plain CUDA.
// SPDX-License-Identifier: Apache-2.0
#include "common/gram_schmidt.hpp"

#include <memory>

#include "baselines/gram_schmidt.hpp"
#include "common/ceiling.hpp"
#include "common/contest.hpp"

namespace {

using namespace perf;
using strata::index_t;

/// result = dot(X(*, i), Y(*, j))
template <class V>
struct Dot {
  using device_type = typename V::device_type;
  using value_type = typename V::value_type;
  V x, y;
  int i, j;

  STRATA_FUNCTION void operator()(auto p, value_type& sum) const { sum += x(p, i) * y(p, j); }
  STRATA_FUNCTION static void init(value_type& sum) { sum = 0; }
  STRATA_FUNCTION static void join(value_type& sum, const value_type& other) { sum += other; }
};

/// Q(*, j) += tmp * Q(*, i)
template <class V>
struct Add {
  using device_type = typename V::device_type;
  using value_type = typename V::value_type;
  V q;
  int j;
  strata::Value<value_type, device_type> tmp;
  int i;

  STRATA_FUNCTION void operator()(auto p) const { q(p, j) += *tmp * q(p, i); }
};

// The paper's kernels take an integer.
template <class V>
struct DotByInteger : Dot<V> {
  STRATA_FUNCTION void operator()(int p, typename V::value_type& sum) const { Dot<V>::operator()(p, sum); }
};
template <class V>
struct AddByInteger : Add<V> {
  STRATA_FUNCTION void operator()(int p) const { Add<V>::operator()(p); }
};

// dot and axpy on one core, all styles in one race.
template <class T>
void kernels(const Options& options, Report& report, const char* type, index_t n, const char* where) {
  using D = strata::Serial;
  using Paper = strata::MultiVector<T, D>;
  using Fixed = strata::MDArrayIn<strata::LayoutLeft, T, D, strata::rank<2>>;
  const auto paper = strata::create<Paper>("paper", n, 2);
  const auto fixed_rank = strata::create<Fixed>("fixed", n, 2);
  const auto tmp = strata::create_value<strata::Value<T, D>>();
  strata::deep_copy(paper, T(1));
  strata::deep_copy(fixed_rank, T(1));
  TriadCeiling<T> ceiling(3.0 * static_cast<double>(n) * sizeof(T), 1);
  T* const x = &paper(0, 0);
  T* const y = &paper(0, 1);
  volatile T sink = 0;

  Race race;
  const int triad = ceiling.add_to(race);
  const int plain_dots = race.add([&] { sink = plain_dot(x, y, n); });
  const int dots[] = {race.add([&] {
                        strata::parallel_reduce(n, Dot<Paper>{paper, paper, 0, 1}, tmp);
                      }),
                      race.add([&] {
                        strata::parallel_reduce(n, DotByInteger<Paper>{{paper, paper, 0, 1}}, tmp);
                      }),
                      race.add([&] {
                        strata::parallel_reduce(n, Dot<Fixed>{fixed_rank, fixed_rank, 0, 1}, tmp);
                      }),
                      race.add([&] {
                        strata::parallel_reduce(n, DotByInteger<Fixed>{{fixed_rank, fixed_rank, 0, 1}}, tmp);
                      })};
  const int plain_axpys = race.add([&] { plain_axpy(y, x, T(1e-9), n); });
  const auto small = strata::create_value<strata::Value<T, D>>();
  *small = T(1e-9);
  const int axpys[] = {race.add([&] {
                         strata::parallel_for(n, Add<Paper>{paper, 1, small, 0});
                       }),
                       race.add([&] {
                         strata::parallel_for(n, AddByInteger<Paper>{{paper, 1, small, 0}});
                       }),
                       race.add([&] {
                         strata::parallel_for(n, Add<Fixed>{fixed_rank, 1, small, 0});
                       }),
                       race.add([&] {
                         strata::parallel_for(n, AddByInteger<Fixed>{{fixed_rank, 1, small, 0}});
                       })};
  race.run(options.reps_or(n < 100000 ? 300 : 15));

  const double bound = gigabytes_per_second(ceiling.triad_bytes(), race[triad]);
  const double two = 2.0 * static_cast<double>(n) * sizeof(T), three = 1.5 * two;
  const auto add = [&](const std::string& name, const char* device, int k, double bytes, double ratio) {
    report.add({name + ", " + where, device, n, type, race[k], gigabytes_per_second(bytes, race[k]), "GB/s",
                bound, ratio});
  };
  add("plain triad", "-", triad, three, none);
  const char* const styles[] = {"run-time rank, any index", "run-time rank, integer", "fixed rank, any index",
                                "fixed rank, integer"};
  add("plain dot", "-", plain_dots, two, none);
  for (int s = 0; s < 4; ++s)
    add(std::string("dot, ") + styles[s], "Serial", dots[s], two, race.speedup(dots[s], plain_dots));
  add("plain axpy", "-", plain_axpys, three, none);
  for (int s = 0; s < 4; ++s)
    add(std::string("axpy, ") + styles[s], "Serial", axpys[s], three, race.speedup(axpys[s], plain_axpys));
}

template <class T, class D>
void whole(const Options& options, Report& report, const char* type, index_t n, int count) {
  const GramSchmidt<T, D> problem(n, count);
  problem.launch();
  report.check(problem.correct(), std::string("Gram-Schmidt on ") + D::name + ", " + type);

  Race race;
  std::unique_ptr<TriadCeiling<T>> ceiling;
  if (is_machine<D>)
    ceiling = std::make_unique<TriadCeiling<T>>(3.0 * static_cast<double>(n) * sizeof(T), team_size<D>());
  const int triad = ceiling ? ceiling->add_to(race) : -1;
  // Again, on vectors that are orthonormal already: the same work.
  const int all = race.add([&] {
    problem.launch();
    strata::wait(D{});
  });
  race.run(options.reps_or(9), 10);
  report.add({"Gram-Schmidt, " + std::to_string(count) + " vectors", D::name, n, type, race[all],
              gigabytes_per_second(gram_schmidt_bytes<T, D>(n, count), race[all]), "GB/s",
              ceiling ? gigabytes_per_second(ceiling->triad_bytes(), race[triad]) : none, none});
}

// All of it on a GPU. GB/s where memory bounds it, microseconds where its launches do.
template <class T, class D>
void whole_on_gpu(const Options& options, Report& report, const char* type, index_t n) {
  constexpr int vectors = 16;
  const GramSchmidt<T, D> problem(n, vectors);
  problem.launch();
  strata::wait(D{});
  const auto queue = strata::default_queue(D{});
  const auto graph = strata::record(queue, [&] { problem.launch(); });
  const double bytes = n > 100000 ? gram_schmidt_bytes<T, D>(n, vectors) : 0;
  Contest<D> contest(options, report, type, n > 100000 ? 3.0 * sizeof(T) * static_cast<double>(n) : 0);
  const auto one = [&](const std::string& name, bool as_graph, std::function<void()> launch) {
    contest.measure({.name = name,
                     .n = n,
                     .bytes = bytes,
                     .run =
                         [&] {
                           launch();
                           strata::wait(D{});
                         },
                     .baseline = gram_schmidt_by_hand(
                         contest.place(),
                         GramSchmidtColumns<T>{problem.q.data(), problem.r.data(), n, vectors}, as_graph),
                     .correct = [&] { return problem.correct(); },
                     .clear = [&] { problem.fill(); }});
  };
  one("16 vectors, " + std::to_string(graph.size()) + " launches", false, [&] { problem.launch(); });
  one("16 vectors, one graph", true, [&] { graph.launch(queue); });
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse_options(
      argc, argv, "Modified Gram-Schmidt with finalize functors, and its kernels dot and axpy.");
  Report report(
      "gram_schmidt",
      "the hand-written loop (dot with four vector sums, axpy) in the same race; on Cuda the fastest "
      "launches, or graph, of kernels by hand");
  for_each_type(options, [&](auto zero, const char* type) {
    using T = decltype(zero);
    if (options.wants_device("Serial")) {
      kernels<T>(options, report, type, 1000, "in cache");
      kernels<T>(options, report, type, options.n > 0 ? options.n : 8000000, "out of cache");
    }
    for_each_device(options, [&](auto device) {
      using D = decltype(device);
      if constexpr (is_gpu<D>) {
        std::vector<index_t> sizes = {10000, 10000000};
        if (options.n > 0) sizes = {options.n};
        for (const index_t n : sizes) whole_on_gpu<T, D>(options, report, type, n);
      } else {
        whole<T, D>(options, report, type, options.n > 0 ? options.n : 4000000, 8);
      }
    });
  });
  report.note(
      "Gram-Schmidt counts the columns that its kernels read and write; ceilings are triads by as many");
  report.note("plain threads. dot only reads, so it may exceed triad. Launch cost is included in cache.");
  return report.finish(options);
}
