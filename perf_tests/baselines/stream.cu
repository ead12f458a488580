// SPDX-License-Identifier: Apache-2.0
#include "baselines/stream.hpp"
#include "common/cuda_check.hpp"

namespace perf {

namespace {

struct Copy {
  static constexpr int reads = 1;
  template <class T>
  __device__ static T value(T b, T, T) {
    return b;
  }
};
struct Scale {
  static constexpr int reads = 1;
  template <class T>
  __device__ static T value(T b, T, T s) {
    return s * b;
  }
};
struct Add {
  static constexpr int reads = 2;
  template <class T>
  __device__ static T value(T b, T c, T) {
    return b + c;
  }
};
struct Triad {
  static constexpr int reads = 2;
  template <class T>
  __device__ static T value(T b, T c, T s) {
    return b + s * c;
  }
};
struct Fill {
  static constexpr int reads = 0;
  template <class T>
  __device__ static T value(T, T, T s) {
    return s;
  }
};

// Each thread does `Unroll` packs of `Width` values, a block's width apart; the first threads of the grid the
// up to Width - 1 values that fill no pack.
template <class Operation, class T, int Width, int Unroll>
__global__ void __launch_bounds__(1024)
    stream_kernel(T* __restrict__ a, const T* __restrict__ b, const T* __restrict__ c, T s, long long n) {
  using P = Pack<T, Width>;
  const long long packs = n / Width;
  const long long first = blockIdx.x * (static_cast<long long>(blockDim.x) * Unroll) + threadIdx.x;
  P x[Unroll] = {}, y[Unroll] = {};
#pragma unroll
  for (int u = 0; u < Unroll; ++u) {
    const long long p = first + static_cast<long long>(u) * blockDim.x;
    if (p >= packs) continue;
    if constexpr (Operation::reads > 0) x[u] = reinterpret_cast<const P*>(b)[p];
    if constexpr (Operation::reads > 1) y[u] = reinterpret_cast<const P*>(c)[p];
  }
#pragma unroll
  for (int u = 0; u < Unroll; ++u) {
    const long long p = first + static_cast<long long>(u) * blockDim.x;
    if (p >= packs) continue;
    P z;
#pragma unroll
    for (int w = 0; w < Width; ++w) z.value[w] = Operation::value(x[u].value[w], y[u].value[w], s);
    reinterpret_cast<P*>(a)[p] = z;
  }
  const long long rest = packs * Width + threadIdx.x;
  if (blockIdx.x == 0 && rest < n) {
    T left{}, right{};
    if constexpr (Operation::reads > 0) left = b[rest];
    if constexpr (Operation::reads > 1) right = c[rest];
    a[rest] = Operation::value(left, right, s);
  }
}

template <class Operation, class T, int Width, int Unroll>
void add_blocks(Sweep& sweep, CudaPlace place, StreamArrays<T> x) {
  for (const int block : {128, 256, 512, 1024}) {
    const long long each = static_cast<long long>(block) * Width * Unroll;
    const auto blocks = static_cast<unsigned>((x.n + each - 1) / each);
    sweep.push_back({"blocks of " + std::to_string(block) + ", " + std::to_string(Width * sizeof(T)) +
                         " bytes a load, " + std::to_string(Unroll) + " a thread",
                     [=] {
                       stream_kernel<Operation, T, Width, Unroll>
                           <<<blocks, block, 0, stream_of(place)>>>(x.a, x.b, x.c, x.s, x.n);
                       cuda_finish(place);
                     }});
  }
}

template <class Operation, class T>
Sweep variants(CudaPlace place, StreamArrays<T> x) {
  constexpr int wide = 16 / sizeof(T);
  Sweep sweep;
  add_blocks<Operation, T, 1, 1>(sweep, place, x);
  add_blocks<Operation, T, 1, 4>(sweep, place, x);
  add_blocks<Operation, T, wide, 1>(sweep, place, x);
  add_blocks<Operation, T, wide, 4>(sweep, place, x);
  return sweep;
}

}  // namespace

template <class T>
Sweep stream_by_hand(CudaPlace place, StreamOperation operation, StreamArrays<T> arrays) {
  switch (operation) {
    case StreamOperation::Copy:
      return variants<Copy>(place, arrays);
    case StreamOperation::Scale:
      return variants<Scale>(place, arrays);
    case StreamOperation::Add:
      return variants<Add>(place, arrays);
    case StreamOperation::Triad:
      return variants<Triad>(place, arrays);
    case StreamOperation::Fill:
      return variants<Fill>(place, arrays);
  }
  return {};
}
template Sweep stream_by_hand(CudaPlace, StreamOperation, StreamArrays<float>);
template Sweep stream_by_hand(CudaPlace, StreamOperation, StreamArrays<double>);

// One variant; stream has the whole sweep.
Ceiling triad_ceiling(CudaPlace place, double bytes) {
  const auto n = static_cast<std::ptrdiff_t>(bytes / 24) / 64 * 64 + 64;
  const auto memory = cuda_array<double>(3 * static_cast<std::size_t>(n));
  double* const a = memory.get();
  const auto blocks = static_cast<unsigned>((n / 2 + 255) / 256);
  return {{"triad",
           [=] {
             stream_kernel<Triad, double, 2, 1>
                 <<<blocks, 256, 0, stream_of(place)>>>(memory.get(), a + n, a + 2 * n, 3.0, n);
             cuda_finish(place);
           }},
          24.0 * static_cast<double>(n)};
}

}  // namespace perf
