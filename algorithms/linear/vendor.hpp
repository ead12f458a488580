// Vendor libraries: on Cuda, cuBLAS and cuSPARSE can replace Strata's own kernels.
//
// Ask for it by `Backend::Vendor` in a call. The library is used where it has the operation: elements are
// float or double, vectors are strided and not empty, results and coefficients are numbers or Values (not
// finalize functors), and the device is a GPU. Elsewhere Strata's own kernels run, so that one source serves
// every device. The libraries are loaded by the first call that needs them; KernelError says which one is
// missing, or the error that it reported. Bits differ from those of Strata's reductions, and may from run to
// run.
//
// The first product with a matrix on a queue analyses the matrix and allocates: do one before recording.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <type_traits>

#include <strata/algorithms/linear/scalar.hpp>
#include <strata/core/ref.hpp>
#include <strata/version.hpp>

#if STRATA_HAS_CUDA
#include <strata/algorithms/kernel.hpp>
#include <strata/devices/cuda/device.hpp>
#include <strata/devices/cuda/primitives/libraries.hpp>
#endif

namespace strata::inline STRATA_ABI {

namespace linear {

/// The implementation that runs.
enum class Backend { Strata, Vendor };

}  // namespace linear

namespace detail {

using linear::Backend;

#if STRATA_HAS_CUDA

template <class D>
inline constexpr bool has_vendor =
    std::is_same_v<typename FamilyOf<typename D::memory_space>::type, CudaSpace>;

template <class V>
concept VendorVector = has_vendor<typename V::device_type> &&
    (std::is_same_v<typename V::value_type, float> ||
     std::is_same_v<typename V::value_type, double>)&&requires(const V& v) {
  v.stride(0);
};

template <VendorVector V>
bool vendor_can_step(const V& v) {
  return v.extent(0) > 0 && v.stride(0) > 0;
}
template <VendorVector V>
CudaLibraryVector vendor_vector(const V& v) {
  auto* const first = v.data() + v.mapping()(v.begin(0));
  return {const_cast<typename V::value_type*>(first), v.extent(0), v.stride(0)};
}
template <class T>
inline constexpr CudaReal vendor_real = sizeof(T) == 4 ? CudaReal::Float : CudaReal::Double;

// The target of a result: a Value on the GPU or a number on the host; else null.
template <class T, class Result>
CudaLibraryScalar vendor_result(Result& result) {
  using R = std::remove_cvref_t<Result>;
  if constexpr (DeviceValue<R>) {
    if constexpr (has_vendor<typename R::device_type> && std::is_same_v<typename R::element_type, T>)
      return {result.data(), true};
    else return {nullptr, false};
  } else if constexpr (std::is_same_v<Result, T>) {
    return {&result, false};
  } else {
    return {nullptr, false};
  }
}
template <class T>
CudaLibraryScalar vendor_scalar(const HostScalar<T>& s) {
  return {const_cast<T*>(&s.value), false};
}
template <class V>
CudaLibraryScalar vendor_scalar(const DeviceScalar<V>& s) {
  return {const_cast<typename V::value_type*>(s.value.data()), true};
}

// Makes the LaunchInfo of a launch over the views `v`, and calls call(info) while they are captured.
template <class Kernel, class Where, class Call, class... V>
void vendor_launch(const char* label, const Where& where, const Call& call, const V&... v) {
  using D = typename DeviceFor<Where, Kernel>::type;
  static_assert(check_kernel<Where, Kernel>());
  Capture views = make_capture<D>();
  {
    const CaptureScope scope(views);
    (static_cast<void>(V(v)), ...);
  }
  call(make_info<D>(label, where, views, typeid(FunctorOf<Kernel>).name()));
}
template <class D>
struct VendorKernel {
  using device_type = D;
};

#endif

/// Each returns whether a library did it.
template <class Where, class X, class Y, class Result>
bool vendor_dot([[maybe_unused]] const Where& where, [[maybe_unused]] const X& x, [[maybe_unused]] const Y& y,
                [[maybe_unused]] Result& result) {
#if STRATA_HAS_CUDA
  if constexpr (VendorVector<X> && VendorVector<Y>) {
    using T = typename Y::value_type;
    const CudaLibraryScalar target = vendor_result<T>(result);
    if (target.data == nullptr || !vendor_can_step(x) || !vendor_can_step(y)) return false;
    vendor_launch<VendorKernel<typename Y::device_type>>(
        "cuBLAS dot", where,
        [&](const LaunchInfo& info) {
          cuda_library_dot(info, vendor_real<T>, vendor_vector(x), vendor_vector(y), target);
        },
        x, y);
    return true;
  }
#endif
  return false;
}

template <class Where, class X, class Result>
bool vendor_norm2([[maybe_unused]] const Where& where, [[maybe_unused]] const X& x,
                  [[maybe_unused]] Result& result) {
#if STRATA_HAS_CUDA
  if constexpr (VendorVector<X>) {
    using T = typename X::value_type;
    const CudaLibraryScalar target = vendor_result<T>(result);
    if (target.data == nullptr || !vendor_can_step(x)) return false;
    vendor_launch<VendorKernel<typename X::device_type>>(
        "cuBLAS nrm2", where,
        [&](const LaunchInfo& info) { cuda_library_norm2(info, vendor_real<T>, vendor_vector(x), target); },
        x);
    return true;
  }
#endif
  return false;
}

template <class Where, class A, class X, class Y>
bool vendor_axpy([[maybe_unused]] const Where& where, [[maybe_unused]] const A& a,
                 [[maybe_unused]] const X& x, [[maybe_unused]] const Y& y) {
#if STRATA_HAS_CUDA
  if constexpr (VendorVector<X> && VendorVector<Y>) {
    using T = typename Y::value_type;
    if (!vendor_can_step(x) || !vendor_can_step(y)) return false;
    vendor_launch<VendorKernel<typename Y::device_type>>(
        "cuBLAS axpy", where,
        [&](const LaunchInfo& info) {
          cuda_library_axpy(info, vendor_real<T>, vendor_scalar(a), vendor_vector(x), vendor_vector(y));
        },
        x, y);
    return true;
  }
#endif
  return false;
}

template <class Where, class A, class X>
bool vendor_scale([[maybe_unused]] const Where& where, [[maybe_unused]] const A& a,
                  [[maybe_unused]] const X& x) {
#if STRATA_HAS_CUDA
  if constexpr (VendorVector<X>) {
    using T = typename X::value_type;
    if (!vendor_can_step(x)) return false;
    vendor_launch<VendorKernel<typename X::device_type>>(
        "cuBLAS scal", where,
        [&](const LaunchInfo& info) {
          cuda_library_scale(info, vendor_real<T>, vendor_scalar(a), vendor_vector(x));
        },
        x);
    return true;
  }
#endif
  return false;
}

/// The data of a library for a matrix, shared by its copies; null where there is no library.
template <class D>
Ref<RefCounted> make_vendor_plans() {
#if STRATA_HAS_CUDA
  if constexpr (has_vendor<D>) return make_cuda_library_plans();
#endif
  return {};
}

/// y = a A x + b y
template <class Where, class T, class Matrix, class X, class Y>
bool vendor_spmv([[maybe_unused]] const Where& where, [[maybe_unused]] const HostScalar<T>& a,
                 [[maybe_unused]] const Matrix& matrix, [[maybe_unused]] const X& x,
                 [[maybe_unused]] const HostScalar<T>& b, [[maybe_unused]] const Y& y) {
#if STRATA_HAS_CUDA
  if constexpr (VendorVector<X> && VendorVector<Y> && std::is_same_v<typename Matrix::value_type, T> &&
                std::is_same_v<typename X::value_type, T>) {
    if (matrix.entry_count() == 0 || x.stride(0) != 1 || y.stride(0) != 1) return false;
    const auto& graph = matrix.graph();
    const CudaLibraryMatrix csr{matrix.rows(),
                                matrix.columns(),
                                matrix.entry_count(),
                                graph.row_map().data(),
                                graph.entries().data(),
                                matrix.values().data(),
                                sizeof(typename Matrix::offset_type),
                                sizeof(typename Matrix::ordinal_type)};
    vendor_launch<VendorKernel<typename Y::device_type>>(
        "cuSPARSE SpMV", where,
        [&](const LaunchInfo& info) {
          cuda_library_spmv(info, vendor_real<T>, *matrix.vendor_plans(), vendor_scalar(a), csr,
                            vendor_vector(x), vendor_scalar(b), vendor_vector(y));
        },
        matrix.values(), graph.row_map(), graph.entries(), x, y);
    return true;
  }
#endif
  return false;
}

}  // namespace detail

namespace linear {

/// Whether `Backend::Vendor` does anything on D in this build.
template <class D>
constexpr bool has_vendor() {
#if STRATA_HAS_CUDA
  return strata::detail::has_vendor<D>;
#else
  return false;
#endif
}

}  // namespace linear
}  // namespace strata::inline STRATA_ABI
