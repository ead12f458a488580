// Compiled with -fmad=false, as the host's part of the same fit.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <cuda_runtime.h>

#include "baselines/work_sharing.hpp"
#include "common/cuda_check.hpp"

namespace perf {

namespace {

struct Flow {
  float x, y, dilation, rotation;
};

__device__ bool fit(int4 p, int4 q, Flow& flow) {
  using Int = long long;
  const Int px = p.x, py = p.y, qx = q.x, qy = q.y;
  const Int ux = p.z - px, uy = p.w - py, vx = q.z - qx, vy = q.w - qy;
  const Int dx = px - qx, dy = py - qy, du = ux - vx, dv = uy - vy;
  const Int moved = du * du + dv * dv, apart = dx * dx + dy * dy;
  if (moved == 0 || apart == 0) return false;
  const Int uu = ux * ux + uy * uy, vv = vx * vx + vy * vy;
  const Int dot = ux * vx + uy * vy, cross = ux * vy - uy * vx;
  const float below = static_cast<float>(moved), distance = static_cast<float>(apart);
  flow.x = static_cast<float>(px * vv + qx * uu - (px + qx) * dot + dy * cross) / below;
  flow.y = static_cast<float>(py * vv + qy * uu - (py + qy) * dot - dx * cross) / below;
  flow.dilation = static_cast<float>(dx * du + dy * dv) / distance;
  flow.rotation = static_cast<float>(dx * dv - dy * du) / distance;
  return true;
}

__device__ int whole(float value) {
  constexpr float limit = 1 << 29;
  return static_cast<int>(fmaxf(-limit, fminf(limit, value)));
}

__device__ int is_outlier(int4 v, const Flow& flow, int error) {
  const float dx = static_cast<float>(v.x) - flow.x, dy = static_cast<float>(v.y) - flow.y;
  const int ex = v.x + whole(dx * flow.dilation) - whole(dy * flow.rotation) - v.z;
  const int ey = v.y + whole(dy * flow.dilation) + whole(dx * flow.rotation) - v.w;
  return ex >= error || ex <= -error || ey >= error || ey <= -error ? 1 : 0;
}

// ---- as the suite's

__global__ void suite_kernel(const int4* vectors, int size, const int* samples, int iterations, int error,
                             int limit, Flow* flows, int* models, int* outliers, int* found) {
  __shared__ int count;
  __shared__ bool exists;
  for (int i = static_cast<int>(blockIdx.x); i < iterations; i += static_cast<int>(gridDim.x)) {
    if (threadIdx.x == 0) {
      Flow flow{};
      exists = fit(vectors[samples[2 * i]], vectors[samples[2 * i + 1]], flow);
      flows[i] = flow;
      count = 0;
    }
    __syncthreads();
    if (exists) {
      const Flow flow = flows[i];
      int mine = 0;
      for (int k = static_cast<int>(threadIdx.x); k < size; k += static_cast<int>(blockDim.x))
        mine += is_outlier(vectors[k], flow, error);
      atomicAdd(&count, mine);
    }
    __syncthreads();
    if (threadIdx.x == 0 && exists && count < limit) {
      const int at = atomicAdd(found, 1);
      models[at] = i;
      outliers[at] = count;
    }
    __syncthreads();
  }
}

// ---- at best

using Key = unsigned long long;
constexpr Key no_key = ~Key{0};

struct Shared {
  Key best;
  int found;
  unsigned done;
};

__global__ void best_kernel(const int4* vectors, int size, const int2* samples, int iterations, int error,
                            int limit, int2* candidates, Shared* shared, Shared* result) {
  __shared__ Flow flow;
  __shared__ bool exists;
  __shared__ int counts[32];
  const int lane = static_cast<int>(threadIdx.x & 31), warp = static_cast<int>(threadIdx.x >> 5);
  for (int i = static_cast<int>(blockIdx.x); i < iterations; i += static_cast<int>(gridDim.x)) {
    if (threadIdx.x == 0) exists = fit(vectors[samples[i].x], vectors[samples[i].y], flow);
    __syncthreads();
    if (exists) {
      int mine = 0;
      const Flow own = flow;
#pragma unroll 4
      for (int k = static_cast<int>(threadIdx.x); k < size; k += static_cast<int>(blockDim.x))
        mine += is_outlier(vectors[k], own, error);
      mine = __reduce_add_sync(0xffffffffU, mine);
      if (lane == 0) counts[warp] = mine;
    }
    __syncthreads();
    if (threadIdx.x == 0 && exists) {
      int count = 0;
      for (int w = 0; w < static_cast<int>(blockDim.x) / 32; ++w) count += counts[w];
      if (count < limit) {
        candidates[atomicAdd(&shared->found, 1)] = make_int2(i, count);
        atomicMin(&shared->best, (static_cast<Key>(count) << 32) | static_cast<unsigned>(i));
      }
    }
    // Before thread 0 writes `flow` anew the others have read it, and before the others write `counts` anew
    // thread 0 has: by the barrier above, and by that after the next fit.
  }
  if (threadIdx.x != 0) return;
  __threadfence();
  if (atomicAdd(&shared->done, 1U) + 1 != gridDim.x) return;
  __threadfence();
  result->best = atomicExch(&shared->best, no_key);
  result->found = atomicExch(&shared->found, 0);
  shared->done = 0;
}

}  // namespace

struct RansacByHand::Arrays {
  RansacInput input;
  std::shared_ptr<int4> vectors;
  std::shared_ptr<int2> samples;
  std::shared_ptr<Flow> flows;
  std::shared_ptr<int> models, outliers, found;
  std::shared_ptr<int2> candidates;
  std::shared_ptr<Shared> shared, result;
  std::vector<Flow> host_flows;
  std::vector<int> host_models, host_outliers;
};

RansacByHand::RansacByHand(const RansacInput& input) : arrays_(new Arrays) {
  const auto n = static_cast<std::size_t>(input.size), m = static_cast<std::size_t>(input.iterations);
  Arrays& a = *arrays_;
  a.input = input;
  a.vectors = cuda_array<int4>(n);
  a.samples = cuda_array<int2>(m);
  a.flows = cuda_array<Flow>(m);
  a.models = cuda_array<int>(m);
  a.outliers = cuda_array<int>(m);
  a.found = cuda_array<int>(1);
  a.candidates = cuda_array<int2>(m);
  a.shared = cuda_array<Shared>(1);
  a.result = pinned_value<Shared>();
  a.host_flows.resize(m);
  a.host_models.resize(m);
  a.host_outliers.resize(m);
  const Shared fresh{no_key, 0, 0};
  cuda_check(cudaMemcpy(a.shared.get(), &fresh, sizeof fresh, cudaMemcpyHostToDevice));
  cuda_check(cudaMemcpy(a.vectors.get(), input.vectors, n * sizeof(int4), cudaMemcpyHostToDevice));
  cuda_check(cudaMemcpy(a.samples.get(), input.samples, m * sizeof(int2), cudaMemcpyHostToDevice));
}
RansacByHand::~RansacByHand() = default;

RansacFound RansacByHand::as_the_suite(int blocks, int threads) {
  Arrays& a = *arrays_;
  const RansacInput& in = a.input;
  const auto m = static_cast<std::size_t>(in.iterations);
  int count = 0;
  const auto copy_in = [](void* to, const void* from, std::size_t bytes) {
    cuda_check(cudaMemcpy(to, from, bytes, cudaMemcpyHostToDevice));
  };
  const auto copy_out = [](void* to, const void* from, std::size_t bytes) {
    cuda_check(cudaMemcpy(to, from, bytes, cudaMemcpyDeviceToHost));
  };
  copy_in(a.flows.get(), a.host_flows.data(), m * sizeof(Flow));
  copy_in(a.models.get(), a.host_models.data(), m * sizeof(int));
  copy_in(a.outliers.get(), a.host_outliers.data(), m * sizeof(int));
  copy_in(a.found.get(), &count, sizeof(int));
  suite_kernel<<<static_cast<unsigned>(blocks), static_cast<unsigned>(threads)>>>(
      a.vectors.get(), in.size, reinterpret_cast<const int*>(a.samples.get()), in.iterations, in.error,
      in.limit, a.flows.get(), a.models.get(), a.outliers.get(), a.found.get());
  cuda_check(cudaGetLastError());
  copy_out(&count, a.found.get(), sizeof(int));
  copy_out(a.host_models.data(), a.models.get(), static_cast<std::size_t>(count) * sizeof(int));
  copy_out(a.host_outliers.data(), a.outliers.get(), static_cast<std::size_t>(count) * sizeof(int));
  RansacFound found{count, -1, -1};
  for (std::size_t k = 0; k < static_cast<std::size_t>(count); ++k) {
    const int model = a.host_models[k], outliers = a.host_outliers[k];
    const bool better =
        found.best < 0 || outliers < found.outliers || (outliers == found.outliers && model < found.best);
    if (better) found = {count, model, outliers};
  }
  return found;
}

RansacFound RansacByHand::at_best(int blocks, int threads) {
  const Arrays& a = *arrays_;
  const RansacInput& in = a.input;
  best_kernel<<<static_cast<unsigned>(blocks), static_cast<unsigned>(threads)>>>(
      a.vectors.get(), in.size, a.samples.get(), in.iterations, in.error, in.limit, a.candidates.get(),
      a.shared.get(), a.result.get());
  cuda_check(cudaGetLastError());
  cuda_check(cudaDeviceSynchronize());
  const Shared result = *a.result;
  if (result.best == no_key) return {};
  return {result.found, static_cast<int>(result.best & 0xffffffffU), static_cast<int>(result.best >> 32)};
}

}  // namespace perf
