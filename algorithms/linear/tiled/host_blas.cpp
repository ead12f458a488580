// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdlib>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include <dlfcn.h>

#include <strata/algorithms/linear/tiled/host_blas.hpp>
#include <strata/core/error.hpp>

namespace strata::inline STRATA_ABI {

namespace detail {

namespace {

// Fortran passes everything by address, and the lengths of texts after all else.
using Text = const char*;
using Int = const int*;
using Length = std::size_t;

template <class T>
struct Functions {
  using Number = const T*;
  void (*gemm)(Text, Text, Int, Int, Int, Number, Number, Int, Number, Int, Number, T*, Int, Length, Length);
  void (*syrk)(Text, Text, Int, Int, Number, Number, Int, Number, T*, Int, Length, Length);
  void (*trsm)(Text, Text, Text, Text, Int, Int, Number, Number, Int, T*, Int, Length, Length, Length,
               Length);
  void (*potrf)(Text, Int, T*, Int, int*, Length);
  void (*getrf)(Int, Int, T*, Int, int*, int*);
};

// By the variable STRATA_HOST_BLAS; empty: any.
std::string asked_library() {
  const char* const asked = secure_getenv("STRATA_HOST_BLAS");
  return asked == nullptr ? "" : asked;
}

struct HostBlas {
  std::string name;
  Functions<float> of_float;
  Functions<double> of_double;

  static const HostBlas& get() {
    static const HostBlas found;
    return found;
  }

 private:
  HostBlas() {
    if (const std::string asked = asked_library(); !asked.empty())
      static_cast<void>(load(asked.c_str(), asked.c_str()));
    else
      static_cast<void>(load("libopenblas.so.0", "libopenblas.so.0") ||
                        load("libmkl_rt.so.2", "libmkl_rt.so.2") || load("libmkl_rt.so", "libmkl_rt.so") ||
                        load("libblas.so.3", "liblapack.so.3"));
  }

  bool load(const char* blas, const char* lapack) {
    void* const products = dlopen(blas, RTLD_NOW | RTLD_LOCAL);
    if (products == nullptr) return false;
    void* const factors = dlopen(lapack, RTLD_NOW | RTLD_LOCAL);
    if (factors == nullptr) return false;
    const auto find = [](auto& function, void* library, const char* symbol) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, symbol));
      return function != nullptr;
    };
    if (!find(of_float.gemm, products, "sgemm_") || !find(of_double.gemm, products, "dgemm_") ||
        !find(of_float.syrk, products, "ssyrk_") || !find(of_double.syrk, products, "dsyrk_") ||
        !find(of_float.trsm, products, "strsm_") || !find(of_double.trsm, products, "dtrsm_") ||
        !find(of_float.potrf, factors, "spotrf_") || !find(of_double.potrf, factors, "dpotrf_") ||
        !find(of_float.getrf, factors, "sgetrf_") || !find(of_double.getrf, factors, "dgetrf_"))
      return false;
    name = blas;
    return true;
  }
};

// An extent as Fortran takes it.
int narrow(index_t extent) {
  if (extent > std::numeric_limits<int>::max())
    throw ExtentError("a tile of " + std::to_string(extent) +
                      " rows or columns is too large for the host's BLAS");
  return static_cast<int>(extent);
}

const HostBlas& needed() {
  require_host_blas();
  return HostBlas::get();
}

// Calls f<T>(functions) for the type of the elements.
template <class F>
void with_functions(bool is_double, const F& f) {
  const HostBlas& blas = needed();
  if (is_double) f(blas.of_double, double{});
  else f(blas.of_float, float{});
}

const char* operation(bool transpose) { return transpose ? "T" : "N"; }

// LAPACK has no factors without pivoting: halves, until loops are as good as the library.
template <class T>
void factor_without_pivots(T* a, index_t n, index_t lda) {
  constexpr bool is_double = std::is_same_v<T, double>;
  constexpr index_t smallest = 24;
  if (n > smallest) {
    const index_t half = n / 2, rest = n - half;
    T *const below = a + half, *const right = a + half * lda, *const last = right + half;
    factor_without_pivots(a, half, lda);
    host_library_run(is_double, TrsmCall{false, false, false, false, rest, half, a, lda, below, lda});
    host_library_run(is_double, TrsmCall{true, false, true, true, half, rest, a, lda, right, lda});
    host_library_run(is_double,
                     GemmCall{false, false, rest, rest, half, -1, below, lda, right, lda, 1, last, lda});
    factor_without_pivots(last, rest, lda);
    return;
  }
  for (index_t k = 0; k < n; ++k) {
    for (index_t i = k + 1; i < n; ++i) a[i + k * lda] /= a[k + k * lda];
    for (index_t j = k + 1; j < n; ++j)
      for (index_t i = k + 1; i < n; ++i) a[i + j * lda] -= a[i + k * lda] * a[k + j * lda];
  }
}

}  // namespace

