// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include <strata/devices/cuda/device.hpp>
#include <strata/devices/cuda/primitives/libraries.hpp>
#include <strata/devices/cuda/primitives/library_calls.hpp>

namespace strata::inline STRATA_ABI::detail {

namespace {

template <class T>
const T* elements(const CudaLibraryVector& x) {
  return static_cast<const T*>(x.data);
}
constexpr std::size_t bytes_of(CudaReal real) { return real == CudaReal::Float ? 4 : 8; }
constexpr cudaDataType type_of(CudaReal real) { return real == CudaReal::Float ? CUDA_R_32F : CUDA_R_64F; }

}  // namespace

void cuda_library_dot(const LaunchInfo& info, CudaReal real, const CudaLibraryVector& x,
                      const CudaLibraryVector& y, const CudaLibraryScalar& result) {
  const BlasCall call(info, EventKind::BeginReduce, x.count);
  call.run_for_result("cublasDot", result, bytes_of(real), [&](Blas& blas, cublasHandle_t handle, void* to) {
    if (real == CudaReal::Float)
      return blas.cublasSdot_v2_64(handle, x.count, elements<float>(x), x.stride, elements<float>(y),
                                   y.stride, static_cast<float*>(to));
    return blas.cublasDdot_v2_64(handle, x.count, elements<double>(x), x.stride, elements<double>(y),
                                 y.stride, static_cast<double*>(to));
  });
}

void cuda_library_norm2(const LaunchInfo& info, CudaReal real, const CudaLibraryVector& x,
                        const CudaLibraryScalar& result) {
  const BlasCall call(info, EventKind::BeginReduce, x.count);
  call.run_for_result("cublasNrm2", result, bytes_of(real), [&](Blas& blas, cublasHandle_t handle, void* to) {
    if (real == CudaReal::Float)
      return blas.cublasSnrm2_v2_64(handle, x.count, elements<float>(x), x.stride, static_cast<float*>(to));
    return blas.cublasDnrm2_v2_64(handle, x.count, elements<double>(x), x.stride, static_cast<double*>(to));
  });
}

void cuda_library_axpy(const LaunchInfo& info, CudaReal real, const CudaLibraryScalar& a,
                       const CudaLibraryVector& x, const CudaLibraryVector& y) {
  const BlasCall call(info, EventKind::BeginFor, x.count);
  call.run("cublasAxpy", a, [&](Blas& blas, cublasHandle_t handle, const void* scalar) {
    if (real == CudaReal::Float)
      return blas.cublasSaxpy_v2_64(handle, x.count, static_cast<const float*>(scalar), elements<float>(x),
                                    x.stride, static_cast<float*>(y.data), y.stride);
    return blas.cublasDaxpy_v2_64(handle, x.count, static_cast<const double*>(scalar), elements<double>(x),
                                  x.stride, static_cast<double*>(y.data), y.stride);
  });
}

void cuda_library_scale(const LaunchInfo& info, CudaReal real, const CudaLibraryScalar& a,
                        const CudaLibraryVector& x) {
  const BlasCall call(info, EventKind::BeginFor, x.count);
  call.run("cublasScal", a, [&](Blas& blas, cublasHandle_t handle, const void* scalar) {
    if (real == CudaReal::Float)
      return blas.cublasSscal_v2_64(handle, x.count, static_cast<const float*>(scalar),
                                    static_cast<float*>(x.data), x.stride);
    return blas.cublasDscal_v2_64(handle, x.count, static_cast<const double*>(scalar),
                                  static_cast<double*>(x.data), x.stride);
  });
}

// ---- products with a matrix

namespace {

/// Memory of a GPU; copies share it.
struct DeviceBytes {
  AllocationRef block;

