// Atomic operations in device code of CUDA. Included in the device pass of nvcc only.
//
// The relaxed operations are CUDA's own functions of one scope each, not the newer __nv_atomic_*: nvcc 13.0
// compiles these to generic accesses, each with a branch for shared memory, and the older ones to one REDG or
// ATOMG. Stronger orders put fences around them, as the instructions that have an order do. Minimum and
// maximum of float and double use integers: among numbers of one sign the bits are ordered as the numbers
// are, or the other way round.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <type_traits>

#include <strata/devices/atomic_operations.hpp>

namespace strata::inline STRATA_ABI::detail {

/// CUDA's relaxed operations and fences of one scope. nvcc wants orders and scopes as literals.
template <MemoryScope S>
struct CudaRelaxed {
  static constexpr bool block = S == MemoryScope::Block;
  static constexpr bool device = S == MemoryScope::Device;

  template <class T>
  static __device__ T load(T* address) {
    T value;
    if constexpr (block) __nv_atomic_load(address, &value, __NV_ATOMIC_RELAXED, __NV_THREAD_SCOPE_BLOCK);
    else if constexpr (device)
      __nv_atomic_load(address, &value, __NV_ATOMIC_RELAXED, __NV_THREAD_SCOPE_DEVICE);
    else __nv_atomic_load(address, &value, __NV_ATOMIC_RELAXED, __NV_THREAD_SCOPE_SYSTEM);
    return value;
  }
  template <class T>
  static __device__ void store(T* address, T value) {
    if constexpr (block) __nv_atomic_store(address, &value, __NV_ATOMIC_RELAXED, __NV_THREAD_SCOPE_BLOCK);
    else if constexpr (device)
      __nv_atomic_store(address, &value, __NV_ATOMIC_RELAXED, __NV_THREAD_SCOPE_DEVICE);
    else __nv_atomic_store(address, &value, __NV_ATOMIC_RELAXED, __NV_THREAD_SCOPE_SYSTEM);
  }
  static __device__ void fence() {
    if constexpr (block) __nv_atomic_thread_fence(__NV_ATOMIC_ACQ_REL, __NV_THREAD_SCOPE_BLOCK);
    else if constexpr (device) __nv_atomic_thread_fence(__NV_ATOMIC_ACQ_REL, __NV_THREAD_SCOPE_DEVICE);
    else __nv_atomic_thread_fence(__NV_ATOMIC_ACQ_REL, __NV_THREAD_SCOPE_SYSTEM);
  }
  /// Has a place in the one order of all such fences.
  static __device__ void full_fence() {
    if constexpr (block) __nv_atomic_thread_fence(__NV_ATOMIC_SEQ_CST, __NV_THREAD_SCOPE_BLOCK);
    else if constexpr (device) __nv_atomic_thread_fence(__NV_ATOMIC_SEQ_CST, __NV_THREAD_SCOPE_DEVICE);
    else __nv_atomic_thread_fence(__NV_ATOMIC_SEQ_CST, __NV_THREAD_SCOPE_SYSTEM);
  }

