// SPDX-License-Identifier: Apache-2.0
#include <cublasXt.h>
#include <dlfcn.h>

#include "baselines/cublas_xt.hpp"
#include "common/cuda_check.hpp"

namespace perf {

namespace {

void check_xt(cublasStatus_t status, const char* tried) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  std::fprintf(stderr, "%s failed: error %d\n", tried, static_cast<int>(status));
  std::exit(1);
}

}  // namespace

// The library is loaded, not linked, as Strata does it.
struct XtRun::State {
  XtProduct product;
  bool is_double;
  std::size_t n;
  std::string reason = {};
  void* library = nullptr;
  cublasXtHandle_t handle = nullptr;
  void *a = nullptr, *c = nullptr;

  template <class F>
  F find(F, const char* name) {
    const F function = reinterpret_cast<F>(dlsym(library, name));
    if (function == nullptr && reason.empty()) reason = std::string("the library has no ") + name;
    return function;
  }
  bool open() {
    const std::string file = "libcublas.so." + std::to_string(CUBLAS_VER_MAJOR);
    library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) reason = file + " cannot be loaded";
    if (library == nullptr) return false;
    create = find(&cublasXtCreate, "cublasXtCreate");
    destroy = find(&cublasXtDestroy, "cublasXtDestroy");
    select = find(&cublasXtDeviceSelect, "cublasXtDeviceSelect");
    set_block = find(&cublasXtSetBlockDim, "cublasXtSetBlockDim");
    sgemm = find(&cublasXtSgemm, "cublasXtSgemm");
    dgemm = find(&cublasXtDgemm, "cublasXtDgemm");
    ssyrk = find(&cublasXtSsyrk, "cublasXtSsyrk");
    dsyrk = find(&cublasXtDsyrk, "cublasXtDsyrk");
    return reason.empty();
  }

  decltype(&cublasXtCreate) create = nullptr;
  decltype(&cublasXtDestroy) destroy = nullptr;
  decltype(&cublasXtDeviceSelect) select = nullptr;
  decltype(&cublasXtSetBlockDim) set_block = nullptr;
  decltype(&cublasXtSgemm) sgemm = nullptr;
  decltype(&cublasXtDgemm) dgemm = nullptr;
  decltype(&cublasXtSsyrk) ssyrk = nullptr;
  decltype(&cublasXtDsyrk) dsyrk = nullptr;
};

XtRun::XtRun(XtProduct product, bool is_double, strata::index_t n, Fill fill)
    : state_(new State{product, is_double, static_cast<std::size_t>(n)}) {
  State& s = *state_;
  if (!s.open()) return;
  const std::size_t bytes = s.n * s.n * (is_double ? sizeof(double) : sizeof(float));
  if (cudaMallocHost(&s.a, bytes) != cudaSuccess || cudaMallocHost(&s.c, bytes) != cudaSuccess) {
    cudaGetLastError();
    s.reason = "no pinned memory for two matrices";
    return;
  }
  for (strata::index_t j = 0; j < n; ++j)
    for (strata::index_t i = 0; i < n; ++i) fill(s.a, i, j, n);
  int devices[] = {0};
  check_xt(s.create(&s.handle), "cublasXtCreate");
  check_xt(s.select(s.handle, 1, devices), "cublasXtDeviceSelect");
}
XtRun::~XtRun() {
  if (state_->handle != nullptr) state_->destroy(state_->handle);
  if (state_->a != nullptr) cudaFreeHost(state_->a);
  if (state_->c != nullptr) cudaFreeHost(state_->c);
}

bool XtRun::is_there() const { return state_->reason.empty(); }
const std::string& XtRun::reason() const { return state_->reason; }
const void* XtRun::result() const { return state_->c; }

void XtRun::operator()(strata::index_t block) const {
  const State& s = *state_;
  check_xt(s.set_block(s.handle, static_cast<int>(block)), "cublasXtSetBlockDim");
  const auto multiply = [&]<class T>(T, const auto& gemm, const auto& syrk) {
    const T one = 1, zero = 0;
    const T* const a = static_cast<const T*>(s.a);
    T* const c = static_cast<T*>(s.c);
    if (s.product == XtProduct::Gemm)
      check_xt(gemm(s.handle, CUBLAS_OP_N, CUBLAS_OP_N, s.n, s.n, s.n, &one, a, s.n, a, s.n, &zero, c, s.n),
               "cublasXtGemm");
    else
      check_xt(syrk(s.handle, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N, s.n, s.n, &one, a, s.n, &zero, c, s.n),
               "cublasXtSyrk");
  };
  if (s.is_double) multiply(double{}, s.dgemm, s.dsyrk);
  else multiply(float{}, s.sgemm, s.ssyrk);
  cuda_check(cudaDeviceSynchronize());
}

}  // namespace perf
