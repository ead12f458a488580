// SPDX-License-Identifier: Apache-2.0
#include "baselines/boxes.hpp"
#include "common/cuda_check.hpp"

namespace perf {

namespace {

// Threads from index 0 on, of which those outside return: warps begin where lines of memory do.
template <class Formula, class T>
__global__ void __launch_bounds__(1024) box_kernel(BoxArrays<T> s, const T* __restrict__ u) {
  const unsigned m = static_cast<unsigned>(s.edge);
  const unsigned x = blockIdx.x * blockDim.x + threadIdx.x;
  const unsigned y = box_margin + blockIdx.y * blockDim.y + threadIdx.y;
  const unsigned z = box_margin + blockIdx.z * blockDim.z + threadIdx.z;
  if (x - box_margin >= m - 2 * box_margin || y >= m - box_margin || z >= m - box_margin) return;
  const long long row = m, plane = row * m, p = (z * row + y) * row + x;
  const T* const here = u + p;
  s.v[p] = Formula::template of<T>([&](int i, int j, int k) { return here[i + j * row + k * plane]; });
}
template <class T>
__global__ void __launch_bounds__(1024) transposition_kernel(BoxArrays<T> s, const T* __restrict__ u) {
  const unsigned m = static_cast<unsigned>(s.edge);
  const unsigned x = blockIdx.x * blockDim.x + threadIdx.x;
  const unsigned y = box_margin + blockIdx.y * blockDim.y + threadIdx.y;
  const unsigned z = box_margin + blockIdx.z * blockDim.z + threadIdx.z;
  if (x - box_margin >= m - 2 * box_margin || y >= m - box_margin || z >= m - box_margin) return;
  const long long row = m;
  s.v[(z * row + y) * row + x] = u[(z * row + x) * row + y];
}
template <class T>
__global__ void __launch_bounds__(1024) plane_kernel(BoxArrays<T> s, const T* __restrict__ u) {
  const unsigned m = static_cast<unsigned>(s.edge);
  const unsigned x = blockIdx.x * blockDim.x + threadIdx.x, y = 1 + blockIdx.y * blockDim.y + threadIdx.y;
  if (x - 1 >= m - 2 || y >= m - 1) return;
  const long long row = m, p = y * row + x;
  const T* const here = u + p;
  s.v[p] = five_points<T>([&](int i, int j) { return here[i + j * row]; });
}

unsigned cover(std::ptrdiff_t n, unsigned each) { return static_cast<unsigned>((n + each - 1) / each); }

template <class T>
Sweep sweep_of(CudaPlace place, BoxArrays<T> s, void (*kernel)(BoxArrays<T>, const T*), bool is_plane) {
  Sweep sweep;
  for (const dim3 block : {dim3(32, 8), dim3(64, 4), dim3(64, 8), dim3(128, 2), dim3(128, 4), dim3(256, 1)}) {
    const std::ptrdiff_t inner = s.edge - 2 * (is_plane ? 1 : box_margin);
    const dim3 grid(cover(s.edge - 1, block.x), cover(inner, block.y), is_plane ? 1 : cover(inner, 1));
    sweep.push_back({"blocks of " + std::to_string(block.x) + " x " + std::to_string(block.y), [=] {
                       kernel<<<grid, block, 0, stream_of(place)>>>(s, s.u);
                       cuda_finish(place);
                     }});
  }
  return sweep;
}

}  // namespace

template <class Formula, class T>
Sweep box_by_hand(CudaPlace place, BoxArrays<T> s) {
  return sweep_of<T>(place, s, box_kernel<Formula, T>, false);
}
template <class T>
Sweep transposition_by_hand(CudaPlace place, BoxArrays<T> s) {
  return sweep_of<T>(place, s, transposition_kernel<T>, false);
}
template <class T>
Sweep plane_by_hand(CudaPlace place, BoxArrays<T> s) {
  return sweep_of<T>(place, s, plane_kernel<T>, true);
}

template Sweep box_by_hand<CopyPoint>(CudaPlace, BoxArrays<float>);
template Sweep box_by_hand<CopyPoint>(CudaPlace, BoxArrays<double>);
template Sweep box_by_hand<Points27>(CudaPlace, BoxArrays<float>);
template Sweep box_by_hand<Points27>(CudaPlace, BoxArrays<double>);
template Sweep box_by_hand<Points25>(CudaPlace, BoxArrays<float>);
template Sweep box_by_hand<Points25>(CudaPlace, BoxArrays<double>);
template Sweep transposition_by_hand(CudaPlace, BoxArrays<float>);
template Sweep transposition_by_hand(CudaPlace, BoxArrays<double>);
template Sweep plane_by_hand(CudaPlace, BoxArrays<float>);
template Sweep plane_by_hand(CudaPlace, BoxArrays<double>);

}  // namespace perf
