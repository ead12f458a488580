// SPDX-License-Identifier: Apache-2.0
#define DISABLE_CUSOLVERMG_DEPRECATED  // it is still what the toolkit has for GPUs of one process
#include <algorithm>
#include <chrono>
#include <cmath>
#include <type_traits>
#include <vector>

#include <cusolverMg.h>
#include <dlfcn.h>

#include "baselines/cusolver_mg.hpp"
#include "common/cuda_check.hpp"
#include "common/known_matrix.hpp"

namespace perf {

namespace {

using strata::index_t;

// Columns of a matrix of order n that one of `gpus` GPUs has.
struct Columns {
  index_t n, block;
  int gpu, gpus;

  // With room for whole blocks, of which all GPUs have as many.
  index_t room() const {
    const index_t blocks = (n + block - 1) / block;
    return (blocks + gpus - 1) / gpus * block;
  }
  STRATA_FUNCTION index_t global(index_t local) const {
    return (local / block * gpus + gpu) * block + local % block;
  }
};

template <class T>
__global__ void fill_columns(Columns columns, T* a) {
  const index_t local = blockIdx.x, j = columns.global(local);
  for (index_t i = blockIdx.y * index_t{blockDim.x} + threadIdx.x; j < columns.n && i < columns.n;
       i += index_t{gridDim.y} * blockDim.x)
    a[i + local * columns.n] = static_cast<T>(KnownMatrix()(i, j));
}

// y(j) = the sum over i >= j of a(i, j) x(i), of the columns that are here: the lower triangle, transposed.
template <class T>
__global__ void lower_transposed_times(Columns columns, const T* a, const double* x, double* y) {
  __shared__ double sums[256];
  const index_t local = blockIdx.x, j = columns.global(local);
  double sum = 0;
  for (index_t i = j + threadIdx.x; i < columns.n; i += 256)
    sum += static_cast<double>(a[i + local * columns.n]) * x[i];
  sums[threadIdx.x] = sum;
  for (unsigned half = 128; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
  }
  if (threadIdx.x == 0 && j < columns.n) y[j] = sums[0];
}

enum class Part { Lower, UnitLower, Upper };

// y(i) += a(i, j) x(j) over the columns that are here, in a part of the matrix.
template <class T>
__global__ void part_times(Columns columns, index_t room, Part part, const T* a, const double* x, double* y) {
  const index_t i = blockIdx.x * index_t{blockDim.x} + threadIdx.x;
  if (i >= columns.n) return;
  double sum = 0;
  for (index_t local = 0; local < room; ++local) {
    const index_t j = columns.global(local);
    if (j >= columns.n || (part == Part::Upper ? j < i : j > i)) continue;
    const bool is_one = part == Part::UnitLower && i == j;
    sum += (is_one ? 1.0 : static_cast<double>(a[i + local * columns.n])) * x[j];
  }
  y[i] += sum;
}

void let_reach(int from, int to) {
  cuda_check(cudaSetDevice(from));
  if (const cudaError_t code = cudaDeviceEnablePeerAccess(to, 0); code == cudaErrorPeerAccessAlreadyEnabled)
    static_cast<void>(cudaGetLastError());
  else cuda_check(code);
}

}  // namespace

// The library is loaded, not linked.
template <class T>
struct MgRun<T>::State {
  static constexpr cudaDataType type = std::is_same_v<T, float> ? CUDA_R_32F : CUDA_R_64F;

  MgFactor kind;
  index_t n, block;
  int gpus;
  std::string reason = {};
  void* library = nullptr;
  cusolverMgHandle_t handle = nullptr;
  cudaLibMgGrid_t grid = nullptr;
  cudaLibMgMatrixDesc_t descriptor = nullptr;
  std::vector<int> devices = {};
  std::vector<void*> a = {}, work = {};  // by GPU
  std::vector<int*> pivots = {};
  int64_t work_size = 0;

  decltype(&cusolverMgCreate) create = nullptr;
  decltype(&cusolverMgDestroy) destroy = nullptr;
  decltype(&cusolverMgDeviceSelect) select = nullptr;
  decltype(&cusolverMgCreateDeviceGrid) create_grid = nullptr;
  decltype(&cusolverMgDestroyGrid) destroy_grid = nullptr;
  decltype(&cusolverMgCreateMatrixDesc) create_descriptor = nullptr;
  decltype(&cusolverMgDestroyMatrixDesc) destroy_descriptor = nullptr;
  decltype(&cusolverMgPotrf_bufferSize) potrf_size = nullptr;
  decltype(&cusolverMgPotrf) potrf = nullptr;
  decltype(&cusolverMgGetrf_bufferSize) getrf_size = nullptr;
  decltype(&cusolverMgGetrf) getrf = nullptr;

