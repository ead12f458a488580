// Whether the arrays of a launch are separate, sharing no memory. Compilers must assume that they share some,
// so that no element is read before those that are written before it, however many are in flight. GPUs have a
// kernel more for arrays that are separate (devices/cuda/launch/for_kernels.hpp), where it is known that
// a kernel reaches them by its views only.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <strata/core/config.hpp>
#include <strata/devices/array_addresses.hpp>
#include <strata/views/view.hpp>

namespace strata::inline STRATA_ABI::detail {

// Convert to any number, and to anything but numbers.
struct AnyNumber {
  template <class T>
  requires std::is_arithmetic_v<T>
  operator T() const;
};
struct NoNumber {
  template <class T>
  requires(!std::is_arithmetic_v<T>) operator T() const;
};
template <std::size_t>
using AnyNumberAt = AnyNumber;

template <class K, std::size_t... I>
constexpr bool begins_with_numbers(std::index_sequence<I...>) {
  return requires { K{AnyNumberAt<I>()...}; };
}
template <class K, std::size_t... I>
constexpr bool goes_on_without_number(std::index_sequence<I...>) {
  return requires { K{AnyNumberAt<I>()..., NoNumber()}; };
}
// Whether the members of an aggregate are numbers, at most 8; `Count` are known to be.
template <class K, std::size_t Count = 0>
constexpr bool has_numbers_only() {
  constexpr std::size_t most = 8;
  using Known = std::make_index_sequence<Count>;
  if constexpr (Count > most || !begins_with_numbers<K>(Known()) || goes_on_without_number<K>(Known()))
    return false;
  else if constexpr (begins_with_numbers<K>(std::make_index_sequence<Count + 1>()))
    return has_numbers_only<K, Count + 1>();
  else return true;
}

// Whether a kernel has no room for an address, as far as its type shows: it reaches no array but by its
// views. An integer is taken for a number; what cannot be assigned, or made of nothing, may have references
// as members.
template <class K>
constexpr bool holds_no_address() {
#if defined(__CUDACC_EXTENDED_LAMBDA__)
  // The host's compiler sees a class of nvcc's in the place of a lambda, and would decide otherwise.
  if constexpr (__nv_is_extended_device_lambda_closure_type(K) ||
                __nv_is_extended_host_device_lambda_closure_type(K))
    return false;
#endif
  if constexpr (!std::is_trivially_copyable_v<K> || std::is_union_v<K>) return false;
  else if constexpr (std::is_empty_v<K>) return true;
  else if constexpr (std::is_aggregate_v<K> && std::is_copy_assignable_v<K> && requires { K{}; })
    return has_numbers_only<K>();
  else return false;
}

// The same of an element or a value: whether it leads to no memory. Specialised for types of more members.
template <class T>
inline constexpr bool is_no_address = std::is_arithmetic_v<T> || std::is_enum_v<T> || holds_no_address<T>();

// Plain access, or reads through a cache for what is only read.
template <class A>
inline constexpr bool is_plain_access =
    std::is_same_v<A, Unmanaged<DefaultAccess>> || std::is_same_v<A, Unmanaged<ReadOnlyAccess>>;

// Views of rank 1 whose elements are numbers, in memory order.
template <class V>
inline constexpr bool is_plain_line = false;
template <class T, class D, class E, class L, class A>
inline constexpr bool is_plain_line<View<T, D, E, L, A>> =
    E::max_rank_value == 1 && is_read_by_value<T> && !std::is_pointer_v<std::remove_const_t<T>> &&
    is_plain_access<typename WithoutOwnership<A>::type> &&
    requires(const typename View<T, D, E, L, A>::mapping_type& m) {
  m.stride(0);
};

// The memory that the elements of a line lie in, as addresses.
struct Addresses {
  std::uintptr_t begin = 0, end = 0;
  constexpr bool shares_with(const Addresses& other) const { return begin < other.end && other.begin < end; }
};
template <class V>
Addresses addresses_of(const V& line) {
  const index_t first = line.begin(0), last = line.end(0) - 1;
  if (line.data() == nullptr || last < first) return {};
  const auto at = [&](index_t i) {
    return reinterpret_cast<std::uintptr_t>(line.data()) +
           static_cast<std::uintptr_t>(line.mapping()(i)) * sizeof(typename V::value_type);
  };
  const std::uintptr_t a = at(first), b = at(last);
  return a < b ? Addresses{a, b + sizeof(typename V::value_type)}
               : Addresses{b, a + sizeof(typename V::value_type)};
}

// Whether none of `count` shares memory with another.
inline bool share_nothing(const Addresses* of, int count) {
  for (int a = 0; a < count; ++a)
    for (int b = 0; b < a; ++b)
      if (of[a].shares_with(of[b])) return false;
  return true;
}

// The size of a line's elements where ElementBits has them; 0 of lines that are read through a cache, whose
// loads a compiler does not replace, and of elements of more than 8 bytes.
template <class V>
inline constexpr int noted_bytes = 0;
template <class T, class D, class E, class L, class A>
inline constexpr int noted_bytes<View<T, D, E, L, A>> =
    std::is_same_v<typename WithoutOwnership<A>::type, Unmanaged<DefaultAccess>> && sizeof(T) <= 8 &&
            alignof(T) == sizeof(T)
        ? static_cast<int>(sizeof(T))
        : 0;
// `Opaque`: a compiler does not know that they are what was loaded, as that may change before it is told that
// they are still the same.
template <bool Opaque, class V>
STRATA_FUNCTION std::uint64_t bits_of_element(const V& line, index_t i) {
  constexpr int bytes = noted_bytes<V>;
  if constexpr (bytes == 0) {
    return 0;
  } else {
    using Bits =
        std::conditional_t<bytes == 8, std::uint64_t,
                           std::conditional_t<bytes == 4, std::uint32_t,
                                              std::conditional_t<bytes == 2, std::uint16_t, std::uint8_t>>>;
    Bits bits = *reinterpret_cast<const Bits*>(&line(i));
#if defined(__CUDA_ARCH__)
    if constexpr (Opaque && bytes == 8) {
      asm("" : "+l"(bits));
    } else if constexpr (Opaque && bytes == 4) {
      asm("" : "+r"(bits));
    } else if constexpr (Opaque && bytes == 2) {
      asm("" : "+h"(bits));
    } else if constexpr (Opaque) {
      unsigned wide = bits;
      asm("" : "+r"(wide));
      return wide;
    }
#endif
    return bits;
  }
}
// Whether all the elements [begin, end) of a line may be loaded, whatever the kernel does; true of lines that
// ElementBits leaves out. A slice that begins after the first row does not count as one that has them, nor
// does one that its allocation shows to be too short.
template <class V>
bool holds_elements(const V& line, index_t begin, index_t end) {
  if (noted_bytes<V> == 0 || begin >= end) return true;
  if (line.data() == nullptr || begin < line.begin(0) || line.end(0) < end) return false;
  if (line.mapping()(line.begin(0)) != 0) return false;
  const Allocation* const record = line.allocation().get();
  if (record == nullptr) return true;
  if (record->held != record->bytes) return false;
  const auto first = reinterpret_cast<std::uintptr_t>(record->data), bytes = std::uintptr_t{record->bytes};
  const Addresses all = addresses_of(line);
  return first <= all.begin && all.end <= first + bytes;
}

// The address of index 0. Compilers add an item's index to it, and see which elements of a line differ.
template <class V>
void* address_of_line(const V& line) {
  return const_cast<std::remove_const_t<typename V::element_type>*>(line.origin());
}
// The same line of an array whose index 0 has another address.
template <class V>
STRATA_FUNCTION V moved_line(const V& line, void* address) {
  return V::at_origin(line.allocation(), static_cast<typename V::element_type*>(address), line.mapping());
}

}  // namespace strata::inline STRATA_ABI::detail
