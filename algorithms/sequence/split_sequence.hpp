// Sequences over several devices: a launch over all of them for each loop and step, which copies what devices
// need of each other.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <strata/algorithms/sequence/in_core_sequence.hpp>
#include <strata/core/min_max.hpp>

namespace strata::inline STRATA_ABI::detail {

// What a run has made so far of a loop's results, which the user's vector gets when all is done.
template <class T>
struct StepValues : RefCounted {
  std::vector<T> values;
};

template <class... D>
class SequenceOver<Across<D...>> : public DeclaredLoops {
 public:
  SequenceOver(const char* label, const Across<D...>& where) : DeclaredLoops(label), where_(where) {}

  // What is written on a device stays there anyway: only what is wrong with it is found.
  template <class A>
  void temporary(const A& array) {
    if (!array) fail_no_array();
    set_temporary(array.state());
  }

  template <class R, class K, class... Accesses>
  void loop(const char* label, const R& work, const K& kernel, const Accesses&... accesses) {
    Loop made = make_loop<K>(label, work, accesses...);
    made.launch = [where = where_, name = std::string(label), work, kernel, accesses...](int step) {
      launch(where.named(name.c_str()), work, kernel_at(kernel, step), accesses...);
    };
    add(static_cast<Loop&&>(made));
  }

  template <class R, class K, class Into, class... Accesses>
  void loop_reduce(const char* label, const R& work, const K& kernel, Into& into,
                   const Accesses&... accesses) {
    using I = std::remove_const_t<Into>;
    Loop made = make_loop<K>(label, work, accesses...);
    if constexpr (IsCoherent<I> || has_coherent_target<I> || is_finalize_v<I>) {
      if constexpr (IsCoherent<I>) add_use(made, out(into, everything), {0, 1});
      else if constexpr (has_coherent_target<I>) add_use(made, out(into.target, everything), {0, 1});
      else std::apply([&](const auto&... a) { (add_use(made, a, {0, 1}), ...); }, into.accesses);
      made.launch = [where = where_, name = std::string(label), work, kernel, into, accesses...](int step) {
        launch_reduce(where.named(name.c_str()), work, kernel_at(kernel, step), into, accesses...);
      };
    } else {
      check_step_results<Into>();
      using Reduction = StepReduction<KernelOf<K>, I>;
      using T = typename Reduction::value_type;
      const Ref<StepValues<T>> values(new StepValues<T>);
      made.launch = [where = where_, name = std::string(label), work, kernel, values, accesses...](int step) {
        T value{};
        const auto reduce = [&](auto&& result) {
          launch_reduce(where.named(name.c_str()), work, kernel_at(kernel, step),
                        static_cast<decltype(result)&&>(result), accesses...);
        };
        if constexpr (std::is_same_v<I, std::vector<T>>) reduce(value);
        else reduce(Reduction::into(&value));
        values->values.push_back(value);
      };
      results_.push_back({[values] { values->values.clear(); },
                          [values, into = &values_of<T>(into)] { *into = values->values; }});
    }
    add(static_cast<Loop&&>(made));
  }

  /// `count` loops, from the one after the last on.
  void run(int count) {
    cursor_.check_count(count);
    if (loops_.empty() || count == 0) return;
    has_run_ = true;
    check_uses(cursor_.next, smaller_of(count, cursor_.loops));
    for (const Results& of_loop : results_) of_loop.begin();
    const int first = cursor_.next, loops = cursor_.loops;
    cursor_.next = 0;
    for (int number = first; number < first + count; ++number)
      loops_[static_cast<std::size_t>(number % loops)].launch(number / loops);
    cursor_.next = (first + count) % loops;
    for (const Results& of_loop : results_) of_loop.finish();
  }
  void release() const {}

 private:
  struct Loop : DeclaredLoops::Loop {
    Function<void(int step)> launch;
  };
  struct Results {
    Function<void()> begin, finish;
  };
  template <class K, class R, class... Accesses>
  Loop make_loop(const char* label, const R& work, const Accesses&... accesses) {
    static_assert(
        WorkOf<R>::rank != teams_rank,
        "strata: a Sequence over across(...): teams do not say which rows they touch; give a range");
    check_all_fit<KernelOf<K>>(label, work, accesses...);
    Loop made;
    made.label = label;
    (add_use(made, accesses, LeftMost<R>::of(work)), ...);
    return made;
  }
  void add(Loop&& loop) {
    if (has_run_) cursor_.fail_late();
    loops_.push_back(static_cast<Loop&&>(loop));
    ++cursor_.loops;
  }
  // Of runs that begin with a loop and have so many, once.
  void check_uses(int first, int count) {
    const std::pair run(first, count);
    for (const auto& known : checked_)
      if (known == run) return;
    std::vector<const DeclaredLoops::Loop*> loops;
    for (int k = 0; k < count; ++k)
      loops.push_back(&loops_[static_cast<std::size_t>((first + k) % cursor_.loops)]);
    static_cast<void>(uses_of(loops));
    checked_.push_back(run);
  }

  const Across<D...> where_;
  std::vector<Loop> loops_;
  std::vector<std::pair<int, int>> checked_;
  std::vector<Results> results_;
};

}  // namespace strata::inline STRATA_ABI::detail
