// expect: the layout of the view has no strides, which a DLPack tensor needs
// SPDX-License-Identifier: Apache-2.0
#include <strata/strata.hpp>
#include <strata/views/dlpack.hpp>

using Tiled = strata::View<double, strata::Serial, strata::RankExtents<2>, strata::LayoutTiled<8>>;
void show(const Tiled& x) { (void)strata::to_dlpack(x); }
