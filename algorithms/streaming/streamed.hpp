// streamed: arrays larger than a device's memory, or than the host's, pass through the device in slices of
// rows.
//
//   launch(streamed(Cuda{0}, 2_GiB), n, axpy{a}, in(x), inout(y));            // slice by slice
//   launch(streamed(across(Cuda{0}, Cuda{1}), 2_GiB), n, axpy{a}, in(x), inout(y));
//   launch_reduce(streamed(Cuda{0}, 2_GiB), n, kernel, Sum(total), in(x));
//   launch_scan(streamed(Cuda{0}, 2_GiB), n, kernel, Sum(total), in(x), out(y));
//   streamed_iterate(streamed(Cuda{0}, 2_GiB), steps, kernel, state(u, halo(1, 1)), in(k));
//
// The arrays are coherent ones, whose values are in host memory or in a file. While one slice is computed,
// the next one is copied in and the one before is copied out. Kernels are those of any launch, and use the
// indices of the whole arrays. What work items touch is declared as in other launches: `own`, halos and
// rows(f) are streamed by rows; `everything`, columns and fixed boxes are on the device as a whole, as long
// as the launch lasts.
//
// The call returns when the results are in host memory; other uses of its arrays wait until then.
// Errors: OutOfMemory where the budget does not hold the smallest slices, AccessConflict, LayoutError (rows
// that are not contiguous), and what copies and kernels threw: DataLost then says which arrays are part old,
// part new.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/algorithms/streaming/stream_group.hpp>
#include <strata/algorithms/streaming/stream_report.hpp>
#include <strata/algorithms/streaming/streamed_access.hpp>
#include <strata/algorithms/streaming/streamed_place.hpp>

namespace strata::inline STRATA_ABI::detail {

// The function that the threads of runs call. The work, the kernel and the accesses must outlive it.
// (Functions, as nvcc 13.0 mixes up the packs of generic lambdas within lambdas that are templates.)
template <class D, class R, class K, class... Accesses>
streaming::StreamGroup::Launch map_launch(const char* label, const On<D>& on, const R& work, const K& kernel,
                                          const Accesses&... accesses) {
  return [label, on, &work, &kernel, &accesses...](const streaming::StreamSite& site) {
    const auto mine = LeftMost<R>::part(work, site.work);
    launch_slice<K>(
        label, on, site,
        [&](const auto&... resolved) {
          launch_for(label, on, mine,
                     bind_kernel<D, std::remove_const_t<decltype(mine)>>(kernel, resolved...));
        },
        accesses...);
  };
}

template <class Where>
constexpr void check_one_step() {
  static_assert(!makes_several_steps<Where>,
                "strata: launch: steps_per_launch is for streamed_iterate; leave it out");
}

template <>
struct LaunchBy<LaunchWay::Streamed> {
  template <class Where, class R, class K, class... Accesses>
  static StreamReport launch(const char* label, const Where& where, const R& work, const K& kernel,
                             const Accesses&... accesses) {
    check_one_step<Where>();
    streaming::StreamGroup group(stream_problem(label, work, accesses...), stream_states(accesses...));
    check_all_fit<K, false>(label, work, accesses...);
    return stream(group, where, typeid(FunctorOf<K>).name(),
                  [&](const auto& on) { return map_launch(label, on, work, kernel, accesses...); });
  }
};

}  // namespace strata::inline STRATA_ABI::detail
