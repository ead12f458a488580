// How reductions and scans join values: by a name of reducers.hpp (Sum, Prod, Min, Max, ...), or by a
// function of two values, op(a, b), which must be associative, and for a reduction of all elements also
// commutative.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <type_traits>

#include <strata/algorithms/reducers.hpp>
#include <strata/devices/kernel_call.hpp>

namespace strata::inline STRATA_ABI {
namespace detail {

// A value, or none yet: so that a user's operation needs no neutral element.
template <class T>
struct Joined {
  T value;
  bool any;
};

// `Call` is how the device calls `op`. Only kernels know it, and name it where they add elements.
template <class Op, class T>
struct Joining {
  using value_type = Joined<T>;
  Op op;
  STRATA_FUNCTION static void init(value_type& v) { v = {T(), false}; }
  template <class Call = KernelCall>
  STRATA_FUNCTION void add(value_type& v, const T& element) const {
    v.value = v.any ? static_cast<T>(Call::call(op, v.value, element)) : element;
    v.any = true;
  }
  STRATA_FUNCTION void join(value_type& v, const value_type& o) const {
    if (o.any) add(v, o.value);
  }
  // `start` and what was joined after it.
  STRATA_FUNCTION T after(const T& start, const value_type& v) const {
    return v.any ? static_cast<T>(op(start, v.value)) : start;
  }
  template <class Call = KernelCall>
  STRATA_FUNCTION void fold(T& value, const T& element) const {
    value = static_cast<T>(Call::call(op, value, element));
  }
};
template <class Operation, class T>
struct Joining<MakeReducer<Operation>, T> {
  using value_type = T;
  explicit Joining(const MakeReducer<Operation>&) {}
  STRATA_FUNCTION static void init(T& v) { Operation::init(v); }
  template <class Call = KernelCall>
  STRATA_FUNCTION void add(T& v, const T& element) const {
    Operation::join(v, element);
  }
  STRATA_FUNCTION void join(T& v, const T& o) const { Operation::join(v, o); }
  STRATA_FUNCTION T after(T start, const T& v) const {
    Operation::join(start, v);
    return start;
  }
  template <class Call = KernelCall>
  STRATA_FUNCTION void fold(T& value, const T& element) const {
    Operation::join(value, element);
  }
};

template <class>
inline constexpr bool is_named_operation = false;
template <class Operation>
inline constexpr bool is_named_operation<MakeReducer<Operation>> = true;

// Where a named operation begins.
template <class T, class Operation>
T neutral_of(const MakeReducer<Operation>&) {
  T value;
  Operation::init(value);
  return value;
}

}  // namespace detail

namespace skeletons {

/// Sum, Prod, Min, Max and similar names, which have a neutral value.
template <class Op>
concept NamedOperation = detail::is_named_operation<Op>;

}  // namespace skeletons
}  // namespace strata::inline STRATA_ABI
