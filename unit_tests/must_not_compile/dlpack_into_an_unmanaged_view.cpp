// expect: from_dlpack: an unmanaged view cannot own the tensor
// SPDX-License-Identifier: Apache-2.0
#include <strata/strata.hpp>
#include <strata/views/dlpack.hpp>

using V = strata::MDArray<int, strata::Serial, strata::rank<1>>::unmanaged_type;
V take(strata::DLPackTensor tensor) {
  return strata::from_dlpack<V>(static_cast<strata::DLPackTensor&&>(tensor));
}
