// STRATA_ASSERT: an assertion, in a kernel or anywhere else.
//
//   STRATA_ASSERT(mass > 0);
//   STRATA_ASSERT(mass > 0, "a cell of the mesh is empty");
//
// In checked builds a condition that is false is reported once: in kernels by the next wait (on Serial,
// Threads and Tbb by the launch), elsewhere at once, as AssertionFailed with the kernel's name, the
// condition, the text, file and line. Nothing traps and the kernel continues, so the code after the assertion
// must tolerate a false condition; of several failed assertions and bad accesses of one launch the first is
// reported. Other builds compile the condition and do not evaluate it, as `assert` with NDEBUG.
//
// The text is a string literal; of the condition and the text the first 159 characters are reported.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/core/check.hpp>
#include <strata/core/config.hpp>

// A macro, as no function could leave its argument unevaluated.
#if defined(STRATA_CHECKED) && STRATA_CHECKED
#define STRATA_ASSERT(condition, ...) \
  ((condition) ? static_cast<void>(0) \
               : ::strata::detail::fail_assertion(#condition, "" __VA_ARGS__, __FILE__, __LINE__))
#else
#define STRATA_ASSERT(condition, ...) static_cast<void>(sizeof((condition) ? "" __VA_ARGS__ : ""))
#endif

namespace strata::inline STRATA_ABI::detail {

STRATA_FUNCTION inline void fail_assertion(const char* condition, const char* text, const char* file,
                                           int line) {
#if defined(__CUDA_ARCH__)
  report_assertion_on_device(condition, text, file, line);
#else
  report_assertion(condition, text, file, line);
#endif
}

}  // namespace strata::inline STRATA_ABI::detail