  DeviceBytes() = default;
  /// Throws OutOfMemory.
  DeviceBytes(const char* label, std::size_t bytes, int device)
      : block(Cuda(device).backend().allocate({bytes, label, 1, nullptr})) {}
  void* data() const { return block.get()->data; }
};

constexpr cusparseOperation_t as_it_is = CUSPARSE_OPERATION_NON_TRANSPOSE;
constexpr cusparseSpMVAlg_t algorithm = CUSPARSE_SPMV_ALG_DEFAULT;
constexpr cusparseIndexType_t index_type(int bytes) {
  return bytes == 4 ? CUSPARSE_INDEX_32I : CUSPARSE_INDEX_64I;
}

/// cuSPARSE's description of a matrix, and the result of its analysis in `buffer`.
struct Plan {
  std::mutex mutex;  // of one who makes or uses it; taken before the queue's
  cusparseConstSpMatDescr_t matrix = nullptr;
  DeviceBytes row_map;  // where the matrix's own has other indices than its columns
  DeviceBytes buffer;
  bool analysed = false;

  Plan() = default;
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;
  ~Plan() {
    if (matrix != nullptr) Sparse::get().cusparseDestroySpMat(matrix);
  }
};

/// A dense vector for one call.
class Dense {
 public:
  Dense(CudaReal real, const CudaLibraryVector& v, int device) {
    check_sparse(Sparse::get().cusparseCreateDnVec(&descriptor_, v.count, v.data, type_of(real)),
                 "cusparseCreateDnVec", device);
  }
  ~Dense() { Sparse::get().cusparseDestroyDnVec(descriptor_); }
  Dense(const Dense&) = delete;
  Dense& operator=(const Dense&) = delete;
  cusparseDnVecDescr_t get() const { return descriptor_; }

 private:
  cusparseDnVecDescr_t descriptor_ = nullptr;
};

class Plans final : public RefCounted {
 public:
  Plan& of(int device, std::uint64_t queue) {
    const std::lock_guard lock(mutex_);
    auto& plan = plans_[{device, queue}];
    if (!plan) plan = std::make_unique<Plan>();
    return *plan;
  }

