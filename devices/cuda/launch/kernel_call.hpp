// How kernels for GPUs call functions of the user. Compiled by nvcc only.
//
// Functions of the user are called by functions for both host and device (STRATA_FUNCTION). There nvcc
// compiles a call of a host function into nothing, with a warning (#20011, #20014) that -isystem hides, which
// also defeats `-Werror cross-execution-space-call`. In a function for devices only the same call is an
// error, which no option hides. The error names both functions, so the name of the caller serves as the
// message.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/devices/kernel_call.hpp>

namespace strata::inline STRATA_ABI::detail {

template <class F, class... Arguments>
__device__ decltype(auto) write_STRATA_FUNCTION_before_operator(const F& f, Arguments&&... arguments) {
  return f(static_cast<Arguments&&>(arguments)...);
}
template <class F, class V>
__device__ void write_STRATA_FUNCTION_before_init(const F& f, V&& value) {
  f.init(value);
}
template <class F, class V>
__device__ void write_STRATA_FUNCTION_before_init(V& value) {
  F::init(value);
}
template <class F, class V, class O>
__device__ void write_STRATA_FUNCTION_before_join(const F& f, V&& value, const O& other) {
  f.join(value, other);
}
template <class F, class V>
__device__ void write_STRATA_FUNCTION_before_join(V& value, const V& other) {
  F::join(value, other);
}

// Whether F is a lambda without STRATA_FUNCTION or __device__: such a closure type cannot be the argument of
// a kernel's template, which nvcc says of a file that it made itself. Its front end, which decides the
// assertion below, calls a lambda `lambda [](int)->void`.
template <class F>
constexpr bool is_unmarked_lambda() {
#if defined(__CUDACC_EXTENDED_LAMBDA__)
  if (__nv_is_extended_device_lambda_closure_type(F) || __nv_is_extended_host_device_lambda_closure_type(F))
    return false;
#endif
  constexpr char begin[] = "F = lambda [";
  for (const char* name = __PRETTY_FUNCTION__; *name != 0; ++name) {
    int same = 0;
    while (begin[same] != 0 && name[same] == begin[same]) ++same;
    if (begin[same] == 0) return true;
  }
  return false;
}

/// Calls in which a missing STRATA_FUNCTION is an error.
struct CudaKernelCall {
  template <class F>
  static constexpr void check() {
    static_assert(!is_unmarked_lambda<F>(),
                  "strata: a lambda for Cuda is marked and names the types of its parameters, as in "
                  "[=] STRATA_FUNCTION(index_t i) {...}; compile with nvcc --extended-lambda");
  }

  template <class F, class... Arguments>
  STRATA_FUNCTION static decltype(auto) call(const F& f, Arguments&&... arguments) {
#if defined(__CUDA_ARCH__)
    return write_STRATA_FUNCTION_before_operator(f, static_cast<Arguments&&>(arguments)...);
#else
    return KernelCall::call(f, static_cast<Arguments&&>(arguments)...);
#endif
  }
  template <class F, class V>
  STRATA_FUNCTION static void init_by(const F& f, V&& value) {
#if defined(__CUDA_ARCH__)
    write_STRATA_FUNCTION_before_init(f, value);
#else
    KernelCall::init_by(f, value);
#endif
  }
  template <class F, class V, class O>
  STRATA_FUNCTION static void join_by(const F& f, V&& value, const O& other) {
#if defined(__CUDA_ARCH__)
    write_STRATA_FUNCTION_before_join(f, value, other);
#else
    KernelCall::join_by(f, value, other);
#endif
  }
  template <class F, class V>
  STRATA_FUNCTION static void init(V& value) {
#if defined(__CUDA_ARCH__)
    write_STRATA_FUNCTION_before_init<F>(value);
#else
    KernelCall::init<F>(value);
#endif
  }
  template <class F, class V>
  STRATA_FUNCTION static void join(V& value, const V& other) {
#if defined(__CUDA_ARCH__)
    write_STRATA_FUNCTION_before_join<F>(value, other);
#else
    KernelCall::join<F>(value, other);
#endif
  }
};

}  // namespace strata::inline STRATA_ABI::detail
