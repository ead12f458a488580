// AtomicReference: a reference through which every access is one atomic operation, relaxed, at device scope.
// On CUDA by the compiler's own atomic functions, of 12.8 and later.
#pragma once

#include <type_traits>

#include <strata/core/config.hpp>

namespace strata::inline STRATA_ABI {

/// Refers to an arithmetic value of 1 to 8 bytes, naturally aligned. Reading and assigning are atomic loads
/// and stores; `+=` and the like are single atomic updates that return the new value, `x++` and `x--` the
/// old.
template <class T>
class AtomicReference {
 public:
  using value_type = std::remove_const_t<T>;

  STRATA_FUNCTION constexpr explicit AtomicReference(T* address) : address_(address) {}
  AtomicReference(const AtomicReference&) = default;

  STRATA_FUNCTION operator value_type() const { return load(); }
  STRATA_FUNCTION value_type load() const {
    value_type value;
#if defined(__CUDA_ARCH__)
    __nv_atomic_load(address_, &value, __NV_ATOMIC_RELAXED, __NV_THREAD_SCOPE_DEVICE);
#else
    __atomic_load(address_, &value, __ATOMIC_RELAXED);
#endif
    return value;
  }
  STRATA_FUNCTION void store(value_type value) const {
#if defined(__CUDA_ARCH__)
    __nv_atomic_store(address_, &value, __NV_ATOMIC_RELAXED, __NV_THREAD_SCOPE_DEVICE);
#else
    __atomic_store(address_, &value, __ATOMIC_RELAXED);
#endif
  }
  STRATA_FUNCTION value_type operator=(value_type value) const {
    store(value);
    return value;
  }
  STRATA_FUNCTION value_type operator=(const AtomicReference& other) const { return *this = other.load(); }

  STRATA_FUNCTION value_type operator+=(value_type v) const {
    return update([v](value_type old) { return static_cast<value_type>(old + v); }).now;
  }
  STRATA_FUNCTION value_type operator-=(value_type v) const {
    return update([v](value_type old) { return static_cast<value_type>(old - v); }).now;
  }
  STRATA_FUNCTION value_type operator*=(value_type v) const {
    return update([v](value_type old) { return static_cast<value_type>(old * v); }).now;
  }
  STRATA_FUNCTION value_type operator&=(value_type v) const requires std::is_integral_v<T> {
    return update([v](value_type old) { return static_cast<value_type>(old & v); }).now;
  }
  STRATA_FUNCTION value_type operator|=(value_type v) const requires std::is_integral_v<T> {
    return update([v](value_type old) { return static_cast<value_type>(old | v); }).now;
  }
  STRATA_FUNCTION value_type operator^=(value_type v) const requires std::is_integral_v<T> {
    return update([v](value_type old) { return static_cast<value_type>(old ^ v); }).now;
  }
  STRATA_FUNCTION value_type operator++() const { return *this += value_type{1}; }
  STRATA_FUNCTION value_type operator--() const { return *this -= value_type{1}; }
  STRATA_FUNCTION value_type operator++(int) const {
    return update([](value_type old) { return static_cast<value_type>(old + value_type{1}); }).before;
  }
  STRATA_FUNCTION value_type operator--(int) const {
    return update([](value_type old) { return static_cast<value_type>(old - value_type{1}); }).before;
  }

  /// The value becomes the smaller (larger) of itself and `v`; returns it.
  STRATA_FUNCTION value_type min(value_type v) const {
    return update([v](value_type old) { return v < old ? v : old; }).now;
  }
  STRATA_FUNCTION value_type max(value_type v) const {
    return update([v](value_type old) { return old < v ? v : old; }).now;
  }

 private:
  struct Update {
    value_type before;
    value_type now;
  };

  // Expects `old` there and puts `wanted`; otherwise tells in `old` what is there.
  STRATA_FUNCTION bool exchange(value_type& old, value_type wanted) const {
#if defined(__CUDA_ARCH__)
    return __nv_atomic_compare_exchange(address_, &old, &wanted, true, __NV_ATOMIC_RELAXED,
                                        __NV_ATOMIC_RELAXED, __NV_THREAD_SCOPE_DEVICE);
#else
    return __atomic_compare_exchange(address_, &old, &wanted, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
#endif
  }

  template <class Next>
  STRATA_FUNCTION Update update(const Next& next) const {
    value_type old = load();
    value_type wanted = next(old);
    while (!exchange(old, wanted)) wanted = next(old);
    return {old, wanted};
  }

  T* address_;

  // Last: compilers that stop at a failed assertion know the members by now.
  static_assert(std::is_arithmetic_v<T> && sizeof(T) <= 8,
                "strata: atomic access needs an arithmetic element type of at most 8 bytes");
};

}  // namespace strata::inline STRATA_ABI
