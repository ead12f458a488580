// refused: 3 errors, at most 1
// expect: first
// SPDX-License-Identifier: Apache-2.0
static_assert(false, "first");
static_assert(false, "second");
static_assert(false, "third");
