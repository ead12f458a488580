// Sequences over several devices: launches over all of them, which copy what devices need from each other.
// The head of sequence.hpp says what a run does.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <strata/algorithms/sequence/in_core_sequence.hpp>
#include <strata/algorithms/sequence/split_loops.hpp>

namespace strata::inline STRATA_ABI::detail::sequences {

// The results of a loop in a run so far; the user's vector gets them when all is done.
template <class T>
struct StepValues : RefCounted {
  std::vector<T> values;
};
template <class T>
SplitLoops::Results results_of(const Ref<StepValues<T>>& values, std::vector<T>* into) {
  return {[values] { values->values.clear(); }, [values, into] { *into = values->values; }};
}

template <class... D>
class SequenceOver<Across<D...>> {
 public:
  SequenceOver(const char* label, const Across<D...>& where) : where_(where), loops_(label, places()) {}

  // Values written on a device stay there anyway: this only checks the declaration.
  template <class A>
  void temporary(const A& array) {
    if (!array) fail_no_array();
    loops_.set_temporary(array.state());
  }

  template <class R, class K, class... Accesses>
  void loop(const char* label, const R& work, const K& kernel, const Accesses&... accesses) {
    SplitLoops::Loop made = make_loop<K>(label, work, accesses...);
    made.launch = [where = where_, name = std::string(label), work = work, kernel = kernel,
                   accesses...](int step) {
      launch(where.named(name.c_str()), work, kernel_at(kernel, step), accesses...);
    };
    if constexpr (!is_by_step<K> && !checked_build && !has_host)
      if (has_fixed_parts()) {
        made.stages.push_back(
            {[where = where_, work, accesses...] { return parts_of(where, work, accesses...); },
             part_launcher(label, work, kernel, accesses...)});
      }
    loops_.add_loop(static_cast<SplitLoops::Loop&&>(made));
  }

  template <class R, class K, class Into, class... Accesses>
  void loop_reduce(const char* label, const R& work, const K& kernel, Into& into,
                   const Accesses&... accesses) {
    using I = std::remove_const_t<Into>;
    SplitLoops::Loop made = make_loop<K>(label, work, accesses...);
    if constexpr (IsCoherent<I> || has_coherent_target<I> || is_finalize_v<I>) {
      if constexpr (IsCoherent<I>) loops_.add_use(made, out(into, everything), {0, 1});
      else if constexpr (has_coherent_target<I>) loops_.add_use(made, out(into.target, everything), {0, 1});
      else into.accesses.call([&](const auto&... a) { (loops_.add_use(made, a, {0, 1}), ...); });
      using T = typename ReductionOf<KernelOf<K>, I>::value_type;
      const SplitReduction<T> split = split_reduction<T, I>(where_, work);
      made.launch = [where = where_, kept = balance_of(where_) == nullptr, split, name = std::string(label),
                     work, kernel, into, accesses...](int step) {
        // Measured shares change, and the groups with them.
        if (kept) reduce_split(name.c_str(), where, split, work, kernel_at(kernel, step), into, accesses...);
        else launch_reduce(where.named(name.c_str()), work, kernel_at(kernel, step), into, accesses...);
      };
      if constexpr (!is_by_step<K> && !checked_build && !has_host)
        if (has_fixed_parts() && !split.groups.empty())
          add_stages(made, label, split, work, kernel, into, accesses...);
    } else {
      check_step_results<Into>();
      using Reduction = StepReduction<KernelOf<K>, I>;
      using T = typename Reduction::value_type;
      const Ref<StepValues<T>> values(new StepValues<T>);
      made.launch = [where = where_, name = std::string(label), work = work, kernel = kernel, values,
                     accesses...](int step) {
        T value{};
        const auto reduce = [&](auto&& result) {
          launch_reduce(where.named(name.c_str()), work, kernel_at(kernel, step),
                        static_cast<decltype(result)&&>(result), accesses...);
        };
        if constexpr (std::is_same_v<I, std::vector<T>>) reduce(value);
        else reduce(Reduction::into(&value));
        values->values.push_back(value);
      };
      loops_.add_results(results_of(values, &values_of<T>(into)));
    }
    loops_.add_loop(static_cast<SplitLoops::Loop&&>(made));
  }

  void run(int count) { loops_.run(count); }
  const LoopCursor& cursor() const { return loops_.cursor(); }
  void begin_with(int loop) { loops_.begin_with(loop); }
  void release() { loops_.release(); }

 private:
  template <class K, class R, class... Accesses>
  SplitLoops::Loop make_loop(const char* label, const R& work, const Accesses&... accesses) {
    static_assert(
        WorkOf<R>::rank != teams_rank,
        "strata: a Sequence over across(...): teams do not say which rows they touch; give a range");
    check_all_fit<KernelOf<K>>(label, work, accesses...);
    SplitLoops::Loop made;
    made.label = label;
    (loops_.add_use(made, accesses, LeftMost<R>::of(work)), ...);
    return made;
  }

