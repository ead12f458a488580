// streamed over several devices: each streams its part of the rows through its own memory, at the same time.
//
//   launch(streamed(across(Cuda{0}, Cuda{1}), 2_GiB), n, axpy{a}, in(x), inout(y));
//   launch_reduce(streamed(across(devices), 2_GiB), n, kernel, Sum(total), in(x));
//   streamed_iterate(streamed(across(Cuda{0}, Threads{}).weighted({0.9, 0.1}), 2_GiB), steps, kernel,
//                    state(u, halo(1, 1)), in(k));
//
// The budget is that of each device. Parts are runs of rows in the order of the devices, in equal sizes or
// those of weighted(), cut at tiles of the arrays' layouts; adaptive() is not looked at. Results have the
// bits of one device. Each device has a host thread while the launch lasts, on which kernels of hosts run;
// the calling thread is one of them.
//
// Map: rows that two parts would write are an AccessConflict; arrays that are on the devices as a whole may
// be read only. Reduce: parts are whole nodes of the tree of reductions, joined on the host. Scan: device
// after device, each with the total of those before, so that it takes as long as one.
//
// Iterate: all devices make the same steps a pass, by carry, overlap or naive, from one copy of the states on
// the host to another (so that the host holds them twice), and begin a pass when the one before has come back
// everywhere: each pass fills and drains the pipeline of slices. A seam between two parts costs a pass of t
// steps with halo h, besides what one device copies and computes:
//
//     2 t h rows of states to devices, t h of them from either side
//     t (t - 1) h updates of rows, which both devices make
//
// From the second pass on these rows go from device to device, where the devices have a direct way
// (stream_seams.hpp): each keeps the 2 t h rows at the two ends of its part, twice, within the budget (once
// where there are two passes). In the first pass, without such a way, for devices of the host, and where the
// budget has no room for them, or only for much smaller slices then, they come from the host: of parts of R
// rows they are 2 t h / R of what comes in. Carry counts h in its lags, whole tiles of layouts. The model
// takes all rows to come from the host. States in files are for one device; other arrays in files are not.
//
// Errors are those of `streamed`. Where one device fails the others stop before the next pass, and the launch
// throws what failed first.
#pragma once

#include <memory>

#include <strata/algorithms/across.hpp>
#include <strata/algorithms/streaming/streamed_iterate.hpp>
#include <strata/algorithms/streaming/streamed_reduce.hpp>

namespace strata::inline STRATA_ABI {

/// Where a launch streams over several devices, made by `streamed(across(...), budget)`.
template <class... D>
struct StreamedAcross {
  Across<D...> where;             ///< the devices, and their weights
  index_t budget;                 ///< bytes of the memory of each
  detail::StreamOptions options;  ///< what is not left to the model
  bool progress = false;          ///< a line on a terminal, of one of the devices
  bool only_plan = false;         ///< nothing is done

  /// By this scheduler; of iterations: Automatic, Carry, Overlap or Naive.
  StreamedAcross scheduler(StreamScheduler s) const {
    return with([&](StreamedAcross& p) { p.options.scheduler = s; });
  }
  // With 0 the model chooses these; negative numbers are an Error.

  /// In slices of so many rows.
  StreamedAcross chunk(index_t rows) const {
    return with([&](StreamedAcross& p) { p.options = detail::with_chunk(p.options, rows); });
  }
  /// So many slices on each device; at least 2.
  StreamedAcross slots(int count) const {
    return with([&](StreamedAcross& p) { p.options = detail::with_slots(p.options, count); });
  }
  /// So many steps each time that a slice is on a device.
  StreamedAcross steps_per_pass(int steps) const {
    return with([&](StreamedAcross& p) { p.options = detail::with_steps_per_pass(p.options, steps); });
  }
  /// With a line of progress where standard error is a terminal.
  StreamedAcross show_progress() const {
    return with([](StreamedAcross& p) { p.progress = true; });
  }
  /// Only for the report: nothing is copied or computed.
  StreamedAcross dry_run() const {
    return with([](StreamedAcross& p) { p.only_plan = true; });
  }

