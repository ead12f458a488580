// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <vector>

#include "baselines/dynamics.hpp"
#include "common/cuda_check.hpp"
#include "common/cuda_graph.hpp"

namespace perf {

namespace {

// Kernels may be launched before the one ahead has ended (programmatic dependent launch), and wait for it.
__device__ void wait_for_previous() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;\n\tgriddepcontrol.wait;" ::: "memory");
#endif
}

// A thread does an element or a node.
template <DynamicsWork Work, int MinBlocks, class T>
__global__ void __launch_bounds__(128, MinBlocks)
    item_kernel(const __grid_constant__ DynamicsFields<T> f, unsigned count) {
  wait_for_previous();
  const unsigned k = blockIdx.x * blockDim.x + threadIdx.x;
  if (k >= count) return;
  const std::ptrdiff_t item = k;
  if constexpr (Work == DynamicsWork::Gradient) dynamics_gradient<0>(f, item);
  else if constexpr (Work == DynamicsWork::Rotation) dynamics_rotation<0>(f, item);
  else if constexpr (Work == DynamicsWork::Force) dynamics_force<0>(f, item);
  else if constexpr (Work == DynamicsWork::Fused) dynamics_fused<0>(f, item);
  else dynamics_node<0>(f, item);
}

struct Gathering {
  double* partials;  // the least of each block
  unsigned* done;    // blocks that have written theirs; 0 again at the end
};

constexpr int reduce_block = 256;

template <class T>
__device__ T least_of_block(T x) {
  __shared__ T of_warp[reduce_block / 32];
  for (int step = 16; step > 0; step /= 2) x = min(x, __shfl_down_sync(0xffffffffu, x, step));
  __syncthreads();  // the shared memory may still be in use
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = x;
  __syncthreads();
  if (threadIdx.x >= 32) return x;
  x = of_warp[threadIdx.x % (reduce_block / 32)];
  for (int step = reduce_block / 64; step > 0; step /= 2) x = min(x, __shfl_down_sync(0xffffffffu, x, step));
  return x;
}

// The block that is done last joins what the others found and sets the clock.
template <class T>
__global__ void __launch_bounds__(reduce_block)
    least_kernel(const __grid_constant__ DynamicsFields<T> f, Gathering gathering) {
  wait_for_previous();
  T least = T(1e30);
#pragma unroll 8
  for (std::ptrdiff_t e = blockIdx.x * reduce_block + threadIdx.x; e < f.elements;
       e += std::ptrdiff_t{gridDim.x} * reduce_block) {
    const T dt = f.stable_dt[e];
    least = min(least, dt > 0 ? dt : T(-1));
  }
  least = least_of_block(least);
  __shared__ bool last;
  if (threadIdx.x == 0) {
    gathering.partials[blockIdx.x] = static_cast<double>(least);
    __threadfence();
    last = atomicInc(gathering.done, gridDim.x - 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (!last) return;
  __threadfence();
  double all = 1e30;
  for (unsigned b = threadIdx.x; b < gridDim.x; b += reduce_block)
    all = min(all, __ldcg(gathering.partials + b));
  all = least_of_block(all);
  if (threadIdx.x == 0) dynamics_next_step(*f.clock, all);
}

// How the kernels are launched.
struct Shape {
  int block;       // of the kernels over elements and nodes
  int min_blocks;  // of 128 threads a multiprocessor, for which kernels over elements are compiled
  bool ahead;
};

template <class T>
class Launches {
 public:
  Launches(cudaStream_t stream, const DynamicsFields<T>& fields, Shape shape)
      : stream_(stream),
        f_(fields),
        shape_(shape),
        blocks_(static_cast<unsigned>(
            std::clamp<std::ptrdiff_t>((fields.elements + 1023) / 1024, 1, multiprocessors() * 8))),
        partials_(cuda_array<double>(blocks_)),
        done_(cuda_array<unsigned>(1)) {}

  void run(DynamicsWork work) const {
    const bool three = work == DynamicsWork::StepOfThree, step = three || work == DynamicsWork::StepOfFused;
    if (three || work == DynamicsWork::Gradient) elements<DynamicsWork::Gradient>();
    if (three || work == DynamicsWork::Rotation) elements<DynamicsWork::Rotation>();
    if (three || work == DynamicsWork::Force) elements<DynamicsWork::Force>();
    if (work == DynamicsWork::StepOfFused || work == DynamicsWork::Fused) elements<DynamicsWork::Fused>();
    if (step || work == DynamicsWork::LeastStep)
      launch(&least_kernel<T>, blocks_, reduce_block, f_, Gathering{partials_.get(), done_.get()});
    if (step || work == DynamicsWork::Nodes) items(&item_kernel<DynamicsWork::Nodes, 1, T>, f_.nodes);
  }

 private:
  template <DynamicsWork Work>
  void elements() const {
    if (shape_.min_blocks == 4) items(&item_kernel<Work, 4, T>, f_.elements);
    else if (shape_.min_blocks == 3) items(&item_kernel<Work, 3, T>, f_.elements);
    else items(&item_kernel<Work, 2, T>, f_.elements);
  }
  template <class Kernel>
  void items(Kernel kernel, std::ptrdiff_t count) const {
    launch(kernel, static_cast<unsigned>((count + shape_.block - 1) / shape_.block), shape_.block, f_,
           static_cast<unsigned>(count));
  }
  template <class Kernel, class... Arguments>
  void launch(Kernel kernel, unsigned blocks, int threads, const Arguments&... arguments) const {
    cudaLaunchConfig_t config{};
    config.gridDim = dim3(blocks);
    config.blockDim = dim3(static_cast<unsigned>(threads));
    config.stream = stream_;
    cudaLaunchAttribute attribute{};
    attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = 1;
    config.attrs = &attribute;
    config.numAttrs = shape_.ahead ? 1 : 0;
    cuda_check(cudaLaunchKernelEx(&config, kernel, arguments...));
  }

  cudaStream_t stream_;
  DynamicsFields<T> f_;
  Shape shape_;
  unsigned blocks_;  // of the reduction
  std::shared_ptr<double> partials_;
  std::shared_ptr<unsigned> done_;
};

template <class T>
Competitor competitor(CudaPlace place, DynamicsWork work, const DynamicsFields<T>& fields, int times,
                      Shape shape) {
  const auto launches = std::make_shared<Launches<T>>(stream_of(place), fields, shape);
  return {"blocks of " + std::to_string(shape.block) + ", compiled for " + std::to_string(shape.min_blocks) +
              " of 128" + (shape.ahead ? ", launched ahead" : ""),
          as_one_graph(place, times, [=](cudaStream_t) { launches->run(work); })};
}

}  // namespace

template <class T>
Sweep dynamics_by_hand(CudaPlace place, DynamicsWork work, const DynamicsFields<T>& fields, int times) {
  const bool small = fields.elements < 100000;
  std::vector<Shape> shapes = {{64, 2, false},  {128, 2, false}, {64, 3, false},
                               {128, 3, false}, {64, 4, false},  {128, 4, false}};
  if (small)
    shapes = {{32, 2, false}, {64, 2, false}, {32, 2, true}, {64, 2, true}, {96, 2, true}, {128, 2, true}};
  Sweep sweep;
  for (const Shape& shape : shapes) sweep.push_back(competitor(place, work, fields, times, shape));
  return sweep;
}
template Sweep dynamics_by_hand(CudaPlace, DynamicsWork, const DynamicsFields<float>&, int);
template Sweep dynamics_by_hand(CudaPlace, DynamicsWork, const DynamicsFields<double>&, int);

}  // namespace perf
