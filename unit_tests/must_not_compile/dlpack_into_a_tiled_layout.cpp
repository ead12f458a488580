// expect: the layout of the view has no strides, which a DLPack tensor needs
// SPDX-License-Identifier: Apache-2.0
#include <strata/strata.hpp>
#include <strata/views/dlpack.hpp>

using Tiled = strata::View<double, strata::Serial, strata::RankExtents<2>, strata::LayoutTiled<8>>;
Tiled take(strata::DLPackTensor tensor) {
  return strata::from_dlpack<Tiled>(static_cast<strata::DLPackTensor&&>(tensor));
}
