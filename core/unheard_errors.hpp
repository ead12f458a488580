// Errors of queued work that no wait has thrown. At the end those left are printed to stderr, once each.
//
// An error has holders, which can still throw it: the queues that it poisoned, and events. A holder that
// throws it to the program marks it as reported. When the last holder is destroyed, or the runtime ends, an
// error that was not reported is printed and counted.
// All functions may be called from any thread.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <string>

#include <strata/core/config.hpp>

namespace strata::inline STRATA_ABI::detail {

/// Adds a holder of `error`. `work` names the work that failed, such as "\"step\" on Emulated{0}"; the first
/// name is kept.
void hold_error(const std::exception_ptr& error, const std::string& work);
/// Adds a holder if the error has any; else returns false, as it was reported already.
bool share_error(const std::exception_ptr& error) noexcept;
/// Marks the error as reported, so that it is not printed. Does nothing for errors without a holder.
void error_was_reported(const std::exception_ptr& error) noexcept;
/// Removes a holder; prints the error if it was the last one and the error was not reported.
void drop_error(const std::exception_ptr& error) noexcept;

/// Prints and counts an error of `work` that has no holder any more.
void print_unheard_error(const std::string& work, const char* what) noexcept;
void print_unheard_error(const std::string& work, const std::exception_ptr& error) noexcept;

/// At the end of the runtime: prints the errors that are held and were not reported. Does nothing in a child
/// of fork(), which holds copies of its parent's errors.
void print_held_errors() noexcept;

/// The number of errors printed so far.
int unheard_errors() noexcept;

}  // namespace strata::inline STRATA_ABI::detail
