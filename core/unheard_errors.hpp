// Errors of queued work that no wait has thrown: what is left of them at the end is printed to stderr, once
// each.
//
// A device holds an error as long as it can still throw it: a queue that is poisoned by it, an event. Several
// may hold one. Whoever throws it to the program marks it reported. When the last holder goes, or the runtime
// ends, an error that was reported to nobody is printed and counted.
// All functions may be called from any thread.
#pragma once

#include <exception>
#include <string>

#include <strata/core/config.hpp>

namespace strata::inline STRATA_ABI::detail {

/// One more holder of `error`. `work` is what failed, such as "\"step\" on Emulated{0}"; the first one stays.
void hold_error(const std::exception_ptr& error, const std::string& work);
/// One more holder, if anybody holds it; else nothing, and false: the program was told.
bool share_error(const std::exception_ptr& error) noexcept;
/// The program was told: nothing is printed. Does nothing for errors that nobody holds.
void error_was_told(const std::exception_ptr& error) noexcept;
/// One holder less; prints the error if it was the last and nobody was told.
void drop_error(const std::exception_ptr& error) noexcept;

/// Prints and counts an error of `work` that nobody holds any more.
void print_unheard_error(const std::string& work, const char* what) noexcept;

/// At the end of the runtime: prints what is held and was reported to nobody. Not in a child of fork(), which
/// holds copies of its parent's.
void print_held_errors() noexcept;

/// How many errors were printed so far.
int unheard_errors() noexcept;

}  // namespace strata::inline STRATA_ABI::detail