  template <class W>
  static __device__ W add(W* address, W value) {
    if constexpr (block) return atomicAdd_block(address, value);
    else if constexpr (device) return atomicAdd(address, value);
    else return atomicAdd_system(address, value);
  }
  template <class W>
  static __device__ W min(W* address, W value) {
    if constexpr (block) return atomicMin_block(address, value);
    else if constexpr (device) return atomicMin(address, value);
    else return atomicMin_system(address, value);
  }
  template <class W>
  static __device__ W max(W* address, W value) {
    if constexpr (block) return atomicMax_block(address, value);
    else if constexpr (device) return atomicMax(address, value);
    else return atomicMax_system(address, value);
  }
  template <class W>
  static __device__ W bit_and(W* address, W value) {
    if constexpr (block) return atomicAnd_block(address, value);
    else if constexpr (device) return atomicAnd(address, value);
    else return atomicAnd_system(address, value);
  }
  template <class W>
  static __device__ W bit_or(W* address, W value) {
    if constexpr (block) return atomicOr_block(address, value);
    else if constexpr (device) return atomicOr(address, value);
    else return atomicOr_system(address, value);
  }
  template <class W>
  static __device__ W bit_xor(W* address, W value) {
    if constexpr (block) return atomicXor_block(address, value);
    else if constexpr (device) return atomicXor(address, value);
    else return atomicXor_system(address, value);
  }
  template <class W>
  static __device__ W exchange(W* address, W value) {
    if constexpr (block) return atomicExch_block(address, value);
    else if constexpr (device) return atomicExch(address, value);
    else return atomicExch_system(address, value);
  }
  template <class W>
  static __device__ W compare_exchange(W* address, W expected, W value) {
    if constexpr (block) return atomicCAS_block(address, expected, value);
    else if constexpr (device) return atomicCAS(address, expected, value);
    else return atomicCAS_system(address, expected, value);
  }
};

struct alignas(16) CudaWords {
  unsigned long long low, high;
};

/// The unsigned integer of the size of T, as CUDA's functions want it.
template <class T>
using CudaWord = std::conditional_t<sizeof(T) == 16, CudaWords,
                                    std::conditional_t<sizeof(T) == 8, unsigned long long, unsigned>>;
template <class T>
using CudaSigned = std::conditional_t<sizeof(T) == 8, long long, int>;

template <class To, class From>
__device__ To same_bits(const From& from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  memcpy(&to, &from, sizeof(To));
  return to;
}

template <MemoryScope S, MemoryOrder O>
struct CudaAtomics {
  using Relaxed = CudaRelaxed<S>;

  template <class T>
  static __device__ T load(const T* address) {
    const Ordered ordered;
    return Relaxed::load(const_cast<T*>(address));
  }
  template <class T>
  static __device__ void store(T* address, T value) {
    const Ordered ordered;
    Relaxed::store(address, value);
  }
  template <class T>
  static __device__ T exchange(T* address, T value) {
    if constexpr (sizeof(T) < 4) {
      T old = Relaxed::load(address);
      while (!compare_exchange(address, old, value)) {
      }
      return old;
    } else {
      require_instructions<T>();
      using W = CudaWord<T>;
      const Ordered ordered;
      return same_bits<T>(Relaxed::exchange(reinterpret_cast<W*>(address), same_bits<W>(value)));
    }
  }
  template <class T>
  static __device__ bool compare_exchange(T* address, T& expected, T desired) {
    const Ordered ordered;
    if constexpr (sizeof(T) < 4) {
      return compare_exchange_part(address, expected, desired);
    } else {
      require_instructions<T>();
      using W = CudaWord<T>;
      const W wanted = same_bits<W>(expected);
      const W found = Relaxed::compare_exchange(reinterpret_cast<W*>(address), wanted, same_bits<W>(desired));
      if (equal(found, wanted)) return true;
      expected = same_bits<T>(found);
      return false;
    }
  }

  /// Whether fetch() has an instruction.
  template <class Operation, class T>
  static constexpr bool has() {
    if (sizeof(T) < 4 || !std::is_arithmetic_v<T> || std::is_same_v<Operation, MulOperation> ||
        std::is_same_v<Operation, DivOperation> || std::is_base_of_v<IntegerOperation, Operation>)
      return false;
    return std::is_integral_v<T> || !std::is_base_of_v<BitOperation, Operation>;
  }
  template <class Operation, class T>
  static __device__ T fetch(T* address, T value) {
    const Ordered ordered;
    using W = CudaWord<T>;
    W* const word = reinterpret_cast<W*>(address);
    if constexpr (std::is_same_v<Operation, AddOperation>) {
      return add(address, value);
    } else if constexpr (std::is_same_v<Operation, SubOperation>) {
      if constexpr (std::is_integral_v<T>) return add(address, static_cast<T>(W(0) - static_cast<W>(value)));
      else return add(address, -value);
    } else if constexpr (std::is_same_v<Operation, MinOperation>) {
      return extreme<true>(address, value);
    } else if constexpr (std::is_same_v<Operation, MaxOperation>) {
      return extreme<false>(address, value);
    } else if constexpr (std::is_same_v<Operation, AndOperation>) {
      return static_cast<T>(Relaxed::bit_and(word, static_cast<W>(value)));
    } else if constexpr (std::is_same_v<Operation, OrOperation>) {
      return static_cast<T>(Relaxed::bit_or(word, static_cast<W>(value)));
    } else {
      return static_cast<T>(Relaxed::bit_xor(word, static_cast<W>(value)));
    }
  }

