// Sends a value of each block of a cluster to its first block, through that block's shared memory and without
// a barrier at the end: a transaction barrier of the first block counts the words, and the other blocks may
// exit. From compute capability 9.0 on.
//
// Lives in shared memory. All threads of all blocks call prepare, then send; those of the first warp of the
// first block call receive.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstring>

#include <strata/devices/cuda/launch/warp.hpp>

namespace strata::inline STRATA_ABI::detail {

template <class T, int Blocks>
struct ClusterGather {
  static constexpr int words = static_cast<int>((sizeof(T) + 7) / 8);
  unsigned long long value[Blocks * words];
  unsigned long long barrier;

  __device__ void prepare() {
#if __CUDA_ARCH__ >= 900
    if (__clusterRelativeBlockRank() == 0 && threadIdx.x == 0) {
      asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(address(&barrier)) : "memory");
      asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    __cluster_barrier_arrive();
#endif
  }

  /// The value of thread 0.
  __device__ void send([[maybe_unused]] const T& own) {
#if __CUDA_ARCH__ >= 900
    __cluster_barrier_wait();  // the first block's barrier is there
    if (threadIdx.x != 0) return;
    // Words of other blocks may be counted earlier: the phase ends when all words and this arrival have been
    // counted.
    if (__clusterRelativeBlockRank() == 0)
      asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(address(&barrier)),
                   "r"(static_cast<unsigned>(sizeof value))
                   : "memory");
    unsigned long long word[words] = {};
    memcpy(word, &own, sizeof(T));
    const unsigned to = of_first_block(value + __clusterRelativeBlockRank() * words);
    const unsigned counter = of_first_block(&barrier);
    for (int w = 0; w < words; ++w)
      asm volatile(
          "st.async.shared::cluster.mbarrier::complete_tx::bytes.b64 [%0], %1, [%2];" ::"r"(to + 8 * w),
          "l"(word[w]), "r"(counter)
          : "memory");
#endif
  }

  /// Waits for all; lane l gets the value of block l.
  __device__ void receive([[maybe_unused]] T& result) {
#if __CUDA_ARCH__ >= 900
    for (unsigned done = 0; done == 0;)
      asm volatile(
          "{\n\t.reg .pred p;\n\tmbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], 0;\n\t"
          "selp.u32 %0, 1, 0, p;\n\t}"
          : "=r"(done)
          : "r"(address(&barrier))
          : "memory");
    if (threadIdx.x < Blocks) memcpy(&result, value + threadIdx.x * words, sizeof(T));
#endif
  }

 private:
  static __device__ unsigned address(const void* shared) {
    return static_cast<unsigned>(__cvta_generic_to_shared(shared));
  }
  static __device__ unsigned of_first_block([[maybe_unused]] const void* shared) {
    unsigned result = 0;
#if __CUDA_ARCH__ >= 900
    asm("mapa.shared::cluster.u32 %0, %1, 0;" : "=r"(result) : "r"(address(shared)));
#endif
    return result;
  }
};

/// For values that are not gathered by clusters.
template <class T>
struct ClusterGather<T, 1> {
  __device__ void prepare() {}
  __device__ void send(const T&) {}
  __device__ void receive(T&) {}
};

}  // namespace strata::inline STRATA_ABI::detail
