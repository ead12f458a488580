// Everything of Strata that user code needs.
#pragma once

#include <strata/algorithms/device_list.hpp>
#include <strata/algorithms/launch.hpp>
#include <strata/algorithms/parallel_for.hpp>
#include <strata/algorithms/parallel_reduce.hpp>
#include <strata/algorithms/parallel_scan.hpp>
#include <strata/algorithms/random.hpp>
#include <strata/algorithms/team.hpp>
#include <strata/core/box.hpp>
#include <strata/core/error.hpp>
#include <strata/core/hooks.hpp>
#include <strata/core/runtime.hpp>
#include <strata/core/settings.hpp>
#include <strata/devices/emulated/control.hpp>
#include <strata/devices/graph.hpp>
#include <strata/devices/queue.hpp>
#include <strata/views/atomic.hpp>
#include <strata/views/create.hpp>
#include <strata/views/deep_copy.hpp>
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
#endif
