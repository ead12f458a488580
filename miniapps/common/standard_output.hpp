// Standard output for one text alone, as `--json -` asks for: what else a program prints goes to standard
// error.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <strata/core/config.hpp>

namespace strata::inline STRATA_ABI::miniapp {

/// Whether standard error goes where standard output does, as on a terminal: what is in both is read twice.
bool shares_output_with_errors();
/// From now on what is printed goes to standard error; standard output is kept for write_kept_output. Does
/// nothing the second time. Error where the system refuses.
void keep_standard_output();
/// Writes to the standard output that was kept. Error where it cannot be written, as on a full disk, or none
/// was kept.
void write_kept_output(const std::string& text);
/// What is printed goes to standard output again.
void give_back_standard_output();

}  // namespace strata::inline STRATA_ABI::miniapp
