// The header of Strata that most user code needs: devices, views, launches over them and over coherent
// arrays. Others, each with this one in it, so that files without them compile faster:
//
//   <strata/streaming.hpp>   launches over streamed(...): arrays larger than a device
//   <strata/sequence.hpp>    loops over coherent arrays that are declared once and run many times
//   <strata/tasks.hpp>       graphs of tasks: launches and functions, run in any order that they allow
//   <strata/skeletons.hpp>   map, reduce, scan and map_overlap over coherent arrays
//   <strata/linear.hpp>      vectors, sparse matrices, solvers
//   <strata/tiled.hpp>       dense matrices larger than a device: factors, products, solutions
//   <strata/sorting.hpp>     sorting, selecting, searching
// SPDX-License-Identifier: Apache-2.0
#pragma once

// First those with the assertions that users meet: the compiler's list of how a header came to be included,
// which it prints before an error, is one line for them. clang-format leaves the order alone, as it has a
// reason.
// clang-format off
#include <strata/views/view.hpp>
#include <strata/views/deep_copy.hpp>
#include <strata/views/create.hpp>
#include <strata/algorithms/kernel.hpp>
#include <strata/algorithms/reduction.hpp>
#include <strata/algorithms/parallel_for.hpp>
#include <strata/algorithms/parallel_reduce.hpp>
// clang-format on

#include <strata/algorithms/across.hpp>
#include <strata/algorithms/build_info.hpp>
#include <strata/algorithms/coherent_launch.hpp>
#include <strata/algorithms/coherent_reduce.hpp>
#include <strata/algorithms/device_list.hpp>
#include <strata/algorithms/launch.hpp>
#include <strata/algorithms/local_deep_copy.hpp>
#include <strata/algorithms/parallel_for.hpp>
#include <strata/algorithms/parallel_reduce.hpp>
#include <strata/algorithms/parallel_scan.hpp>
#include <strata/algorithms/random.hpp>
#include <strata/algorithms/system_report.hpp>
#include <strata/algorithms/team.hpp>
#include <strata/algorithms/team_collectives.hpp>
#include <strata/algorithms/team_limits.hpp>
#include <strata/algorithms/visit_device.hpp>
#include <strata/core/assert.hpp>
#include <strata/core/box.hpp>
#include <strata/core/complex.hpp>
#include <strata/core/error.hpp>
#include <strata/core/half.hpp>
#include <strata/core/log.hpp>
#include <strata/core/main_guard.hpp>
#include <strata/core/print.hpp>
#include <strata/core/profiling/counters.hpp>
#include <strata/core/profiling/hooks.hpp>
#include <strata/core/profiling/leak_report.hpp>
#include <strata/core/profiling/trace.hpp>
#include <strata/core/runtime.hpp>
#include <strata/core/settings.hpp>
#include <strata/devices/emulated/control.hpp>
#include <strata/devices/graph.hpp>
#include <strata/devices/queue.hpp>
#include <strata/version.hpp>
#include <strata/views/atomic.hpp>
#include <strata/views/bitset.hpp>
#include <strata/views/coherent/coherent_array.hpp>
#include <strata/views/coherent/file_array.hpp>
#include <strata/views/create.hpp>
#include <strata/views/deep_copy.hpp>
#include <strata/views/dlpack.hpp>
#include <strata/views/hash_map.hpp>
#include <strata/views/mdarray.hpp>
#include <strata/views/mdspan.hpp>
#include <strata/views/mirror.hpp>
#include <strata/views/multivector.hpp>
#include <strata/views/resize.hpp>
#include <strata/views/scatter_view.hpp>
#include <strata/views/slice.hpp>
#include <strata/views/subview.hpp>
#include <strata/views/view_as.hpp>
#if STRATA_HAS_CUDA
#include <strata/devices/cuda/control.hpp>
#include <strata/devices/cuda/memory/managed.hpp>
#endif
