// Launches on CUDA GPUs. Under nvcc the kernels are instantiated here; in other files a launch is a
// compile-time error that says what to do.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/devices/launch_info.hpp>

#if defined(__CUDACC__)
#include <strata/devices/cuda/launch/kernel_call.hpp>
#include <strata/devices/cuda/launch/kernel_launch.hpp>
#include <strata/devices/cuda/launch/team_launch.hpp>
#else
#include <strata/devices/cuda/launch/team_member.hpp>
#endif

namespace strata::inline STRATA_ABI::detail {

#if defined(__CUDACC__)

struct CudaExecution : CudaKernelLaunch, CudaTeamLaunch {
  using kernel_call = CudaKernelCall;
};

#else

struct CudaExecution {
  using team_member = CudaTeamMember;

  template <class Body>
  static void for_range(const LaunchInfo&, const ChunkRange&, const Body&) {
    only_under_nvcc<Body>();
  }
  template <int Rank, class Body>
  static void for_box(const LaunchInfo&, const TileRange<Rank>&, const Body&) {
    only_under_nvcc<Body>();
  }
  template <class Body, class Reducer, class Finish>
  static void reduce_range(const LaunchInfo&, const ChunkRange&, const Body&, const Reducer&, const Finish&) {
    only_under_nvcc<Body>();
  }
  template <int Rank, class Body, class Reducer, class Finish>
  static void reduce_box(const LaunchInfo&, const TileRange<Rank>&, const Body&, const Reducer&,
                         const Finish&) {
    only_under_nvcc<Body>();
  }
  template <class Body, class Reducer, class Finish>
  static void reduce_array(const LaunchInfo&, const ChunkRange&, const Body&, const Reducer&, const Finish&) {
    only_under_nvcc<Body>();
  }
  template <class Body, class Reducer, class Finish>
  static void scan_range(const LaunchInfo&, const ChunkRange&, const Body&, const Reducer&, const Finish&,
                         const typename Reducer::value_type&) {
    only_under_nvcc<Body>();
  }
  template <class Body>
  static void for_teams(const LaunchInfo&, const TeamShape&, const Body&) {
    only_under_nvcc<Body>();
  }
  template <class Body, class Reducer, class Finish>
  static void reduce_teams(const LaunchInfo&, const TeamShape&, const Body&, const Reducer&, const Finish&) {
    only_under_nvcc<Body>();
  }
  template <class Body, class... Reducer>
  static TeamLimits team_limits(const LaunchInfo&, const TeamShape&) {
    only_under_nvcc<Body>();
    return {};
  }

 private:
  template <class Body>
  static constexpr void only_under_nvcc() {
    static_assert(sizeof(Body) == 0,
                  "strata: a kernel for Cuda is launched in a file that nvcc does not compile: name the file "
                  "in strata_add_kernels(target file.cpp)");
  }
};

#endif

}  // namespace strata::inline STRATA_ABI::detail
