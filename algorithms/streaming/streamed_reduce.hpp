// launch_reduce and launch_scan over arrays that pass through a device in slices.
//
//   launch_reduce(streamed(device, budget), n, kernel, Sum(total), in(x));       // kernel(i, x, value&)
//   launch_reduce(streamed(across(devices), budget), n, functor, finalize(f, out(dt)), in(x));
//   launch_scan(streamed(device, budget), n, kernel, Sum(total), in(x), out(y)); // kernel(i, x, y, v&, last)
//
// `into` is that of launch_reduce over coherent arrays. Slices are whole nodes of the one tree of reductions,
// so that the bits are those of a launch in core. Their values are joined on the host; a finalize functor
// runs on the device, once. A scan carries its total from slice to slice, which are whole tiles of 8192 items
// where joins are not exact (core/scan_order.hpp).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/algorithms/coherent_reduce.hpp>
#include <strata/algorithms/streaming/streamed.hpp>
#include <strata/core/min_max.hpp>
#include <strata/core/scan_order.hpp>
#include <strata/views/mdarray.hpp>

namespace strata::inline STRATA_ABI::detail {

/// How slices of a reduction are cut: at multiples of so many rows, which are a node of the tree.
index_t reduction_align(const streaming::StreamProblem& problem, index_t block, index_t budget);

// Stores the value of a reduction, or finalizes it on `on`.
template <class D, class Reducer, class T, class Into>
void store_reduced(const char* label, const On<D>& on, const Reducer& reducer, const T& value, Into&& into) {
  using I = std::remove_cvref_t<Into>;
  if constexpr (std::is_same_v<I, T>) {
    into = value;
  } else if constexpr (IsCoherent<I>) {
    *into.write() = value;
  } else if constexpr (has_coherent_target<I>) {
    *into.target.write() = value;
  } else if constexpr (is_finalize_v<I>) {
    const CoherentArray<T, rank<1>> result("result", 1, MemoryMode::Smart);
    result.write()(0) = value;
    into.accesses.call([&](const auto&... a) {
      launch_at(label, on, 1, join_groups(reducer, into.functor, {}), inout(result, everything), a...);
    });
  } else {
    *into.target = value;
  }
}

// The function that the thread of a run calls, as in streamed.hpp, for groups [begin, end); the value of
// number `begin` is the first of the partial results.
template <class D, class T, class R, class K, class Into, class... Accesses>
streaming::StreamGroup::Launch reduce_launch(const char* label, const On<D>& on, const R& work,
                                             const K& kernel, const Into& into, T* partials,
                                             const std::vector<ReductionGroup>& groups, std::size_t begin,
                                             std::size_t end, const Accesses&... accesses) {
  return [label, on, &work, &kernel, &into, partials, &groups, begin, end, next = begin,
          &accesses...](const streaming::StreamSite& site) mutable {
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

// The values of the groups of a run, on the device and on the host.
template <class T, class D>
class PartialValues {
 public:
  PartialValues(const On<D>& on, T* host, index_t count)
      : host_(host),
        count_(count),
        values_(create<Values>("partial results", count < 1 ? 1 : count, uninitialized, on)) {}
  T* data() const { return values_.data(); }
  void fetch() const {
    if (count_ == 0) return;
    const View<T, Serial, typename Values::extents_type, LayoutRight, Unmanaged<DefaultAccess>> host(
        host_, typename LayoutRight::template mapping<typename Values::extents_type>(values_.extents()));
    deep_copy(host, values_);
  }

 private:
  using Values = MDArray<T, D, rank<1>>;
  T* host_;
  index_t count_;
  Values values_;
};

// Plans the runs so that the values of `value_bytes` that their groups have on the devices fit the budget,
// too.
std::vector<ReductionGroup> plan_reduction(streaming::StreamGroup& group, index_t budget,
                                           const streaming::StreamOptions& options, const std::string& kernel,
                                           index_t block, index_t value_bytes,
                                           std::vector<std::size_t>& first);

template <class Where, class R, class K, class Into, class... Accesses>
StreamReport reduce_streamed(const char* label, const Where& where, const R& work, const K& kernel,
                             Into&& into, const Accesses&... accesses) {
  using Reduction = ReductionOf<K, std::remove_cvref_t<Into>>;
  using T = typename Reduction::value_type;
  static_assert(!std::is_array_v<T>,
                "strata: launch_reduce in slices: values of run-time length are reduced in core");
  constexpr index_t block = WorkOf<R>::rank == 1 ? reduction_block : 1;
  streaming::StreamProblem problem = stream_problem(label, work, accesses...);
  complete_problem(problem, stream_states(accesses...));  // bytes of rows
  problem.align = larger_of(problem.align, reduction_align(problem, block, where.budget));
  streaming::StreamGroup group(static_cast<streaming::StreamProblem&&>(problem), stream_states(accesses...));
  check_all_fit<K, false>(label, work, accesses...);
  const std::vector<std::size_t> parts = add_runs(group, where.where);
  std::vector<std::size_t> first;  // groups of runs
  const std::vector<ReductionGroup> groups =
      plan_reduction(group, where.budget, where.options, typeid(FunctorOf<K>).name(), block,
                     static_cast<index_t>(sizeof(T)), first);
  if (where.only_plan) return group.report();

  const auto reducer = Reduction::reducer(kernel, into);
  std::vector<T> values(larger_of<std::size_t>(groups.size(), 1));
  if (groups.empty()) reducer.init(values[0]);
  {
    std::vector<streaming::StreamGroup::Launch> launches;
    std::vector<Function<void()>> fetch;  // which also keep the partial results
    for (std::size_t k = 0; k < parts.size(); ++k)
      visit_part(where.where, parts[k], [&](const auto& on) {
        const PartialValues partials(on, values.data() + first[k],
                                     static_cast<index_t>(first[k + 1] - first[k]));
        launches.push_back(reduce_launch(label, on, work, kernel, into, partials.data(), groups, first[k],
                                         first[k + 1], accesses...));
        fetch.push_back([partials] { partials.fetch(); });
      });
    group.carry_out(launches, where.progress);
    for (const Function<void()>& f : fetch) f();
  }
  for (const Join& join : joins_of(groups))
    reducer.join(values[static_cast<std::size_t>(join.a)], values[static_cast<std::size_t>(join.b)]);
  visit_part(where.where, 0, [&](const auto& on) {
    store_reduced(label, on, reducer, values[0], static_cast<Into&&>(into));
  });
  return group.report();
}

// The part of a scan on one device; `total`, the sum before it, becomes the sum to its end.
template <class Into, class Where, class D, class R, class K, class T, class... Accesses>
StreamReport scan_streamed_part(const char* label, const Where& where, const On<D>& on, const R& work,
                                const K& kernel, T& total, const Accesses&... accesses) {
  streaming::StreamProblem problem = stream_problem(label, work, accesses...);
  problem.align = larger_of(problem.align, scan_cut<T>);
  streaming::StreamRun run(on.device.backend(), queue_of(on),
                           static_cast<streaming::StreamProblem&&>(problem), stream_states(accesses...));
  run.plan(where.budget, where.options, typeid(FunctorOf<K>).name());
  if (where.only_plan) return run.report();
  run.run(
      [&](const streaming::StreamSite& site) {
        const T start = total;
        launch_slice<K>(
            label, on, site,
            [&](const auto&... resolved) {
              scan_into(label, on, LeftMost<R>::part(work, site.work),
                        bind_views(kernel, view_to_bind(resolved)...), part_total<Into>(total), start);
            },
            accesses...);
      },
      where.progress);
  return run.report();
}

template <class Where, class R, class K, class Into, class... Accesses>
StreamReport scan_streamed(const char* label, const Where& where, const R& work, const K& kernel, Into&& into,
                           const Accesses&... accesses) {
  using I = std::remove_cvref_t<Into>;
  using T = typename ReductionOf<K, I>::value_type;
  streaming::StreamProblem problem = stream_problem(label, work, accesses...);
  problem.align = larger_of(problem.align, scan_cut<T>);
  const streaming::StreamGroup group(static_cast<streaming::StreamProblem&&>(problem),
                                     stream_states(accesses...));
  check_all_fit<K, false>(label, work, accesses...);
  const std::vector<ResidentRows> split = split_of(group, where.where);
  T total = neutral_value<K, I>(kernel, into);
  StreamReport report;
  report.devices = 0;
  for (const std::size_t k : streaming::parts_with_rows(split))
    visit_part(where.where, k, [&](const auto& on) {
      streaming::add_report(report, scan_streamed_part<I>(label, where, on, LeftMost<R>::part(work, split[k]),
                                                          kernel, total, accesses...));
    });
  if (!where.only_plan) store_total(total, static_cast<Into&&>(into));
  return report;
}

template <>
struct ReduceBy<LaunchWay::Streamed> {
  template <class Where, class R, class K, class Into, class... Accesses>
  static StreamReport reduce(const char* label, const Where& where, const R& work, const K& kernel,
                             Into&& into, const Accesses&... accesses) {
    check_one_step<Where>();
    return reduce_streamed(label, where, work, kernel, static_cast<Into&&>(into), accesses...);
  }
  template <class Where, class R, class K, class Into, class... Accesses>
  static StreamReport scan(const char* label, const Where& where, const R& work, const K& kernel, Into&& into,
                           const Accesses&... accesses) {
    check_one_step<Where>();
    return scan_streamed(label, where, work, kernel, static_cast<Into&&>(into), accesses...);
  }
};

}  // namespace strata::inline STRATA_ABI::detail
