// Launches over teams. Compiled by nvcc only.
//
// A reduction takes two kernels: one in which each team writes its contribution, and the one of
// reduce_kernels.hpp over those. So the tree is that of all reductions, and teams run as wide as they can.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/devices/cuda/launch/kernel_launch.hpp>
#include <strata/devices/cuda/launch/team_kernels.hpp>
#include <strata/devices/cuda/launch/team_plan.hpp>

namespace strata::inline STRATA_ABI::detail {

struct CudaTeamLaunch {
  /// The member that kernels over teams receive.
  using team_member = CudaTeamMember;

  /// `Shape` is TeamShape, or that with hints, of which the launch bounds count.
  template <class Shape, class Body>
  static void for_teams(const LaunchInfo& info, const Shape& shape, const Body& body) {
    using Work = CudaTeamFor<Body>;
    using Static = typename HintsOf<Shape>::static_hints;
    CudaQueue& queue = cuda_queue_for(info);
    CudaTeamKernel& kernel = team_kernel<ParametersOf<Work>, Static>(shape);
    const CudaTeamPlan plan = cuda_plan_teams(queue, kernel, info, shape);
    CudaLaunch launch(queue, EventKind::BeginFor, info, shape.teams());
    if (shape.teams() == 0) return;
    char* slots = nullptr;
    if (plan.slot_bytes > 0) slots = static_cast<char*>(launch.scratch(plan.all_slots()).partials);
    const auto parameters = parameters_of(launch, Work{body, league_of(shape, plan, slots), launch.check()});
    launch.run(kernel.kernel, plan.grid, &parameters);
  }

  template <class Shape, class Body, class Reducer, class Finish>
  static void reduce_teams(const LaunchInfo& info, const Shape& shape, const Body& body,
                           const Reducer& reducer, const Finish& finish) {
    using Static = typename HintsOf<Shape>::static_hints;
    using Work = CudaTeamContribute<Body, Reducer>;
    using Nodes = RangeNodes<CudaJoinContributions<Reducer>>;
    using JoinLaunch = CudaReduceLaunch<Nodes, Reducer, Finish, StaticHints<>>;
    using T = typename Reducer::value_type;
    const index_t teams = shape.teams();
    CudaQueue& queue = cuda_queue_for(info, Finish::waits);
    CudaTeamKernel& kernel = team_kernel<ParametersOf<Work>, Static>(shape);
    const CudaTeamPlan plan = cuda_plan_teams(queue, kernel, info, shape);
    CudaLaunch launch(queue, EventKind::BeginReduce, info, teams);

    // A node is 512 teams.
    const index_t nodes = reduction_blocks(0, teams).last;
    const auto contributed = [&](T* contributions) {
      return Nodes{{reducer, contributions}, 0, teams, 0, nodes};
    };
    JoinLaunch join(cuda_kernel_on(queue, JoinLaunch::kernel()), contributed(nullptr), nodes);

    // In one piece of scratch memory: the joining kernel's partials, the contributions, the teams' level 1.
    const std::size_t partial_bytes = padded(join.scratch_bytes());
    const std::size_t contribution_bytes = padded(static_cast<std::size_t>(teams) * sizeof(T));
    const CudaScratch scratch =
        launch.scratch(partial_bytes + contribution_bytes + plan.all_slots(), join.slots());
    T* const contributions = reinterpret_cast<T*>(static_cast<char*>(scratch.partials) + partial_bytes);
    char* const slots = reinterpret_cast<char*>(contributions) + contribution_bytes;

    if (teams > 0) {
      const auto parameters = parameters_of(
          launch, Work{body, reducer, league_of(shape, plan, slots), contributions, launch.check()});
      launch.run(kernel.kernel, plan.grid, &parameters);
    }
    join.run(launch, scratch, contributed(contributions), reducer, finish);
  }

  /// What teams of a loop, or with a reducer of a reduction, can be.
  template <class Body, class... Reducer, class Shape>
  static TeamLimits team_limits(const LaunchInfo& info, const Shape& shape) {
    using Static = typename HintsOf<Shape>::static_hints;
    using Work = typename TeamWork<Body, Reducer...>::type;
    return cuda_team_limits(cuda_queue_for(info), team_kernel<ParametersOf<Work>, Static>(shape), info,
                            shape);
  }

 private:
  template <class Body, class... Reducer>
  struct TeamWork {
    using type = CudaTeamContribute<Body, Reducer...>;
  };
  template <class Body>
  struct TeamWork<Body> {
    using type = CudaTeamFor<Body>;
  };
  // The kernel for the launch bounds of `Static`; the one without for teams that are larger than they allow.
  template <class Parameters, class Static>
  static CudaTeamKernel& team_kernel(const TeamShape& shape) {
    const index_t lanes = shape.vector_length > 1 ? shape.vector_length : 1;
    if (Static::max_threads > 0 && shape.team_size <= Static::max_threads / lanes)
      return team_kernel<cuda_run_function<Parameters, Static>()>();
    return team_kernel<cuda_run_function<Parameters, StaticHints<>>()>();
  }
  template <auto Function>
  static CudaTeamKernel& team_kernel() {
    static CudaTeamKernel kernel{{reinterpret_cast<const void*>(Function), {}}, {}};
    return kernel;
  }
  static CudaLeague league_of(const TeamShape& shape, const CudaTeamPlan& plan, char* slots) {
    return {shape.teams(), {shape.scratch[0], shape.scratch[1]}, slots, plan.slot_bytes};
  }
  static std::size_t padded(std::size_t bytes) { return (bytes + 255) / 256 * 256; }
};

}  // namespace strata::inline STRATA_ABI::detail