  Columns columns(int gpu) const { return {n, block, gpu, gpus}; }
  template <class F>
  void find(F& function, const char* name) {
    function = reinterpret_cast<F>(dlsym(library, name));
    if (function == nullptr && reason.empty()) reason = std::string("the library has no ") + name;
  }
  bool open() {
    const std::string file = "libcusolverMg.so." + std::to_string(CUSOLVER_VER_MAJOR);
    library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
      reason = file + " cannot be loaded";
      return false;
    }
    find(create, "cusolverMgCreate");
    find(destroy, "cusolverMgDestroy");
    find(select, "cusolverMgDeviceSelect");
    find(create_grid, "cusolverMgCreateDeviceGrid");
    find(destroy_grid, "cusolverMgDestroyGrid");
    find(create_descriptor, "cusolverMgCreateMatrixDesc");
    find(destroy_descriptor, "cusolverMgDestroyMatrixDesc");
    find(potrf_size, "cusolverMgPotrf_bufferSize");
    find(potrf, "cusolverMgPotrf");
    find(getrf_size, "cusolverMgGetrf_bufferSize");
    find(getrf, "cusolverMgGetrf");
    return reason.empty();
  }
  // Whether the library has done it; what comes after a failure is not tried.
  bool did(cusolverStatus_t status, const char* tried) {
    if (status != CUSOLVER_STATUS_SUCCESS && reason.empty())
      reason = std::string(tried) + " failed: error " + std::to_string(static_cast<int>(status));
    return reason.empty();
  }
  bool allocate(void*& memory, std::size_t bytes) {
    if (cudaMalloc(&memory, bytes) == cudaSuccess) {
      cuda_check(cudaMemset(memory, 0, bytes));
      return true;
    }
    cudaGetLastError();
    memory = nullptr;
    reason = "a GPU has no memory for " + std::to_string(bytes) + " bytes";
    return false;
  }
  bool set_up() {
    for (int gpu = 0; gpu < gpus; ++gpu) devices.push_back(gpu);
    for (const int from : devices)
      for (const int to : devices)
        if (from != to) let_reach(from, to);
    const auto order = static_cast<int64_t>(n);
    if (!did(create(&handle), "cusolverMgCreate") ||
        !did(select(handle, gpus, devices.data()), "cusolverMgDeviceSelect") ||
        !did(create_grid(&grid, 1, gpus, devices.data(), CUDALIBMG_GRID_MAPPING_COL_MAJOR),
             "cusolverMgCreateDeviceGrid") ||
        !did(create_descriptor(&descriptor, order, order, order, block, type, grid),
             "cusolverMgCreateMatrixDesc"))
      return false;
    const std::size_t room = static_cast<std::size_t>(columns(0).room());
    a.resize(devices.size());
    work.resize(devices.size());
    pivots.resize(devices.size());
    for (std::size_t k = 0; k < devices.size(); ++k) {
      cuda_check(cudaSetDevice(devices[k]));
      void* integers = nullptr;
      if (!allocate(a[k], room * static_cast<std::size_t>(n) * sizeof(T)) ||
          !allocate(integers, room * sizeof(int)))
        return false;
      pivots[k] = static_cast<int*>(integers);
    }
    const int m = static_cast<int>(n);
    if (!did(kind == MgFactor::Cholesky
                 ? potrf_size(handle, CUBLAS_FILL_MODE_LOWER, m, a.data(), 1, 1, descriptor, type, &work_size)
                 : getrf_size(handle, m, m, a.data(), 1, 1, descriptor, pivots.data(), type, &work_size),
             "the size of the work space"))
      return false;
    for (std::size_t k = 0; k < devices.size(); ++k) {
      cuda_check(cudaSetDevice(devices[k]));
      if (!allocate(work[k], static_cast<std::size_t>(work_size) * sizeof(T))) return false;
    }
    return true;
  }
  void wait() const {
    for (const int device : devices) {
      cuda_check(cudaSetDevice(device));
      cuda_check(cudaDeviceSynchronize());
    }
    cuda_check(cudaSetDevice(0));
  }
  // y = a x or what launch(columns, matrix, x, y) makes of it, summed over the GPUs.
  template <class Launch>
  std::vector<double> sum_of(const std::vector<double>& x, const Launch& launch) const {
    const std::size_t bytes = x.size() * sizeof(double);
    std::vector<double> sum(x.size()), part(x.size());
    for (std::size_t k = 0; k < devices.size(); ++k) {
      cuda_check(cudaSetDevice(devices[k]));
      const auto from = cuda_array<double>(x.size()), to = cuda_array<double>(x.size());
      cuda_check(cudaMemcpy(from.get(), x.data(), bytes, cudaMemcpyHostToDevice));
      launch(columns(devices[k]), static_cast<const T*>(a[k]), from.get(), to.get());
      cuda_check(cudaGetLastError());
      cuda_check(cudaMemcpy(part.data(), to.get(), bytes, cudaMemcpyDeviceToHost));
      for (std::size_t i = 0; i < x.size(); ++i) sum[i] += part[i];
    }
    cuda_check(cudaSetDevice(0));
    return sum;
  }
  std::vector<double> times(Part part, const std::vector<double>& x) const {
    const index_t room = columns(0).room();
    return sum_of(x, [&](const Columns& here, const T* matrix, const double* from, double* to) {
      part_times<<<static_cast<unsigned>((n + 255) / 256), 256>>>(here, room, part, matrix, from, to);
    });
  }
};