  std::vector<SplitLoops::Place> places() const {
    std::vector<SplitLoops::Place> places;
    for (std::size_t k = 0; k < PlaceTraits<Across<D...>>::count(where_); ++k)
      visit_part(where_, k, [&](const auto& on) { places.push_back({&on.device.backend(), &queue_of(on)}); });
    return places;
  }
  // Kernels of hosts run in the call, and measured shares change. What only fixed parts need is not compiled
  // for places with a host.
  static constexpr bool has_host = (D::memory_space::host_accessible || ...);
  bool has_fixed_parts() const {
    if (balance_of(where_) != nullptr) return false;
    for (const bool is_host : hosts_of(where_))
      if (is_host) return false;
    return true;
  }
  template <class R, class... Accesses>
  static std::vector<SplitLoops::Part> parts_of(const Across<D...>& where, const R& work,
                                                const Accesses&... accesses) {
    std::vector<SplitLoops::Part> parts;
    for (const SpreadPart& part : spread(where, LeftMost<R>::of(work), alignment_of_all<Accesses...>())) {
      SplitLoops::Part made{part.place, part.rows, inner_rows(part.rows, accesses...), {}, {}};
      (made.add_use(accesses), ...);
      parts.push_back(static_cast<SplitLoops::Part&&>(made));
    }
    return parts;
  }
  // A sum: the values of groups, and one that joins them.
  template <class T, class R, class K, class Into, class... Accesses>
  void add_stages(SplitLoops::Loop& made, const char* label, const SplitReduction<T>& split, const R& work,
                  const K& kernel, const Into& into, const Accesses&... accesses) const {
    made.stages.push_back(
        {[split, accesses...] {
           std::vector<SplitLoops::Part> parts;
           for (const SpreadPart& part : split.parts) {
             SplitLoops::Part values{part.place, part.rows, {part.rows.begin, part.rows.begin}, {}, {}};
             (values.add_use(accesses), ...);
             values.add_use_by(split.value_rows[part.place], out(split.partials));
             parts.push_back(static_cast<SplitLoops::Part&&>(values));
           }
           return parts;
         },
         [where = where_, name = std::string(label), split, work, kernel, into,
          accesses...](const SplitLoops::Site& site) {
           visit_part(where, site.place, [&]<class P>(const On<P>& on) {
             with_resolved_at<P>(
                 site, 0,
                 [&](const auto&... resolved) {
                   T* const base = reinterpret_cast<T*>(site.bases.back());
                   if constexpr (is_by_blocks<Across<D...>, R, Into>)
                     launch_blocks(name.c_str(), on, work, kernel, into, split, site.work, base, resolved...);
                   else
                     launch_groups(name.c_str(), on, work, kernel, into, split.groups.data(),
                                   split.value_rows[site.place], base, resolved...);
                 },
                 accesses...);
           });
         }});
    if constexpr (is_by_blocks<Across<D...>, R, Into>) {
      const auto add_join = [&](const auto&... targets) {
        const auto values = in(split.partials, everything);
        made.stages.push_back({joining_part(values, targets...), block_joiner(label, split, kernel, into)});
      };
      if constexpr (is_finalize_v<Into>) into.accesses.call(add_join);
      else if constexpr (IsCoherent<Into>) add_join(out(into, everything));
      else add_join(out(into.target, everything));
    } else {
      with_join(ReductionOf<K, Into>::reducer(kernel, into), split, into,
                [&](const auto& join, const auto&... joined) {
                  made.stages.push_back(
                      {joining_part(joined...), part_launcher(label, index_t{1}, join, joined...)});
                });
    }
  }
  // What joins values, on the first device.
  template <class... Accesses>
  static Function<std::vector<SplitLoops::Part>()> joining_part(const Accesses&... accesses) {
    return [accesses...] {
      SplitLoops::Part all{0, {0, 1}, {0, 0}, {}, {}};
      (all.add_use(accesses), ...);
      return std::vector<SplitLoops::Part>{all};
    };
  }
  // The same of values of blocks: use 0 is these, those after it what the result goes to.
  template <class T, class K, class Into>
  Function<void(const SplitLoops::Site&)> block_joiner(const char* label, const SplitReduction<T>& split,
                                                       const K& kernel, const Into& into) const {
    return [where = where_, name = std::string(label), split, join = join_of_blocks(kernel, into, split),
            into](const SplitLoops::Site& site) {
      visit_part(where, 0, [&]<class P>(const On<P>& on) {
        with_resolved_at<P>(
            site, 0,
            [&](const auto& values) {
              const auto reduce = [&](const auto& result) {
                launch_reduce_into(name.c_str(), on, work_of_blocks(split),
                                   bind_views(join, view_to_bind(values)), result);
              };
              if constexpr (is_finalize_v<Into>)
                into.accesses.call([&](const auto&... a) {
                  with_resolved_at<P>(
                      site, 1,
                      [&](const auto&... resolved) {
                        reduce(bound_finalize(into.functor, view_to_bind(resolved)...));
                      },
                      a...);
                });
              else reduce(into_view(into, ValueView<T, P>(reinterpret_cast<T*>(site.bases[1]))));
            },
            in(split.partials, everything));
      });
    };
  }
  template <class R, class K, class... Accesses>
  Function<void(const SplitLoops::Site&)> part_launcher(const char* label, const R& work, const K& kernel,
                                                        const Accesses&... accesses) const {
    return
        [where = where_, name = std::string(label), work, kernel, accesses...](const SplitLoops::Site& site) {
          visit_part(where, site.place, [&]<class P>(const On<P>& on) {
            with_resolved_at<P>(
                site, 0,
                [&](const auto&... resolved) {
                  const auto mine = LeftMost<R>::part(work, site.work);
                  launch_for(name.c_str(), on, mine,
                             bind_kernel<P, std::remove_const_t<decltype(mine)>>(kernel, resolved...));
                },
                accesses...);
          });
        };
  }

  const Across<D...> where_;
  SplitLoops loops_;
};

}  // namespace strata::inline STRATA_ABI::detail::sequences
