// What the tests of the memory of `Emulated` share.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include <strata/devices/emulated/access.hpp>

namespace emulated_testing {

inline constexpr std::size_t mebi = std::size_t{1} << 20;

inline std::uintptr_t number(const void* address) { return reinterpret_cast<std::uintptr_t>(address); }

// An access that the compiler neither drops nor moves.
template <class T>
T read(T* view) {
  return *const_cast<volatile T*>(strata::detail::emulated_resolve(view));
}

}  // namespace emulated_testing
