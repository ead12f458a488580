// Competitors of dynamics_kernels: the kernels of common/dynamics_formulas.hpp, one by one and as a step.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/competitor.hpp"
#include "common/dynamics_formulas.hpp"

namespace perf {

enum class DynamicsWork { Gradient, Rotation, Force, Fused, LeastStep, Nodes, StepOfThree, StepOfFused };

/// `times` pieces of work one after the other, on GPUs as one graph. Element arrays are tiled by 8 on hosts,
/// on GPUs the first index is fastest. For T = float and double.
template <class T>
Sweep dynamics_by_hand(HostPlace place, DynamicsWork work, const DynamicsFields<T>& fields, int times);
template <class T>
Sweep dynamics_by_hand(CudaPlace place, DynamicsWork work, const DynamicsFields<T>& fields, int times);

}  // namespace perf
