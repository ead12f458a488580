// SPDX-License-Identifier: Apache-2.0
#include <strata/devices/cuda/primitives/dense.hpp>
#include <strata/devices/cuda/primitives/library_calls.hpp>

namespace strata::inline STRATA_ABI::detail {

namespace {

constexpr cublasOperation_t operation(bool transpose) { return transpose ? CUBLAS_OP_T : CUBLAS_OP_N; }

template <class T>
const T* data_of(const void* data) {
  return static_cast<const T*>(data);
}
template <class T>
T* data_of(void* data) {
  return static_cast<T*>(data);
}

// Runs call(blas, handle) with factors of the kind that was asked for.
template <class Call>
void run_matrix_call(const char* name, const BlasCall& launch, bool tf32, const Call& call) {
  launch.run(name, {nullptr, false}, [&](Blas& blas, cublasHandle_t handle, const void*) {
    const cublasStatus_t status =
        blas.cublasSetMathMode(handle, tf32 ? CUBLAS_TF32_TENSOR_OP_MATH : CUBLAS_DEFAULT_MATH);
    return status == CUBLAS_STATUS_SUCCESS ? call(blas, handle) : status;
  });
}
template <class Call>
void run_matrix_call(const char* name, const LaunchInfo& info, bool tf32, index_t items, const Call& call) {
  run_matrix_call(name, BlasCall(info, EventKind::BeginFor, items, matrix_workspace_bytes), tf32, call);
}

cublasStatus_t call_gemm(Blas& blas, cublasHandle_t handle, CudaReal real, const GemmCall& g) {
  const cublasOperation_t a = operation(g.transpose_a), b = operation(g.transpose_b);
  if (real == CudaReal::Float) {
    const float alpha = static_cast<float>(g.alpha), beta = static_cast<float>(g.beta);
    return blas.cublasSgemm_v2_64(handle, a, b, g.m, g.n, g.k, &alpha, data_of<float>(g.a), g.lda,
                                  data_of<float>(g.b), g.ldb, &beta, data_of<float>(g.c), g.ldc);
  }
  return blas.cublasDgemm_v2_64(handle, a, b, g.m, g.n, g.k, &g.alpha, data_of<double>(g.a), g.lda,
                                data_of<double>(g.b), g.ldb, &g.beta, data_of<double>(g.c), g.ldc);
}

cusolverDnHandle_t solver_handle(const CudaLaunch& launch, int device) {
  Solver& solver = Solver::get();
  Handles& handles = HandleTable::get().of(device, launch.stream());
  if (handles.solver == nullptr)
    check_solver(solver.cusolverDnCreate(&handles.solver), "cusolverDnCreate", device);
  check_solver(solver.cusolverDnSetStream(handles.solver, launch.stream()), "cusolverDnSetStream", device);
  return handles.solver;
}

// In column-major storage the factor is the upper triangle.
template <class T, class Size, class Factor>
void run_potrf(const LaunchInfo& info, const PotrfCall& potrf, const Size& buffer_size,
               const Factor& factor) {
  const int device = device_of(info), n = static_cast<int>(potrf.n), lda = static_cast<int>(potrf.lda);
  const CurrentDevice current(device);
  const CudaLaunch launch(cuda_queue_for(info), EventKind::BeginFor, info, potrf.n);
  const cusolverDnHandle_t handle = solver_handle(launch, device);
  int elements = 0;
  check_solver(buffer_size(handle, CUBLAS_FILL_MODE_UPPER, n, data_of<T>(potrf.a), lda, &elements),
               "cusolverDnPotrf_bufferSize", device);
  const std::size_t bytes = static_cast<std::size_t>(elements > 0 ? elements : 1) * sizeof(T);
  void* const buffer = launch.scratch(bytes).partials;
  check_solver(factor(handle, CUBLAS_FILL_MODE_UPPER, n, data_of<T>(potrf.a), lda, data_of<T>(buffer),
                      elements, potrf.info),
               "cusolverDnPotrf", device);
}

template <class T, class Size, class Factor>
void run_getrf(const LaunchInfo& info, const GetrfCall& getrf, const Size& buffer_size,
               const Factor& factor) {
  const int device = device_of(info), m = static_cast<int>(getrf.m), n = static_cast<int>(getrf.n),
            lda = static_cast<int>(getrf.lda);
  const CurrentDevice current(device);
  const CudaLaunch launch(cuda_queue_for(info), EventKind::BeginFor, info, getrf.m);
  const cusolverDnHandle_t handle = solver_handle(launch, device);
  int elements = 0;
  check_solver(buffer_size(handle, m, n, data_of<T>(getrf.a), lda, &elements), "cusolverDnGetrf_bufferSize",
               device);
  const std::size_t bytes = static_cast<std::size_t>(elements > 0 ? elements : 1) * sizeof(T);
  void* const buffer = launch.scratch(bytes).partials;
  check_solver(factor(handle, m, n, data_of<T>(getrf.a), lda, data_of<T>(buffer), getrf.pivots, getrf.info),
               "cusolverDnGetrf", device);
}

}  // namespace

void cuda_library_run(const LaunchInfo& info, CudaReal real, bool tf32, const GemmCall& g) {
  run_matrix_call("cublasGemm", info, tf32, g.m * g.n,
                  [&](Blas& blas, cublasHandle_t handle) { return call_gemm(blas, handle, real, g); });
}

void cuda_library_run(const LaunchInfo& info, CudaReal real, bool tf32, const MultiplyCall& p) {
  const std::size_t element = real == CudaReal::Float ? sizeof(float) : sizeof(double);
  const std::size_t column = static_cast<std::size_t>(p.m) * element, columns = static_cast<std::size_t>(p.n);
  const BlasCall launch(info, EventKind::BeginFor, p.m * p.n, matrix_workspace_bytes, column * columns);
  launch.launch().check(
      cudaMemcpy2DAsync(launch.slot(), column, p.b, static_cast<std::size_t>(p.ldb) * element, column,
                        columns, cudaMemcpyDeviceToDevice, launch.launch().stream()),
      "the copy of a factor");
  run_matrix_call("cublasGemm", launch, tf32, [&](Blas& blas, cublasHandle_t handle) {
    return call_gemm(blas, handle, real, product_with_copy(p, launch.slot()));
  });
}

void cuda_library_run(const LaunchInfo& info, CudaReal real, bool tf32, const SyrkCall& s) {
  run_matrix_call("cublasSyrk", info, tf32, s.n * s.n, [&](Blas& blas, cublasHandle_t handle) {
    if (real == CudaReal::Float) {
      const float alpha = static_cast<float>(s.alpha), beta = static_cast<float>(s.beta);
      return blas.cublasSsyrk_v2_64(handle, CUBLAS_FILL_MODE_UPPER, CUBLAS_OP_T, s.n, s.k, &alpha,
                                    data_of<float>(s.a), s.lda, &beta, data_of<float>(s.c), s.ldc);
    }
    return blas.cublasDsyrk_v2_64(handle, CUBLAS_FILL_MODE_UPPER, CUBLAS_OP_T, s.n, s.k, &s.alpha,
                                  data_of<double>(s.a), s.lda, &s.beta, data_of<double>(s.c), s.ldc);
  });
}

void cuda_library_run(const LaunchInfo& info, CudaReal real, bool tf32, const TrsmCall& t) {
  run_matrix_call("cublasTrsm", info, tf32, t.m * t.n, [&](Blas& blas, cublasHandle_t handle) {
    const cublasSideMode_t side = t.on_left ? CUBLAS_SIDE_LEFT : CUBLAS_SIDE_RIGHT;
    const cublasFillMode_t half = t.lower ? CUBLAS_FILL_MODE_LOWER : CUBLAS_FILL_MODE_UPPER;
    const cublasDiagType_t diagonal = t.unit ? CUBLAS_DIAG_UNIT : CUBLAS_DIAG_NON_UNIT;
    if (real == CudaReal::Float) {
      const float one = 1;
      return blas.cublasStrsm_v2_64(handle, side, half, operation(t.transpose), diagonal, t.m, t.n, &one,
                                    data_of<float>(t.a), t.lda, data_of<float>(t.b), t.ldb);
    }
    const double one = 1;
    return blas.cublasDtrsm_v2_64(handle, side, half, operation(t.transpose), diagonal, t.m, t.n, &one,
                                  data_of<double>(t.a), t.lda, data_of<double>(t.b), t.ldb);
  });
}

void cuda_library_run(const LaunchInfo& info, CudaReal real, bool, const PotrfCall& potrf) {
  const Solver& solver = Solver::get();
  if (real == CudaReal::Float)
    run_potrf<float>(info, potrf, solver.cusolverDnSpotrf_bufferSize, solver.cusolverDnSpotrf);
  else run_potrf<double>(info, potrf, solver.cusolverDnDpotrf_bufferSize, solver.cusolverDnDpotrf);
}

void cuda_library_run(const LaunchInfo& info, CudaReal real, bool, const GetrfCall& getrf) {
  const Solver& solver = Solver::get();
  if (real == CudaReal::Float)
    run_getrf<float>(info, getrf, solver.cusolverDnSgetrf_bufferSize, solver.cusolverDnSgetrf);
  else run_getrf<double>(info, getrf, solver.cusolverDnDgetrf_bufferSize, solver.cusolverDnDgetrf);
}

}  // namespace strata::inline STRATA_ABI::detail
