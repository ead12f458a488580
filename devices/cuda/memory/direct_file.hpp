// CudaDirectFile: files that a GPU reads and writes itself, by NVIDIA's cuFile (GPUDirect Storage).
//
// cuFile is loaded when it is first asked for, where Strata was built with its header. Where the system has
// no driver for it, or it does not support the file system or the disk, cuFile itself copies through the
// host's memory. Private to this folder.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/core/ref.hpp>
#include <strata/devices/direct_file.hpp>

namespace strata::inline STRATA_ABI::detail {

class CudaInstance;

/// Null where the setting cuda_direct_files is off, and, with one warning, where there is no cuFile or it
/// cannot open the file.
Ref<DirectFile> open_cuda_direct_file(CudaInstance& gpu, int descriptor, const char* path, bool writes);

}  // namespace strata::inline STRATA_ABI::detail
