// What the teams of a launch can be on a device, for kernels that choose their team size themselves:
//
//   const auto work = teams(n).vector(8).scratch(0, bytes);
//   const index_t most = team_size_max(work, with(Kernel{}, x));            // teams(n, most) launches
//   const index_t good = team_size_recommended(on(device), work, kernel);   // what auto_size takes
//   const index_t room = scratch_size_max(on(device), work, kernel, 0);     // bytes a team, of level 0
//
// The results depend on the lanes and the scratch memory of `work` (not on its team size), and on GPUs on the
// kernel's registers. Those of a reduction take its named reducers, too. 0 members: no team gets that much
// scratch memory. KernelError for lanes that no device has.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/algorithms/place.hpp>
#include <strata/algorithms/team.hpp>

namespace strata::inline STRATA_ABI {

namespace detail {

template <class Where, WorkRange R, class K, class... Reducers>
TeamLimits limits_of_teams(const Where& where, const R& work, const K&, const Reducers&... reducers) {
  using W = WorkOf<R>;
  constexpr bool reduces = (is_reducer_v<Reducers> && ...);
  static_assert(reduces,
                "strata: team_size_max: after the kernel come the named reducers of a reduction, such as "
                "Sum(result)");
  static_assert(W::rank == teams_rank, "strata: team_size_max and its like are asked of teams(...)");
  static_assert(knows_device<Where, K>,
                "strata: team_size_max: nothing says on which device: you wrote team_size_max(work, kernel); "
                "write team_size_max(on(device), work, kernel) or give with(kernel, views...)");
  if constexpr (W::rank == teams_rank && reduces && knows_device<Where, K>) {
    using D = typename DeviceFor<Where, K>::type;
    static_assert(check_kernel<Where, K>());
    using Common = CommonKernel<K>;
    using Tag = typename W::tag;
    using Compiled =
        std::conditional_t<can_call<D, Tag, Common, W::rank, typename Reducers::value_type&...>, Common, K>;
    constexpr bool callable = can_call<D, Tag, Compiled, W::rank, typename Reducers::value_type&...>;
    static_assert(callable,
                  "strata: team_size_max: the kernel cannot be called as kernel(member, value&...) const: a "
                  "reduction's limits are asked for with its reducers, a loop's without");
    if constexpr (callable) {
      using Inner = BodyFor<D, Tag, Compiled, W::rank>;
      const Capture views = make_capture<D>();
      const LaunchInfo info = make_info<D>("", where, views, typeid(FunctorOf<K>).name(), tag_type<Tag>());
      if constexpr (sizeof...(Reducers) == 0) {
        return D::execution::template team_limits<Inner>(info, W::get(work));
      } else {
        using Reducing = ReduceByName<Reducers...>;
        using Body = std::remove_cvref_t<decltype(Reducing::body(std::declval<const Inner&>()))>;
        using Joiner =
            std::remove_cvref_t<decltype(Reducing(reducers...).template reducer<KernelCallOf<D>>())>;
        return D::execution::template team_limits<Body, Joiner>(info, W::get(work));
      }
    }
  }
  return {};
}
template <class Where, WorkRange R, class K, class... Reducers>
index_t scratch_of_teams(const Where& where, const R& work, const K& kernel, int level,
                         const Reducers&... reducers) {
  if (level < 0 || level >= scratch_levels)
    fail_work("scratch_size_max", level, "the levels of scratch memory are 0, small and fast, and 1, large");
  return limits_of_teams(where, work, kernel, reducers...).scratch[level];
}

/// The first argument of a question about teams: on(...), or the work, of a kernel that has a device.
template <class A>
concept OnOrWork = is_on_v<A> || WorkRange<A>;

template <OnOrWork First, class... Rest>
TeamLimits team_limits(const First& first, const Rest&... rest) {
  if constexpr (is_on_v<First>) return limits_of_teams(first, rest...);
  else return limits_of_teams(Anywhere{}, first, rest...);
}

}  // namespace detail

/// team_size_max([on(...),] work, kernel, reducers...): the most members that a team of this launch can have.
template <detail::OnOrWork First, class Second, class... Rest>
[[nodiscard]] index_t team_size_max(const First& first, const Second& second, const Rest&... rest) {
  return detail::team_limits(first, second, rest...).most_members;
}

/// team_size_recommended([on(...),] work, kernel, reducers...): the members that a team of this launch gets
/// where the device chooses.
template <detail::OnOrWork First, class Second, class... Rest>
[[nodiscard]] index_t team_size_recommended(const First& first, const Second& second, const Rest&... rest) {
  return detail::team_limits(first, second, rest...).chosen_members;
}

/// scratch_size_max([on(...),] work, kernel, level, reducers...): the most bytes of scratch memory of `level`
/// that a team of this launch can have, all members together. (Level 1 is large memory: what one launch can
/// have of it depends on what is free.)
template <detail::OnOrWork First, class Second, class Third, class... Rest>
[[nodiscard]] index_t scratch_size_max(const First& first, const Second& second, const Third& third,
                                       const Rest&... rest) {
  if constexpr (detail::is_on_v<First>) return detail::scratch_of_teams(first, second, third, rest...);
  else return detail::scratch_of_teams(detail::Anywhere{}, first, second, third, rest...);
}

}  // namespace strata::inline STRATA_ABI
