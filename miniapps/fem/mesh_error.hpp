// What can be wrong with a mesh or its file.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <strata/core/error.hpp>

namespace strata::inline STRATA_ABI::fem {

/// A mesh cannot be used; the message says where (file, line, element), why, and what to do.
class MeshError : public Error {
 public:
  using Error::Error;
};

/// A file cannot be opened, read or written, or its format needs a library that this build lacks.
class MeshFileError : public MeshError {
 public:
  using MeshError::MeshError;
};

}  // namespace strata::inline STRATA_ABI::fem
