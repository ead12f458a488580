// parallel_for: calls a kernel once for every index of a range.
//
//   parallel_for(n, functor);                          // the paper's form: functor::device_type says where
//   parallel_for(n, with(axpy{a}, x, y));              // kernel(i, x, y) on the device of the views
//   parallel_for(on(queue), range(1, n - 1), kernel);  // anywhere, any callable
//   parallel_for("name", n, functor);                  // a name for profiles and messages; or the place's
//
// A kernel writes only what belongs to its own index and reads nothing that another index writes. It is
// copied for the launch. On host devices the call returns when the work is done and throws what the kernel
// threw; on others it returns after enqueueing, and the next wait throws errors. Without a queue the launch
// runs on the instance on which the kernel's views live. Errors: WrongDevice, OutOfBounds (checked
// builds), RuntimeEnded.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/algorithms/kernel.hpp>
#include <strata/algorithms/place.hpp>

namespace strata::inline STRATA_ABI {

namespace detail {

// Instantiated for a kernel that cannot be called so.
template <class I, class V>
struct KernelOfFor {
  static_assert(
      !std::is_same_v<I, I>,
      "strata: parallel_for: the kernel cannot be called as kernel(index...) const: you wrote an operator() "
      "that is not const or has other parameters; write `void operator()(auto i) const` with (the tag,) one "
      "index for each dimension of the range and the views of `with` (how many: see "
      "KernelOfFor<Indices<...>, Views<...>> beside this)");
  static constexpr bool is_right = false;
};

// `bound` has what the kernel's views noted when they were copied before.
template <class Where, class R, class K>
void launch_for(const char* label, const Where& where, const R& work, const K& kernel, const Capture& bound) {
  if constexpr (!knows_device<Where, K>) {
    static_assert(
        knows_device<Where, K>,
        "strata: parallel_for: nothing says on which device: you wrote parallel_for(n, kernel); write "
        "parallel_for(on(device), n, kernel) or parallel_for(n, with(kernel, views...)), or give the functor "
        "a `device_type`");
  } else {
    using D = typename DeviceFor<Where, K>::type;
    using W = WorkOf<R>;
    static_assert(check_kernel<Where, K>());
    using Common = CommonKernel<K>;
    using Compiled = std::conditional_t<can_call<D, typename W::tag, Common, W::rank>, Common, K>;
    constexpr bool callable = can_call<D, typename W::tag, Compiled, W::rank>;
    static_assert(callable || W::rank != teams_rank,
                  "strata: the kernel over teams cannot be called as kernel(member) const: you wrote an "
                  "operator() that is not const or has other parameters; write `void operator()(const auto& "
                  "member) const` with (the tag,) a member of a team (and the views)");
    if constexpr (!callable && W::rank != teams_rank) {
      using Given = Views<num_views<K>>;
      static_cast<void>(std::conditional_t<takes_no_index<D, typename W::tag, Compiled, W::rank>,
                                           IndexOfKernel<Indices<W::rank>, Given>,
                                           KernelOfFor<Indices<W::rank>, Given>>::is_right);
    }
    if constexpr (callable) {
      using B = BodyFor<D, typename W::tag, Compiled, W::rank>;
      Capture views = bound;
      CaptureScope scope(views);
      const B body{static_cast<Compiled>(kernel)};
      scope.end();
      const LaunchInfo info =
          make_info<D>(label, where, views, typeid(FunctorOf<K>).name(), tag_type<typename W::tag>());
      if constexpr (W::rank == 1) D::execution::for_range(info, W::get(work), body);
      else if constexpr (W::rank == teams_rank) D::execution::for_teams(info, W::get(work), body);
      else D::execution::template for_box<W::rank>(info, W::get(work), body);
    }
  }
}

template <class Where, class R, class K>
void launch_for(const char* label, const Where& where, const R& work, const K& kernel) {
  if constexpr (knows_device<Where, K>)
    launch_for(label, where, work, kernel, make_capture<typename DeviceFor<Where, K>::type>());
  else launch_for(label, where, work, kernel, Capture{});
}

}  // namespace detail

/// Calls `kernel` once for every index of `work`. The head of this file says where it runs, when the call
/// returns and what it throws; `label` names the launch in messages and profiles.
template <WorkRange R, class K>
void parallel_for(const R& work, const K& kernel) {
  detail::launch_for("", detail::Anywhere{}, work, kernel);
}
template <class D, WorkRange R, class K>
void parallel_for(const On<D>& where, const R& work, const K& kernel) {
  detail::launch_for(where.label, where, work, kernel);
}
template <WorkRange R, class K>
void parallel_for(const char* label, const R& work, const K& kernel) {
  detail::launch_for(label, detail::Anywhere{}, work, kernel);
}
template <class D, WorkRange R, class K>
void parallel_for(const char* label, const On<D>& where, const R& work, const K& kernel) {
  detail::launch_for(label, where, work, kernel);
}

namespace detail {

struct DeviceOfFor {
  template <LacksOn W>
  DeviceOfFor(const W&) {
    static_assert(
        never<W>,
        "strata: parallel_for: a place is made by on(...): you wrote parallel_for(device, n, kernel); write "
        "parallel_for(on(device), n, kernel), as in parallel_for(on(Threads{}), n, kernel)");
  }
  template <class W>
  requires(!LacksOn<W>) DeviceOfFor(const W&) {
    static_assert(never<W>,
                  "strata: parallel_for: no range comes before the kernel: you wrote parallel_for(kernel, "
                  "n), or a real number for n; write parallel_for(n, kernel), with on(device) before n where "
                  "nothing else says the device");
  }
};

}  // namespace detail

/// These do not compile: a device or a queue is not a place, or no range comes first.
inline void parallel_for(detail::DeviceOfFor, detail::AnyOrNone = {}, detail::AnyOrNone = {}) {}
inline void parallel_for(const char*, detail::DeviceOfFor, detail::AnyOrNone = {}, detail::AnyOrNone = {}) {}

}  // namespace strata::inline STRATA_ABI