 private:
  template <class F>
  StreamedAcross with(const F& change) const {
    StreamedAcross changed = *this;
    change(changed);
    return changed;
  }
};

/// Through these devices, of the memory of each of which `budget` bytes may be used.
template <class... D>
StreamedAcross<D...> streamed(const Across<D...>& devices, index_t budget) {
  return {devices, budget, {}, false, false};
}

namespace detail {

/// The runs of the devices that share a launch.
class StreamGroup {
 public:
  using Launch = StreamRun::Launch;

  /// `problem` is that of all work. Errors are those of StreamRun, and of arrays that several devices cannot
  /// share.
  StreamGroup(StreamProblem problem, std::vector<Ref<CoherentState>> arrays);
  ~StreamGroup();
  /// What there is to split: work items, or the rows of states.
  ResidentRows rows() const;
  /// The parts of `devices` devices, some of which may be empty, but not all of them are if there are rows.
  std::vector<ResidentRows> split(std::size_t devices, const std::vector<double>& weights) const;
  /// A device that has a part.
  void add(DeviceInstance& device, QueueState& compute, ResidentRows part);

  std::size_t size() const { return runs_.size(); }
  StreamRun& run(std::size_t k) { return *runs_[k]; }
  const StreamProblem& problem() const { return problem_; }
  /// Plans all runs, with as many steps a pass; of run k `reserved[k]` bytes of the budget are for others.
  void plan(index_t budget, const StreamOptions& options, const std::string& kernel,
            const std::vector<index_t>& reserved = {});
  /// Carries all out at the same time, and waits for them. `launches` are called by the threads of the runs.
  void carry_out(const std::vector<Launch>& launches, bool progress);
  StreamReport report() const;

 private:
  bool has_states() const;
  struct Choice {
    StreamOptions options;
    bool with_seams = false;
    double seconds = 0;
  };
  std::unique_ptr<StreamSeams> seams_for(const StreamOptions& one) const;
  bool takes_little(const StreamSeams& seams, index_t budget) const;
  bool take(Choice& choice, index_t budget, const std::string& kernel);
  bool choose(const StreamOptions& options, index_t budget, const std::string& kernel, Choice& choice);
  void plan_steps(index_t budget, const StreamOptions& options, const std::string& kernel);
  void check_writes() const;
  [[noreturn]] void fail(const StreamGate& gate) const;

