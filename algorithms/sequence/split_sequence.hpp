// Sequences over several devices: a launch over all of them for each loop and step, which copies what devices
// need of each other.
#pragma once

#include <string>
#include <vector>

#include <strata/algorithms/sequence/in_core_sequence.hpp>

namespace strata::inline STRATA_ABI::detail {

// What a run has made so far of a loop's results, which the user's vector gets when all is done.
template <class T>
struct StepValues : RefCounted {
  std::vector<T> values;
};

template <class... D>
class SequenceOver<Across<D...>> {
 public:
  SequenceOver(const char* label, const Across<D...>& where) : where_(where), cursor_{label, 0, 0} {}

  // What is written on a device stays there anyway.
  template <class A>
  void temporary(const A& array) const {
    if (!array) fail_no_array();
    if (has_run_) cursor_.fail_late();
  }

  template <class R, class K, class... Accesses>
  void loop(const char* label, const R& work, const K& kernel, const Accesses&... accesses) {
    add([where = where_, name = std::string(label), work, kernel, accesses...](int step) {
      launch(where.named(name.c_str()), work, kernel_at(kernel, step), accesses...);
    });
  }

  template <class R, class K, class Into, class... Accesses>
  void loop_reduce(const char* label, const R& work, const K& kernel, Into& into,
                   const Accesses&... accesses) {
    using I = std::remove_const_t<Into>;
    if constexpr (IsCoherent<I> || has_coherent_target<I> || is_finalize_v<I>) {
      add([where = where_, name = std::string(label), work, kernel, into, accesses...](int step) {
        launch_reduce(where.named(name.c_str()), work, kernel_at(kernel, step), into, accesses...);
      });
    } else {
      check_step_results<Into>();
      using Reduction = StepReduction<KernelOf<K>, I>;
      using T = typename Reduction::value_type;
      const Ref<StepValues<T>> made(new StepValues<T>);
      add([where = where_, name = std::string(label), work, kernel, made, accesses...](int step) {
        T value{};
        const auto reduce = [&](auto&& result) {
          launch_reduce(where.named(name.c_str()), work, kernel_at(kernel, step),
                        static_cast<decltype(result)&&>(result), accesses...);
        };
        if constexpr (std::is_same_v<I, std::vector<T>>) reduce(value);
        else reduce(Reduction::into(&value));
        made->values.push_back(value);
      });
      results_.push_back(
          {[made] { made->values.clear(); }, [made, into = &values_of<T>(into)] { *into = made->values; }});
    }
  }

  /// `count` loops, from the one after the last on.
  void run(int count) {
    cursor_.check_count(count);
    has_run_ = true;
    if (loops_.empty() || count == 0) return;
    for (const Results& of_loop : results_) of_loop.begin();
    const int first = cursor_.next, loops = cursor_.loops;
    cursor_.next = 0;
    for (int number = first; number < first + count; ++number)
      loops_[static_cast<std::size_t>(number % loops)](number / loops);
    cursor_.next = (first + count) % loops;
    for (const Results& of_loop : results_) of_loop.finish();
  }
  const LoopCursor& cursor() const { return cursor_; }
  void begin_with(int loop) { cursor_.begin_with(loop); }
  void release() const {}

 private:
  struct Results {
    Function<void()> begin, finish;
  };
  void add(Function<void(int step)>&& launch) {
    if (has_run_) cursor_.fail_late();
    loops_.push_back(static_cast<Function<void(int)>&&>(launch));
    ++cursor_.loops;
  }

  const Across<D...> where_;
  LoopCursor cursor_;
  bool has_run_ = false;
  std::vector<Function<void(int step)>> loops_;
  std::vector<Results> results_;
};

}  // namespace strata::inline STRATA_ABI::detail
