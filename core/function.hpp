// Function: a type-erased callable, like std::function, whose <functional> costs every user's file a tenth of
// a second. Copies share the callable, and so its state.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <type_traits>

#include <strata/core/ref.hpp>

namespace strata::inline STRATA_ABI::detail {

template <class Signature>
class Function;

/// Null by default; a null one must not be called. May be called from several threads if the callable may.
template <class R, class... Args>
class Function<R(Args...)> {
 public:
  Function() = default;
  template <class F>
  requires(!std::is_same_v<F, Function> && std::is_invocable_r_v<R, F&, Args...>) Function(F callable)
      : callable_(new Of<F>(static_cast<F&&>(callable))) {}

  R operator()(Args... args) const { return callable_->call(static_cast<Args&&>(args)...); }
  explicit operator bool() const { return static_cast<bool>(callable_); }

 private:
  struct Callable : RefCounted {
    virtual R call(Args... args) = 0;
  };
  template <class F>
  struct Of final : Callable {
    explicit Of(F&& callable) : f(static_cast<F&&>(callable)) {}
    R call(Args... args) override { return f(static_cast<Args&&>(args)...); }
    F f;
  };
  Ref<Callable> callable_;
};

}  // namespace strata::inline STRATA_ABI::detail
