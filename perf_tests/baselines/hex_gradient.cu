// SPDX-License-Identifier: Apache-2.0
#include "baselines/hex_gradient.hpp"
#include "common/cuda_check.hpp"
#include "common/hex_formula.hpp"

namespace perf {

namespace {

// A thread does one element.
template <class T, int Tile, int Block, int MinBlocks>
__global__ void __launch_bounds__(Block, MinBlocks)
    hex_kernel(const T* __restrict__ coordinates, T* __restrict__ gradients, std::size_t n) {
  const std::size_t i = static_cast<std::size_t>(blockIdx.x) * Block + threadIdx.x;
  if (i >= n) return;
  std::size_t first = i, step = n;  // of the element's values
  if constexpr (Tile > 0) {
    first = i / Tile * (24 * Tile) + i % Tile;
    step = Tile;
  }
  const auto at = [=](int d, int k) { return first + step * (Tile > 0 ? d * 8 + k : d + 3 * k); };
  hex_gradient<T>([=](int d, int k) { return coordinates[at(d, k)]; },
                  [=](int d, int k, T value) { gradients[at(d, k)] = value; });
}

// Launch bounds for so many threads a multiprocessor: more of them, or more registers for each.
template <class T, int Tile, int Block, int Threads>
void add_bounds(Sweep& sweep, CudaPlace place, HexElements<T> x) {
  constexpr int min_blocks = Threads > Block ? Threads / Block : 1;
  const auto blocks = static_cast<unsigned>((x.n + Block - 1) / Block);
  sweep.push_back({"blocks of " + std::to_string(Block) + ", at least " + std::to_string(min_blocks) +
                       " a multiprocessor",
                   [=] {
                     hex_kernel<T, Tile, Block, min_blocks><<<blocks, Block, 0, stream_of(place)>>>(
                         x.coordinates, x.gradients, static_cast<std::size_t>(x.n));
                     cuda_finish(place);
                   }});
}

template <class T, int Tile, int Block>
void add_block(Sweep& sweep, CudaPlace place, HexElements<T> x) {
  add_bounds<T, Tile, Block, Block>(sweep, place, x);
  if constexpr (Block < 512) add_bounds<T, Tile, Block, 512>(sweep, place, x);
  if constexpr (Block < 512) add_bounds<T, Tile, Block, 768>(sweep, place, x);
  add_bounds<T, Tile, Block, 1024>(sweep, place, x);
}

template <class T, int Tile>
Sweep variants(CudaPlace place, HexElements<T> x) {
  Sweep sweep;
  add_block<T, Tile, 64>(sweep, place, x);
  add_block<T, Tile, 128>(sweep, place, x);
  add_block<T, Tile, 256>(sweep, place, x);
  add_block<T, Tile, 512>(sweep, place, x);
  return sweep;
}

}  // namespace

template <class T>
Sweep hex_gradient_by_hand(CudaPlace place, HexElements<T> elements) {
  return elements.tile == 0 ? variants<T, 0>(place, elements) : variants<T, 32>(place, elements);
}
template Sweep hex_gradient_by_hand(CudaPlace, HexElements<float>);
template Sweep hex_gradient_by_hand(CudaPlace, HexElements<double>);

}  // namespace perf
