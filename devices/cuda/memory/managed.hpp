// Hints for arrays in managed memory (CudaManaged): where their pages should be before they are accessed.
// They change where pages are and how fast they are reached, never what a program computes.
//
// A place is a GPU (`Cuda{1}`) or a host device (`Serial{}`, which stands for the host's memory). All
// functions return whether CUDA was given the hint: false, without effect, on systems whose GPUs and hosts
// cannot access managed memory at the same time (cudaDevAttrConcurrentManagedAccess). Null and empty arrays
// need no hint.
//
// Errors: KernelError where CUDA refuses, as for an unmanaged view of memory that is not managed memory.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <type_traits>

#include <strata/core/allocation.hpp>
#include <strata/core/layout_descriptor.hpp>
#include <strata/devices/cuda/device.hpp>
#include <strata/devices/cuda/space.hpp>
#include <strata/devices/host/space.hpp>
#include <strata/devices/queue.hpp>

namespace strata::inline STRATA_ABI {

namespace cuda {

/// How pages are used. Each stays in force until its opposite is given.
enum class Advice {
  ReadMostly,  ///< readers get copies; a write drops them. The place means nothing
  NotReadMostly,
  PreferredLocation,  ///< pages stay at the place while there is room, others reach them over the link
  NoPreferredLocation,
  AccessedBy,  ///< the place keeps its mapping of the pages, wherever they lie
  NotAccessedBy
};

}  // namespace cuda

namespace detail {

inline constexpr int managed_on_host = -1;

// The bytes that the elements of a view lie in, as far as their allocation reaches.
struct ManagedBytes {
  char* begin;
  std::size_t count;
  const Allocation* record;  // null: an unmanaged view
};

bool prefetch_managed(const ManagedBytes& bytes, int place, QueueState* queue);
bool advise_managed(const ManagedBytes& bytes, cuda::Advice advice, int place);
/// The GPU that an array was created on.
int managed_gpu(const ManagedBytes& bytes);

template <class V>
inline constexpr bool is_in_managed_memory = std::is_same_v<typename V::memory_space, CudaManagedSpace>;
template <class D>
inline constexpr bool is_gpu = std::is_same_v<typename FamilyOf<typename D::memory_space>::type, CudaSpace>;

template <class V>
ManagedBytes managed_bytes(const V& view) {
  using T = typename V::value_type;
  static_assert(is_in_managed_memory<V>,
                "strata: a hint for an array that is not in managed memory; create it as an "
                "MDArray<T, CudaManaged>");
  T* const data = const_cast<T*>(view.data());
  const Allocation* const record = view.allocation().get();
  if (view.size() == 0) return {nullptr, 0, record};
  OffsetBounds bounds{0, static_cast<index_t>(view.mapping().required_span_size()) - 1};
  if constexpr (requires { view.mapping().describe(); }) bounds = offset_bounds(view.mapping().describe());
  return {reinterpret_cast<char*>(data) + bounds.lowest * static_cast<index_t>(sizeof(T)),
          static_cast<std::size_t>(bounds.highest - bounds.lowest + 1) * sizeof(T), record};
}

template <class P>
int managed_place(const P& place) {
  static_assert(is_gpu<P> || std::is_same_v<typename P::memory_space, HostSpace>,
                "strata: a hint for managed memory names a GPU or a host device as the place");
  if constexpr (is_gpu<P>) return place.index();
  else return managed_on_host;
}

}  // namespace detail

namespace cuda {

/// Moves the pages of the array to `place`, after the work of `queue`, as a copy on it would; asynchronous.
/// Error while a graph is recorded: a graph cannot hold it.
template <class V, Device P, Device Q>
bool prefetch(const V& view, const P& place, const Queue<Q>& queue) {
  static_assert(detail::is_gpu<Q>, "strata: prefetch takes a queue of a GPU");
  return detail::prefetch_managed(detail::managed_bytes(view), detail::managed_place(place), &queue.state());
}
/// The same on the default queue of the GPU that it moves to, or, to the host, of the array's.
template <class V, Device P>
bool prefetch(const V& view, const P& place) {
  return detail::prefetch_managed(detail::managed_bytes(view), detail::managed_place(place), nullptr);
}

/// Says how the pages of the array are used, from now on.
template <class V, Device P>
bool advise(const V& view, Advice advice, const P& place) {
  return detail::advise_managed(detail::managed_bytes(view), advice, detail::managed_place(place));
}
/// The same with the array's GPU as the place.
template <class V>
bool advise(const V& view, Advice advice) {
  const detail::ManagedBytes bytes = detail::managed_bytes(view);
  return detail::advise_managed(bytes, advice, detail::managed_gpu(bytes));
}

}  // namespace cuda

}  // namespace strata::inline STRATA_ABI