 private:
  // Fences on both sides of a relaxed operation, as its order needs them.
  struct Ordered {
    static constexpr bool releases = O == MemoryOrder::Release || O == MemoryOrder::AcquireRelease;
    static constexpr bool acquires = O == MemoryOrder::Acquire || O == MemoryOrder::AcquireRelease;
    static constexpr bool total = O == MemoryOrder::SequentiallyConsistent;
    __device__ Ordered() {
      if constexpr (total) Relaxed::full_fence();
      else if constexpr (releases) Relaxed::fence();
    }
    __device__ ~Ordered() {
      if constexpr (acquires || total) Relaxed::fence();
    }
  };

  template <class T>
  static constexpr __device__ void require_instructions() {
#if __CUDA_ARCH__ < 900
    static_assert(sizeof(T) <= 8, "strata: atomic operations of 16 bytes need a GPU of sm_90 or later");
#endif
  }

  template <class W>
  static __device__ bool equal(W a, W b) {
    if constexpr (sizeof(W) == 16) return a.low == b.low && a.high == b.high;
    else return a == b;
  }

  template <class T>
  static __device__ T add(T* address, T value) {
    if constexpr (std::is_integral_v<T>) {
      using W = CudaWord<T>;
      return static_cast<T>(Relaxed::add(reinterpret_cast<W*>(address), static_cast<W>(value)));
    } else {
      return Relaxed::add(address, value);
    }
  }

  template <bool Least, class T>
  static __device__ T extreme(T* address, T value) {
    using I = CudaSigned<T>;
    using W = CudaWord<T>;
    const auto of = [&](auto* number, auto other) {
      if constexpr (Least) return Relaxed::min(number, other);
      else return Relaxed::max(number, other);
    };
    const auto opposite_of = [&](auto* number, auto other) {
      if constexpr (Least) return Relaxed::max(number, other);
      else return Relaxed::min(number, other);
    };
    if constexpr (std::is_integral_v<T>) {
      using Same = std::conditional_t<std::is_signed_v<T>, I, W>;
      return static_cast<T>(of(reinterpret_cast<Same*>(address), static_cast<Same>(value)));
    } else {
      if (value != value) return Relaxed::load(address);
      // A number without a sign bit is, as a signed integer, above all that have one. One with it is, as
      // an unsigned integer, above all that have none, and the greater the lower it lies.
      const I bits = same_bits<I>(value);
      if (bits >= 0) return same_bits<T>(of(reinterpret_cast<I*>(address), bits));
      return same_bits<T>(opposite_of(reinterpret_cast<W*>(address), same_bits<W>(value)));
    }
  }

  // 1 or 2 bytes, by the 4 around them.
  template <class T>
  static __device__ bool compare_exchange_part(T* address, T& expected, T desired) {
    using Part = std::conditional_t<sizeof(T) == 1, unsigned char, unsigned short>;
    const unsigned byte = static_cast<unsigned>(reinterpret_cast<unsigned long long>(address) & 3);
    auto* const word = reinterpret_cast<unsigned*>(reinterpret_cast<char*>(address) - byte);
    const unsigned shift = byte * 8;
    const unsigned mask = static_cast<unsigned>(static_cast<Part>(~0u)) << shift;
    const unsigned wanted = same_bits<Part>(expected), next = same_bits<Part>(desired);
    unsigned old = Relaxed::load(word);
    for (;;) {
      const unsigned there = (old & mask) >> shift;
      if (there != wanted) {
        expected = same_bits<T>(static_cast<Part>(there));
        return false;
      }
      const unsigned found = Relaxed::compare_exchange(word, old, (old & ~mask) | (next << shift));
      if (found == old) return true;
      old = found;
    }
  }
};

template <MemoryScope S, MemoryOrder O>
using NativeAtomics = CudaAtomics<S, O>;

}  // namespace strata::inline STRATA_ABI::detail
