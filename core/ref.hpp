// Ref: a counted pointer to an object that counts itself; std::shared_ptr's <memory> would cost every user's
// file half a second. Counting is atomic; distinct Refs may be used from distinct threads, one Ref may not.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/core/config.hpp>

namespace strata::inline STRATA_ABI::detail {

/// Base of objects held by Ref; destroyed by the last one.
class RefCounted {
 public:
  RefCounted() = default;
  virtual ~RefCounted() = default;
  RefCounted(const RefCounted&) = delete;
  RefCounted& operator=(const RefCounted&) = delete;

 private:
  template <class>
  friend class Ref;
  long references_ = 0;
};

template <class T>
class Ref {
 public:
  constexpr Ref() = default;
  explicit Ref(T* object) : object_(object) { acquire(); }
  Ref(const Ref& other) noexcept : object_(other.object_) { acquire(); }
  Ref(Ref&& other) noexcept : object_(other.object_) { other.object_ = nullptr; }
  template <class U>
  requires requires(U* u, T* t) { t = u; }
  Ref(const Ref<U>& other) : Ref(static_cast<T*>(other.get())) {}
  Ref& operator=(Ref other) noexcept {
    T* const mine = object_;
    object_ = other.object_;
    other.object_ = mine;
    return *this;
  }
  ~Ref() {
    RefCounted* const base = object_;
    if (base != nullptr && __atomic_sub_fetch(&base->references_, 1, __ATOMIC_ACQ_REL) == 0) destroy(base);
  }

  T* get() const { return object_; }
  T& operator*() const { return *object_; }
  T* operator->() const { return object_; }
  explicit operator bool() const { return object_ != nullptr; }
  /// Whether no other Ref has the object: then nobody else can reach it.
  bool is_only() const {
    const RefCounted* const base = object_;
    return base != nullptr && __atomic_load_n(&base->references_, __ATOMIC_ACQUIRE) == 1;
  }
  friend bool operator==(const Ref& a, const Ref& b) { return a.object_ == b.object_; }

 private:
  void acquire() {
    RefCounted* const base = object_;
    if (base != nullptr) __atomic_fetch_add(&base->references_, 1, __ATOMIC_RELAXED);
  }
  // Not inlined: it is rare, and g++ would warn that later Refs use freed memory.
  [[gnu::noinline]] static void destroy(RefCounted* object) { delete object; }

  T* object_ = nullptr;
};

}  // namespace strata::inline STRATA_ABI::detail
