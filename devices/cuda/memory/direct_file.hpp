// CudaDirectFile: files that a GPU reads and writes itself, by NVIDIA's cuFile (GPUDirect Storage).
//
// cuFile is loaded when it is first asked for, where Strata was built with its header. Where the system has
// no driver for it, or the file system or disk is none it knows, cuFile goes through the host's memory
// itself. Private to this folder.
#pragma once

#include <strata/core/ref.hpp>
#include <strata/devices/direct_file.hpp>

namespace strata::inline STRATA_ABI::detail {

class CudaInstance;

/// Null where the setting cuda_direct_files is off; and, with a warning once, where there is no cuFile, or it
/// does not take the file.
Ref<DirectFile> open_cuda_direct_file(CudaInstance& gpu, int descriptor, const char* path, bool writes);

}  // namespace strata::inline STRATA_ABI::detail