template <class T>
MgRun<T>::MgRun(MgFactor factor, index_t n, int block, int gpus) : state_(new State{factor, n, block, gpus}) {
  if (state_->open()) state_->set_up();
  cuda_check(cudaSetDevice(0));
}
template <class T>
MgRun<T>::~MgRun() {
  State& s = *state_;
  for (std::size_t k = 0; k < s.a.size(); ++k) {
    cuda_check(cudaSetDevice(s.devices[k]));
    for (void* const memory : {s.a[k], s.work[k], static_cast<void*>(s.pivots[k])}) cudaFree(memory);
  }
  if (!s.a.empty()) cuda_check(cudaSetDevice(0));
  if (s.descriptor != nullptr) s.destroy_descriptor(s.descriptor);
  if (s.grid != nullptr) s.destroy_grid(s.grid);
  if (s.handle != nullptr) s.destroy(s.handle);
}

template <class T>
bool MgRun<T>::is_there() const {
  return state_->reason.empty();
}
template <class T>
const std::string& MgRun<T>::reason() const {
  return state_->reason;
}

template <class T>
double MgRun<T>::factor() {
  State& s = *state_;
  if (!is_there()) return -1;
  const index_t room = s.columns(0).room();
  for (std::size_t k = 0; k < s.devices.size(); ++k) {
    cuda_check(cudaSetDevice(s.devices[k]));
    fill_columns<<<dim3(static_cast<unsigned>(room), 16), 256>>>(s.columns(s.devices[k]),
                                                                 static_cast<T*>(s.a[k]));
    cuda_check(cudaGetLastError());
  }
  s.wait();
  const int m = static_cast<int>(s.n);
  int info = 0;
  const auto begin = std::chrono::steady_clock::now();
  const cusolverStatus_t status =
      s.kind == MgFactor::Cholesky ? s.potrf(s.handle, CUBLAS_FILL_MODE_LOWER, m, s.a.data(), 1, 1,
                                             s.descriptor, State::type, s.work.data(), s.work_size, &info)
                                   : s.getrf(s.handle, m, m, s.a.data(), 1, 1, s.descriptor, s.pivots.data(),
                                             State::type, s.work.data(), s.work_size, &info);
  s.wait();
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  if (!s.did(status, "the factor")) return -1;
  if (info != 0) s.reason = "the factor failed: info is " + std::to_string(info);
  return is_there() ? seconds : -1;
}

template <class T>
double MgRun<T>::distance() const {
  const State& s = *state_;
  std::vector<double> v(static_cast<std::size_t>(s.n));
  double dot = 0;
  for (index_t i = 0; i < s.n; ++i) {
    v[static_cast<std::size_t>(i)] = vector_entry(i);
    dot += scattered(i) * vector_entry(i);
  }
  const index_t room = s.columns(0).room();
  const std::vector<double> first =
      s.kind == MgFactor::Lu
          ? s.times(Part::Upper, v)
          : s.sum_of(v, [&](const Columns& here, const T* matrix, const double* from, double* to) {
              lower_transposed_times<<<static_cast<unsigned>(room), 256>>>(here, matrix, from, to);
            });
  const std::vector<double> product = s.times(s.kind == MgFactor::Lu ? Part::UnitLower : Part::Lower, first);
  double most = 0;
  for (index_t i = 0; i < s.n; ++i) {
    const std::size_t at = static_cast<std::size_t>(i);
    const double apart = std::abs(scattered(i) * dot + KnownMatrix::shift * v[at] - product[at]);
    most = std::isnan(apart) || apart > most ? apart : most;
  }
  return most;
}

template class MgRun<float>;
template class MgRun<double>;

}  // namespace perf
