// Sequences on one device that holds their arrays: in_core. The head of sequence.hpp says what a run does.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include <strata/algorithms/sequence/each_step.hpp>
#include <strata/algorithms/sequence/recorded_loops.hpp>
#include <strata/views/deep_copy.hpp>
#include <strata/views/mdarray.hpp>

namespace strata::inline STRATA_ABI::detail::sequences {

/// The loops of a Sequence over a place of type `Where`.
template <class Where>
class SequenceOver {
  static_assert(!is_grid<Where>,
                "strata: Sequence: loops over several devices are cut into rows: you wrote "
                "across(...).grid(...); write across(...), or launch each loop over the grid");
  static_assert(
      never<Where> || is_grid<Where>,
      "strata: a Sequence is over on(...), across(...) or streamed(device, budget); include "
      "<strata/algorithms/streaming/streamed_sequence.hpp> for the last, over one device and without "
      "steps_per_launch");

 public:
  SequenceOver(const char*, const Where&) {}
};

// What bind_kernel takes for use `use` of a loop; a site has `bases` and `rows` of each.
template <class D, class Site, class Access>
auto resolve_at(const Site& site, std::size_t use, const Access& access) {
  using A = typename Access::array_type;
  constexpr AccessMode mode = Access::mode;
  using T = std::conditional_t<mode == AccessMode::In, const typename A::value_type, typename A::value_type>;
  using V = typename A::template view_type<T, D>;
  return resolved_access(view_of_rows<V>(access.array.mapping(), site.bases[use], site.rows[use]), access);
}
// Calls f with the accesses as bind_kernel takes them; they are the uses of the loop from `first` on.
template <class D, class Site, class F, class... Accesses>
decltype(auto) with_resolved_at(const Site& site, [[maybe_unused]] std::size_t first, const F& f,
                                const Accesses&... accesses) {
  return [&]<std::size_t... I>(std::index_sequence<I...>)->decltype(auto) {
    return f(resolve_at<D>(site, first + I, accesses)...);
  }
  (std::index_sequence_for<Accesses...>());
}

// The results of a reducing loop, one for each time that it runs.
template <class T, class D>
class LoopResults : public RefCounted {
 public:
  void prepare(const On<D>& where, int times) {
    times_ = times;
    if (values_.extent(0) >= times) return;
    values_ = {};
    values_ = create<Values>("results of a loop", times, uninitialized, where);
  }
  ValueView<T, D> at(int time) const { return ValueView<T, D>(values_.data() + time); }
  void fetch(std::vector<T>& into) const {
    into.resize(static_cast<std::size_t>(times_));
    if (times_ == 0) return;
    using E = typename Values::extents_type;
    using OnHost = View<T, Serial, E, LayoutRight, Unmanaged<DefaultAccess>>;
    using There = View<const T, D, E, typename Values::layout_type, Unmanaged<DefaultAccess>>;
    const E extents(times_);
    deep_copy(OnHost(into.data(), typename OnHost::mapping_type(extents)),
              There(values_.data(), typename There::mapping_type(extents)));
  }

 private:
  using Values = MDArray<T, D, rank<1>>;
  Values values_;
  index_t times_ = 0;
};

template <class D>
class SequenceOver<On<D>> {
 public:
  SequenceOver(const char* label, const On<D>& where)
      : where_(where), loops_(where.device.backend(), queue_of(where), label) {}

  template <class A>
  void temporary(const A& array) {
    if (!array) fail_no_array();
    loops_.set_temporary(array.state());
  }

  template <class R, class K, class... Accesses>
  void loop(const char* label, const R& work, const K& kernel, const Accesses&... accesses) {
    const auto whole = whole_of(work);
    using Whole = std::remove_const_t<decltype(whole)>;
    RecordedLoops::Loop made = make_loop<K>(label, work, accesses...);
    made.launch = launcher(label, [whole, kernel, accesses...](const char* name, const On<D>& here,
                                                               const RecordedLoops::Site& site) {
      with_resolved_at<D>(
          site, 0,
          [&](const auto&... resolved) {
            launch_for(name, here, whole, bind_kernel<D, Whole>(kernel_at(kernel, site.step), resolved...));
          },
          accesses...);
    });
    loops_.add_loop(static_cast<RecordedLoops::Loop&&>(made));
  }

