// The BLAS and LAPACK of the host, found when the first call needs them.
//
// Looked for, in this order: OpenBLAS (libopenblas.so.0), MKL (libmkl_rt.so.2, libmkl_rt.so), and what the
// system calls libblas.so.3 and liblapack.so.3; or only what the variable STRATA_HOST_BLAS names, a file that
// has both. They are loaded (dlopen), not linked. Their Fortran functions with integers of 32 bits are
// called.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <strata/devices/dense_calls.hpp>

namespace strata::inline STRATA_ABI {

namespace linear {

/// Whether this host has a BLAS and a LAPACK that Backend::Vendor can use.
bool has_host_blas();
/// The file of the one in use, "libopenblas.so.0"; "" where there is none.
std::string host_blas_name();

}  // namespace linear

namespace detail {

/// Throws Error, which says what to install, where there is none.
void require_host_blas();
/// Elements are double where `is_double`, else float. Throw as require_host_blas does, and ExtentError for
/// extents from 2^31 on.
void host_library_run(bool is_double, const GemmCall& call);
void host_library_run(bool is_double, const SyrkCall& call);
void host_library_run(bool is_double, const TrsmCall& call);
void host_library_run(bool is_double, const MultiplyCall& call);
void host_library_run(bool is_double, const PotrfCall& call);
void host_library_run(bool is_double, const GetrfCall& call);

}  // namespace detail
}  // namespace strata::inline STRATA_ABI