  StreamProblem problem_;
  std::vector<Ref<CoherentState>> states_;
  std::unique_ptr<StreamArrays> arrays_;
  std::vector<std::unique_ptr<StreamRun>> runs_;
  std::vector<ResidentRows> parts_;
  std::unique_ptr<StreamSeams> seams_;  // none: all rows come from the host
  double seconds_ = 0;
};

// The devices that have a part, or the first one where there is nothing to do: places of `where`.
template <class... D>
std::vector<std::size_t> add_runs(StreamGroup& group, const Across<D...>& where) {
  const std::vector<ResidentRows> split = group.split(where.places.size(), where.weights);
  std::vector<std::size_t> places;
  const auto add = [&](std::size_t p) {
    places.push_back(p);
    std::visit([&](const auto& on) { group.add(on.device.backend(), queue_of(on), split[p]); },
               where.places[p]);
  };
  for (std::size_t p = 0; p < split.size(); ++p)
    if (split[p].begin < split[p].end) add(p);
  if (places.empty()) add(0);
  return places;
}

// What the threads of runs call. The work, the kernel and the accesses outlive it. (Functions, as nvcc
// 13.0 mixes up the packs of generic lambdas within lambdas that are templates.)
template <class D, class R, class K, class... Accesses>
StreamGroup::Launch map_launch(const char* label, const On<D>& on, const R& work, const K& kernel,
                               const Accesses&... accesses) {
  return [label, on, &work, &kernel, &accesses...](const StreamSite& site) {
    const auto mine = LeftMost<R>::part(work, site.work);
    launch_slice<K>(
        label, on, site,
        [&](const auto&... resolved) {
          launch_for(label, on, mine,
                     bind_kernel<D, std::remove_const_t<decltype(mine)>>(kernel, resolved...));
        },
        accesses...);
  };
}
template <class D, class R, class K, class... Accesses>
StreamGroup::Launch iterate_launch(const char* label, const On<D>& on, const R& work, const K& kernel,
                                   const Accesses&... accesses) {
  return [label, on, &work, &kernel, &accesses...](const StreamSite& site) {
    launch_step(label, on, work, kernel, site, accesses...);
  };
}
// Of the groups from number `next` on, to `end`; the value of number `begin` is the first of the partial
// results.
template <class D, class T, class R, class K, class Into, class... Accesses>
StreamGroup::Launch reduce_launch(const char* label, const On<D>& on, const R& work, const K& kernel,
                                  const Into& into, T* partials, const std::vector<ReductionGroup>& groups,
                                  std::size_t begin, std::size_t end, const Accesses&... accesses) {
  return [label, on, &work, &kernel, &into, partials, &groups, begin, end, next = begin,
          &accesses...](const StreamSite& site) mutable {
    launch_slice<K>(
        label, on, site,
        [&](const auto&... resolved) {
          const auto bound = bind_views(kernel, view_to_bind(resolved)...);
          for (; next < end && groups[next].items.begin < site.work.end; ++next)
            launch_reduce_into(label, on, LeftMost<R>::part(work, groups[next].items), bound,
                               into_view(into, ValueView<T, D>(partials + (next - begin))));
        },
        accesses...);
  };
}

template <class... D, class R, class K, class... Accesses>
StreamReport launch_streamed(const char* label, const StreamedAcross<D...>& where, const R& work,
                             const K& kernel, const Accesses&... accesses) {
  StreamGroup group(stream_problem(label, work, accesses...), stream_states(accesses...));
  check_all_fit<K, false>(label, work, accesses...);
  const std::vector<std::size_t> places = add_runs(group, where.where);
  group.plan(where.budget, where.options, typeid(FunctorOf<K>).name());
  if (where.only_plan) return group.report();
  std::vector<StreamGroup::Launch> launches;
  for (const std::size_t p : places)
    std::visit([&](const auto& on) { launches.push_back(map_launch(label, on, work, kernel, accesses...)); },
               where.where.places[p]);
  group.carry_out(launches, where.progress);
  return group.report();
}

template <class... D, class R, class K, class... Accesses>
StreamReport iterate_streamed(const char* label, const StreamedAcross<D...>& where, const R& work, int steps,
                              const K& kernel, const Accesses&... accesses) {
  if (steps < 0) fail_steps(steps);
  StreamProblem problem;
  problem.label = label;
  problem.work = LeftMost<R>::of(work);
  problem.steps = steps;
  problem.arrays = {iterated_array(work, accesses)...};
  if (steps == 0 || problem.work.begin >= problem.work.end) return {};
  StreamGroup group(static_cast<StreamProblem&&>(problem), stream_states(accesses...));
  const std::vector<std::size_t> places = add_runs(group, where.where);
  group.plan(where.budget, where.options, typeid(FunctorOf<K>).name());
  if (where.only_plan) return group.report();
  std::vector<StreamGroup::Launch> launches;
  for (const std::size_t p : places)
    std::visit(
        [&](const auto& on) { launches.push_back(iterate_launch(label, on, work, kernel, accesses...)); },
        where.where.places[p]);
  group.carry_out(launches, where.progress);
  return group.report();
}

/// The nodes that the slices of all runs have, in order, and where those of each run begin; ends with their
/// number.
std::vector<ReductionGroup> stream_groups(StreamGroup& group, index_t block, std::vector<std::size_t>& first);

template <class... D, class R, class K, class Into, class... Accesses>
StreamReport launch_reduce_streamed(const char* label, const StreamedAcross<D...>& where, const R& work,
                                    const K& kernel, Into&& into, const Accesses&... accesses) {
  using I = std::remove_cvref_t<Into>;
  using Reduction = ReductionOf<K, I>;
  using T = typename Reduction::value_type;
  static_assert(!std::is_array_v<T>,
                "strata: launch_reduce in slices: values of run-time length are reduced in core");
  constexpr index_t block = WorkOf<R>::rank == 1 ? reduction_block : 1;
  StreamProblem problem = stream_problem(label, work, accesses...);
  complete_problem(problem, stream_states(accesses...));  // bytes of rows
  problem.align = std::max(problem.align, reduction_align(problem, block, where.budget));
  StreamGroup group(static_cast<StreamProblem&&>(problem), stream_states(accesses...));
  check_all_fit<K, false>(label, work, accesses...);
  const std::vector<std::size_t> places = add_runs(group, where.where);
  // Partial results take room, too.
  std::vector<ReductionGroup> groups;
  std::vector<std::size_t> first;
  std::vector<index_t> room(group.size(), 0);
  for (bool fits = false; !fits;) {
    group.plan(where.budget, where.options, typeid(FunctorOf<K>).name(), room);
    groups = stream_groups(group, block, first);
    fits = true;
    for (std::size_t k = 0; k < group.size(); ++k) {
      const index_t bytes = static_cast<index_t>((first[k + 1] - first[k]) * sizeof(T));
      if (bytes <= room[k]) continue;
      room[k] = bytes + 512;
      fits = false;
    }
  }
  if (where.only_plan) return group.report();

  const auto reducer = Reduction::reducer(kernel, into);
  std::vector<T> values(std::max<std::size_t>(groups.size(), 1));
  if (groups.empty()) reducer.init(values[0]);
  {
    std::vector<StreamGroup::Launch> launches;
    std::vector<std::function<void()>> bring_home;  // which also keep the partial results
    for (std::size_t k = 0; k < places.size(); ++k)
      std::visit(
          [&]<class Device>(const On<Device>& on) {
            using Partials = MDArray<T, Device, rank<1>>;
            const std::size_t begin = first[k], end = first[k + 1];
            const index_t count = static_cast<index_t>(end - begin);
            const Partials partials =
                create<Partials>("partial results", std::max<index_t>(count, 1), uninitialized, on);
            launches.push_back(reduce_launch(label, on, work, kernel, into, partials.data(), groups, begin,
                                             end, accesses...));
            if (count > 0)
              bring_home.push_back([&values, partials, begin] {
                const View<T, Serial, typename Partials::extents_type, LayoutRight, Unmanaged<DefaultAccess>>
                    host(values.data() + begin,
                         typename LayoutRight::template mapping<typename Partials::extents_type>(
                             partials.extents()));
                deep_copy(host, partials);
              });
          },
          where.where.places[places[k]]);
    group.carry_out(launches, where.progress);
    for (const std::function<void()>& bring : bring_home) bring();
  }
  for (const Join& join : joins_of(groups))
    reducer.join(values[static_cast<std::size_t>(join.a)], values[static_cast<std::size_t>(join.b)]);
  std::visit([&](const auto& on) { store_reduced(label, on, reducer, values[0], static_cast<Into&&>(into)); },
             where.where.places.front());
  return group.report();
}

/// Adds what one more device did, one after the other.
void add_report(StreamReport& all, const StreamReport& one);

template <class... D, class R, class K, class Into, class... Accesses>
StreamReport launch_scan_streamed(const char* label, const StreamedAcross<D...>& where, const R& work,
                                  const K& kernel, Into&& into, const Accesses&... accesses) {
  using I = std::remove_cvref_t<Into>;
  using T = typename ReductionOf<K, I>::value_type;
  using Left = LeftMost<R>;
  StreamProblem problem = stream_problem(label, work, accesses...);
  problem.align = std::max(problem.align, reduction_block);
  const StreamGroup group(static_cast<StreamProblem&&>(problem), stream_states(accesses...));
  check_all_fit<K, false>(label, work, accesses...);
  const std::vector<ResidentRows> split = group.split(where.where.places.size(), where.where.weights);
  T total = neutral_value<K, I>(kernel, into);
  StreamReport report;
  report.devices = 0;
  for (std::size_t p = 0; p < split.size(); ++p) {
    if (split[p].begin >= split[p].end) continue;
    const T start = total;
    std::visit(
        [&]<class Device>(const On<Device>& on) {
          Streamed<Device> one = streamed(on.device, where.budget);
          one.options = where.options;
          one.progress = where.progress;
          one.only_plan = where.only_plan;
          const auto mine = Left::part(work, split[p]);
          if constexpr (is_reducer_v<I>)
            add_report(report,
                       scan_streamed_part(label, one, mine, kernel,
                                          Reducer<typename I::operation, T, T*>{&total}, start, accesses...));
          else add_report(report, scan_streamed_part(label, one, mine, kernel, total, start, accesses...));
        },
        where.where.places[p]);
  }
  if (where.only_plan) return report;
  if constexpr (std::is_same_v<I, T>) into = total;
  else if constexpr (is_reducer_v<I>)
    if constexpr (!std::is_same_v<typename I::target_type, NoTarget>) *into.target = total;
  return report;
}

}  // namespace detail

/// Calls kernel(index..., views...) for every index of `work`, on several devices slice by slice; the head of
/// this file says more.
template <class... D, WorkRange R, class K, class... Accesses>
requires(detail::is_any_access_v<Accesses>&&...) StreamReport
    launch(const StreamedAcross<D...>& where, const R& work, const K& kernel, const Accesses&... accesses) {
  return detail::launch_streamed("", where, work, kernel, accesses...);
}
template <class... D, WorkRange R, class K, class... Accesses>
requires(detail::is_any_access_v<Accesses>&&...) StreamReport
    launch(const char* label, const StreamedAcross<D...>& where, const R& work, const K& kernel,
           const Accesses&... accesses) {
  return detail::launch_streamed(label, where, work, kernel, accesses...);
}

/// Calls kernel(index..., views..., value&) on several devices slice by slice and joins the values into
/// `into`.
template <class... D, WorkRange R, class K, class Into, class... Accesses>
requires(detail::is_any_access_v<Accesses>&&...) StreamReport
    launch_reduce(const StreamedAcross<D...>& where, const R& work, const K& kernel, Into&& into,
                  const Accesses&... accesses) {
  return detail::launch_reduce_streamed("", where, work, kernel, static_cast<Into&&>(into), accesses...);
}
template <class... D, WorkRange R, class K, class Into, class... Accesses>
requires(detail::is_any_access_v<Accesses>&&...) StreamReport
    launch_reduce(const char* label, const StreamedAcross<D...>& where, const R& work, const K& kernel,
                  Into&& into, const Accesses&... accesses) {
  return detail::launch_reduce_streamed(label, where, work, kernel, static_cast<Into&&>(into), accesses...);
}

/// Calls kernel(index, views..., value&, final) on one device after the other, slice by slice; `into` is a
/// host variable.
template <class... D, WorkRange R, class K, class Into, class... Accesses>
requires(detail::is_any_access_v<Accesses>&&...) StreamReport
    launch_scan(const StreamedAcross<D...>& where, const R& work, const K& kernel, Into&& into,
                const Accesses&... accesses) {
  return detail::launch_scan_streamed("", where, work, kernel, static_cast<Into&&>(into), accesses...);
}
template <class... D, WorkRange R, class K, class Into, class... Accesses>
requires(detail::is_any_access_v<Accesses>&&...) StreamReport
    launch_scan(const char* label, const StreamedAcross<D...>& where, const R& work, const K& kernel,
                Into&& into, const Accesses&... accesses) {
  return detail::launch_scan_streamed(label, where, work, kernel, static_cast<Into&&>(into), accesses...);
}

/// `steps` steps of kernel(index..., views...) over `work`, on several devices.
template <class... D, WorkRange R, class K, class... Accesses>
requires(detail::IteratedAccesses<Accesses...>) StreamReport
    streamed_iterate(const StreamedAcross<D...>& where, const R& work, int steps, const K& kernel,
                     const Accesses&... accesses) {
  return detail::iterate_streamed("", where, work, steps, kernel, accesses...);
}
template <class... D, WorkRange R, class K, class... Accesses>
requires(detail::IteratedAccesses<Accesses...>) StreamReport
    streamed_iterate(const char* label, const StreamedAcross<D...>& where, const R& work, int steps,
                     const K& kernel, const Accesses&... accesses) {
  return detail::iterate_streamed(label, where, work, steps, kernel, accesses...);
}
/// Over all rows that have the rows around them that kernels read.
template <class... D, class K, class... Accesses>
requires(detail::IteratedAccesses<Accesses...>) StreamReport
    streamed_iterate(const StreamedAcross<D...>& where, int steps, const K& kernel,
                     const Accesses&... accesses) {
  return detail::iterate_streamed("", where, detail::rows_within_halos(accesses...), steps, kernel,
                                  accesses...);
}

}  // namespace strata::inline STRATA_ABI
