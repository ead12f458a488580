// Launches over teams. Compiled by nvcc only.
//
// A reduction takes two kernels: one in which each team writes its contribution, and the one of
// reduce_kernels.hpp over those. So the tree is that of all reductions, and teams run as wide as they can.
#pragma once

#include <strata/devices/cuda/kernel_launch.hpp>
#include <strata/devices/cuda/team_kernels.hpp>
#include <strata/devices/cuda/team_plan.hpp>

namespace strata::inline STRATA_ABI::detail {

struct CudaTeamLaunch {
  /// What kernels over teams are handed.
  using team_member = CudaTeamMember;

  template <class Body>
  static void for_teams(const LaunchInfo& info, const TeamShape& shape, const Body& body) {
    using Work = CudaTeamFor<Body>;
    CudaQueue& queue = cuda_queue_for(info);
    CudaTeamKernel& kernel = team_kernel<&cuda_run<ParametersOf<Work>>>();
    const CudaTeamPlan plan = cuda_plan_teams(queue, kernel, info, shape);
    CudaLaunch launch(queue, EventKind::BeginFor, info, shape.teams());
    if (shape.teams() == 0) return;
    char* slots = nullptr;
    if (plan.slot_bytes > 0) slots = static_cast<char*>(launch.scratch(plan.all_slots()).partials);
    const auto parameters = parameters_of(launch, Work{body, league_of(shape, plan, slots), launch.check()});
    launch.run(kernel.kernel, plan.grid, &parameters);
  }

  template <class Body, class Reducer, class Finish>
  static void reduce_teams(const LaunchInfo& info, const TeamShape& shape, const Body& body,
                           const Reducer& reducer, const Finish& finish) {
    using Work = CudaTeamContribute<Body, Reducer>;
    using Nodes = RangeNodes<CudaJoinContributions<Reducer>>;
    using Join = CudaReduce<Nodes, Reducer, Finish>;
    using T = typename Reducer::value_type;
    const index_t teams = shape.teams();
    CudaQueue& queue = cuda_queue_for(info, Finish::waits);
    CudaTeamKernel& kernel = team_kernel<&cuda_run<ParametersOf<Work>>>();
    CudaTeamKernel& join_kernel = team_kernel<&cuda_run<ParametersOf<Join>>>();
    const CudaTeamPlan plan = cuda_plan_teams(queue, kernel, info, shape);
    CudaLaunch launch(queue, EventKind::BeginReduce, info, teams);

    // Eight warps a block where values fit, a node of 512 teams each; more nodes a warp where a grid would be
    // too large.
    const index_t nodes = reduction_blocks(0, teams).last;
    constexpr int log2_warps = Join::most_warps >= 8 ? 3 : 0;
    int log2_nodes = 0;
    while (log2_nodes < 10 && (nodes >> (log2_nodes + log2_warps)) > most_join_blocks) ++log2_nodes;
    const int log2_group = log2_nodes < 5 ? log2_nodes : 5;
    const int log2_block = log2_nodes + log2_warps;
    const index_t grid = nodes > 0 ? ((nodes - 1) >> log2_block) + 1 : 1;

    // In one piece of scratch memory: the joining kernel's partials, the contributions, the teams' level 1.
    const std::size_t partial_bytes = padded(2 * static_cast<std::size_t>(grid) * sizeof(T));
    const std::size_t contribution_bytes = padded(static_cast<std::size_t>(teams) * sizeof(T));
    const CudaScratch scratch = launch.scratch(partial_bytes + contribution_bytes + plan.all_slots());
    T* const contributions = reinterpret_cast<T*>(static_cast<char*>(scratch.partials) + partial_bytes);
    char* const slots = reinterpret_cast<char*>(contributions) + contribution_bytes;

    if (teams > 0) {
      const auto parameters = parameters_of(
          launch, Work{body, reducer, league_of(shape, plan, slots), contributions, launch.check()});
      launch.run(kernel.kernel, plan.grid, &parameters);
    }
    CudaHostSlot host{};
    if constexpr (Finish::waits) host = launch.host_slot(sizeof(T));
      // The rest begins at zero, and is said by name.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"
    Join join{Nodes{{reducer, contributions}, 0, teams, 0, nodes}, reducer, finish};
#pragma GCC diagnostic pop
    join.log2_group = log2_group;
    join.log2_rounds = log2_nodes - log2_group;
    join.scratch = scratch;
    join.host = host;
    join.check = launch.check();
    const auto parameters = parameters_of(launch, join);
    launch.run(join_kernel.kernel,
               CudaGrid{{static_cast<unsigned>(grid), 1, 1}, {warp_lanes << log2_warps, 1, 1}, 0, 1},
               &parameters);
    if constexpr (Finish::waits) {
      T value;
      launch.wait_for_value(host, &value, sizeof(T));
      finish.on_host(value);
    }
  }

 private:
  static constexpr index_t most_join_blocks = 2048;

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