void require_host_blas() {
  if (!HostBlas::get().name.empty()) return;
  const std::string asked = asked_library();
  throw Error(
      "Backend::Vendor needs a BLAS and a LAPACK on the host, and " +
      (asked.empty()
           ? "none of libopenblas.so.0, libmkl_rt.so and libblas.so.3 with liblapack.so.3 can be loaded"
           : "\"" + asked + "\", which STRATA_HOST_BLAS names, cannot be loaded or lacks functions of them") +
      ": install OpenBLAS (Debian: libopenblas0), name its folder in LD_LIBRARY_PATH, or use "
      "Backend::Strata");
}

void host_library_run(bool is_double, const GemmCall& g) {
  with_functions(is_double, [&]<class T>(const Functions<T>& blas, T) {
    const int m = narrow(g.m), n = narrow(g.n), k = narrow(g.k);
    const int lda = narrow(g.lda), ldb = narrow(g.ldb), ldc = narrow(g.ldc);
    const T alpha = static_cast<T>(g.alpha), beta = static_cast<T>(g.beta);
    blas.gemm(operation(g.transpose_a), operation(g.transpose_b), &m, &n, &k, &alpha,
              static_cast<const T*>(g.a), &lda, static_cast<const T*>(g.b), &ldb, &beta, static_cast<T*>(g.c),
              &ldc, 1, 1);
  });
}

void host_library_run(bool is_double, const SyrkCall& s) {
  with_functions(is_double, [&]<class T>(const Functions<T>& blas, T) {
    const int n = narrow(s.n), k = narrow(s.k), lda = narrow(s.lda), ldc = narrow(s.ldc);
    const T alpha = static_cast<T>(s.alpha), beta = static_cast<T>(s.beta);
    blas.syrk("U", "T", &n, &k, &alpha, static_cast<const T*>(s.a), &lda, &beta, static_cast<T*>(s.c), &ldc,
              1, 1);
  });
}

void host_library_run(bool is_double, const TrsmCall& t) {
  with_functions(is_double, [&]<class T>(const Functions<T>& blas, T) {
    const int m = narrow(t.m), n = narrow(t.n), lda = narrow(t.lda), ldb = narrow(t.ldb);
    const T one = 1;
    blas.trsm(t.on_left ? "L" : "R", t.lower ? "L" : "U", operation(t.transpose), t.unit ? "U" : "N", &m, &n,
              &one, static_cast<const T*>(t.a), &lda, static_cast<T*>(t.b), &ldb, 1, 1, 1, 1);
  });
}

void host_library_run(bool is_double, const MultiplyCall& p) {
  with_functions(is_double, [&]<class T>(const Functions<T>&, T) {
    std::vector<T> copy;
    copy.reserve(static_cast<std::size_t>(p.m * p.n));
    for (index_t j = 0; j < p.n; ++j) {
      const T* const column = static_cast<const T*>(p.b) + j * p.ldb;
      copy.insert(copy.end(), column, column + p.m);
    }
    host_library_run(is_double, product_with_copy(p, copy.data()));
  });
}

void host_library_run(bool is_double, const PotrfCall& p) {
  with_functions(is_double, [&]<class T>(const Functions<T>& blas, T) {
    const int n = narrow(p.n), lda = narrow(p.lda);
    blas.potrf("U", &n, static_cast<T*>(p.a), &lda, p.info, 1);
  });
}

void host_library_run(bool is_double, const GetrfCall& g) {
  with_functions(is_double, [&]<class T>(const Functions<T>& blas, T) {
    const int m = narrow(g.m), n = narrow(g.n), lda = narrow(g.lda);
    T* const a = static_cast<T*>(g.a);
    if (g.pivots != nullptr) {
      blas.getrf(&m, &n, a, &lda, g.pivots, g.info);
      return;
    }
    *g.info = 0;
    factor_without_pivots(a, g.n, g.lda);
    if (g.m == g.n) return;
    const TrsmCall below{false, false, false, false, g.m - g.n, g.n, a, g.lda, a + g.n, g.lda};
    host_library_run(is_double, below);
  });
}

}  // namespace detail

namespace linear {

bool has_host_blas() { return !host_blas_name().empty(); }
std::string host_blas_name() { return strata::detail::HostBlas::get().name; }

}  // namespace linear
}  // namespace strata::inline STRATA_ABI