 private:
  std::mutex mutex_;
  std::map<std::pair<int, std::uint64_t>, std::unique_ptr<Plan>> plans_;
};

// A recorded product outlives its matrix, whose plan it uses.
void keep_for_recording(const Plan& plan) {
  Capture ours{CudaSpace::kind};
  const CaptureScope scope(ours);
  static_cast<void>(AllocationRef(plan.buffer.block));
  static_cast<void>(AllocationRef(plan.row_map.block));
}

cusparseHandle_t sparse_handle(const CudaLaunch& launch, int device) {
  Sparse& sparse = Sparse::get();
  Handles& handles = HandleTable::get().of(device, launch.stream());
  if (handles.sparse == nullptr)
    check_sparse(sparse.cusparseCreate(&handles.sparse), "cusparseCreate", device);
  check_sparse(sparse.cusparseSetStream(handles.sparse, launch.stream()), "cusparseSetStream", device);
  check_sparse(sparse.cusparseSetPointerMode(handles.sparse, CUSPARSE_POINTER_MODE_HOST),
               "cusparseSetPointerMode", device);
  return handles.sparse;
}

/// The offsets of the rows in integers as wide as the columns': cuSPARSE does not mix widths.
template <class To, class From>
DeviceBytes convert_row_map(const LaunchInfo& info, const CudaLibraryMatrix& matrix, int device) {
  std::vector<From> offsets(static_cast<std::size_t>(matrix.rows) + 1);
  const std::size_t bytes = offsets.size() * sizeof(To);
  const DeviceBytes row_map("cuSPARSE row map", bytes, device);
  const CudaLaunch launch(cuda_queue_for(info), EventKind::BeginFor, info, 0);
  launch.fetch(offsets.data(), matrix.row_map, offsets.size() * sizeof(From));
  const std::vector<To> converted(offsets.begin(), offsets.end());
  launch.check(
      cudaMemcpyAsync(row_map.data(), converted.data(), bytes, cudaMemcpyHostToDevice, launch.stream()),
      "cudaMemcpyAsync");
  launch.check(cudaStreamSynchronize(launch.stream()), "cudaStreamSynchronize");
  return row_map;
}

void describe_matrix(Plan& plan, const LaunchInfo& info, CudaReal real, const CudaLibraryMatrix& matrix,
                     int device) {
  const void* row_map = matrix.row_map;
  if (matrix.offset_bytes != matrix.ordinal_bytes) {
    if (matrix.ordinal_bytes == 4 && matrix.entry_count > 0x7fffffff)
      fail_library("a product by cuSPARSE", device,
                   "a matrix of 2^31 entries or more needs column indices of 64 bits there");
    plan.row_map = matrix.ordinal_bytes == 4
                       ? convert_row_map<std::int32_t, std::int64_t>(info, matrix, device)
                       : convert_row_map<std::int64_t, std::int32_t>(info, matrix, device);
    row_map = plan.row_map.data();
  }
  const cusparseIndexType_t type = index_type(matrix.ordinal_bytes);
  check_sparse(Sparse::get().cusparseCreateConstCsr(
                   &plan.matrix, matrix.rows, matrix.columns, matrix.entry_count, row_map, matrix.entries,
                   matrix.values, type, type, CUSPARSE_INDEX_BASE_ZERO, type_of(real)),
               "cusparseCreateConstCsr", device);
}

}  // namespace

Ref<RefCounted> make_cuda_library_plans() { return Ref<RefCounted>(new Plans); }

void cuda_library_spmv(const LaunchInfo& info, CudaReal real, RefCounted& plans, const CudaLibraryScalar& a,
                       const CudaLibraryMatrix& matrix, const CudaLibraryVector& x,
                       const CudaLibraryScalar& b, const CudaLibraryVector& y) {
  Sparse& sparse = Sparse::get();
  const int device = device_of(info);
  const CurrentDevice current(device);
  // Queues are distinguished by numbers that are never used twice. A queue's plan is used in its order.
  Plan& plan = static_cast<Plans&>(plans).of(device, info.queue != nullptr ? info.queue->id() : 0);
  const std::lock_guard lock(plan.mutex);
  const Dense dense_x(real, x, device), dense_y(real, y, device);
  const cudaDataType type = type_of(real);
  if (!plan.analysed) {
    if (plan.matrix == nullptr) describe_matrix(plan, info, real, matrix, device);
    std::size_t bytes = 0;
    {
      const CudaLaunch launch(cuda_queue_for(info), EventKind::BeginFor, info, 0);
      check_sparse(
          sparse.cusparseSpMV_bufferSize(sparse_handle(launch, device), as_it_is, a.data, plan.matrix,
                                         dense_x.get(), b.data, dense_y.get(), type, algorithm, &bytes),
          "cusparseSpMV_bufferSize", device);
    }
    plan.buffer = DeviceBytes("cuSPARSE buffer", bytes > 0 ? bytes : 1, device);
  }
  keep_for_recording(plan);
  const CudaLaunch launch(cuda_queue_for(info), EventKind::BeginFor, info, matrix.rows);
  const cusparseHandle_t handle = sparse_handle(launch, device);
  if (!plan.analysed) {
    check_sparse(sparse.cusparseSpMV_preprocess(handle, as_it_is, a.data, plan.matrix, dense_x.get(), b.data,
                                                dense_y.get(), type, algorithm, plan.buffer.data()),
                 "cusparseSpMV_preprocess", device);
    plan.analysed = true;
  }
  check_sparse(sparse.cusparseSpMV(handle, as_it_is, a.data, plan.matrix, dense_x.get(), b.data,
                                   dense_y.get(), type, algorithm, plan.buffer.data()),
               "cusparseSpMV", device);
}

}  // namespace strata::inline STRATA_ABI::detail
