// A kernel by hand of the thermal mini-app on a GPU, and how often it is tried.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include <cuda_runtime_api.h>

#include "baselines/thermal_kernels.hpp"

namespace perf {

/// A way to launch it.
struct ThermalWay {
  using Launch = std::function<void(cudaStream_t)>;
  std::string name;
  Launch launch;
};

inline unsigned blocks_for(std::ptrdiff_t items, int block) {
  return static_cast<unsigned>((items + block - 1) / block);
}

/// Those of Dot, Update and Direction; of Iteration, what follows the product.
template <class T>
std::vector<ThermalWay> vector_ways(ThermalKernel kernel, const ThermalArrays<T>& arrays);

}  // namespace perf
