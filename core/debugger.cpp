// The script core/strata_gdb.py, in the section from which gdb loads it: it is not loaded with the program,
// and `strip` removes it. In the section, 4 says that text follows, and its first line is its name.
// SPDX-License-Identifier: Apache-2.0
#include <strata/core/debugger.hpp>

#if defined(__ELF__)
asm(R"(.pushsection .debug_gdb_scripts, "MS", @progbits, 1
.byte 4
.ascii "strata_gdb.py\n"
)"
#include <strata/strata_gdb.inc>
    R"(.byte 0
.popsection)");
#endif

namespace strata::inline STRATA_ABI::detail {

const char debugger_script = 0;

}  // namespace strata::inline STRATA_ABI::detail
