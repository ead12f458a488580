// refused: must begin with
// SPDX-License-Identifier: Apache-2.0
static_assert(false, "the runner is not told what to expect");