  template <class R, class K, class Into, class... Accesses>
  void loop_reduce(const char* label, const R& work, const K& kernel, Into& into,
                   const Accesses&... accesses) {
    using I = std::remove_const_t<Into>;
    RecordedLoops::Loop made = make_loop<K>(label, work, accesses...);
    if constexpr (IsCoherent<I>) {
      reduce_into_value(made, label, work, kernel, into, into, accesses...);
    } else if constexpr (has_coherent_target<I>) {
      reduce_into_value(made, label, work, kernel, into, into.target, accesses...);
    } else if constexpr (is_finalize_v<I>) {
      into.accesses.call([&](const auto&... a) { (loops_.add_use(made, a, {0, 1}), ...); });
      made.launch = reducer(
          label, work, kernel,
          [into](const RecordedLoops::Site& site) {
            return into.accesses.call([&](const auto&... a) {
              return with_resolved_at<D>(
                  site, sizeof...(Accesses),
                  [&](const auto&... resolved) {
                    return bound_finalize(into.functor, view_to_bind(resolved)...);
                  },
                  a...);
            });
          },
          accesses...);
    } else {
      check_step_results<Into>();
      using Reduction = StepReduction<KernelOf<K>, I>;
      using T = typename Reduction::value_type;
      const Ref<LoopResults<T, D>> results(new LoopResults<T, D>);
      made.differs = true;
      made.prepare = [results, where = where_](int times) { results->prepare(where, times); };
      made.finish = [results, values = &values_of<T>(into)] { results->fetch(*values); };
      made.launch = reducer(
          label, work, kernel,
          [results](const RecordedLoops::Site& site) { return Reduction::into(results->at(site.time)); },
          accesses...);
    }
    loops_.add_loop(static_cast<RecordedLoops::Loop&&>(made));
  }

  void run(int count) { loops_.run(count); }
  const LoopCursor& cursor() const { return loops_.cursor(); }
  void begin_with(int loop) { loops_.begin_with(loop); }
  void release() { loops_.release(); }

 private:
  template <class R>
  static auto whole_of(const R& work) {
    if constexpr (WorkOf<R>::rank == teams_rank) return work;
    else return LeftMost<R>::part(work, LeftMost<R>::of(work));
  }
  template <class R>
  static ResidentRows rows_of(const R& work) {
    if constexpr (WorkOf<R>::rank == teams_rank) return {0, 1};
    else return LeftMost<R>::of(work);
  }
  template <class K, class R, class... Accesses>
  RecordedLoops::Loop make_loop(const char* label, const R& work, const Accesses&... accesses) {
    static_assert(
        WorkOf<R>::rank != teams_rank || (std::is_same_v<typename Accesses::region_type, Everything> && ...),
        "strata: sequences: teams do not say which rows they touch: declare all of each array, as in "
        "in(x, everything), or give a range");
    check_all_fit<KernelOf<K>>(label, work, accesses...);
    RecordedLoops::Loop made;
    made.label = label;
    made.differs = is_by_step<K>;
    (loops_.add_use(made, accesses, rows_of(work)), ...);
    return made;
  }
  // launch(name, here, site) of a loop, with the search of checked builds after it.
  template <class F>
  Function<void(const RecordedLoops::Site&)> launcher(const char* label, const F& launch) const {
    return [device = where_.device, name = std::string(label), launch](const RecordedLoops::Site& site) {
      const On<D> here{device, Ref<QueueState>(&site.queue)};
      if constexpr (checked_build) {
        const UnwrittenSearch<D> search(here, site.unwritten);
        {
          const NotesInForce notes(search.notes());
          launch(name.c_str(), here, site);
        }
        search.find(name.c_str());
      } else {
        launch(name.c_str(), here, site);
      }
    };
  }
  // A reduction whose result goes to into(site).
  template <class R, class K, class F, class... Accesses>
  Function<void(const RecordedLoops::Site&)> reducer(const char* label, const R& work, const K& kernel,
                                                     const F& into, const Accesses&... accesses) const {
    return launcher(label, [work, kernel, into, accesses...](const char* name, const On<D>& here,
                                                             const RecordedLoops::Site& site) {
      with_resolved_at<D>(
          site, 0,
          [&](const auto&... resolved) {
            launch_reduce_into(name, here, work, bind_reduction(kernel_at(kernel, site.step), resolved...),
                               into(site));
          },
          accesses...);
    });
  }
  template <class R, class K, class Into, class T, class L, class... Accesses>
  void reduce_into_value(RecordedLoops::Loop& made, const char* label, const R& work, const K& kernel,
                         const Into& into, const CoherentArray<T, rank<0>, L>& value,
                         const Accesses&... accesses) {
    loops_.add_use(made, out(value, everything), {0, 1});
    made.launch = reducer(
        label, work, kernel,
        [into, value](const RecordedLoops::Site& site) {
          return into_view(
              into, view_of_rows<ValueView<T, D>>(value.mapping(), site.bases[sizeof...(Accesses)], {0, 1}));
        },
        accesses...);
  }

  On<D> where_;
  RecordedLoops loops_;
};

}  // namespace strata::inline STRATA_ABI::detail::sequences
